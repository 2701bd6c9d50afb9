"""Runs without results: estimated from parameters if many applications were measured there, from other systems if few were."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel.fitting.cells import cells_of_results
from modak.perfmodel.intervals import Z90
from modak.perfmodel.matching.dissimilarity import BATCH_SPREAD
from modak.perfmodel.tables.completion import predict_rows
from modak.perfmodel.tables.improving import calibrations_of, improve_rows
from modak.perfmodel.unmeasured import unseen
from modak.perfmodel.unmeasured.configurations import MeasuredRuns, RunKind, common_columns, run_of
from modak.perfmodel.unmeasured.configurations import by_configuration as of_cells
from modak.perfmodel.unmeasured.unseen import RunEstimate, calibrations, transferable_metrics
from modak.text.numbering import spelt_out

METRIC = {"metric": "throughput", "unit": "samples/s"}
OURS = str(Path(unseen.__file__).parent)
"""The folder of the models: Python's own bookkeeping differs from call to call."""


def measured(system: str, networks: range, speed: float) -> list[Result]:
    """Networks whose throughput follows from their operations and activations."""
    return [Result(series=key(system, n), layout=Layout(batch_size=64), value=speed * throughput(n)) for n in networks]


def key(system: str, network: int) -> SeriesKey:
    """The series of one network on one system."""
    return SeriesKey.model_validate({"application": f"net{network}", "system": system, "params": params(network), **METRIC})


def params(network: int) -> dict[str, str]:
    """Random parameters of a network."""
    chance = np.random.default_rng(network)
    values = {"gmacs": chance.uniform(0.5, 20), "macts": chance.uniform(2, 60), "mparams": chance.uniform(1, 90), "img": 224.0}
    return {name: str(value) for name, value in values.items()}


def throughput(network: int) -> float:
    """Samples a second: arithmetic and memory in turn."""
    told = {name: float(value) for name, value in params(network).items()}
    return 1 / (told["gmacs"] / 1000 + told["macts"] / 3000)


def by_configuration(results: Iterable[Result]) -> MeasuredRuns:
    """Results by their configuration and run."""
    return of_cells(cells_of_results(results))


def guesses(asked: Iterable[RunKind], results: Iterable[Result]) -> tuple[RunEstimate | None, ...]:
    """An estimate or ``None`` for each run, from these results."""
    return unseen.estimate_runs(list(asked), by_configuration(results))


def test_an_unseen_network_is_told_from_its_parameters() -> None:
    """With 80 networks measured there, 20 others are met within a few percent."""
    asked = [run_of(key("here", n), Layout(batch_size=64)) for n in range(100, 120)]
    found = guesses(asked, measured("here", range(80), 1.0))
    errors = [abs(np.exp(-guess.log_cost) / throughput(n) - 1) for guess, n in zip(found, range(100, 120), strict=True) if guess]
    assert len(errors) == 20
    assert np.median(errors) < 0.08


def test_a_new_system_is_told_from_calibration_runs() -> None:
    """Ten networks measured there and fifty elsewhere give the other forty."""
    results = [*measured("known", range(50), 1.0), *measured("other", range(50), 3.0), *measured("new", range(10), 2.0)]
    asked = [run_of(key("new", n), Layout(batch_size=64)) for n in range(10, 50)]
    errors = [
        abs(np.exp(-guess.log_cost) / (2 * throughput(n)) - 1)
        for guess, n in zip(guesses(asked, results), range(10, 50), strict=True)
        if guess
    ]
    assert len(errors) == 40
    assert np.median(errors) < 0.02


def test_what_is_known_is_looked_at_once_however_many_systems_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """For networks that nobody measured, all that others know counts: a table of thousands of systems would take minutes."""
    looked_at: list[RunKind] = []
    known = by_configuration(measured("known", range(50), 1.0))

    def counted(runs: Iterable[RunKind]) -> list[str]:
        listed = list(runs)
        looked_at.extend(listed)
        return common_columns(listed)

    monkeypatch.setattr(unseen, "common_columns", counted)
    asked = [run_of(key(f"new{n}", n), Layout(batch_size=64)) for n in range(60, 80)]
    assert sum(one.others for one in calibrations(asked, known, 1)) == len(asked)
    assert len(looked_at) == 50


