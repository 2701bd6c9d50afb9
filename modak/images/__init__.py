"""From labels that are wanted to an image that has them, and what an image really contains."""
