"""Text in and out: what a name, path or command may look like, JSON read strictly, and numbers as people read them."""
