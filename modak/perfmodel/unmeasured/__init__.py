"""From applications and systems with results to those without: by configurations in common, or by parameters."""
