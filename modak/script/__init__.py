"""How a job is written for bash and its scheduler. :mod:`modak.script.job` assembles a script, :mod:`modak.script.checker` checks it."""
