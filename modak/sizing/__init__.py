"""How much hardware a goal needs: :func:`modak.sizing.size.size` gives one sizing for each known system and partition.

Time follows from measured results (:mod:`modak.choosing.scoring`); what has no formula is said to have none.
"""
