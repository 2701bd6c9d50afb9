"""What the output of the probe means for the labels of an image.

:mod:`modak.images.probe` writes the probe, a program for the image's own shell; :mod:`modak.builds.verify` runs it. Here :func:`read_probe`
reads its output, :func:`hindrance` finds failures that are due to the machine, :func:`judge` compares the labels with the output, and
:func:`measured` makes labels from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from packaging.version import InvalidVersion, Version

from modak.errors import DataError
from modak.facts import ImageLabels
from modak.images.probe import MARK, UNDECIDED, Claims, inspection
from modak.text.amounts import printable
from modak.text.faults import validated
from modak.text.grammar import ESCAPES

Verdict = Literal["holds", "refuted", "unknown"]
_MPI: Final = {
    "openmpi": re.compile(r"Open MPI\)? v?([0-9][0-9.]*[0-9])"),
    "intel-mpi": re.compile(r"Intel\(R\) MPI Library(?:.{0,100}?Version)? ([0-9][0-9.]*)"),
    "mvapich": re.compile(r"MVAPICH2? Version:?\s+([0-9][0-9.]*[0-9])"),
    "mpich": re.compile(r"(?:MPICH|HYDRA build details:)\s*Version:?\s+([0-9][0-9.]*[0-9])"),
}
"""How each MPI library and its programs print its version. MVAPICH and Intel MPI also print MPICH's, so they come first."""
_BROKEN: Final = re.compile(r"/bin/sh: no such file|image format not recognized|unknown image type", re.IGNORECASE)
"""Messages of runtimes about an image that runs nowhere. Other messages may be due to the machine: no user namespaces, no FUSE, another
architecture, a kernel that does not know the compression."""
_MACHINE: Final = re.compile(r"No space left on device|Disk quota exceeded|[Cc]an(?:no|')t allocate memory|MemoryError|no end within")
"""Messages of checks that failed for lack of disk space, memory or time."""
LONGEST: Final = 300
"""Characters that a finding keeps of what an image says: the database could not be read again with an entry that has too many."""
_KILLED: Final = (-9, 137)
_ILLEGAL: Final = (-4, 132)


@dataclass(frozen=True)
class Check:
    """How a check ended inside the image; a negative status is a signal, for instance an illegal instruction."""

    status: int
    out: str = ""
    why: str = ""


@dataclass(frozen=True)
class Seen:
    """The output of the probe. ``None`` and missing keys: it printed nothing about that."""

    ran: bool = False
    architecture: str | None = None
    processor_flags: frozenset[str] = frozenset()
    """Of the machine on which it ran, as ``/proc/cpuinfo`` names them."""
    mpi_library: str | None = None
    """A file that may be an MPI library, whether or not its version is known."""
    mpi: Mapping[str, str] = field(default_factory=dict)
    """The version of each MPI family; the family that users get comes first."""
    python: str | None = None
    says: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=dict)
    last_words: str = ""
    """The last line of output. If nothing ran, it is the runtime's reason."""


@dataclass(frozen=True)
class Finding:
    """One label, and the verdict from running the image."""

    label: str
    verdict: Verdict
    claimed: str = ""
    seen: str = ""

    def __str__(self) -> str:
        claim = f"claimed {self.claimed}, " if self.claimed and self.claimed != self.seen else ""
        return f"{self.label}: {claim}{'seen ' + self.seen if self.seen else 'nothing seen'}: {self.verdict}"


def read_probe(output: str) -> Seen:
    """The probe's output as values. Other lines, and lines that are not of the probe's form, are ignored."""
    lines = output.splitlines()
    found: dict[str, Any] = {
        "checks": {},
        "last_words": next((said for line in reversed(lines) if (said := ESCAPES.sub("", line).strip())), "")[:200],
    }
    texts: list[str] = []
    for line in lines:
        match _marked(line):
            case [str(name), {"status": int(status), **rest}]:
                found["checks"][name] = Check(status, str(rest.get("out", "")), str(rest.get("why", "")))
            case ["mpi", str(text)]:
                texts.append(text)
            case ["flags", str(text)]:
                found["processor_flags"] = frozenset(text.lstrip(": ").split())
            case ["ran", True]:
                found["ran"] = True
            case ["architecture" | "python" | "mpi_library" as name, str(text)]:
                found[name] = text
    framework = found["checks"].get("framework", Check(1))
    answers = (value for line in framework.out.splitlines() if isinstance(value := _marked(line), dict))
    found["says"] = {name: text for name, text in next(answers, {}).items() if isinstance(text, str)}
    found["mpi"] = _mpi(texts)
    return Seen(**found)


def _marked(line: str) -> Any:
    """The JSON after the probe's mark in a line; ``None``: there is none. Its texts may contain control characters."""
    try:
        return json.loads(line.partition(MARK)[2], strict=False)
    except (ValueError, RecursionError):
        return None


def _mpi(texts: list[str]) -> dict[str, str]:
    """Family and version of each MPI library; a text belongs to the first family whose pattern matches."""
    found: dict[str, str] = {}
    for text in texts:
        for family, pattern in _MPI.items():
            if match := pattern.search(text):
                found.setdefault(family, match[1])
                break
    return found


