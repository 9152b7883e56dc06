"""What judges and shows the experiments: claims, statistics, drawings, and the page."""
