"""From measured layouts and problem sizes to those that nobody ran."""
