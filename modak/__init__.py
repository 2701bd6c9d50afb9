"""MODAK: from measured results to a container, a configuration and a job script that works on the first submission.

Start reading at :mod:`modak.optimise`: it is the way of a request, top to bottom.
"""

__version__ = "0.1.0"
