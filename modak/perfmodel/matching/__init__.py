"""From a question to the nearest curve: in what they differ, which spread that adds, and by which factor costs differ."""
