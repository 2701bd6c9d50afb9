"""Units and directions of measured quantities."""

from __future__ import annotations

import re

import pytest

from modak.errors import DataError
from modak.results.metrics import METRICS, metric, misnamed
from modak.results.units import KNOWN_UNITS, known_unit, parse_unit, to_base


def test_an_unknown_unit_is_answered_with_one_of_every_metric() -> None:
    """Those that are computed from others have no unit."""
    shown = re.split(r"[,;] ", KNOWN_UNITS)
    assert {known.unit for known in METRICS.values()} <= {parse_unit(unit).base for unit in shown if known_unit(unit)} | {"1"}, (
        "name one in KNOWN_UNITS of modak/results/units.py"
    )


@pytest.mark.parametrize(
    ("name", "value", "unit", "base"),
    [
        ("wall_time", 1500.0, "ms", 1.5),
        ("wall_time", 250.0, "us", 0.00025),
        ("wall_time", 250.0, "µs", 0.00025),
        ("wall_time", 3.0, "ns", 3e-9),
        ("wall_time", 2.0, "min", 120.0),
        ("wall_time", 1.5, "h", 5400.0),
        ("wall_time", 2.0, "days", 172800.0),
        ("wall_time", 7.0, None, 7.0),
        ("throughput", 10.0, "images/s", 10.0),
        ("throughput", 10.0, "img/s", 10.0),
        ("throughput", 10.0, "samples/s", 10.0),
        ("throughput", 600.0, "images/min", 10.0),
        ("performance", 12.5, "GFLOP/s", 12.5e9),
        ("performance", 2.0, "PFLOP/s", 2e15),
        ("free_memory", 4.0, "GB", 4e9),
        ("device_memory", 2.0, "KiB", 2048.0),
        ("speedup", 3.0, "1", 3.0),
        ("speed", 2.0, "us/day", 2000.0),
        ("speed", 5.0, "SYPD", 5.0),
        ("speed", 2.0, "years/hour", 48.0),
        ("speed", 365.0, "days/day", 1.0),
        ("model_cost", 2.0, "h/year", 7200.0),
        ("model_cost", 10.0, "s/day", 3650.0),
        ("loop", 3.0, "timesteps/s", 3.0),
        ("loop", 3.0, "Matom-step/s", 3e6),
        ("stream", 7.0, "MLUPS", 7e6),
        ("rate", 2.0, "kcells/min", 2000 / 60),
        ("step_time", 20.0, "ms/iteration", 0.02),
        ("iteration_time", 3.0, "s/it", 3.0),
        ("epoch_time", 2.0, "min / epoch", 120.0),
        ("md_cost", 2.0, "hours/ns", 7200.0),
        ("md_cost", 0.5, "days/us", 43.2),
        ("grind", 3.0, "ns/atom-step", 3e-9),
        ("speed", 2.0, "Images per second", 2.0),
        ("speed", 2.0, "ns/hour", 48.0),
        ("speed", 2.0, "ns/Day", 2.0),
        ("wall_time", 2.0, "Hours", 7200.0),
        ("wall_time", 2.0, "msec", 0.002),
        ("link", 8.0, "Gbit/s", 1e9),
        ("link", 8.0, "Gbits/sec", 1e9),
        ("FOM", 2.0, "kz/s", 2000.0),
        ("link", 2.0, "MB/sec", 2e6),
        ("link", 2.0, "Mbytes/sec", 2e6),
        ("link", 2.0, "GByte per second", 2e9),
        ("performance", 2.0, "GFlops/s", 2e9),
        ("performance", 2.0, "Gflops/seconds", 2e9),
        ("stream", 7.0, "MFLUPS", 7e6),
        ("performance", 2.0, "GFlop/sec", 2e9),
        ("bfs", 2.0, "GTEPS", 2e9),
        ("generation", 2.0, "ktok/s", 2e3),
        ("serving", 2.0, "req/s", 2.0),
        ("training", 2.0, "kwords/s", 2e3),
        ("vibe", 2.0, "Mzone-cycles/s", 2e6),
        ("solve", 2.0, "MDoF/s", 2e6),
        ("stencil", 2.0, "GPts/s", 2e9),
        ("sampling", 2.0, "kshots/s", 2e3),
        ("network", 2.0, "spikes/s", 2.0),
        ("scf", 2.0, "cycles/min", 2 / 60),
        ("chain", 2.0, "draws/s", 2.0),
    ],
)
def test_values_become_base_units(name: str, value: float, unit: str | None, base: float) -> None:
    """Every unit of the results in use, with its figure worked out by hand; its metric takes it."""
    metric(name, unit)
    assert to_base(value, unit) == base


