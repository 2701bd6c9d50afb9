"""Say in words what a prediction is based on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from modak.perfmodel.fitting.curves import Curve
from modak.perfmodel.fitting.forms import FORMS
from modak.perfmodel.fitting.startup import LENGTHS
from modak.perfmodel.matching.layouts import COUNTS
from modak.perfmodel.matching.magnitudes import magnitude
from modak.perfmodel.matching.questions import unlike_attributes
from modak.perfmodel.predict import FAR_DOUBLINGS
from modak.perfmodel.predictions import Predictions
from modak.results.filters import PARAMETER
from modak.text.amounts import counted, format_duration, join_names

A_GUESS: Final = "treat the time as a guess, and measure sizes in between first"
"""Said of a time that is more than :data:`FAR_DOUBLINGS` away from what was measured."""
MOST_SAID: Final = 3
"""If there are more relatives, only the number of the others is given."""


def describe(curve: Curve | None) -> str | None:
    """The model behind a prediction, in words: the number of forms and sizes, and the three forms with the largest weights."""
    if curve is None:
        return None
    if curve.estimated:
        return curve.estimated.model
    weights = sorted(zip(curve.mixture.outside, FORMS, strict=True), key=lambda pair: -pair[0])
    most = ", ".join(f"{form.name} {100 * weight:.0f}%" for weight, form in weights[:3])
    span = " to ".join(f"{size:g}" for size in dict.fromkeys((curve.sizes[0], curve.sizes[-1])))
    return f"{len(FORMS)} forms over {counted(len(curve.sizes), 'size')} ({curve.scale} {span}): {most}"


def transfer_source(found: Predictions, curves: Sequence[Curve]) -> str:
    """The source of a transferred prediction: how its results differ from the question, and which relatives contributed."""
    if found.curve is None or found.curve.estimated:
        return ""
    nearest = {series: place for place, series in reversed(tuple(enumerate(found.others)))}
    relatives = [curve for curve in curves if curve is not found.curve and curve.measured in nearest]
    relatives.sort(key=lambda curve: nearest[curve.measured])
    far = f", {found.problem_doublings:.1f} doublings outside of them" if found.problem_doublings > FAR_DOUBLINGS else ""
    trend = f"the trend over {found.problem_sizes} {_varied([found.curve, *relatives])}{far}, the nearest"
    source = trend if found.problem_sizes else "results"
    parts = [f"from {source} with {_said(found.curve, found.differences)}"] if found.differences else []
    if relatives:
        said = list(dict.fromkeys(_said(curve, _apart(curve, found.curve)) for curve in relatives))
        parts.append(f"{'together ' if parts else ''}with those of {join_names(said, MOST_SAID, '; ')}")
    return "".join(f"; {part}" for part in parts)


def _varied(curves: Sequence[Curve]) -> str:
    """Over what a trend is: the numbers among the parameters in which results of curves differ. Tables do not tell a problem's size from a
    setting."""
    values: dict[str, set[float | None]] = {}
    for name, text in (pair for curve in curves for pair in curve.series.params.items()):
        values.setdefault(name, set()).add(magnitude(text))
    names = [PARAMETER + name for name, each in values.items() if None not in each and len(each) > 1 and name not in LENGTHS]
    return f"{'values' if len(names) == 1 else 'combinations'} of {join_names(names, MOST_SAID)}" if names else "problem sizes"


def of_open(found: Predictions, several: Mapping[str, int]) -> str:
    """The data set and parameters of a prediction, of those that the row leaves open although there are ``several``."""
    if found.curve is None:
        return ""
    series = found.curve.series
    of = {name: series.dataset if name == "dataset" else series.params.get(name.removeprefix(PARAMETER)) for name in several}
    said = (
        f"of {name} {value}, one of {several[name]} that the row may mean" if value else f"of results that name no {name}, either"
        for name, value in of.items()
    )
    return "".join(f"; {part}" for part in said)


def of_stop(least: float) -> str:
    """What a run that was stopped tells of a prediction: that it takes longer than ``least`` seconds; nothing for 0."""
    return f"; more than {format_duration(least)} by a stopped run" if least else ""


def of_system(found: Predictions, asked: str | None) -> str:
    """The system of a prediction, if the row asks for none."""
    system = found.curve.series.system if found.curve and not asked else None
    return f"; measured on {system}" if system else ""


def _apart(curve: Curve, other: Curve) -> tuple[str, ...]:
    """Attributes and counts in which two curves differ."""
    return (*unlike_attributes(curve, other), *(name for name in COUNTS if _count_of(curve, name) != _count_of(other, name)))


def _said(curve: Curve, names: Sequence[str]) -> str:
    """What the results of a curve say of these attributes and counts: ``system here, params.n 2000``."""
    parts = []
    for name in names:
        value = _count_of(curve, name) if name in COUNTS else getattr(curve.series, name)
        of_name = {f"{name}.{key}": each for key, each in value.items()} if isinstance(value, Mapping) and value else {name: value}
        parts += [f"{key} {'unknown' if each in (None, {}) else each}" for key, each in of_name.items()]
    return ", ".join(parts)


def _count_of(curve: Curve, name: str) -> int | str | None:
    per_gpu = curve.ranks_per_gpu if name == "ranks_per_node" else None
    return f"{per_gpu:g} per GPU" if per_gpu else getattr(curve.layout, name)
