"""Job scripts as text. :mod:`modak.script.job` assembles a script, :mod:`modak.script.gate` checks it."""
