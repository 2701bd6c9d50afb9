"""Answers from curves: the nearest evidence, its basis, and an interval that widens with what is not known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel import Curve, Question, fit, predict, predict_rows

HERE = {"system": "here"}


def curves(sizes: tuple[int, ...] = (1, 2, 4, 8, 16), *, work: float = 100.0, ranks: int = 4, **series: object) -> tuple[Curve, ...]:
    """One ideal curve of ``work / nodes`` seconds."""
    key = SeriesKey.model_validate({"application": "app", "system": "here", "metric": "wall_time", "unit": "s", **series})
    layout = {"ranks_per_node": ranks, "threads_per_rank": 12}
    return fit([Result(series=key, layout=Layout(nodes=n, **layout), value=work / n) for n in sizes])


@pytest.mark.parametrize(("nodes", "basis"), [(4, "measured"), (5, "interpolated"), (32, "extrapolated")])
def test_basis_says_where_the_size_lies(nodes: int, basis: str) -> None:
    """Measured at a measured size, interpolated between, extrapolated beyond."""
    assert predict(curves(), Question(HERE), [nodes]).basis == (basis,)


def test_few_sizes_are_heuristic_between_and_measured_at() -> None:
    """Two sizes make no scaling claim."""
    assert predict(curves((1, 2)), Question(HERE), [1, 8]).basis == ("measured", "heuristic")


def test_relatives_inform_a_short_series() -> None:
    """One size alone is a heuristic; with a relative that went on, the answer is transferred and follows it."""
    short, long = curves((4,), work=50.0, compiler="one"), curves((4, 8, 16), work=100.0, compiler="other")
    alone = predict(short, Question({**HERE, "compiler": "one"}), [16])
    helped = predict((*short, *long), Question({**HERE, "compiler": "one"}), [16])
    assert (alone.basis, helped.basis, len(helped.others)) == (("heuristic",), ("transferred",), 1)
    assert helped.value[0] == pytest.approx(50 / 16, rel=0.05)
    assert helped.spread[0] < alone.spread[0]


def test_another_system_is_transferred() -> None:
    """Evidence from elsewhere is named as such, with what differs."""
    found = predict(curves(), Question({"system": "there"}), [4])
    assert (found.basis, found.differences) == (("transferred",), ("system",))


def test_power_scales_a_transfer() -> None:
    """A node of twice the power takes half the time."""
    power = {"here": 1.0, "there": 2.0}
    found = predict(curves(), Question({"system": "there"}), [4], lambda system, *_: power[system or ""])
    assert found.value == pytest.approx([12.5])


@pytest.mark.parametrize("by_gpu", [True, False])
@pytest.mark.parametrize("used", [1, 2, 8])
def test_a_transfer_counts_the_gpus_that_are_used(by_gpu: bool, used: int) -> None:
    """Four GPUs of 1 do 100 in 25 s; one GPU of 2 in a node of eight takes 50 s, eight take 6.25 s, whatever the sizes count."""
    key = SeriesKey(application="app", system="here", metric="wall_time", unit="s")
    layouts = [Layout(nodes=1, gpus_per_node=n) for n in (1, 2, 4)] if by_gpu else [Layout(nodes=n, gpus_per_node=4) for n in (1, 2, 4)]
    measured = fit([Result(series=key, layout=one, value=100 / ((one.nodes or 1) * (one.gpus_per_node or 1))) for one in layouts])
    nodes = {"here": (1.0, 4), "there": (2.0, 8)}

    def power(system: str | None, _: str | None, gpus: int | None, __: int | None) -> float:
        each, count = nodes[system or ""]
        return each * (count if gpus is None else gpus)

    found = predict(measured, Question({"system": "there"}, Layout(gpus_per_node=used)), [1], power)
    assert found.value == pytest.approx([50 / used], rel=0.05)


def test_a_transfer_to_processors_counts_no_gpus() -> None:
    """Neither results nor request say that GPUs compute: processors are held against processors, though the nodes have GPUs."""
    power = {0: {"here": 1.0, "there": 2.0}, None: {"here": 10.0, "there": 80.0}}
    asked = Question({"system": "there"}, Layout(gpus_per_node=0))
    found = predict(curves(), asked, [4], lambda system, _, gpus, __: power[gpus][system or ""])
    assert found.value == pytest.approx([12.5])


def test_nothing_known_is_basis_none() -> None:
    """No evidence, no number."""
    found = predict((), Question(HERE), [1, 2])
    assert found.basis == ("none", "none")
    assert np.isnan(found.value).all()


def test_the_interval_widens_with_each_doubling() -> None:
    """Spread grows with distance from the data."""
    spread = predict(curves(), Question(HERE), [16, 32, 64, 128]).spread
    assert (np.diff(spread) > 0).all()


def test_the_interval_never_crosses_zero() -> None:
    """Bounds are positive however far away."""
    found = predict(curves((1,)), Question({"system": "there"}), [1, 1000])
    assert (found.quantile(0.001) > 0).all()


def test_quantiles_are_ordered() -> None:
    """A higher confidence is a longer time."""
    found = predict(curves(), Question(HERE), [3])
    assert found.quantile(0.5)[0] == pytest.approx(found.value[0])
    assert found.quantile(0.9)[0] < found.quantile(0.99)[0]


def test_the_run_itself_beats_a_relative() -> None:
    """Evidence with fewer differences answers."""
    both = (*curves(work=100.0, mpi_from="container"), *curves(work=50.0, mpi_from="host"))
    assert predict(both, Question({**HERE, "mpi_from": "host"}), [4]).value == pytest.approx([12.5])


def test_renaming_labels_changes_nothing() -> None:
    """Text carries no magic."""
    named = predict(curves(compiler="xla"), Question({**HERE, "compiler": "xla"}), [3])
    renamed = predict(curves(compiler="zebra"), Question({**HERE, "compiler": "zebra"}), [3])
    assert (named.value == renamed.value).all()
    assert (named.spread == renamed.spread).all()


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(1, 400)), min_size=1, unique_by=lambda one: one[:2]),
    st.permutations("abcd"),
    st.sampled_from("abcd"),
    st.sampled_from([1, 3, 32]),
)
def test_renaming_systems_changes_nothing(measured: list[tuple[str, str, int]], names: list[str], asked: str, nodes: int) -> None:
    """Nor which of several curves that are equally near answers, and which relatives have a say."""
    new = dict(zip("abcd", names, strict=True))
    before, after = (
        predict(
            [
                curve
                for system, compiler, work in measured
                for curve in curves((1, 2, 4), work=work, system=name[system], compiler=compiler)
            ],
            Question({"system": name[asked]}),
            [nodes],
        )
        for name in ({letter: letter for letter in new}, new)
    )
    assert after.value == pytest.approx(before.value, rel=1e-12)
    assert after.spread == pytest.approx(before.spread, rel=1e-12)


def test_a_transferred_row_says_from_what() -> None:
    """How the evidence differs, and which relatives had a say."""
    known = (*curves((4,), compiler="gcc"), *curves((4, 8, 16), compiler="icc"))
    rows = [{"application": "app", "compiler": "gcc", "nodes": 16, "system": system} for system in ("here", "there")]
    here, there = (row["model"] for row in predict_rows(rows, {"app": known}))
    assert here.endswith("; with those of compiler icc")
    assert there.endswith("; from results with system here; together with those of compiler icc")


def test_underscores_do_not_tell_systems_apart() -> None:
    """``my_cluster`` and ``my-cluster`` are one system."""
    assert predict(curves(system="my_cluster"), Question({"system": "my-cluster"}), [4]).basis == ("measured",)
