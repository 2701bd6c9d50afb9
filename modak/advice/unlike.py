"""How the results behind a time differ from the run, as sentences: why it is transferred, and what would make it surer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from modak.choosing.chosen import Chosen
from modak.choosing.problem import unmeasured
from modak.facts import parameter, parameters
from modak.perfmodel import Curve
from modak.perfmodel.fitting.startup import SAMPLES, samples_of
from modak.perfmodel.matching.dissimilarity import of_another_count
from modak.perfmodel.matching.layouts import COUNTS
from modak.perfmodel.matching.magnitudes import magnitude
from modak.perfmodel.predict import FAR_DOUBLINGS
from modak.perfmodel.wording import A_GUESS
from modak.results.filters import PARAMETER
from modak.results.metrics import metric_of


def differences(chosen: Chosen) -> Iterator[str]:
    """A sentence for each kind of difference: the size of the problem, what keeps a time from its trend, other values, and what the results
    do not state."""
    curve = chosen.curve
    if curve is None:
        return
    stated = {name: getattr(curve.series, name) for name in chosen.differences}
    if chosen.problem_sizes:
        yield _trend(chosen, curve, stated.pop("params"))
    yield from _hidden_trend(chosen)
    yield from _no_sizes(chosen, curve.series.params)
    known = {name: value for name, value in stated.items() if value is not None and value != {}}
    if other := [*(f"{name} {_said(value)}" for name, value in known.items()), *_other_layout(chosen, curve)]:
        yield f"the results differ from this run, so the interval is wider: {', '.join(other)}{_unscaled(chosen, curve, stated)}"
    asked = {"params": [PARAMETER + name for name in chosen.request.optimisation.workload.named]}
    if silent := [column for name in stated if name not in known for column in asked.get(name, [name])]:
        unsaid = f"the results do not state {', '.join(silent)}, so the interval is wider"
        yield f"{unsaid}: if it is known, {loaded_again(*silent)}"


def loaded_again(*columns: str, **values: str) -> str:
    """How what results do not state is filled in. What a file was read with before holds no more then: it is given again, too."""
    options = " ".join((*(f"--set {name}=…" for name in columns), *(f"--set {name}={value}" for name, value in values.items())))
    return f"load them again, if they are yours, with 'modak load FILE {options} --replace' and the earlier options of that file, if any"


def _trend(chosen: Chosen, curve: Curve, nearest: Mapping[str, str]) -> str:
    """That the time follows a trend over problem sizes, of which the ``nearest`` has these parameters."""
    sizes = f"{chosen.problem_sizes} measured ones, the nearest with {_said(nearest)}"
    far = f"; it is more than {FAR_DOUBLINGS:g} doublings outside of them: {A_GUESS}"
    guess = far if chosen.problem_doublings > FAR_DOUBLINGS else ""
    return f"this {unmeasured(chosen.request, curve)} was not measured: the time follows the trend over {sizes}{guess}"


def _hidden_trend(chosen: Chosen) -> Iterator[str]:
    """That the data set, or a text among the parameters, keeps the time from following the trend over problem sizes."""
    if not chosen.hides_trend:
        return
    work = chosen.request.optimisation.workload
    values = {"dataset": work.dataset} | {PARAMETER + name: value for name, value in work.params.items()}
    names = " and ".join(f"workload.{name} {values[name]!r}" for name in chosen.hides_trend)
    one = len(chosen.hides_trend) == 1
    how = "if it only names the size, leave it out" if one else "if they only name the size, leave them out"
    follow = f"because of {names} the time does not follow the trend over problem sizes, which were measured with others"
    yield f"{follow}: {how}, or measure three sizes, each with a name of its own"


def _no_sizes(chosen: Chosen, there: Mapping[str, str]) -> Iterator[str]:
    """Numbers of the request that cannot be sizes of its problem, where results have sizes: ``there`` are their parameters."""
    asked = parameters(chosen.request.optimisation.workload.named)
    for name, text in asked.items():
        if magnitude(there.get(name)) and magnitude(text) is None and _is_number(text):
            follow = "the time does not follow the trend over problem sizes"
            yield f"workload.params.{name} {text} is no size, so {follow}: a size is a number above 0 and up to 1e30"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _other_layout(chosen: Chosen, curve: Curve) -> Iterator[str]:
    """In what the layout of the results differs from that of the run."""
    shape, there = chosen.shape, curve.layout_on(chosen.shape.gpus_per_node)
    pairs = [(name, getattr(there, name), getattr(shape.layout, name)) for name in COUNTS]
    apart = {name: measured for name, measured, planned in pairs if measured and planned and measured != planned}
    if apart.keys() - {"batch_size"} or _of_unmeasured_count(chosen, curve):
        yield f"layouts other than {shape.ranks_per_node}x{shape.threads_per_rank}"
    if "batch_size" in apart:
        yield f"batch_size {apart['batch_size']}"
    if curve.on_gpus is not None and curve.on_gpus != (shape.gpus_per_node > 0):
        yield "on GPUs" if curve.on_gpus else "without GPUs"


def _of_unmeasured_count(chosen: Chosen, curve: Curve) -> bool:
    """Whether a time is transferred to a number of ranks or threads that the curve behind it was not measured with."""
    return curve.scale != "gpus" and chosen.prediction.basis == "transferred" and of_another_count(curve, chosen.shape.layout)


def _unscaled(chosen: Chosen, curve: Curve, stated: Mapping[str, object]) -> str:
    """That a time of another data set or problem is taken as it is: a larger one takes longer. A rate does not depend on its size."""
    things = [thing for name, thing in (("dataset", "data set"), ("params", "problem")) if stated.get(name)]
    samples, per = chosen.request.optimisation.workload.samples, metric_of(curve.series).per
    if not things or per not in ("epoch", "step", "run"):
        return ""
    if samples and per == "epoch" and "dataset" in stated:
        if measured := samples_of(curve.series):
            return f"; their time is scaled from {parameter(measured)} samples per epoch to {parameter(samples)}, as if each took as long"
        how = f"results that give their own number (params.{SAMPLES}), or a throughput, are"
        return f"; their time is not scaled to the {parameter(samples)} samples of an epoch: {how}"
    return f"; their time is not scaled to the size of this {' or '.join(things)}"


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
