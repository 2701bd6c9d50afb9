"""``modak tune``: runs the trials of a search as jobs, one folder a study. :mod:`modak.tuning` decides, Optuna proposes, this room acts."""
