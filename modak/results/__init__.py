"""What a measured number means, which look wrong, which differ, and which a job may report."""