def calls(asked: Sequence[RunKind], known: MeasuredRuns) -> int:
    """Calls of functions of the models for these runs, once it is worked out what was measured."""
    count, _ = [0], (known.measured, known.described, known.configurations, known.columns, known.sizes_vary)

    def one_more(frame: FrameType, *_: object) -> None:
        count[0] += frame.f_code.co_filename.startswith(OURS)

    sys.setprofile(one_more)
    try:
        unseen.estimate_runs(asked, known)
    finally:
        sys.setprofile(None)
    return count[0]


def test_configurations_that_share_no_network_cost_nothing() -> None:
    """A site has thousands of them, and each of hundreds that are asked about is compared with those that share networks alone."""

    def among(others: int) -> int:
        beside = [one for n in range(others) for one in measured(f"other{n}", range(1000, 1005), 1.0)]
        known = by_configuration([*measured("known", range(50), 1.0), *measured("new", range(10), 2.0), *beside])
        return calls([run_of(key("new", 20), Layout(batch_size=64))], known)

    assert among(200) == among(10)


def test_what_is_learned_of_one_network_tells_of_the_next() -> None:
    """Its parameters may have other values, and it may be known elsewhere: what calibration runs and other systems tell is the same."""
    results = [*measured("known", range(60), 1.0), *measured("new", range(10), 2.0)]
    known = by_configuration(results)
    first, again = (calls([run_of(key("new", n), Layout(batch_size=64))], known) for n in (80, 81))
    assert again < first / 10
    elsewhere = [run_of(key("new", 20), Layout(batch_size=64))]
    assert unseen.estimate_runs(elsewhere, known) == guesses(elsewhere, results)


def test_a_parameter_that_nobody_else_has_is_no_reason_to_learn_the_others_anew() -> None:
    """The model does not have it."""
    known = by_configuration([*measured("known", range(60), 1.0), *measured("new", range(10), 2.0)])
    own = key("new", 81).model_copy(update={"params": {**params(81), "own": "7"}})
    first, again = (calls([run_of(series, Layout(batch_size=64))], known) for series in (key("new", 80), own))
    assert again < first / 10


def test_what_is_known_at_all_batch_sizes_is_kept_once_whatever_size_is_asked_for() -> None:
    """A copy for each size that was ever asked for would fill the memory; runs that tell no size count as being of the one asked for."""
    results = measured("known", range(10), 1.0)
    (sized,) = by_configuration(results).measured.values()
    assert sized.throughputs(16, all_sizes=True) is sized.throughputs(64, all_sizes=True)
    unknown = results[0].model_copy(update={"layout": Layout()})
    (unsized,) = by_configuration([unknown, *results[1:]]).measured.values()
    assert unsized.throughputs(16, all_sizes=True) != unsized.throughputs(64, all_sizes=True)


def test_a_parameter_that_no_network_has_costs_nothing() -> None:
    """Networks elsewhere tell nothing of it: on a service with 2,000 applications the first such request computed for ten seconds."""
    atoms = SeriesKey.model_validate({"application": "md", "system": "new", "params": {"atoms": "1000"}, **METRIC})

    def among(known: int) -> int:
        results = [*measured("known", range(known), 1.0), *measured("new", range(10), 2.0)]
        return calls([run_of(atoms, Layout(batch_size=64))], by_configuration(results))

    assert among(100) == among(50)


def test_a_network_that_nobody_has_measured_is_told_on_a_new_system() -> None:
    """From its parameters, and from what six runs tell of the fifty that another system knows."""
    every = [*measured("known", range(50), 1.0), *measured("new", range(6), 2.0)]
    results = [one.model_copy(update={"id": number}) for number, one in enumerate(every, 1)]
    asked = [run_of(key("new", n), Layout(batch_size=64)) for n in range(60, 80)]
    found = [guess for guess in guesses(asked, results) if guess]
    errors = [abs(np.exp(-guess.log_cost) / (2 * throughput(n)) - 1) for guess, n in zip(found, range(60, 80), strict=True)]
    assert (found[0].model, found[0].results_used) == ("4 parameters of 6 runs and of 44 predicted by 1 other configuration", 6)
    assert list(spelt_out(found[0].result_ids)) == list(range(1, 57))
    assert np.median(errors) < 0.1


