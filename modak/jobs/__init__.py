"""What the job is, independent of any scheduler: its resources, its command, its data, and what has to be built before it."""
