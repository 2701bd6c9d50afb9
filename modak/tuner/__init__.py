"""``modak tune``: runs the trials of a search as jobs, a folder each study. :mod:`modak.tuning` decides, Optuna proposes, this acts."""
