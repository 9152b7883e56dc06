"""What runs the experiments: worlds, contenders, tasks, tables, and the folder they go to."""
