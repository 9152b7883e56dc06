"""Decisions with their rewards as tables: written, read, moved to files."""
