"""Multi-objective linear bandits: MOGRO, its baselines, and the tools to judge them."""
