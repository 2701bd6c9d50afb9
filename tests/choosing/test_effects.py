"""The effect of a switch by pairs of results: at their own runs, near them, and far away."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.choosing.effects import Effect, RunContext, SwitchPair, effect, log_ratios, pairs
from modak.facts import Layout, Result, SeriesKey

OWN = ("tensorflow", "2.1", None, None, None)


def result(value: float, metric: str = "epoch_time", unit: str = "s", nodes: int = 1, **labels: object) -> Result:
    """A result of one application on one node."""
    told = {"application": "net", "system": "here", "metric": metric, "unit": unit, **labels}
    return Result(series=SeriesKey.model_validate(told), layout=Layout(nodes=nodes), value=value)


def told(known: list[SwitchPair], asked: RunContext) -> Effect:
    """The effect, which is not ``None``."""
    found = effect(known, asked)
    assert found is not None
    return found


def test_a_pair_differs_in_the_switch_alone() -> None:
    """Runs on other numbers of nodes are no pair."""
    found = pairs([result(10.0), result(8.0, compiler="xla"), result(3.0, nodes=4, compiler="xla")], "compiler", "xla")
    assert [math.exp(pair.log_ratio) for pair in found] == pytest.approx([0.8])


@pytest.mark.parametrize(("column", "word", "on", "off"), [("compiler", "XLA", "xla", "none"), ("precision", "Half", "fp16", "fp32")])
def test_a_switch_is_known_in_every_spelling(column: str, word: str, on: str, off: str) -> None:
    """Results are written by hand."""
    found = pairs([result(10.0), result(8.0, "epoch_time", "s", 1, **{column: word})], column, on, off)
    assert [math.exp(pair.log_ratio) for pair in found] == pytest.approx([0.8])


@pytest.mark.parametrize(
    "other", [{"system": "Here"}, {"framework": "PyTorch", "mpi": "Open MPI 4.1"}, {"system": "HERE", "framework": "pytorch"}], ids=str
)
def test_names_in_another_spelling_make_a_pair_all_the_same(other: dict[str, str]) -> None:
    """A table names the system by hand, a job's result as MODAK does."""
    own: dict[str, Any] = {"framework": "pytorch", "mpi": "openmpi-4.1"} if "mpi" in other else {"framework": "pytorch"}
    (pair,) = pairs([result(10.0, **own), result(8.0, compiler="xla", **{**own, **other})], "compiler", "xla")
    assert math.exp(pair.log_ratio) == pytest.approx(0.8)
    asked = RunContext("net", "here", ("pytorch", None, None, None, None), 1)
    assert told([pair], asked).log_ratio == told([SwitchPair(replace(pair.run, software=asked.software), pair.log_ratio)], asked).log_ratio


@pytest.mark.parametrize(
    ("own", "other"),
    [({"params": {"img": "224"}}, {"params": {"img": "224.0"}}), ({"precision": "fp16"}, {"precision": "half"})],
    ids=["parameter", "precision"],
)
def test_what_else_is_in_another_spelling_makes_a_pair_all_the_same(own: dict[str, Any], other: dict[str, Any]) -> None:
    """A table with an empty cell has 224.0 in the others."""
    (pair,) = pairs([result(10.0, **own), result(8.0, compiler="xla", **other)], "compiler", "xla")
    assert math.exp(pair.log_ratio) == pytest.approx(0.8)


def test_two_mixed_precisions_make_no_pair() -> None:
    """Their results are of different runs."""
    assert pairs([result(10.0, precision="fp16-mixed"), result(8.0, compiler="xla", precision="bf16-mixed")], "compiler", "xla") == ()


def test_ratios_are_of_times() -> None:
    """Twice the throughput is half the time."""
    rates = [result(100.0, "throughput", "samples/s", precision=name) for name in ("fp32", "amp")]
    faster = rates[1].model_copy(update={"value": 200.0})
    assert [math.exp(pair.log_ratio) for pair in pairs([rates[0], faster], "precision", "amp", "fp32")] == pytest.approx([0.5])


