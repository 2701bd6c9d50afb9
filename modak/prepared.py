"""Prepared facts: indexes of images and rules, and cached results of computations. Created once for each version of the data."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from modak.cache import Cache
from modak.facts import Facts, Result
from modak.images.selection import Catalogue, catalogue
from modak.perfmodel import startup
from modak.perfmodel.matching import same_name
from modak.results.metrics import Metric, counted, metric
from modak.rules import Rulebook, rulebook

if TYPE_CHECKING:
    from modak.choosing.candidates import Candidates
    from modak.choosing.scoring import Columns, Shaped
    from modak.choosing.software import Software
    from modak.perfmodel import Curve
    from modak.target import Target

MOST_TARGETS, MOST_CANDIDATES, MOST_COLUMNS, MOST_BLOCKS, MOST_SOFTWARE = 512, 512, 512, 512, 1024


@dataclass(frozen=True)
class Prepared(Facts):
    """Facts, and what is worked out of them when it is first asked for."""

    @cached_property
    def catalogue(self) -> Catalogue:
        """The images, to be chosen from."""
        return catalogue(self.images)

    @cached_property
    def rulebook(self) -> Rulebook:
        """The rules, to be looked up."""
        return rulebook(self.rules)

    @cached_property
    def ran_on_gpus(self) -> frozenset[tuple[str, str | None]]:
        """Systems on which each run of the evidence had GPUs, by folded name, with the partitions that it ran in."""
        measured = [curve for curve in self.models if curve.told is None and curve.on_gpus is not None]
        without = {same_name(curve.series.system) for curve in measured if not curve.on_gpus}
        places = ((same_name(curve.series.system), curve.series.partition) for curve in measured)
        return frozenset(place for place in places if place[0] not in without)

    @cached_property
    def names_images(self) -> bool:
        """Whether results say in which images they ran."""
        return any(curve.series.image for curve in self.models)

    @cached_property
    def lengths(self) -> Mapping[str, Sequence[float]]:
        """How long whole runs were, by what counts, where those of several lengths were measured."""
        told = [startup.lengths(curve.series) for curve in self.models if curve.told is None and startup.is_whole(curve.series)]
        known = {name: sorted({one[name] for one in told if name in one}) for name in {name for one in told for name in one}}
        return {name: lengths for name, lengths in sorted(known.items()) if len(lengths) > 1}

    @cached_property
    def needing_more(self) -> tuple[Metric, ...]:
        """Metrics that were measured and tell a time only where the request says how much there is to do, by their names."""
        measured = {metric(curve.series.metric, curve.series.unit) for curve in self.models if curve.told is None}
        asking = (one for one in measured if one.per == "sample" or (one.per is None and counted(one)))
        return tuple(sorted(asking, key=attrgetter("name", "unit")))

    @cached_property
    def targets(self) -> Cache[Hashable, Target]:
        """Targets that were resolved."""
        return Cache(MOST_TARGETS)

    @cached_property
    def candidates(self) -> Cache[Hashable, Candidates]:
        """What can run, for requests that give their number of nodes."""
        return Cache(MOST_CANDIDATES)

    @cached_property
    def columns(self) -> Cache[Hashable, Columns]:
        """Predictions that were asked for."""
        return Cache(MOST_COLUMNS)

    @cached_property
    def blocks(self) -> Cache[Hashable, Shaped]:
        """Predictions of a shape at neighbouring sizes, for requests that give their own."""
        return Cache(MOST_BLOCKS)

    @cached_property
    def software(self) -> Cache[Hashable, Software]:
        """Images and rules that were chosen."""
        return Cache(MOST_SOFTWARE)

    def with_evidence(self, models: Sequence[Curve], tried: Sequence[Result] = ()) -> Prepared:
        """The same knowledge with other evidence (as in :class:`Facts`); the indexes are shared."""
        return self._with({"models": tuple(models), "tried": tuple(tried)})

    def as_of(self, version: str) -> Prepared:
        """The same knowledge, without evidence, where it is still what is known at another version of the data."""
        return self._with({"version": version, "models": (), "tried": ()})

    def _with(self, changed: dict[str, Any]) -> Prepared:
        other = Prepared(**{each.name: getattr(self, each.name) for each in fields(Facts)} | changed)
        vars(other).update(catalogue=self.catalogue, rulebook=self.rulebook, targets=self.targets)
        return other


def prepared(facts: Facts) -> Prepared:
    """The facts as they are, if they are prepared; else prepared for this once."""
    if isinstance(facts, Prepared):
        return facts
    return Prepared(**{each.name: getattr(facts, each.name) for each in fields(Facts)})
