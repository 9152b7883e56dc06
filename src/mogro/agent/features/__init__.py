"""What is on offer: arms, catalogues and contexts, and how they become features."""