@pytest.mark.parametrize(("known", "here"), [(50, 24), (50, 30), (50, 39), (100, 60)])
def test_more_runs_there_lose_no_answer(known: int, here: int) -> None:
    """Each has a batch size, and what is told of others has none, however many there are of either."""
    results = [*measured("known", range(known), 1.0), *measured("new", range(here), 2.0)]
    (found,) = guesses([run_of(key("new", 170), Layout(batch_size=64))], results)
    assert found is not None
    assert found.model == f"4 parameters of {here} runs and of {known - here} predicted by 1 other configuration"


def test_the_doubt_about_what_another_system_tells_is_that_of_an_unseen_network_too() -> None:
    """The networks are the same, but half of the six runs are half as fast as another system has it: the interval is wider."""
    steady = measured("new", range(6), 2.0)
    odd = [*steady[:3], *measured("new", range(3, 6), 1.0)]
    asked = [run_of(key("new", 70), Layout(batch_size=64))]
    one, other = (guesses(asked, [*measured("known", range(50), 1.0), *here])[0] for here in (steady, odd))
    assert one is not None
    assert other is not None
    assert other.half_width > one.half_width + 0.5


def test_batch_sizes_of_another_system_are_not_those_of_a_new_one() -> None:
    """They fit its memory: what is told does not change if they were others."""
    asked = [run_of(key("new", 70), Layout(batch_size=64))]
    known = measured("known", range(50), 1.0)
    sizes = [one.model_copy(update={"layout": Layout(batch_size=2 ** (n % 9))}) for n, one in enumerate(known)]
    one, other = (guesses(asked, [*there, *measured("new", range(6), 2.0)])[0] for there in (known, sizes))
    assert one == other is not None


def test_an_unseen_network_gets_the_effect_of_the_batch_size_on_other_gpus() -> None:
    """There 512 is three times as fast as 64, with which the six runs were made."""

    def on_gpu(runs: list[Result], batch: int) -> list[Result]:
        return [one.model_copy(update={"layout": Layout(batch_size=batch, gpus_per_node=1)}) for one in runs]

    known = [*on_gpu(measured("known", range(50), 1.0), 64), *on_gpu(measured("known", range(50), 3.0), 512)]
    asked = [run_of(key("new", 70), Layout(batch_size=batch, gpus_per_node=1)) for batch in (64, 512)]
    found = guesses(asked, [*known, *on_gpu(measured("new", range(6), 2.0), 64)])
    assert [np.exp(-one.log_cost) / throughput(70) for one in found if one] == pytest.approx([2.0, 6.0], rel=0.2)


def test_runs_with_another_batch_size_there_do_not_mislead() -> None:
    """Half of the new system's runs had a batch of 1, and a tenth of the rate: what is told of 64 is that of 64."""
    slow = [one.model_copy(update={"layout": Layout(batch_size=1)}) for one in measured("new", range(20), 0.2)]
    results = [*measured("known", range(100), 1.0), *measured("new", range(20), 2.0), *slow]
    (found,) = guesses([run_of(key("new", 150), Layout(batch_size=64))], results)
    assert found is not None
    assert np.exp(-found.log_cost) / throughput(150) == pytest.approx(2.0, rel=0.1)


def test_a_system_with_very_many_networks_needs_no_other() -> None:
    """Its own results tell more, alone; with fewer, the others are to be read."""
    own = measured("here", range(400), 1.0)
    results = [one.model_copy(update={"layout": Layout()}) for one in (*own, *measured("known", range(390, 500), 3.0))]
    (found,) = guesses([run_of(key("here", 900), Layout())], results)
    assert found is not None
    assert found.model == "4 parameters of 400 runs"
    assert [sorted(transferable_metrics(by_configuration(some), {"operations"})) for some in (own, own[1:])] == [[], ["throughput"]]


def test_what_no_parameter_of_theirs_tells_is_not_asked_of_other_systems() -> None:
    """A parameter that nobody else has tells nothing, however much is known: all results of the metric were read for it."""
    assert transferable_metrics(by_configuration(measured("here", range(10), 1.0)), {"atoms", "image"}) == frozenset()


def test_an_interval_widens_with_the_distance_from_the_batch_sizes_measured_there() -> None:
    """All runs had batches of 64: that says less of 1024."""
    results = [*measured("known", range(50), 1.0), *measured("other", range(50), 3.0), *measured("new", range(10), 2.0)]
    near, far = guesses([run_of(key("new", 20), Layout(batch_size=batch)) for batch in (64, 1024)], results)
    assert near is not None
    assert far is not None
    assert (far.log_cost, far.half_width > near.half_width + 1) == (near.log_cost, True)


