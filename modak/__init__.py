"""MODAK: from measured results to a container, a configuration and a job script that works on the first submission.

Start reading at :mod:`modak.optimise`, which answers a request from top to bottom.
"""

__version__ = "0.1.0"
