"""From a question to a decision, and what it was based on."""
