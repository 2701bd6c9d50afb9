"""Errors of the models of numeric parameters on public tables of image networks: for unseen networks, new devices, and both."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product, takewhile
from pathlib import Path

import numpy as np

from benchmarks.output import say
from modak.arrays import Array
from modak.facts import Layout, Result, SeriesKey
from modak.perfmodel.fitting.cells import cells_of_results
from modak.perfmodel.unmeasured import parameters
from modak.perfmodel.unmeasured.configurations import MeasuredRuns, by_configuration
from modak.perfmodel.unmeasured.unseen import estimate_runs

PARAMETERS = {"operations": "gmacs", "activations": "macts", "parameters": "mparams", "image": "img", "batch": "batch"}
CONFIGURATION = ("mode", "precision", "layout", "pytorch", "compile", "device")
NEEDED = {"model", "samples_per_s", *PARAMETERS.values(), *CONFIGURATION}
FOLDS, REPEATS = 5, 4
CALIBRATION = (5, 10, 20, 50, 100)
"""Runs on a new device from which it is calibrated."""
CALIBRATION_OF_UNSEEN = (5, 20, 100)
"""The same, where networks are in question that no device knows."""
INTERVAL = "  inside its 90 % interval"
CHOSEN = "MODAK, runs that it chooses"


def tables(folder: Path) -> list[Path]:
    """The CSV files of a folder that have the columns :data:`NEEDED`: rates of networks."""
    return [path for path in sorted(folder.glob("*.csv")) if _headings(path) >= NEEDED]


def report(table: Path) -> None:
    """Unseen networks on a known configuration, new devices after calibration runs, and unseen networks on these."""
    with table.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if all(_positive(row[name]) for name in PARAMETERS.values())]
    groups: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in CONFIGURATION)].append(row)
    for title, group in (("network", _network), ("family of networks", _family)):
        found: dict[str, list[Array]] = defaultdict(list)
        for members in groups.values():
            for name, errors in _unseen(members, group).items():
                found[name].append(errors)
        say(f"\nunseen {title} on a known configuration, {FOLDS} folds; absolute percentage error of time")
        for name, several in found.items():
            _line(name, np.concatenate(several))
    _new_device(groups)
    _unseen_on_new_device(by_configuration(cells_of_results(map(_result, rows))))


def _unseen(members: Sequence[dict[str, str]], group: Callable[[dict[str, str]], str]) -> dict[str, Array]:
    """Errors of time on each fold, with the model fitted to the others. A network is in one fold with all its image sizes."""
    names = sorted({group(row) for row in members})
    place = dict(zip(names, np.random.default_rng(0).permutation(len(names)) % FOLDS, strict=True))
    fold = np.array([place[group(row)] for row in members])
    columns = _columns(members)
    target = np.log([float(row["samples_per_s"]) for row in members])
    answers: dict[str, list[Array]] = defaultdict(list)
    for out in range(FOLDS):
        seen, hidden = fold != out, fold == out
        model = parameters.fit({name: values[seen] for name, values in columns.items()}, target[seen])
        guess = parameters.predict(model, {name: values[hidden] for name, values in columns.items()})
        miss = target[hidden] - guess.log_throughput
        answers["MODAK"].append(np.abs(np.expm1(miss)))
        answers[INTERVAL].append(np.where(np.abs(miss) <= guess.half_width, guess.half_width, np.nan))
        work = np.log(columns["operations"] + parameters.SMALLEST)
        constant = np.median(target[seen] + work[seen]) - work[hidden]
        answers["constant efficiency"].append(np.abs(np.expm1(target[hidden] - constant)))
    return {name: np.concatenate(errors) for name, errors in answers.items()}


def _new_device(by_configuration: dict[tuple[str, ...], list[dict[str, str]]]) -> None:
    """Each configuration from those on other devices, with calibration runs of random networks."""
    networks = sorted({_key(row) for rows in by_configuration.values() for row in rows})
    place = {name: k for k, name in enumerate(networks)}
    known: dict[tuple[str, ...], Array] = {}
    first: dict[str, dict[str, str]] = {}
    for configuration, rows in by_configuration.items():
        known[configuration] = np.full(len(networks), np.nan)
        for row in rows:
            known[configuration][place[_key(row)]] = np.log(float(row["samples_per_s"]))
            first.setdefault(_key(row), row)
    described = {name: values for name, values in _columns([first[name] for name in networks]).items() if name != "batch"}
    for title, same in (("no configuration of that device known", False), ("other software on that device known", True)):
        devices: list[tuple[Array, dict[str, Array], Array]] = []
        for configuration, target in known.items():
            allowed = [name for name in known if name != configuration and (same or name[-1] != configuration[-1])]
            others = np.array([known[name] for name in allowed])
            usable = np.flatnonzero(np.isfinite(target) & (np.isfinite(others).sum(axis=0) >= max(1, len(others) // 2)))
            devices.append((others[:, usable].T, {name: values[usable] for name, values in described.items()}, target[usable]))
        for runs in CALIBRATION:
            if not any(len(actual) > runs for *_, actual in devices):
                continue
            say(f"\nnew device after {runs} calibration runs, {title}; absolute percentage error of time")
            found: dict[str, list[Array]] = defaultdict(list)
            for device, repeat in product(devices, range(REPEATS)):
                if len(device[-1]) <= runs:
                    continue
                for name, errors in _calibrated(*device, runs, repeat).items():
                    found[name].append(errors)
                for name, errors in _proposed(*device, runs, repeat).items():
                    found[name].append(errors)
            for name, parts in found.items():
                _line(name, np.concatenate(parts))
        if enough := [device for device in devices if len(device[-1]) >= FOLDS]:
            _line("linear, from four fifths of all runs there", np.concatenate([_all_runs(*device) for device in enough]))


def _calibrated(elsewhere: Array, columns: dict[str, Array], actual: Array, runs: int, repeat: int) -> dict[str, Array]:
    """Errors of predictions for a device from a few calibration runs there."""
    order = np.random.default_rng(repeat).permutation(len(actual))
    shown, hidden = order[:runs], order[runs:]
    guess = parameters.transfer(elsewhere, columns, shown, actual[shown])
    miss, reach = (actual - guess.log_throughput)[hidden], guess.half_width[hidden]
    ratio = (actual[:, None] - elsewhere)[:, np.isfinite(elsewhere[shown]).any(axis=0)]
    nearest = int(np.argmin(np.nanmedian(np.abs(ratio[shown] - np.nanmedian(ratio[shown], axis=0)), axis=0)))
    constant = np.abs(np.expm1(ratio[:, nearest] - np.nanmedian(ratio[shown, nearest])))[hidden]
    return {
        "MODAK": np.abs(np.expm1(miss)),
        INTERVAL: np.where(np.abs(miss) <= reach, reach, np.nan),
        "constant ratio to the nearest": constant[np.isfinite(constant)],
    }


def _proposed(elsewhere: Array, columns: dict[str, Array], actual: Array, runs: int, repeat: int) -> dict[str, Array]:
    """Errors of predictions from runs that :func:`modak.perfmodel.unmeasured.parameters.most_telling` chooses among a random half of the
    networks.

    Judged on the other half, so that a repeat has other runs, and so that no network that is hard to tell is left out by being chosen.
    """
    order = np.random.default_rng(repeat).permutation(len(actual))
    some, hidden = np.sort(order[: len(order) // 2]), order[len(order) // 2 :]
    if len(some) <= runs:
        return {}
    of_some = {name: values[some] for name, values in columns.items()}
    shown = some[list(parameters.most_telling(elsewhere[some], of_some, np.zeros(len(some), dtype=bool), runs))]
    guess = parameters.transfer(elsewhere, columns, shown, actual[shown])
    miss, reach = (actual - guess.log_throughput)[hidden], guess.half_width[hidden]
    return {CHOSEN: np.abs(np.expm1(miss)), f"{INTERVAL}, chosen": np.where(np.abs(miss) <= reach, reach, np.nan)}


def _unseen_on_new_device(known: MeasuredRuns) -> None:
    """A fifth of the networks, another one for each configuration, is known nowhere: told from runs of others there."""
    networks = sorted({run.application for runs in known.runs.values() for run in runs})
    for title, same in (("no configuration of that device known", False), ("other software on that device known", True)):
        for runs in CALIBRATION_OF_UNSEEN:
            found: dict[str, list[Array]] = defaultdict(list)
            for seed, (configuration, here) in enumerate(known.runs.items()):
                chance = np.random.default_rng(seed)
                hidden = {*chance.permutation(networks)[: len(networks) // FOLDS]}
                asked = [run for run in here if run.application in hidden]
                seen = [run for run in here if run.application not in hidden]
                chosen = [seen[place] for place in chance.permutation(len(seen))[:runs]]
                device = dict(configuration)["system"]
                others = {
                    name: {run: results for run, results in there.items() if run.application not in hidden}
                    for name, there in known.runs.items()
                    if name != configuration and (same or dict(name)["system"] != device)
                }
                told = estimate_runs(asked, MeasuredRuns({**others, configuration: {run: here[run] for run in chosen}}))
                answers = [
                    (np.log(here[run][0].values[0]) + guess.log_cost, guess.half_width)
                    for run, guess in zip(asked, told, strict=True)
                    if guess
                ]
                miss, reach = np.array(answers).reshape(-1, 2).T
                found["MODAK"].append(np.abs(np.expm1(miss)))
                found[INTERVAL].append(np.where(np.abs(miss) <= reach, reach, np.nan))
            say(f"\nunseen network, and {runs} runs of others on a new device, {title}; absolute percentage error of time")
            for name, parts in found.items():
                _line(name, np.concatenate(parts))


def _result(row: dict[str, str]) -> Result:
    """A row as it is stored."""
    names = {name: row[column] for name, column in PARAMETERS.items() if name != "batch"}
    labels = {
        "application": row["model"],
        "system": row["device"],
        "framework": "pytorch",
        "framework_version": row["pytorch"],
        "precision": row["precision"],
    }
    params = names | {name: row[name] for name in ("mode", "layout", "compile")}
    series = SeriesKey.model_validate({**labels, "params": params, "metric": "throughput", "unit": "samples/s"})
    return Result(series=series, layout=Layout(batch_size=round(float(row["batch"]))), value=float(row["samples_per_s"]))


def _all_runs(elsewhere: Array, columns: dict[str, Array], actual: Array) -> Array:
    """Errors on each fold of a linear model (least absolute deviations) of the same columns, fitted to all other runs on the device."""
    from sklearn.linear_model import QuantileRegressor
    from sklearn.model_selection import cross_val_predict

    known = np.where(np.isfinite(elsewhere), elsewhere, np.nanmean(elsewhere, axis=1, keepdims=True))
    rows = np.column_stack([known, parameters.features(columns)])
    model = QuantileRegressor(alpha=0, solver="highs")
    return np.asarray(np.abs(np.expm1(actual - cross_val_predict(model, (rows - rows.mean(axis=0)) / rows.std(axis=0), actual, cv=FOLDS))))


def _line(name: str, errors: Array) -> None:
    if "90 %" in name:
        held = np.isfinite(errors)
        say(f"{name:44} coverage {100 * held.mean():.1f} %, median width x{np.exp(np.nanmedian(errors)):.2f}")
    else:
        say(f"{name:44} median {100 * np.median(errors):5.1f}  p90 {100 * np.quantile(errors, 0.9):5.1f}")


def _columns(members: Sequence[dict[str, str]]) -> dict[str, Array]:
    return {name: np.array([float(row[column]) for row in members]) for name, column in PARAMETERS.items()}


def _headings(path: Path) -> set[str]:
    with path.open(newline="") as lines:
        return set(next(csv.reader(lines), ()))


def _positive(text: str) -> bool:
    return bool(text) and float(text) > 0


def _network(row: dict[str, str]) -> str:
    return row["model"]


def _family(row: dict[str, str]) -> str:
    return "".join(takewhile(str.isalpha, row["model"]))


def _key(row: dict[str, str]) -> str:
    return f"{row['model']}@{row['img']}"
