"""Which image has the labels that a request wants, and what an image really contains."""
