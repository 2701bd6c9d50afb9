"""What-ifs: change fields of a request, and compare the choices for two requests. Documents are JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from modak.errors import RequestError, unknown
from modak.text.amounts import counted
from modak.text.choices import AMOUNTS
from modak.text.documents import with_value

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "system": ("target", "name"),
    "partition": ("job_options", "partition"),
    "nodes": ("job_options", "node_count"),
    "ranks": ("job_options", "process_count_per_node"),
    "threads": ("application", "threads"),
    "cores": ("job_options", "core_count"),
    "gpus": ("job_options", "request_gpus"),
    "objective": ("optimisation", "objective", "minimise"),
    "deadline": ("optimisation", "objective", "deadline"),
    "max_nodes": ("optimisation", "objective", "max_nodes"),
    "min_efficiency": ("optimisation", "objective", "min_efficiency"),
    "budget_node_hours": ("optimisation", "objective", "budget_node_hours"),
    "confidence": ("optimisation", "objective", "confidence"),
    "epochs": ("optimisation", "workload", "epochs"),
    "steps": ("optimisation", "workload", "steps"),
    "amount": ("optimisation", "workload", "amount"),
    "batch_size": ("optimisation", "workload", "batch_size"),
    "precision": ("optimisation", "workload", "precision"),
    "compiler": ("optimisation", "workload", "compiler"),
    "opt_build": ("optimisation", "enable_opt_build"),
}
"""Short names of the fields that are changed most, with their paths in the job; ``params.NAME`` is one of the workload's; other fields are
given by their dotted path."""
_COUNTS: Final = (
    *map(NAMES.__getitem__, ("nodes", "ranks", "threads", "cores", "gpus")),
    ("application", "mpi_ranks"),
    ("optimisation", "objective"),
)
"""Paths of what may differ between two requests for the same run."""
WORDS: Final[Mapping[str, bool]] = {"true": True, "on": True, "false": False, "off": False}


def with_changes(document: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The request with each ``NAME=VALUE`` of the comma-separated text set in its job.

    Raises :class:`modak.errors.RequestError` for text of another form, unknown names and an unknown objective.

    >>> with_changes({"job": {}}, "nodes=8,system=zenith")
    {'job': {'job_options': {'node_count': 8}, 'target': {'name': 'zenith'}}}
    """
    for part in text.split(","):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not name or not value:
            raise RequestError(f"{part!r} is not of the form NAME=VALUE, for instance nodes=64,threads=12", field="--compare")
        path = NAMES.get(name) or (tuple(name.split(".")) if "." in name else None)
        if path is None:
            raise RequestError(unknown("name", name, (*NAMES, "params.NAME", "a field's dotted path")), field="--compare")
        if path == NAMES["objective"]:
            known_objective(value, "--compare")
        path = ("optimisation", "workload", *path) if path[0] == "params" else path
        document = with_value(document, ("job", *path), _value(value))
    return dict(document)


def known_objective(word: Any, field: str) -> Any:
    """The word. Raises :class:`modak.errors.RequestError` for one that is ignored, with a warning, where a document has it."""
    from modak.dsl import Objective
    from modak.normalise import normalise

    read = normalise({"job": {"optimisation": {"objective": {"minimise": word}}}})
    if read.request.optimisation.objective.minimise is None:
        raise RequestError(f"{word!r} is unknown; known: {', '.join(Objective.allowed('minimise'))}", field=field)
    return word


def against(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """How the second choice compares with the first: ratio of times with its interval, of node-hours, and of energy and cost where nodes
    differ in them; in training, number of workers.

    Choices are those of ``recommend``, as JSON. The two predictions are taken to err independently; if they err alike, the interval is
    wider than necessary.
    """
    if None in (one["prediction"].get("value"), other["prediction"].get("value")):
        return ("the times cannot be compared: one of them is unknown (basis: none)",)
    if one == other:
        return ("A and B lead to the same choice",)
    return _times(one, other), *_amounts(one, other), *_batches(one, other)


def _times(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The ratio of the times of two choices, with its interval."""
    first, second = one["prediction"], other["prediction"]
    ratio = second["value"] / first["value"]
    low, high = ratio / _apart(one, other), ratio * _apart(other, one)
    clear = "" if low > 1 or high < 1 else "; the interval includes 1, so either may be faster"
    rests = " and ".join(dict.fromkeys((first["basis"], second["basis"])))
    return f"B takes {ratio:.3g} x the time of A ({first['level']:.0%} interval {low:.3g} to {high:.3g}; {rests}){clear}"


def _amounts(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """The ratios of node-hours, and of what else they take where these are others."""
    ratios = {name: f"{other[key] / one[key]:.3g}" for name, (key, _) in AMOUNTS.items() if one.get(key) and other.get(key)}
    for name, said in ratios.items():
        if name == "node-hours" or said != ratios["node-hours"]:
            yield f"B takes {said} x the {name} of A"


def _batches(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """The global batches, or else the numbers of workers, if they differ in training."""
    batches = [choice["configuration"].get("global_batch") for choice in (one, other)]
    workers = [choice["configuration"].get("workers") for choice in (one, other)]
    training = any(batches) or any(choice["prediction"].get("per") == "epoch" for choice in (one, other))
    if all(batches) and batches[0] != batches[1]:
        yield f"B has a global batch of {batches[1]}, A of {batches[0]}: in training this changes what an epoch achieves"
    elif training and not all(batches) and None not in workers and workers[0] != workers[1]:
        told = f"B has {counted(workers[1], 'worker')}, A {workers[0]}"
        yield f"{told}: in training this changes the global batch, and what an epoch achieves"


def same_work(one: Any, other: Any) -> bool:
    """Whether two requests are for the same run and differ at most in counts and objective, so that one efficiency fits both.

    >>> same_work({"job": {"target": {"name": "a"}}}, with_changes({"job": {"target": {"name": "a"}}}, "nodes=4"))
    True
    """
    return bool(_without_counts(one) == _without_counts(other))


def _without_counts(document: Any) -> Any:
    for path in _COUNTS:
        document = with_value(document, ("job", *path), None)
    return document


def on_one_reference(answers: Sequence[Mapping[str, Any]], further: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """The best choice of each answer of ``recommend``, with efficiencies relative to the least work of these and ``further`` answers."""
    known = [answer["least_work"] for answer in (*answers, *further) if answer.get("least_work")]
    best = [dict(answer["choices"][0]) for answer in answers]
    for choice, answer in zip(best, answers, strict=True):
        if choice.get("efficiency") and answer.get("least_work"):
            choice["efficiency"] = round(choice["efficiency"] * min(known) / answer["least_work"], 4)
    return best


def _apart(slower: Mapping[str, Any], faster: Mapping[str, Any]) -> float:
    """The factor by which the ratio of two times may exceed the predicted one, by the upper and the lower end of their intervals."""
    late, early = slower["prediction"], faster["prediction"]
    return math.exp(math.hypot(math.log(late["upper"] / late["value"]), math.log(early["value"] / early["lower"])))


def _value(text: str) -> Any:
    """A switch, a number, or the text as it is.

    Text that a number would not be written as stays text: version 2.10 is not 2.1, and partition 007 is not 7.
    """
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if str(number) == text else text
    return text
