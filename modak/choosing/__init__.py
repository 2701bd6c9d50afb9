"""Which configurations of a job can run on a target, how long each takes, and which of them is best."""
