"""``modak tune``: runs the trials of a search as jobs, a folder each study. :mod:`modak.tuning` decides, Optuna keeps the trials and
proposes the first ones, this acts."""