def test_a_published_speedup_is_a_pair_with_its_baseline() -> None:
    """1.25 times as fast as what the row names; one by another build tells nothing of it."""
    builds = {"opt-build": 1.25, "spack": 2.0}
    rows = [result(times, "speedup", "1", params={"build": build, "baseline": "the hub's"}) for build, times in builds.items()]
    assert [math.exp(pair.log_ratio) for pair in pairs(rows, "params.build", "opt-build", "hub")] == pytest.approx([0.8])


def test_suspect_results_are_not_heard() -> None:
    """A row that is kept out of fits is kept out of pairs."""
    doubted = result(8.0, compiler="xla").model_copy(update={"suspect": "contradicts itself"})
    assert pairs([result(10.0), doubted], "compiler", "xla") == ()


def test_without_pairs_nothing_is_said() -> None:
    """No evidence, no number."""
    assert effect([], RunContext("net", "here")) is None


def test_own_pairs_decide_against_others() -> None:
    """It slowed this application down; that it helps ten others does not matter."""
    others = [SwitchPair(RunContext(f"net{number}", "here", OWN, 4.0), -0.3) for number in range(10)]
    assert not told([SwitchPair(RunContext("net", "here", OWN, 4.0), 0.1), *others], RunContext("net", "here", OWN, 4.0)).helps


@given(ratio=st.floats(-1.0, 1.0), size=st.sampled_from([1.0, 4.0, 64.0]))
def test_the_interval_widens_from_the_own_run_to_another_system(ratio: float, size: float) -> None:
    """Measured, at another size, on another system: each knows less, and no answer is beyond the pair itself."""
    known = [SwitchPair(RunContext("net", "here", OWN, size), ratio)]
    asked = [
        RunContext("net", "here", OWN, size),
        RunContext("net", "here", OWN, size * 8),
        RunContext("net", "there", OWN, size),
        RunContext("other", "there"),
    ]
    found = [told(known, run) for run in asked]
    assert [one.spread for one in found] == sorted(one.spread for one in found)
    assert all(abs(one.log_ratio) <= abs(ratio) + 1e-12 for one in found)
    assert [one.basis for one in found] == ["measured", "extrapolated", "transferred", "transferred"]


@pytest.mark.parametrize("software", [OWN, ("tensorflow", "2.4", None, None, None)])
def test_the_effect_on_an_application_depends_on_the_size(software: tuple[str | None, ...]) -> None:
    """XLA helped on one GPU and harmed on four: so it is expected to, with another version of the framework, too, but less surely."""
    known = [SwitchPair(RunContext("net", "here", OWN, size), math.log(ratio)) for size, ratio in ((1.0, 0.77), (2.0, 0.89), (4.0, 1.23))]
    found = [told(known, RunContext("net", "here", software, size)) for size in (1.0, 2.0, 4.0)]
    assert [one.log_ratio for one in found] == sorted(one.log_ratio for one in found)
    assert [one.helps for one in found] == [True, True, False]
    assert math.exp(found[0].log_ratio) < 0.9


def test_effects_at_several_sizes_are_those_at_each() -> None:
    """More pairs than are used at once, of which each size has its nearest."""
    known = [SwitchPair(RunContext("net", "here", OWN, float(size)), size / 500) for size in range(1, 200)]
    sizes = [1.0, 8.0, 150.0]
    log_ratio, spread = log_ratios(known, RunContext("net", "here", OWN), sizes)
    single = [told(known, RunContext("net", "here", OWN, size)) for size in sizes]
    assert log_ratio == pytest.approx([one.log_ratio for one in single])
    assert spread == pytest.approx([one.spread for one in single])


def test_what_the_request_leaves_open_is_taken_from_its_own_pair() -> None:
    """A request without a version of the framework is about the application's own runs."""
    known = [SwitchPair(RunContext("net", "here", OWN, 4.0), -0.2)]
    assert told(known, RunContext("net", "here", ("tensorflow", None, None, None, None))) == told(known, known[0].run)


def test_an_effect_is_said_with_its_interval_and_basis() -> None:
    """Never a number alone."""
    text = str(told([SwitchPair(RunContext("net", "here", OWN, 4.0), math.log(0.8))], RunContext("net", "here", OWN, 4.0)))
    assert text.startswith("0.8")
    assert "90% interval" in text
    assert "measured: 1 pair" in text
