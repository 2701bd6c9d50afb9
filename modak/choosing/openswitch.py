"""Switches that a request sets to ``auto``: which they are, how they change a shape, and what GPUs are too old for.

A graph compiler, the precision and a build from source may be set to ``auto``. MPI inside or outside of a container and hyper-threads are
shapes of their own already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from packaging.version import Version

from modak.choosing.effects import OFF, SwitchPair
from modak.choosing.requirements import compiler_named, compilers, precision, switches
from modak.choosing.shapes import Shape
from modak.dsl import Notice, Request
from modak.facts import Accelerator, SeriesKey
from modak.perfmodel.fitting.precisions import CAPABILITY, USUAL_PRECISION, canonical_precision

BELOW_SINGLE: Final = ("amp", "fp16", "bf16", "tf32")
"""Precisions, in the spelling of :func:`canonical_precision`; ``auto`` chooses among these and ``fp32``."""
BUILD: Final = "opt-build"
BUILT: Final = "params.build"


@dataclass(frozen=True)
class OpenSwitch:
    """A switch set to ``auto``: the column of results that shows it, with its values, and how it changes a shape."""

    name: str
    """Its name in the answer."""
    column: str
    on: str
    off: str = OFF
    capability: str | None = None
    """The least compute capability of NVIDIA GPUs that support it; ``None``: any."""

    def unsupported(self, shape: Shape, accelerator: Accelerator | None) -> str | None:
        """Why the GPUs of a shape do not support it; ``None``: they do, or nothing is known of it, or the shape has no GPUs."""
        return _beyond(self.name, self.capability, accelerator if shape.gpus_per_node else None)

    def turned_on(self, shape: Shape) -> Shape:
        """The shape with the switch."""
        return replace(self._with(shape, self.on), inferred=(*shape.inferred, self.name))

    def turned_off(self, shape: Shape) -> Shape:
        """The shape without it."""
        return self._with(shape, None)

    def _with(self, shape: Shape, value: str | None) -> Shape:
        """The shape with a value in the column of the switch."""
        if self.column == "compiler":
            return replace(shape, compiler=value)
        return replace(shape, precision=value) if self.column == "precision" else replace(shape, opt_build=value is not None)

    def _value(self, shape: Shape) -> str | None:
        """What the shape has in the column of the switch."""
        if self.column == "compiler":
            return shape.compiler
        return canonical_precision(shape.precision) if self.column == "precision" else self.on if shape.opt_build else None

    def is_on(self, shape: Shape) -> bool:
        """Whether the shape has the switch on."""
        return self._value(shape) == self.on

    def is_on_in(self, series: SeriesKey) -> bool:
        """Whether results of a series are with the switch."""
        values = {
            "compiler": compiler_named(series.compiler),
            "precision": canonical_precision(series.precision),
            BUILT: series.params.get("build"),
        }
        return values[self.column] == self.on

    def excluded_by(self, shape: Shape) -> bool:
        """Whether the shape has a compiler, or a precision, already: that of the switch, or another one in its place."""
        return self._value(shape) not in (None, self.off)

    def tells_apart(self, one: Shape, other: Shape) -> bool:
        """Whether the shapes differ only in this switch: on in one, off in the other, with nothing else in its place."""
        without = other if self.is_on(one) else one
        return self.is_on(one) != self.is_on(other) and not self.excluded_by(without) and self._rest(one) == self._rest(other)

    def _rest(self, shape: Shape) -> Shape:
        """What runs in the shape beside the switch, wherever the shape comes from."""
        return replace(self.turned_off(shape), origin="topology")


@dataclass(frozen=True)
class SwitchEvidence:
    """An open switch with all pairs of results that show its effect."""

    switch: OpenSwitch
    pairs: tuple[SwitchPair, ...]


def left_open(request: Request) -> tuple[OpenSwitch, ...]:
    """The switches that the request sets to ``auto``."""
    said, optimisation = switches(request), request.optimisation
    graphs = [one for one in compilers(request) if said.get(one.name) == "auto"]
    reduced = BELOW_SINGLE if optimisation.workload.precision == "auto" else ()
    precisions = [OpenSwitch(name, "precision", name, USUAL_PRECISION, CAPABILITY.get(name)) for name in reduced]
    builds = [OpenSwitch(BUILD, BUILT, BUILD, "hub")] if optimisation.enable_opt_build == "auto" else []
    return (*(OpenSwitch(one.name, "compiler", one.name, capability=one.capability) for one in graphs), *precisions, *builds)


def _beyond(name: str, needed: str | None, accelerator: Accelerator | None) -> str | None:
    """That ``name`` needs a higher compute capability than the GPU has; ``None``: it does not, or one of them is not known."""
    has = accelerator.compute_capability if accelerator else None
    if accelerator is None or needed is None or has is None or Version(has) >= Version(needed):
        return None
    return f"{name} needs GPUs of compute capability {needed}, but {accelerator.name} has {has}"


def stated_beyond(request: Request, accelerator: Accelerator | None) -> tuple[Notice, ...]:
    """Warnings about a precision and graph compilers that the request states, and for which the GPUs of the job are too old."""
    asked, said = precision(request), switches(request)
    stated = [("workload.precision", asked, CAPABILITY.get(canonical_precision(asked) or ""))] if asked else []
    stated += [(f"options.{one.option}", one.name, one.capability) for one in compilers(request) if said.get(one.name) is True]
    found = ((field, _beyond(name, needed, accelerator)) for field, name, needed in stated)
    return tuple(Notice(field=f"optimisation.{field}", message=why) for field, why in found if why)
