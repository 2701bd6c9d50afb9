"""Reads the text input of CRESTA's autotuner.

The grammar follows the examples that came with the tuner (project CRESTA, work package 3; a copy lies in the published MODAK's repository,
`Performance-Model/cresta-tune/examples`): sections ``begin NAME`` … ``end NAME``, one statement a line, ``!`` starts a comment.
Parameters become environment variables of the same names, which the run command may use. Unsupported statements are refused, with
their line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from modak import dsl
from modak.errors import Fault, RequestError
from modak.text import words
from modak.text.faults import faults_of
from modak.tuning.space import MOST_VALUES

FIELD: Final = "optimisation.autotuning.input"
SUPPORTED: Final = (
    "supported: 'begin configuration' with 'begin tune' (mode: tune, scope, target: min|max, metric-source: runtime|stdout, "
    "metric-regexp), 'begin parameters' with 'begin typing' (int, real, label NAME) and 'begin constraints' (range NAME a,b,c | m-n | "
    "m:n:k, default VALUE; depends), and 'begin run' (command)"
)
_STATEMENT: Final = re.compile(r"([A-Za-z][A-Za-z-]*):?\s*(.*)")
_ITEMS: Final = re.compile(r"\"[^\"]*\"|'[^']*'|[^,\s]+")
_COUNTED: Final = re.compile(r"(-?[0-9]+)(?:-|:)([0-9]+)(?::([0-9]+))?")
_EMPTY: Final = ("", "true", "echo")


@dataclass(frozen=True)
class Statement:
    """A statement: its number in the text, the sections that it stands in, its first word and the rest."""

    number: int
    place: str
    name: str
    rest: str


@dataclass(frozen=True)
class Cresta:
    """The content of a text. ``metric`` ``None``: the run's time; ``command`` empty: none is given."""

    space: dsl.Space
    setting: dsl.Setting
    command: tuple[words.Word, ...] = ()
    metric: dsl.PrintedMetric | None = None


def read(text: str) -> Cresta:
    """Parameters, metric and run command of a text.

    Raises :class:`modak.errors.RequestError` with a fault a line, and what is supported.
    """
    faults: list[Fault] = []
    lines = list(_lines(text, faults))
    types = {line.rest: line.name for line in lines if line.place == "parameters.typing"}
    tune = {line.name: line.rest for line in lines if line.place == "configuration.tune"}
    faults += [fault for line in lines if (fault := _unsupported(line, types))]
    found = _parameters(lines, types, tune.get("scope", " ".join(types)).split(), faults)
    metric = _metric(tune, faults)
    if not found and not faults:
        faults.append(_fault(0, "no parameter is named"))
    if faults:
        raise RequestError(faults=[*faults, Fault(FIELD, SUPPORTED)])
    values = {name: possible for name, (possible, _) in found.items()}
    defaults = {name: default for name, (_, default) in found.items() if default is not None}
    return _checked(values, defaults, _command(lines, values), metric)


def _lines(text: str, faults: list[Fault]) -> Iterator[Statement]:
    place: list[str] = []
    for number, raw in enumerate(text.splitlines(), 1):
        bare = raw.strip()
        if not bare or bare.startswith("!"):
            continue
        found = _STATEMENT.fullmatch(bare)
        if found is None:
            faults.append(_fault(number, f"{bare!a:.60} is no statement"))
        elif found[1] == "begin":
            place.append(found[2])
        elif found[1] == "end":
            if not place or place.pop() != found[2]:
                faults.append(_fault(number, f"'end {found[2]:.30}' ends no section that is open: write 'end NAME'"))
        else:
            yield Statement(number, ".".join(place), found[1], found[2])
    if place:
        faults.append(_fault(0, f"'begin {place[-1]:.30}' is not ended"))


_KNOWN: Final = {
    "configuration.tune": {"mode", "scope", "target", "metric-source", "metric-placement", "metric-regexp"},
    "parameters.typing": {"int", "real", "label"},
    "parameters.constraints": {"range", "depends"},
    "build": {"command"},
    "run": {"command"},
}


def _unsupported(line: Statement, types: dict[str, str]) -> Fault | None:
    """The fault of a statement that is not supported, or not in its section; ``None``: it is."""
    if line.name not in _KNOWN.get(line.place, ()):
        return _fault(line.number, f"'{line.name:.30}' in section {line.place or 'none'!r} is not supported")
    if line.name == "mode" and line.rest != "tune":
        return _fault(line.number, f"mode {line.rest!a:.30} is not supported")
    if line.place == "build" and any(f"${name}" in line.rest for name in types):
        return _fault(line.number, "parameters of the build are not supported: every trial runs the same program")
    return None


