"""From a target to the choice: the configurations that can run there, how long each takes, and which is best."""
