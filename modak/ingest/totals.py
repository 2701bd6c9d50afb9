"""Ranks and GPUs that a table counts over all nodes: how many ran on each node, and on how many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modak.ingest.table import UNKNOWN, Int32

Mask = NDArray[np.bool_]

TOTALS: Final[Mapping[str, str]] = {"total_ranks": "ranks_per_node", "total_gpus": "gpus_per_node"}
"""Columns that count over all nodes, each with the column of the layout that it fills. They are read, and not stored."""


class Spread(NamedTuple):
    """A total spread over nodes, row by row."""

    nodes: Int32
    each: Int32
    """On each node."""
    nowhere: Mask
    """Rows that tell neither the nodes nor the count on each."""
    uneven: Mask
    """Rows whose total is not that number on each of the nodes."""


def spread(total: Int32, nodes: Int32, each: Int32) -> Spread:
    """``total = nodes x each``, where any may be :data:`UNKNOWN`; rows without a total stay as they are.

    Where only ``each`` is known, a smaller total ran on a part of one node, and 0 on none. Where neither is, all of it counts as on each
    node, of which the number stays unknown.

    >>> spread(*(np.array(row, dtype=np.int32) for row in ([8, 8, 4, 8], [2, -1, -1, -1], [-1, 4, 8, -1])))[:2]
    (array([ 2,  2,  1, -1], dtype=int32), array([4, 4, 4, 8], dtype=int32))
    """
    given = total != UNKNOWN
    placed, per_node = given & (nodes != UNKNOWN), given & (each != UNKNOWN)
    by_each = per_node & ~placed & (total > 0)
    on = np.where(by_each, np.maximum(total // np.maximum(each, 1), 1), nodes)
    count = np.where(per_node & ~placed, np.minimum(each, total), np.where(given & ~per_node, total // np.where(placed, nodes, 1), each))
    uneven = given & (np.where(on == UNKNOWN, 1, on).astype(np.int64) * count != total)
    return Spread(on.astype(np.int32), count.astype(np.int32), given & ~placed & ~per_node & (total > 0), uneven)