Range = tuple[tuple[dsl.Value, ...], dsl.Value | None]
"""The values of a parameter, and its default; ``None``: it has none."""


def _parameters(lines: list[Statement], types: dict[str, str], scope: list[str], faults: list[Fault]) -> dict[str, Range]:
    """The parameters of the scope; a fault is added for each one without a type or a range."""
    ranged = (line for line in lines if line.name == "range" and line.place == "parameters.constraints")
    ranges = {name: line for line in ranged for name in line.rest.split()[:1]}
    known = types.keys() & ranges.keys()
    faults += [_fault(0, f"{name} is in the scope and has no type and range") for name in scope if name not in known]
    return {name: _range(ranges[name], types[name], faults) for name in scope if name in known}


def _range(line: Statement, kind: str, faults: list[Fault]) -> Range:
    """What ``range NAME …`` says. A fault is added to ``faults``."""
    said, _, default = line.rest.partition(" default ")
    text = (*said.split(maxsplit=1), "", "")[1].strip()
    try:
        values = _values(text, kind)
    except ValueError:
        faults.append(_fault(line.number, f"{text!a:.60} is no range of {kind}s of at most {MOST_VALUES} values"))
        return (), None
    try:
        return values, _value(default.strip(), kind) if default else None
    except ValueError:
        faults.append(_fault(line.number, f"the default {default.strip()!a:.60} is no {kind}"))
        return values, None


def _values(text: str, kind: str) -> tuple[dsl.Value, ...]:
    """The values of ``m-n``, ``m:n:k`` or a list. Raises ``ValueError`` for what is not of that kind, or too long."""
    counted = _COUNTED.fullmatch(text) if kind == "int" else None
    if counted is None:
        return tuple(_value(item, kind) for item in _ITEMS.findall(text))
    low, high, step = int(counted[1]), int(counted[2]), int(counted[3] or 1)
    if step < 1 or low > high or (high - low) // step >= MOST_VALUES:
        raise ValueError
    return tuple(range(low, high + 1, step))


def _value(text: str, kind: str) -> dsl.Value:
    """An ``int``, a ``real`` as Fortran writes it (``1d-3``), or a ``label``."""
    bare = text.strip("\"'")
    if kind == "int":
        return int(bare)
    return float(bare.replace("d", "e").replace("D", "e")) if kind == "real" else bare


def _metric(tune: dict[str, str], faults: list[Fault]) -> dsl.PrintedMetric | None:
    """The number that the program prints; ``None``: the metric is its run time. A fault is added to ``faults``."""
    source, target = tune.get("metric-source", "runtime"), tune.get("target", "min")
    if source == "runtime" and target == "min":
        return None
    if source != "stdout" or target not in ("min", "max"):
        faults.append(_fault(0, f"metric-source {source!a:.30} with target {target!a:.30} is not supported"))
        return None
    pattern = extended(tune.get("metric-regexp", ""))
    name, unit = ("throughput", "1/s") if target == "max" else ("step_time", "s")
    try:
        return dsl.PrintedMetric(name=name, unit=unit, pattern=pattern)
    except ValidationError as error:
        faults += [_fault(0, f"metric-regexp: {fault.message}") for fault in faults_of(error)]
        return None


def extended(pattern: str) -> str:
    r"""A Perl-like pattern as an extended regular expression; of Perl only ``\d``, ``\s``, ``\S``, ``\A`` and ``\Z`` are translated.

    >>> extended(r"(\d\S+)\s*\Z")
    '([0-9][^ ]+)[ ]*$'
    """
    for old, new in ((r"\d", "[0-9]"), (r"\s", "[ ]"), (r"\S", "[^ ]"), (r"\Z", "$"), (r"\A", "^")):
        pattern = pattern.replace(old, new)
    return pattern


def _command(lines: list[Statement], values: dict[str, tuple[dsl.Value, ...]]) -> tuple[words.Word, ...]:
    """The run command."""
    text = next((line.rest for line in lines if line.place == "run" and line.name == "command"), "")
    return () if text in _EMPTY else words.command(text, field=FIELD, names=tuple(values))


def _checked(values: dict[str, Any], defaults: dict[str, Any], command: tuple[words.Word, ...], metric: dsl.PrintedMetric | None) -> Cresta:
    try:
        return Cresta(dsl.Space(environment=values), dsl.Setting(environment=defaults), command, metric)
    except ValidationError as error:
        raise RequestError(faults=[*faults_of(error, FIELD), Fault(FIELD, SUPPORTED)]) from None


def _fault(number: int, message: str) -> Fault:
    return Fault(f"{FIELD}: line {number}" if number else FIELD, message)
