"""Quality of decisions about switches on public tables: each pair of runs is hidden, decided from the others, and compared."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.output import say
from modak.arrays import Array
from modak.choosing.effects import RunContext, SwitchPair, effect, pairs
from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel.intervals import Z90

ASKED = 150
"""Runs of one switch that are asked about, at most."""
FIGURES = ("runs", "median", "mean", "p95", "right", "always on", "always off", "90 % holds")

Row = Mapping[str, str]


def report(folder: Path) -> None:
    """Print the regret of the decisions on every switch of the tables, and that of always on and always off."""
    say("\nswitches, each run of an application on a system hidden; regret: time over that of the better choice, per cent")
    say(("{:30}" + "{:>15}" * len(FIGURES)).format("", *FIGURES))
    judged: dict[str, Array] = {}
    compilers = {**read_compiled(folder), **read_fused(folder), **read_hpc(folder)}
    for name, known in {**compilers, **read_channels(folder), **read_precision(folder)}.items():
        asked = np.random.default_rng(0).permutation(len(known))[:ASKED]
        if len(asked):
            judged[name] = np.array([judge(known, int(place)) for place in asked])
            say(f"{name:30}{line(judged[name])}")
    for name, part in (("all compilers", judged.keys() & compilers), ("all", judged)):
        if part:
            say(f"{name:30}{line(np.vstack([judged[one] for one in part]))}")


def judge(known: Sequence[SwitchPair], place: int) -> tuple[float, float, float]:
    """The measured log ratio, the told one and its half-width; all pairs of that application on that system are hidden."""
    asked = known[place]
    hidden = (asked.run.application, asked.run.system)
    shown = [pair for pair in known if (pair.run.application, pair.run.system) != hidden]
    told = effect(shown, asked.run)
    return (asked.log_ratio, told.log_ratio, told.spread) if told else (asked.log_ratio, 0.0, Z90)


def line(judged: Array) -> str:
    """Figures of one switch: ``judged [run, (measured, told, half-width)]``."""
    measured, told, width = judged.T
    regret = np.expm1(np.where(told < 0, measured, 0.0) - np.minimum(measured, 0.0))
    on, off = np.expm1(np.maximum(measured, 0.0)), np.expm1(np.maximum(-measured, 0.0))
    held = np.abs(measured - told) <= width
    right = (told < 0) == (measured < 0)
    parts = (np.median(regret), regret.mean(), np.quantile(regret, 0.95), right.mean(), on.mean(), off.mean(), held.mean())
    return f"{len(judged):15d}" + "".join(f"{100 * float(part):15.2f}" for part in parts)


def read_compiled(folder: Path) -> dict[str, tuple[SwitchPair, ...]]:
    """torch.compile on image networks, each at the largest batch that was measured."""
    told = [_network(row, compiler=None if row["compile"] == "eager" else "inductor", layout=row["layout"]) for row in _networks(folder)]
    return {"torch.compile": pairs(told, "compiler", "inductor")}


def read_channels(folder: Path) -> dict[str, tuple[SwitchPair, ...]]:
    """Channels last, on the same networks."""
    told = [_network(row, compiler=row["compile"], layout=row["layout"]) for row in _networks(folder)]
    return {"channels last": pairs(told, "params.layout", "nhwc", "nchw")}


def read_fused(folder: Path) -> dict[str, tuple[SwitchPair, ...]]:
    """XLA and graph kernel fusion: neighbouring series of a table whose texts differ only in whether they are with it or without."""
    found: list[SwitchPair] = []
    for path in sorted(folder.glob("dlperf*.csv")):
        by_series: dict[str, list[Row]] = defaultdict(list)
        for row in read(path):
            by_series[row["series"]].append(row)
        for one, other in itertools.pairwise(by_series.values()):
            (off, told), (on, the_same) = (_FUSED.subn("", rows[0]["stack"].lower()) for rows in (one, other))
            if told and the_same and off.split() == on.split() and ("without" in one[0]["stack"]) != ("without" in other[0]["stack"]):
                found += _fused(one, other) if "without" in one[0]["stack"] else _fused(other, one)
    return {"XLA, graph kernel fusion": tuple(found)}


def _fused(off: Sequence[Row], on: Sequence[Row]) -> Iterable[SwitchPair]:
    """Pairs at the numbers of GPUs that both series have. All values are rates."""
    rates = {row["p"]: float(row["value"]) for row in off}
    for row in on:
        if row["p"] in rates:
            run = RunContext(row["app"], row["hardware"], size=float(row["p"]))
            yield SwitchPair(run, math.log(rates[row["p"]] / float(row["value"])))


def read_precision(folder: Path) -> dict[str, tuple[SwitchPair, ...]]:
    """Half precision instead of single, networks on machines with GPUs."""
    results = []
    for path in sorted(folder.glob("lambdal_*.csv")):
        for row in read(path):
            version, _, precision = row["table"].partition("-")
            if precision in ("fp16", "fp32") and row["model"] not in ("num_gpu", "watt", "price") and _positive(row["throughput"]):
                key = SeriesKey(application=row["model"], system=row["config"], framework_version=version, precision=precision, **_RATE)
                results.append(Result(series=key, layout=Layout(), value=float(row["throughput"])))
    return {"half precision": pairs(results, "precision", "fp16", "fp32")}


def read_hpc(folder: Path) -> dict[str, tuple[SwitchPair, ...]]:
    """Compilers of parallel programs, two at a time."""
    by_compiler: dict[str, list[Result]] = defaultdict(list)
    for path in sorted(folder.glob("uob_*.csv")):
        for row in read(path):
            case, _, compiler = row["series"].rpartition("_")
            family = compiler.partition("-")[0]
            value = float(row["value"])
            key = SeriesKey(application=row["app"], dataset=case, system=row["hardware"], compiler=family, metric="wall_time", unit="s")
            cost = 1 / value if row["higher_better"] == "1" else value
            by_compiler[family].append(Result(series=key, layout=Layout(nodes=int(row["p"])), value=cost))
    found = {}
    for one, other in (("cce", "gcc"), ("cce", "intel"), ("gcc", "intel"), ("arm", "gcc")):
        found[f"{one} instead of {other}"] = pairs([*by_compiler[one], *by_compiler[other]], "compiler", one, other)
    return found


def read(path: Path) -> Iterable[Row]:
    """Rows of a CSV file."""
    with path.open(newline="") as lines:
        yield from csv.DictReader(lines)


_FUSED = re.compile(r"[&\s]*with(out)?\s+(xla|graph kernel fusion)")
_RATE: Mapping[str, str] = {"metric": "throughput", "unit": "samples/s"}


def _networks(folder: Path) -> list[Row]:
    return [row for path in sorted(folder.glob("timm_*.csv")) for row in read(path) if _positive(row["samples_per_s"])]


def _network(row: Row, compiler: str | None, layout: str) -> Result:
    told = {"image": row["img"], "mode": row["mode"], "layout": layout}
    key = SeriesKey(
        application=row["model"],
        params=told,
        system=row["device"],
        framework_version=row["pytorch"],
        precision=row["precision"],
        compiler=compiler,
        **_RATE,
    )
    return Result(series=key, layout=Layout(), value=float(row["samples_per_s"]))


def _positive(text: str) -> bool:
    return bool(text) and float(text) > 0 and math.isfinite(float(text))
