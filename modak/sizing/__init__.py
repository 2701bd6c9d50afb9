"""How much hardware a goal needs: :func:`modak.sizing.size.size` gives one sizing for each known system and partition.

Times are predicted from measured results (:mod:`modak.choosing.scoring`).
"""