def hindrance(claims: Claims, seen: Seen) -> str:
    """Why a run says nothing about the image, because the machine made it fail; empty: it did not."""
    if not seen.ran:
        return "" if _BROKEN.search(seen.last_words) else seen.last_words or "its runtime ended without a word"
    ends = (*_KILLED, *_ILLEGAL) if _lacking(claims, seen) else _KILLED
    failed = ((name, check) for name, check in seen.checks.items() if check.status in ends or (check.status and _MACHINE.search(check.why)))
    return next((f"{name}: {_ending(check)}" for name, check in failed), "")


def judge(claims: Claims, seen: Seen) -> tuple[Finding, ...]:
    """A finding for each claimed label, in the order of the labels. What the image says of itself is made one line, and cut."""
    return tuple(replace(finding, seen=printable(finding.seen)[:LONGEST]) for finding in _judged(claims, seen))


def _judged(claims: Claims, seen: Seen) -> Iterator[Finding]:
    if seen.ran:
        for check in _JUDGES:
            yield from check(claims, seen)
    else:
        why = f" ({seen.last_words})" if seen.last_words else ""
        yield Finding("image", "refuted", seen=f"no sign of life: its shell did not run{why}")


def measured(claims: Claims, seen: Seen) -> ImageLabels:
    """Labels from running the image; labels that running it cannot show (the source, GPU capabilities) are as claimed.

    Raises :class:`modak.errors.DataError` where the framework does not work, or its version is unknown.
    """
    wrong = [finding for finding in judge(claims, seen) if finding.verdict == "refuted"]
    refuted = {finding.label for finding in wrong}
    version, python = _version_inside(claims, seen), _public(seen.python)
    if not refuted.isdisjoint(("framework", "image")) or not version:
        raise DataError(f"it does not carry {claims['framework']}: {wrong[0] if wrong else 'it reports no version'}", field="framework")
    values = {
        **claims,
        "version": version,
        "compilers": [name for name in claims.get("compilers", ()) if f"compiler {name}" not in refuted],
        "distribution": [name for name in claims.get("distribution", ()) if f"distribution {name}" not in refuted],
        "architecture": seen.architecture,
        **_mpi_inside(claims, seen),
        "python": ".".join(python.split(".")[:2]) if python else None,
        "cuda": _public(seen.says.get("cuda")) if seen.says else claims.get("cuda"),
        "microarchitecture": None if "microarchitecture" in refuted else claims.get("microarchitecture"),
    }
    return validated(ImageLabels, {name: value for name, value in values.items() if value is not None}, DataError)


def _version_inside(claims: Claims, seen: Seen) -> str | None:
    """The version that the framework, or the MPI library of an image of one, has when it runs; as claimed, where nothing asks for it."""
    asked = inspection(claims)
    printed = _public(seen.mpi.get(claims["framework"]) or seen.says.get("version"))
    return printed or (None if asked and asked.module else claims.get("version"))


def _mpi_inside(claims: Claims, seen: Seen) -> dict[str, str | None]:
    """The MPI library that is inside, and its version: the claimed one if it was seen, or one that says nothing of itself, else the one
    that users get."""
    claimed = claims.get("mpi")
    told = claimed in seen.mpi or (not seen.mpi and seen.mpi_library)
    mpi = claimed if told else next(iter(seen.mpi), None)
    return {"mpi": mpi, "mpi_version": seen.mpi.get(mpi, claims.get("mpi_version")) if mpi else None}


def _framework(claims: Claims, seen: Seen) -> Iterator[Finding]:
    """Whether the framework can be imported, computes, and has the claimed version; or the MPI library, for an image of one."""
    if claims["framework"] in _MPI:
        yield from _mpi_library(claims, seen)
        return
    loaded, worked = seen.checks.get("framework"), seen.checks.get("exercise")
    name = claims["framework"]
    if loaded is None or worked is None:
        yield Finding("framework", "unknown", name)
        return
    bad = next((check for check in (loaded, worked) if check.status), None)
    yield Finding("framework", "refuted" if bad else "holds", name, _ending(bad) if bad else name)
    version = _public(seen.says.get("version"))
    if claims.get("version") and not loaded.status:
        yield _compared("version", claims["version"], version, _throughout)


def _mpi_library(claims: Claims, seen: Seen) -> Iterator[Finding]:
    """An image for an MPI library itself: family, version, and whether a program that its wrapper compiles runs."""
    name = claims["framework"]
    yield _family("framework", name, seen)
    if claims.get("version") and (name in seen.mpi or (seen.mpi_library and not seen.mpi)):
        yield _compared("version", claims["version"], seen.mpi.get(name), _throughout)
    trial = seen.checks.get("exercise", Check(UNDECIDED))
    verdict: Verdict = "unknown" if trial.status == UNDECIDED else "refuted" if trial.status else "holds"
    yield Finding("mpicc", verdict, seen=_ending(trial) if trial.status else "at work")


