"""Tables: rows are answered together, each as if it were asked alone."""

from __future__ import annotations

import pytest

from modak.facts import FailedRuns, Layout, Result, SeriesKey
from modak.perfmodel import fit, predict_rows
from modak.perfmodel.tables import completion
from modak.perfmodel.tables.rownotes import weak_bases

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


@pytest.mark.parametrize(
    ("metric", "count", "n", "nodes", "said"),
    [
        ("out_of_memory", 1, 4000, 1, "; its runs had too little memory"),
        ("failed_runs", 2, 4000, 1, "; its runs failed"),
        ("failed_runs", 1, 4000, 1, ""),  # by chance
        ("out_of_memory", 1, 700, 1, ""),
        ("out_of_memory", 1, 4000, 3, ""),
        ("out_of_memory", 1, 500, 1, ""),  # and one succeeded
    ],
)
def test_a_row_whose_runs_failed_says_so(metric: str, count: int, n: int, nodes: int, said: str) -> None:
    """What it would take is no offer: the fastest of many settings may be one that has too little memory."""
    series = SeriesKey(application="app", system="here", compiler="gcc", params={"n": str(n)}, metric=metric, unit="1")
    failed = FailedRuns(series=series, layout=Layout(nodes=nodes, ranks_per_node=4), count=count)
    rows = [row for row in ASKED if row["compiler"] == "gcc" and row["nodes"] == 1 and row["params.n"] in (500, 4000)]
    answered = predict_rows(rows, {"app": fit(RESULTS)}, failed={"app": [failed]})
    ends = ["too little memory" in row["model"] or row["model"].endswith("failed") for row in answered]
    assert ends == [False, bool(said)]
    assert answered[1]["model"].endswith(said)
    told = [one.message for one in weak_bases(answered) if one.field == "model"]
    assert told == (["1 of 2 rows are of configurations whose runs failed: see column model"] if said else [])


def test_a_row_without_a_prediction_says_nothing_of_runs_that_failed() -> None:
    """It has no model, which would."""
    series = SeriesKey(application="app", system="here", compiler="gcc", params={"n": "500"}, metric="out_of_memory", unit="1")
    failed = FailedRuns(series=series, layout=Layout(nodes=1, ranks_per_node=4), count=1)
    (answered,) = predict_rows([row for row in ASKED if row["compiler"] == "gcc"][:1], {}, failed={"app": [failed]})
    assert (answered["failed"], answered["model"]) == (True, None)
    assert [one.field for one in weak_bases([answered])] == ["basis"]