@pytest.mark.parametrize(
    ("name", "unit", "said"),
    [
        ("seconds_per_epoch", "s", "'epoch_time'"),
        ("Time per Step", "ms", "'step_time'"),
        ("epoch_time", "s", ""),
        ("Wall time", "s", "'wall_time'"),
        ("solver_time", "s", ""),
        ("epochs_done", "epochs/h", ""),
        ("seconds_per_epoch", "s/epoch", ""),
    ],
)
def test_a_name_that_suggests_another_metric_is_said(name: str, unit: str, said: str) -> None:
    """The time of a part would count as that of a whole run, however many epochs a request has; a spelling would be a metric of its own."""
    assert said in (misnamed(name, unit) or "")
    assert bool(said) == (misnamed(name, unit) is not None)


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("epoch_time", None, ("s", "lower", "epoch", "time")),
        ("epoch_time", "min", ("s", "lower", "epoch", "time")),
        ("wall_time", None, ("s", "lower", "run", "time")),
        ("throughput", None, ("samples/s", "higher", "sample", "throughput")),
        ("throughput", "steps/s", ("steps/s", "higher", "step", "throughput")),
        ("solver_time", "ms", ("s", "lower", "run", "time")),
        ("md_speed", "ns/day", ("ns/day", "higher", None, "throughput")),
        ("training_speed", "epochs/h", ("epochs/s", "higher", "epoch", "throughput")),
        ("free_memory", "GB", ("B", "higher", None, "other")),
        ("epoch_time", "min/epoch", ("s", "lower", "epoch", "time")),
        ("iteration_time", "ms/iteration", ("s/step", "lower", "step", "time")),
        ("md_cost", "hours/ns", ("s/ns", "lower", None, "time")),
    ],
)
def test_the_direction_follows_from_the_metric_or_the_unit(name: str, unit: str | None, expected: tuple[str, ...]) -> None:
    """Known metrics know what they are; others are times (less is better) or rates (more is better)."""
    found = metric(name, unit)
    assert (found.unit, found.better, found.per, found.kind) == expected


@pytest.mark.parametrize(
    ("name", "unit", "says"),
    [
        ("thruput", None, "did you mean 'throughput'"),
        ("figure_of_merit", None, "needs a 'unit'"),
        ("time_s", None, "^metric: unknown metric 'time_s'; write 'time', and 's' into the column 'unit'$"),
        ("ns/day", None, "'ns/day' is a unit, and goes into the column 'unit'; the metric may be 'throughput'$"),
        ("GFLOPS", None, "'GFLOPS' is a unit, and goes into the column 'unit'; the metric may be 'performance'$"),
        ("figure_of_merit", "1", "whether less or more is better"),
        ("figure_of_merit", "GB", "whether less or more is better"),
        ("wall_time", "images/s", "allowed: s, min, h, d, ms, us, ns$"),
        ("wall_time", "GB", "not a unit of wall_time"),
        ("wall_time", "s/step", "a time per step is the metric 'step_time'"),
        ("step_time", "h/ns", "not a unit of step_time"),
        ("throughput", "imgaes/s", "did you mean 'images/s'"),
        ("throughput", "tokens/s/GPU", "what each GPU does is not what the run does; give that of all of them together, in tokens/s"),
        ("bandwidth", "Gbps", "unknown unit 'Gbps': bits are 'Gbit/s', bytes 'GB/s'; known: "),
        ("bandwidth", "kb/s", "unknown unit 'kb/s': bits are 'kbit/s', bytes 'kB/s'; known: "),
        ("cost", "s/1", "unknown unit"),
        ("throughput", "s", "something else per second"),
        ("wall_time", "fortnights", "unknown unit 'fortnights'"),
        ("wall_time", "S", "unknown unit"),
        ("wall_time", "", "unknown unit"),
        ("throughput", "widgets/s", "unknown unit"),
        ("throughput", "images/ns", "unknown unit"),
    ],
)
def test_what_is_not_known_is_an_error(name: str, unit: str | None, says: str) -> None:
    """An unknown unit, a unit of another kind, and a metric without a direction are each named."""
    with pytest.raises(DataError, match=says):
        metric(name, unit)


@pytest.mark.parametrize("name", METRICS)
def test_every_known_metric_takes_its_own_unit(name: str) -> None:
    """The base unit of each metric in the table is a unit, and changes nothing."""
    assert parse_unit(METRICS[name].unit).factor == 1
    assert metric(name, METRICS[name].unit) == METRICS[name]
