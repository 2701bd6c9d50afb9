"""What the user of a plan should know or change, because the script does not do it."""