@pytest.mark.parametrize(("one", "other"), [("true", "True"), ("0", "0.0")])
def test_runs_that_spell_a_parameter_differently_are_of_one_configuration(one: str, other: str) -> None:
    """Of one that is no positive number, and so no feature of a network."""
    runs = [
        run_of(key("here", n).model_copy(update={"params": {**params(n), "stride": text}}), Layout(batch_size=64))
        for n, text in enumerate((one, other))
    ]
    assert len({run.configuration for run in runs}) == 1


def test_what_is_told_of_one_network_does_not_depend_on_what_else_is_asked() -> None:
    """One alone, and one among others of which nobody has measured the last anywhere."""
    results = [*measured("known", range(50), 1.0), *measured("other", range(30, 60), 3.0), *measured("new", range(28, 40), 2.0)]
    asked = [run_of(key("new", n), Layout(batch_size=64)) for n in (10, 45, 59, 99)]
    alone, together = guesses(asked[:1], results), guesses(asked, results)
    assert together[0] == alone[0] is not None


@pytest.mark.parametrize(("here", "used"), [(60, 60), (400, 200)])
def test_a_known_network_is_transferred_however_many_were_measured_there(here: int, used: int) -> None:
    """What others took says more of it than its parameters."""
    known = range(here + 10)
    results = [*measured("known", known, 1.0), *measured("other", known, 3.0), *measured("new", range(here), 2.0)]
    asked = [run_of(key("new", n), Layout(batch_size=64)) for n in (here + 5, 900)]
    told = [guess.model for guess in guesses(asked, results) if guess]
    assert told[0] == f"{used} calibration runs and 2 other configurations"
    assert told[1].startswith(f"{5 if here == 400 else 4} parameters of {here} runs")


def test_a_network_without_parameters_does_not_spoil_the_others() -> None:
    """Neither one that was measured nor one that is asked about."""
    bare = key("here", 90).model_copy(update={"params": {"img": "224"}})
    results = [*measured("here", range(80), 1.0), Result(series=bare, layout=Layout(batch_size=64), value=1.0)]
    asked = [run_of(key("here", 100), Layout(batch_size=64)), run_of(bare.model_copy(update={"application": "net101"}), Layout())]
    found = guesses(asked, results)
    assert found[0] is not None
    assert found == (*guesses(asked[:1], results[:-1]), None)


def test_of_several_batch_sizes_the_nearest_counts() -> None:
    """In whatever order they were stored: with a batch of 1 the new system is ten times as slow."""
    known = [*measured("known", range(50), 1.0), *measured("other", range(50), 3.0)]
    slow = [one.model_copy(update={"layout": Layout(batch_size=1)}) for one in measured("new", range(10), 0.2)]
    for here in ([*slow, *measured("new", range(10), 2.0)], [*measured("new", range(10), 2.0), *slow]):
        found = guesses([run_of(key("new", 20), Layout(batch_size=batch)) for batch in (1, 64)], known + here)
        assert [np.exp(-one.log_cost) / throughput(20) for one in found if one] == pytest.approx([0.2, 2.0], rel=0.02)


@pytest.mark.parametrize(
    ("there", "here", "effect", "doublings"),
    [(1, 1, 4.0, 6 / np.sqrt(2)), (None, None, 1.0, 6), (None, 1, 1.0, 6), (1, None, 1.0, 6)],
)
def test_what_the_batch_size_matters_on_other_gpus_is_carried_over(
    there: int | None, here: int | None, effect: float, doublings: float
) -> None:
    """There a batch of 1 is four times as slow as one of 64, the only one measured here. Processors tell nothing of each other, nor of
    GPUs."""

    def of_batch(results: list[Result], gpus: int | None, batch: int, slower: float = 1.0) -> list[Result]:
        layout = Layout(batch_size=batch, gpus_per_node=gpus)
        return [one.model_copy(update={"layout": layout, "value": one.value / slower}) for one in results]

    known = [*measured("known", range(50), 1.0), *measured("other", range(50), 3.0)]
    results = [*of_batch(known, there, 64), *of_batch(known, there, 1, slower=4.0), *of_batch(measured("new", range(10), 2.0), here, 64)]
    near, far = guesses([run_of(key("new", 20), Layout(batch_size=batch, gpus_per_node=here)) for batch in (64, 1)], results)
    assert near is not None
    assert far is not None
    assert np.exp(far.log_cost - near.log_cost) == pytest.approx(effect, rel=0.02)
    assert far.half_width == pytest.approx(doublings * Z90 * BATCH_SPREAD, rel=0.01)


