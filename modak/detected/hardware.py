"""Processors and accelerators: the known ones by model, or new entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from modak.detected.seen import SeenGpu, SeenProcessor, plain
from modak.facts import Accelerator, Processor, Source

_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9._+-]{0,63}")
_VENDORS: Final[Mapping[str, Literal["intel", "amd", "arm"]]] = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}
_NOISE: Final = re.compile(r"\((?:r|tm|c)\)|@.*|\b(?:cpu|processor|with radeon graphics|[0-9]{1,3}-core)\b", re.IGNORECASE)
_BRANDS: Final = re.compile(r"\b(?:nvidia|tesla|geforce|quadro|amd|instinct|radeon|intel|data center gpu)\b", re.IGNORECASE)


def processor(seen: SeenProcessor, known: Mapping[str, Processor], citation: str) -> Processor | None:
    """The known processor of that model, or a new entry; ``None`` where vendor or microarchitecture cannot be determined."""
    words = _words(seen.model)
    same = next((one for _, one in sorted(known.items()) if _words(one.model.partition(" (")[0]) == words), None)
    if same:
        return same
    vendor, target = vendor_of(seen.architecture, seen.vendor), microarchitecture(seen)
    slug = "-".join(words[1:] if words[:1] == [vendor] else words)
    if vendor is None or target is None or not _SLUG.fullmatch(slug):
        return None
    figures = {"cores": seen.cores_per_socket, "threads_per_core": seen.threads_per_core}
    given = {name: value for name, value in figures.items() if value}
    model = {"name": _free(slug, known), "vendor": vendor, "model": " ".join(_clean(seen.model).split()), "microarchitecture": target}
    source = Source(fields=("model", "microarchitecture", *given), citation=citation)
    return Processor.model_validate({**model, **given, "sources": (source,)})


def accelerator(seen: SeenGpu, known: Mapping[str, Accelerator], citation: str) -> Accelerator | None:
    """The known accelerator of that model, or a new entry."""
    same = next((one for _, one in sorted(known.items()) if _folded(one.model) == _folded(seen.model)), None)
    if same:
        return same
    slug = "-".join(re.findall(r"[a-z0-9.]+", _BRANDS.sub(" ", seen.model.lower())))
    if not _SLUG.fullmatch(slug):
        return None
    model = seen.model if seen.vendor != "nvidia" or "nvidia" in seen.model.lower() else f"NVIDIA {seen.model}"
    figures = {"compute_capability": seen.compute_capability, "memory_gb": seen.memory_gb}
    given = {name: value for name, value in figures.items() if value}
    source = Source(fields=("model", *given), citation=citation)
    return Accelerator.model_validate({"name": _free(slug, known), "vendor": seen.vendor, "model": model, **given, "sources": (source,)})


def of_type(kind: str | None, known: Mapping[str, Accelerator]) -> tuple[Accelerator | None, tuple[str, ...]]:
    """The known accelerator with the scheduler's name of a GPU type; and the names of all that begin like it."""
    word = _folded((kind or "").replace("_", " "))
    same = next((one for name, one in sorted(known.items()) if word and word in (_folded(name), _folded(one.model))), None)
    return same, tuple(name for name in sorted(known) if len(word) > 1 and _folded(name).startswith(word))


def microarchitecture(seen: SeenProcessor) -> str | None:
    """The archspec target of a processor, found as archspec does on the machine itself; ``None`` for an unknown architecture."""
    import archspec.cpu

    known = archspec.cpu.TARGETS
    root = known.get(seen.architecture)
    if root is None:
        return None
    flags = seen.flags | ({"sse3"} if "pni" in seen.flags else set())
    power = re.search(r"POWER([0-9]{1,2})", seen.model)
    generation = int(power[1]) if power else 0
    able = [one for one in known.values() if one.family == root and one.features <= flags and one.generation <= generation]
    fitting = [one for one in able if one.vendor in (seen.vendor, "generic", "IBM")]
    if seen.architecture != "x86_64":  # elsewhere a generic target is a level of the architecture that flags do not tell
        fitting = [one for one in fitting if one == root or one.vendor != "generic"]
    generic = max((one for one in fitting if one.vendor == "generic"), key=_depth, default=root)
    return str(max((one for one in fitting if one > generic), key=_depth, default=generic).name)


def _depth(target: object) -> tuple[int, int]:
    return len(getattr(target, "ancestors", ())), len(getattr(target, "features", ()))


def vendor_of(architecture: str, cpu_id: str) -> Literal["intel", "amd", "arm", "ibm"] | None:
    """The vendor of a processor, of x86 by what the processor calls it (``GenuineIntel``); ``None``: unknown."""
    if architecture == "aarch64":
        return "arm"
    return "ibm" if architecture.startswith("ppc64") else _VENDORS.get(cpu_id)


def _clean(model: str) -> str:
    return _NOISE.sub(" ", plain(model))


def _words(model: str) -> list[str]:
    return re.findall(r"[a-z0-9.+]+", _clean(model).lower().replace("-v", " v"))


def _folded(name: str) -> str:
    return "".join(re.findall(r"[a-z0-9]", _BRANDS.sub("", name.lower())))


def _free(slug: str, taken: Iterable[str]) -> str:
    """The name, or if another model has it the name with a number."""
    names = set(taken)
    numbered = (f"{slug[:60]}-{number}" for number in range(2, len(names) + 3))
    return slug if slug not in names else next(name for name in numbered if name not in names)
