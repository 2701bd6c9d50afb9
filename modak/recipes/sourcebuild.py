"""Source builds: the compiler's flags for the target processor, and what a framework plug-in has to know."""

from __future__ import annotations

from modak.errors import RequestError, unknown
from modak.frameworks.base import SourceBuild, Toolchain
from modak.recipes.plan import Recipe


def compiler_flags(made: Recipe, row: Toolchain) -> tuple[str, ...]:
    """The compiler's flags for the target processor, or for its nearest ancestor that the row's compiler knows.

    Raises :class:`modak.errors.RequestError` for a processor that is not of the recipe's architecture.
    """
    if made.microarchitecture is None or made.variant != "opt-build":
        return ()
    import archspec.cpu

    known = archspec.cpu.TARGETS
    target = known.get(made.microarchitecture)
    if target is None or str(target.family) != made.architecture:
        same = [name for name in known if str(known[name].family) == made.architecture]
        raise RequestError(unknown(f"{made.architecture} processor", made.microarchitecture, same), field="microarchitecture")
    for each in (target, *sorted(target.ancestors, key=lambda item: -len(item.ancestors))):
        try:
            return tuple(each.optimization_flags(*row.compiler).split())
        except archspec.cpu.UnsupportedMicroarchitecture:
            continue
    return ()


def source_build(made: Recipe, row: Toolchain) -> SourceBuild:
    """What the framework plug-in has to compile."""
    nvidia = made.accelerator == "nvidia"
    return SourceBuild(made.version, row, compiler_flags(made, row), nvidia, made.compute_capability, made.architecture, made.add_ons)
