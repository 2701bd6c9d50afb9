"""Predict the packaged results above a size from those up to it, and print prediction and measurement side by side.

python -m benchmarks.unseen_rows [--application 3dgan] [--largest 128]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from modak.facts import Result
from modak.perfmodel import Question, fit, predict
from modak.perfmodel.curves import cost
from modak.store import open_store


def main() -> None:
    """Read the options, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--application", default="3dgan")
    parser.add_argument("--largest", type=int, default=128, help="nodes up to which results are fitted")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/modak.db") as store:
        results = [row for row in store.results({"application": options.application}, limit=1000).items if row.suspect is None]
    table = Table(title=f"{options.application}: fitted up to {options.largest} nodes, seconds")
    for name in ("system", "layout", "MPI", "nodes", "measured", "predicted", "90 % interval", "error"):
        table.add_column(name, justify="right" if name in ("nodes", "measured", "predicted", "error") else "left")
    for row in rows(results, options.largest):
        table.add_row(*row)
    Console(width=130).print(table)


def rows(results: Sequence[Result], largest: int) -> Iterator[tuple[str, ...]]:
    """One row for each result above ``largest`` nodes whose series and layout have smaller ones."""
    seen = [row for row in results if (row.layout.nodes or 0) <= largest]
    for curve in fit(seen):
        same = [row for row in results if row.series == curve.series and _same_shape(row, curve.layout)]
        unseen = [row for row in same if (row.layout.nodes or 0) > largest]
        for row in sorted(unseen, key=lambda row: row.layout.nodes or 0):
            found = predict((curve,), Question({}), [row.layout.nodes or 1])
            value, low, high = found.value[0], found.quantile(0.05)[0], found.quantile(0.95)[0]
            layout = f"{row.layout.ranks_per_node}x{row.layout.threads_per_rank}"
            mpi = f"{row.series.mpi or '-'} ({row.series.mpi_from or '-'})"
            error = f"{100 * (value / cost(row) - 1):+.1f} %"
            name = row.series.system or "-"
            yield name, layout, mpi, str(row.layout.nodes), f"{cost(row):.4g}", f"{value:.4g}", f"{low:.4g} - {high:.4g}", error


def _same_shape(row: Result, shape: object) -> bool:
    return row.layout.model_copy(update={"nodes": None}) == shape


if __name__ == "__main__":
    main()