def _compilers(claims: Claims, seen: Seen) -> Iterator[Finding]:
    for kind, names in (("compiler", claims.get("compilers", ())), ("distribution", claims.get("distribution", ()))):
        for name in names:
            check = seen.checks.get(f"{kind} {name}")
            if check is None or check.status == UNDECIDED:
                yield Finding(f"{kind} {name}", "unknown")
            else:
                yield Finding(f"{kind} {name}", "refuted" if check.status else "holds", seen=_ending(check) if check.status else "at work")


def _libraries(claims: Claims, seen: Seen) -> Iterator[Finding]:
    """MPI, Python and CUDA. Their versions are compared as far as both are told: PyTorch calls CUDA 12.4.1 12.4."""
    if claims.get("mpi"):
        yield _family("mpi", claims["mpi"], seen)
        if claims.get("mpi_version") and claims["mpi"] in seen.mpi:
            yield _compared("mpi_version", claims["mpi_version"], seen.mpi[claims["mpi"]], _as_far_as_told)
    if claims.get("python"):
        yield _compared("python", claims["python"], seen.python, _as_far_as_told)
    if claims.get("cuda") and seen.says:
        yield _compared("cuda", claims["cuda"], seen.says.get("cuda"), _as_far_as_told)


def _family(label: str, family: str, seen: Seen) -> Finding:
    """Whether an MPI library of that family is there; unknown, if there is one that prints no version."""
    if not seen.mpi and seen.mpi_library:
        return Finding(label, "unknown", family, seen.mpi_library)
    return Finding(label, "holds" if family in seen.mpi else "refuted", family, ", ".join(seen.mpi) or "none")


def _processor(claims: Claims, seen: Seen) -> Iterator[Finding]:
    """The architecture, and the processor that the image is compiled for, as far as this machine can show it."""
    if claims.get("architecture"):
        same = seen.architecture == claims["architecture"]
        yield Finding("architecture", "holds" if same else "refuted", claims["architecture"], seen.architecture or "")
    target = claims.get("microarchitecture")
    if not target:
        return
    import archspec.cpu

    known, lacking = archspec.cpu.TARGETS.get(target), _lacking(claims, seen)
    flags = [word for word in re.split(r"[\s,]+", seen.says.get("flags", "")) if word.startswith(("-march=", "-mcpu="))]
    if known and flags and not _same_target(known, flags[0]):
        yield Finding("microarchitecture", "refuted", target, f"built with {flags[0]}")
    elif lacking:
        yield Finding("microarchitecture", "unknown", target, f"this machine lacks {' '.join(lacking[:4])}")
    else:
        yield Finding(
            "microarchitecture", "holds" if known and flags else "unknown", target, f"it runs{', built with ' + flags[0] if flags else ''}"
        )


def _lacking(claims: Claims, seen: Seen) -> list[str]:
    """The features of the claimed processor that this machine's processor lacks."""
    import archspec.cpu

    known = archspec.cpu.TARGETS.get(claims.get("microarchitecture"))
    return sorted(set(known.features) - _features(seen.processor_flags)) if known else []


def _features(flags: frozenset[str]) -> set[str]:
    """The flags of ``/proc/cpuinfo`` under archspec's names: ``pni`` is SSE3."""
    return {*flags, *(("sse3",) if "pni" in flags or "ssse3" in flags else ())}


def _same_target(known: Any, flag: str) -> bool:
    """Whether the flag selects the target in any version of any compiler."""
    return any(flag in str(entry) or flag.partition("=")[2] == entry.get("name", known.name).replace("_", "-")
               for entries in known.compilers.values() for entry in entries)  # fmt: skip


_JUDGES: Final[tuple[Callable[[Claims, Seen], Iterator[Finding]], ...]] = (_framework, _compilers, _libraries, _processor)


def _compared(label: str, claimed: str, seen: str | None, same: Callable[[Version, Version], Verdict]) -> Finding:
    """The finding from a version that is claimed and one that is seen."""
    verdict = "unknown" if seen is None or _public(seen) is None else same(Version(claimed), Version(seen))
    return Finding(label, verdict, claimed, seen or "")


def _throughout(claimed: Version, seen: Version) -> Verdict:
    return "holds" if claimed == seen else "refuted"


def _as_far_as_told(claimed: Version, seen: Version) -> Verdict:
    """3.12 holds for 3.12.3, and so does 3.12.0 for 3.12; of 3.12.3, 3.12 says nothing more than that it may be."""
    both = min(len(claimed.release), len(seen.release))
    if claimed.release[:both] != seen.release[:both]:
        return "refuted"
    return "unknown" if any(claimed.release[both:]) else "holds"


def _public(version: str | None) -> str | None:
    """``2.13.0`` for ``2.13.0+cpu``; ``None`` for what is not a version."""
    try:
        return Version(version).public if version else None
    except InvalidVersion:
        return None


def _ending(check: Check) -> str:
    if check.status < 0:
        return f"an end by signal {-check.status}{' (an instruction that this processor lacks)' if check.status == -4 else ''}"
    return check.why or f"exit status {check.status}"