def test_another_length_of_input_is_another_application() -> None:
    """A model that was measured with 512 tokens elsewhere says nothing of 2,048."""

    def of_length(system: str, count: int, tokens: int) -> list[Result]:
        results = measured(system, range(count), 1.0)
        return [one.model_copy(update={"series": longer(one.series, tokens)}) for one in results]

    def longer(series: SeriesKey, tokens: int) -> SeriesKey:
        return series.model_copy(update={"params": {**series.params, "seq_len": str(tokens)}})

    results = [*of_length("known", 30, 512), *of_length("new", 10, 512)]
    found = guesses([run_of(longer(key("new", 20), tokens), Layout(batch_size=64)) for tokens in (512, 2048)], results)
    assert [one is not None for one in found] == [True, False]


def test_a_configuration_is_one_however_it_is_written() -> None:
    """Half of the networks that make a model of its own are of each spelling, and a third one is asked about."""
    results = [*measured("My_Site", range(40), 1.0), *measured("my-site", range(40, 80), 1.0)]
    (found,) = guesses([run_of(key("MY-SITE", 100), Layout(batch_size=64))], results)
    assert found is not None
    assert found.results_used == 80


def test_nothing_comparable_is_no_answer() -> None:
    """Three networks on another system are too few."""
    assert guesses([run_of(key("new", 1), Layout())], measured("known", range(3), 1.0)) == (None,)


def test_a_row_without_evidence_of_its_own_gets_the_answer() -> None:
    """The table says ``transferred``, in the row's unit, with the interval around the value."""
    row = {"application": "net100", "system": "here", "batch_size": "64", **METRIC, **{f"params.{k}": v for k, v in params(100).items()}}
    before = predict_rows([row], {})
    (after,) = improve_rows([row], before, by_configuration(measured("here", range(80), 1.0)))
    assert (before[0]["basis"], after["basis"], after["unit"]) == ("none", "transferred", "samples/s")
    assert after["lower"] < after["predicted"] < after["upper"]
    assert after["predicted"] == pytest.approx(throughput(100), rel=0.2)


def test_which_of_two_configurations_a_row_means_is_no_matter_of_names() -> None:
    """A row that names no framework, of networks that as many were measured of in two."""

    def told(fast: str, slow: str) -> float:
        results = [
            one.model_copy(update={"series": one.series.model_copy(update={"framework": name})})
            for name, speed in ((fast, 2.0), (slow, 1.0))
            for one in measured("here", range(50), speed)
        ]
        row = {"application": "net100", "system": "here", "batch_size": 64, **METRIC}
        row |= {f"params.{name}": value for name, value in params(100).items()}
        (answer,) = improve_rows([row], predict_rows([row], {}), by_configuration(results))
        return float(answer["predicted"])

    assert told("a", "b") == pytest.approx(told("b", "a"))


def test_a_measured_row_keeps_its_answer() -> None:
    """A prediction from results of the run itself is not replaced."""
    answered = [{"basis": "measured", "predicted": 1.0}]
    known = by_configuration(measured("here", range(80), 1.0))
    assert improve_rows([{"application": "net1", **METRIC}], answered, known) == answered


@pytest.mark.parametrize("refuted", [True, False])
def test_what_a_stopped_run_has_refuted_stays(refuted: bool) -> None:
    """The estimate from parameters does not know of that run, however narrow its interval is."""
    row = {"application": "net100", "system": "here", "batch_size": "64", **METRIC, **{f"params.{k}": v for k, v in params(100).items()}}
    answered = [{"basis": "heuristic", "predicted": 1.0, "lower": 1e-3, "upper": 1e3, "refuted": refuted}]
    (after,) = improve_rows([row], answered, by_configuration(measured("here", range(80), 1.0)))
    assert (after == answered[0]) is refuted


