"""Tables: rows are answered together, each as if it were asked alone."""

from __future__ import annotations

import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import completion, fit, predict_rows

RUNS = {"gcc": (1, 2, 4), "cce": (8, 16, 32), "icc": (2,)}
"""The numbers of nodes on which each build ran: what some tell of others depends on where these end."""
RESULTS = [
    Result(
        series=SeriesKey(application="app", system="here", compiler=build, params={"n": str(n)}, metric="wall_time", unit="s"),
        layout=Layout(nodes=nodes, ranks_per_node=ranks, threads_per_rank=40 // ranks),
        value=(1e-6 * n**3 / nodes + nodes) * (1 + 0.01 * ranks),
    )
    for build, counts in RUNS.items()
    for n in (500, 1000, 2000)
    for ranks in (4, 40)
    for nodes in counts
]
ASKED = [  # not all sizes on the same nodes
    {"application": "app", "system": "here", "compiler": build, "metric": "wall_time", "nodes": nodes, "ranks_per_node": 4, "params.n": n}
    for build in RUNS
    for nodes in (1, 3, 64)
    for n in (500, 700, 4000)
    if (nodes, n) != (3, 700)
]


@pytest.mark.parametrize("most", [256, 2])
def test_rows_are_answered_as_if_each_were_asked_alone(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """What they have in common is worked out once for all of their nodes, if these are not too many: that changes no figure."""
    monkeypatch.setattr(completion, "MOST_TOGETHER", most)
    known = {"app": fit(RESULTS)}
    together = predict_rows(ASKED, known)
    for row, answer in zip(ASKED, together, strict=True):
        (alone,) = predict_rows([row], known)
        figures = ("predicted", "lower", "upper", "extrapolation")
        assert [answer[name] for name in figures] == pytest.approx([alone[name] for name in figures], rel=1e-12)
        assert (answer["basis"], answer["results_used"]) == (alone["basis"], alone["results_used"])
