"""What a tuner may change, where it starts, when it stops, and what it found. Values in, values out; :mod:`modak.tuner` runs the trials."""
