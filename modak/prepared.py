"""Facts with indexes of images and rules and with caches of results. Created once for each version of the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Final, TypeVar

from modak.cache import Cache
from modak.facts import DoubtedResults, Facts, FailedRuns, Result, canonical_name, own_names
from modak.images.selection import Catalogue, catalogue
from modak.perfmodel import Curve
from modak.perfmodel.fitting import startup
from modak.results.metrics import Metric, metric_of, work_unit
from modak.rules import Rulebook, rulebook

INDEXES: Final = ("catalogue", "catalogues", "own_names", "rulebook", "systems_by_name", "targets")
"""What depends on knowledge alone, so that facts with other models and results share it."""
Measured = TypeVar("Measured", Curve, DoubtedResults, FailedRuns, Result)


@dataclass(frozen=True)
class Prepared(Facts):
    """Facts, with what is computed from them on first use. Each has caches of its own, also one that ``dataclasses.replace`` makes."""

    models: tuple[Curve, ...] = ()
    """Fitted curves of the application that is asked about."""
    catalogues: Cache = field(init=False, compare=False, default_factory=partial(Cache, 16))
    """Catalogues of sites that allow some images only."""
    targets: Cache = field(init=False, compare=False, default_factory=partial(Cache, 512))
    """Resolved targets."""
    questions: Cache = field(init=False, compare=False, default_factory=partial(Cache, 512))
    """One object for each question to the models, so that keys of other caches need not compare all of its parts."""
    candidates: Cache = field(init=False, compare=False, default_factory=partial(Cache, 512))
    """Candidates of requests that give their number of nodes."""
    columns: Cache = field(init=False, compare=False, default_factory=partial(Cache, 512))
    """Predictions of all candidates of a request."""
    blocks: Cache = field(init=False, compare=False, default_factory=partial(Cache, 512))
    """Predictions of all shapes for a block of node counts, for requests that give their number of nodes."""
    missing: Cache = field(init=False, compare=False, default_factory=partial(Cache, 512))
    """Graph compilers that no suitable image has."""
    software: Cache = field(init=False, compare=False, default_factory=partial(Cache, 1024))
    """Chosen images and rules."""
    configured: Cache = field(init=False, compare=False, default_factory=partial(Cache, 512))
    """What the jobs of a configuration have in common, most of which is the same for all numbers of nodes above one."""

    @cached_property
    def catalogue(self) -> Catalogue:
        """The images, indexed for selection."""
        return catalogue(self.images)

    def catalogue_of(self, allowed: tuple[str, ...]) -> Catalogue:
        """The images whose references begin with one of these, indexed for selection; all, if none is given."""
        if not allowed:
            return self.catalogue
        return self.catalogues.get(allowed, lambda: catalogue(image for image in self.images if image.reference.startswith(allowed)))

    @cached_property
    def rulebook(self) -> Rulebook:
        """The rules, indexed for lookup."""
        return rulebook(self.rules)

    @cached_property
    def own_names(self) -> Mapping[str, str]:
        """Folded aliases of systems, and the names that mean the same: see :func:`modak.facts.own_names`."""
        return own_names(self.systems.values())

    def own_name(self, system: str | None) -> str | None:
        """The name of a system that may be called by an alias; the same text, if it is none."""
        return self.own_names.get(canonical_name(system), system) if system and self.own_names else system

    def with_own_names(self, measured: Iterable[Measured]) -> tuple[Measured, ...]:
        """What was measured on systems that results call by an alias, under the names that requests are answered with."""
        return tuple([self._with_own_name(one) for one in measured])

    def _with_own_name(self, one: Measured) -> Measured:
        name = self.own_name(one.series.system)
        return one if name == one.series.system else one.model_copy(update={"series": one.series.model_copy(update={"system": name})})

    @cached_property
    def measured(self) -> tuple[Curve, ...]:
        """The curves of measured runs, without estimated ones."""
        return tuple(curve for curve in self.models if curve.estimated is None)

    @cached_property
    def ran_on_gpus(self) -> frozenset[tuple[str, str | None]]:
        """Systems on which all measured runs used GPUs: pairs of the system's folded name and the partition of a run. Runs on nodes without
        GPUs used none, whether they say so or not."""
        measured = {(canonical_name(curve.series.system), curve.series.partition, curve.on_gpus) for curve in self.measured}
        with_them = {(system, partition) for system, partition, on_gpus in measured if on_gpus}
        bare = self._without_gpus() if with_them else set()
        without = {name for name, partition, on_gpus in measured if on_gpus is False or (on_gpus is None and (name, partition) in bare)}
        return frozenset(place for place in with_them if place[0] not in without)

    def _without_gpus(self) -> set[tuple[str, str | None]]:
        """Partitions whose nodes have no GPUs: pairs of a system's folded name and a name of the partition."""
        bare = [(system, part) for system in self.systems.values() for part in system.partitions if not part.node.accelerators]
        return {(name, called) for system, part in bare for name in system.folded_names for called in part.scheduler_names}

    @cached_property
    def threads_of_node(self) -> frozenset[tuple[str, str | None, int]]:
        """The threads (ranks times threads per rank) that measured runs had on a node: with the system's folded name and the partition."""
        measured = ((curve.series, curve.layout) for curve in self.measured)
        return frozenset(
            (canonical_name(series.system), series.partition, (layout.ranks_per_node or 1) * (layout.threads_per_rank or 1))
            for series, layout in measured
        )

    @cached_property
    def only_on_gpus(self) -> bool:
        """Whether all measured runs, on any system, are known to have used GPUs."""
        return bool(self.measured) and all(curve.on_gpus for curve in self.measured)

    @cached_property
    def datasets(self) -> frozenset[str]:
        """The data sets of measured runs."""
        return frozenset(curve.series.dataset for curve in self.measured if curve.series.dataset)

    @cached_property
    def parameter_names(self) -> frozenset[str]:
        """The parameters that measured runs state."""
        return frozenset(name for curve in self.measured for name in curve.series.params)

    @cached_property
    def names_images(self) -> bool:
        """Whether any results name the image that they ran in."""
        return any(curve.series.image for curve in self.models)

    @cached_property
    def lengths(self) -> Mapping[str, Sequence[float]]:
        """Lengths of measured whole runs in ascending order, by unit (``epochs``, ``steps``, …); only units with several lengths."""
        series = [curve.series for curve in self.measured]
        measured = [startup.lengths(one.params) for one in series if startup.is_whole(one)]
        known: dict[str, set[float]] = {}
        for one in measured:
            for name, length in one.items():
                known.setdefault(name, set()).add(length)
        return {name: sorted(lengths) for name, lengths in sorted(known.items()) if len(lengths) > 1}

    @cached_property
    def needing_more(self) -> tuple[Metric, ...]:
        """Measured metrics that give a time only if the request states its amount of work, sorted by name."""
        metrics = {metric_of(curve.series) for curve in self.measured}
        needing = (one for one in metrics if one.per == "sample" or (one.per is None and work_unit(one)))
        return tuple(sorted(needing, key=attrgetter("name", "unit")))

    @cached_property
    def measured_on(self) -> tuple[str | None, ...]:
        """The systems of the application's results, sorted; ``None``, at the end: some name no system."""
        found = {curve.series.system for curve in self.measured}
        return tuple(sorted(found, key=lambda name: (name is None, name or "")))

    def changed(self, **values: Any) -> Prepared:
        """The same knowledge of another version, or with other evidence (fields of :class:`Facts`); the indexes of knowledge are shared."""
        other = Prepared(**{each.name: getattr(self, each.name) for each in fields(Facts)} | values)
        vars(other).update({name: getattr(self, name) for name in INDEXES})
        return other

    def build_indexes(self) -> None:
        """Compute the indexes of knowledge now, which otherwise happens on first use."""
        for name in INDEXES:
            getattr(self, name)


def prepared(facts: Facts) -> Prepared:
    """The facts themselves if they are prepared already, else new prepared ones."""
    if isinstance(facts, Prepared):
        return facts
    return Prepared(**{each.name: getattr(facts, each.name) for each in fields(Facts)})
