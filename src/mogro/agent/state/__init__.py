"""What an agent knows: a state that events change, and its snapshot."""
