"""Scripts: one job as text that a scheduler takes. :mod:`modak.script.job` is the whole; :mod:`modak.script.gate` reads it once more."""
