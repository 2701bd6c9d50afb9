"""Tables without values, row by row: what is asked, what is predicted, and what should be known of it."""
