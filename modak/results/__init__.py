"""What a measured number means: its metric and unit, whether it looks wrong, whether two differ, and whether a job may report it."""