def test_runs_to_measure_on_a_new_system_are_of_networks_known_elsewhere() -> None:
    """Six of those that two other systems know; of the other five nothing can be told."""
    results = [*measured("known", range(50), 1.0), *measured("other", range(50), 3.0)]
    asked = [run_of(key("new", n), Layout(batch_size=64)) for n in range(45, 55)] + [run_of(key("new", 3), Layout(batch_size=64))]
    (here,) = calibrations(asked, by_configuration(results), 99)
    assert sorted(here.places) == [0, 1, 2, 3, 4, 10]
    assert (here.comparable, here.measured) == (6, 0)


def test_each_configuration_has_its_own_runs_to_measure() -> None:
    """Of two new systems one has runs already, which are not proposed again; nothing is told of the number of rows that ask the same."""
    results = [*measured("known", range(50), 1.0), *measured("first", range(8), 2.0)]
    asked = [run_of(key(system, n), Layout(batch_size=64)) for system in ("first", "second", "second") for n in range(20)]
    first, second = calibrations(asked, by_configuration(results), 5)
    assert (len(first.places), first.measured, len(second.places), second.measured) == (5, 8, 5, 0)
    assert not {asked[place].identity for place in first.places} & {run.identity for run in asked[:8]}
    assert {asked[place].configuration for place in second.places} == {asked[20].configuration}


def test_words_among_parameters_are_of_one_configuration_in_any_spelling() -> None:
    """As of one curve: pandas writes ``True``."""
    one, other = (
        run_of(key("new", 1).model_copy(update={"params": {"gmacs": "1", "folded": text}}), Layout(batch_size=64))
        for text in ("True", "true")
    )
    assert one == other


def test_where_enough_was_measured_no_run_is_chosen() -> None:
    """To choose takes long where thousands were measured: what only asks whether a few would help does not wait for it."""
    results = [*measured("known", range(50), 1.0), *measured("first", range(8), 2.0)]
    asked = [run_of(key("first", n), Layout(batch_size=64)) for n in range(20)]
    (here,) = calibrations(asked, by_configuration(results), 5, enough=8)
    assert (here.places, here.comparable, here.measured) == ((), 20, 8)
    (here,) = calibrations(asked, by_configuration(results), 5, enough=9)
    assert len(here.places) == 5


def test_networks_of_several_batch_sizes_elsewhere_are_measured_once() -> None:
    """At the size that is asked about, be it another one."""
    large = [
        one.model_copy(update={"layout": Layout(batch_size=256, gpus_per_node=1), "value": 2 * one.value})
        for one in measured("known", range(30), 1.0)
    ]
    small = [one.model_copy(update={"layout": Layout(batch_size=64, gpus_per_node=1)}) for one in measured("known", range(30), 1.0)]
    asked = [run_of(key("new", n), Layout(batch_size=128, gpus_per_node=1)) for n in range(30)]
    (here,) = calibrations(asked, by_configuration([*large, *small]), 99)
    assert sorted(here.places) == list(range(30))


def test_applications_that_parameters_do_not_tell_apart_are_not_proposed() -> None:
    """Those whose only number is the size of the image."""
    results = [one.model_copy(update={"series": plain(one.series)}) for one in measured("known", range(30), 1.0)]
    asked = [run_of(plain(key("new", n)), Layout(batch_size=64)) for n in range(30)]
    (here,) = calibrations(asked, by_configuration(results), 5)
    assert (here.places, here.comparable) == ((), 0)


def plain(series: SeriesKey) -> SeriesKey:
    """The series without parameters other than the size of the image."""
    return series.model_copy(update={"params": {"img": "224"}})


def test_rows_to_measure_mean_the_configuration_that_results_have() -> None:
    """Runs measured with a framework are runs of the rows that name none."""
    with_framework = {"framework": "PyTorch"}
    results = [
        one.model_copy(update={"series": one.series.model_copy(update=with_framework)})
        for one in (*measured("known", range(30), 1.0), *measured("new", range(6), 2.0))
    ]
    rows = [
        {"application": f"net{n}", "system": "new", "batch_size": 64, **METRIC, **{f"params.{k}": v for k, v in params(n).items()}}
        for n in range(20)
    ]
    (here,) = calibrations_of(rows, by_configuration(results), 4)
    assert here.measured == 6
    assert len(here.places) == 4
    assert min(here.places) >= 6
