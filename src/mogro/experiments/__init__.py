"""The paper's experiments, and some beyond it: one file a figure, claims, and the report."""
