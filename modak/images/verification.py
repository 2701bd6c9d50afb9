"""The test that runs inside an image, and what its output means for the labels.

:func:`modak.images.probe.probe` writes a program for the image's own shell; :func:`read` reads what it printed, :func:`hindrance` says
what on the machine kept it from showing what it carries, :func:`judge` holds the labels against it, and :func:`measured` makes labels of
it.
Running it is the shell's business (:mod:`modak.builds.verify`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from packaging.version import InvalidVersion, Version
from pydantic import ValidationError

from modak.errors import DataError
from modak.facts import ImageLabels
from modak.images.probe import MARK, UNDECIDED, Claims
from modak.text.faults import faults_of

Verdict = Literal["holds", "refuted", "unknown"]
_MPI: Final = {
    "openmpi": re.compile(r"Open MPI\)? v?([0-9][0-9.]*[0-9])"),
    "intel-mpi": re.compile(r"Intel\(R\) MPI Library.*?Version ([0-9][0-9.]*)", re.DOTALL),
    "mvapich": re.compile(r"MVAPICH2? Version:?\s+([0-9][0-9.]*[0-9])"),
    "mpich": re.compile(r"(?:MPICH|HYDRA build details:\s*)\s*Version:?\s+([0-9][0-9.]*[0-9])"),
}
"""How each MPI's own programs tell their version; MVAPICH and Intel MPI also say MPICH."""
_BROKEN: Final = re.compile(r"/bin/sh: no such file|image format not recognized|unknown image type", re.IGNORECASE)
"""What runtimes say of an image that runs nowhere. What else they say may be the machine's fault: no user namespaces, no FUSE, another
architecture, a kernel that does not know the compression."""
_MACHINE: Final = re.compile(r"No space left on device|Disk quota exceeded|[Cc]an(?:no|')t allocate memory|MemoryError|no end within")
"""What a check says that failed for want of room, memory or time."""
_KILLED: Final = (-9, 137)
_ILLEGAL: Final = (-4, 132)


@dataclass(frozen=True)
class Check:
    """How a piece of Python ended inside the image; a status below zero is a signal, for instance an illegal instruction."""

    status: int
    out: str = ""
    why: str = ""


@dataclass(frozen=True)
class Seen:
    """What the image said of itself. ``None`` and missing keys: it said nothing."""

    ran: bool = False
    architecture: str | None = None
    processor_flags: frozenset[str] = frozenset()
    """Of the machine that it ran on, as ``/proc/cpuinfo`` names them."""
    mpi_library: str | None = None
    """A file that may be one, whether or not anything tells its version."""
    mpi: Mapping[str, str] = field(default_factory=dict)
    """The version of each MPI family that told one; the family that users get comes first."""
    python: str | None = None
    says: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=dict)
    last_words: str = ""
    """The last line that was printed, by whatever printed it: where nothing ran, the runtime says there why."""


@dataclass(frozen=True)
class Finding:
    """One label, and what running the image says of it."""

    label: str
    verdict: Verdict
    claimed: str = ""
    seen: str = ""

    def __str__(self) -> str:
        claim = f"claimed {self.claimed}, " if self.claimed and self.claimed != self.seen else ""
        return f"{self.label}: {claim}{'seen ' + self.seen if self.seen else 'nothing seen'}: {self.verdict}"


def read(output: str) -> Seen:
    """What the probe printed; lines of anything else in the image are passed over."""
    lines = output.splitlines()
    found: dict[str, Any] = {
        "checks": {},
        "says": {},
        "last_words": next((line.strip() for line in reversed(lines) if line.strip()), "")[:200],
    }
    texts: list[str] = []
    for line in lines:
        if not line.startswith(MARK):
            continue
        try:
            name, value = json.loads(line.removeprefix(MARK))
        except (ValueError, TypeError):
            continue
        if isinstance(value, dict):
            found["checks"][name] = Check(int(value.get("status", 1)), str(value.get("out", "")), str(value.get("why", "")))
        elif name == "mpi":
            texts.append(str(value))
        elif name == "flags":
            found["processor_flags"] = frozenset(str(value).lstrip(": ").split())
        elif name in ("ran", "architecture", "python", "mpi_library"):
            found[name] = value
    said = found["checks"].get("framework", Check(1)).out.rpartition(MARK)[2]
    if said:
        found["says"] = json.loads(said)
    found["mpi"] = _mpi(texts)
    return Seen(**found)


def _mpi(texts: list[str]) -> dict[str, str]:
    """Family and version of each MPI that spoke; a text is of the first family that it fits."""
    found: dict[str, str] = {}
    for text in texts:
        for family, pattern in _MPI.items():
            if told := pattern.search(text):
                found.setdefault(family, told[1])
                break
    return found


def hindrance(claims: Claims, seen: Seen) -> str:
    """What on the machine kept an image from showing what it carries; empty: nothing. Such a run tells nothing of the image."""
    if not seen.ran:
        return "" if _BROKEN.search(seen.last_words) else seen.last_words or "its runtime ended without a word"
    ends = (*_KILLED, *_ILLEGAL) if _lacking(claims, seen) else _KILLED
    failed = ((name, check) for name, check in seen.checks.items() if check.status in ends or (check.status and _MACHINE.search(check.why)))
    return next((f"{name}: {_ending(check)}" for name, check in failed), "")


def judge(claims: Claims, seen: Seen) -> tuple[Finding, ...]:
    """A finding for each label that is claimed, in the order of the labels."""
    if not seen.ran:
        why = f" ({seen.last_words})" if seen.last_words else ""
        return (Finding("image", "refuted", seen=f"no sign of life: its shell did not run{why}"),)
    found = (judged for check in _JUDGES for judged in check(claims, seen))
    return tuple(found)


def measured(claims: Claims, seen: Seen) -> ImageLabels:
    """Labels from running the image; what running it cannot tell (the source, GPU capabilities) is as claimed.

    Raises :class:`modak.errors.DataError` where the image does not even tell its framework's version.
    """
    refuted = {finding.label for finding in judge(claims, seen) if finding.verdict == "refuted"}
    told = seen.mpi.get(claims["framework"]) or seen.says.get("version")
    version = _public(told) or (None if "framework" in seen.checks else claims.get("version"))
    if "framework" in refuted or "image" in refuted or not version:
        why = next((str(finding) for finding in judge(claims, seen) if finding.verdict == "refuted"), "it tells no version")
        raise DataError(f"it does not carry {claims['framework']}: {why}", field="framework")
    claimed = claims.get("mpi")
    mpi = claimed if claimed in seen.mpi or (not seen.mpi and seen.mpi_library) else next(iter(seen.mpi), None)
    values = {
        **claims,
        "version": version,
        "compilers": [name for name in claims.get("compilers", ()) if f"compiler {name}" not in refuted],
        "distribution": [name for name in claims.get("distribution", ()) if f"distribution {name}" not in refuted],
        "architecture": seen.architecture,
        "mpi": mpi,
        "mpi_version": seen.mpi.get(mpi or "", claims.get("mpi_version")) if mpi else None,
        "python": ".".join(seen.python.split(".")[:2]) if seen.python else None,
        "cuda": (seen.says.get("cuda") or None) if seen.says else claims.get("cuda"),
        "microarchitecture": None if "microarchitecture" in refuted else claims.get("microarchitecture"),
    }
    try:
        return ImageLabels.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as wrong:
        raise DataError(faults=faults_of(wrong, model=ImageLabels)) from None


def _framework(claims: Claims, seen: Seen) -> Iterator[Finding]:
    """It can be imported, it computes, and it is of that version; an MPI library tells of itself what it is."""
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
        yield _compared("version", claims["version"], version)


def _mpi_library(claims: Claims, seen: Seen) -> Iterator[Finding]:
    """An image whose purpose is an MPI library: family, version, and that its wrapper compiles what runs with it."""
    name = claims["framework"]
    yield _family("framework", name, seen)
    if claims.get("version") and name in seen.mpi:
        yield _compared("version", claims["version"], seen.mpi[name])
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
    """MPI and Python; a version is as long as it is claimed: 3.12 holds for 3.12.3."""
    if claims.get("mpi"):
        yield _family("mpi", claims["mpi"], seen)
        if claims.get("mpi_version") and claims["mpi"] in seen.mpi:
            yield _compared("mpi_version", claims["mpi_version"], seen.mpi[claims["mpi"]], prefix=True)
    if claims.get("python"):
        yield _compared("python", claims["python"], seen.python, prefix=True)
    if claims.get("cuda") and seen.says:
        yield _compared("cuda", claims["cuda"], seen.says.get("cuda"), prefix=True)


def _family(label: str, family: str, seen: Seen) -> Finding:
    """That an MPI of that family is there; a library that tells nothing refutes nothing."""
    if not seen.mpi and seen.mpi_library:
        return Finding(label, "unknown", family, seen.mpi_library)
    return Finding(label, "holds" if family in seen.mpi else "refuted", family, ", ".join(seen.mpi) or "none")


def _processor(claims: Claims, seen: Seen) -> Iterator[Finding]:
    """Architecture; and that what it is compiled for is what it says, where this machine can run it at all."""
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
        yield Finding("microarchitecture", "holds" if flags else "unknown", target, f"it runs{', built with ' + flags[0] if flags else ''}")


def _lacking(claims: Claims, seen: Seen) -> list[str]:
    """What the processor that it ran on lacks of the one that it is said to be compiled for."""
    if not claims.get("microarchitecture"):
        return []
    import archspec.cpu

    known = archspec.cpu.TARGETS.get(claims["microarchitecture"])
    return sorted(set(known.features) - _features(seen.processor_flags)) if known else []


def _features(flags: frozenset[str]) -> set[str]:
    """archspec's names for what ``/proc/cpuinfo`` lists: ``pni`` is SSE3."""
    return {*flags, *(("sse3",) if "pni" in flags or "ssse3" in flags else ())}


def _same_target(known: Any, flag: str) -> bool:
    """Whether some version of some compiler is told that flag for the target."""
    return any(flag in str(entry) or flag.partition("=")[2] == entry.get("name", known.name).replace("_", "-")
               for entries in known.compilers.values() for entry in entries)  # fmt: skip


_JUDGES: Final[tuple[Callable[[Claims, Seen], Iterator[Finding]], ...]] = (_framework, _compilers, _libraries, _processor)


def _compared(label: str, claimed: str, seen: str | None, *, prefix: bool = False) -> Finding:
    if not seen:
        return Finding(label, "unknown", claimed)
    length = len(Version(claimed).release) if prefix else None
    same = Version(claimed).release == Version(seen).release[:length] if prefix else Version(claimed) == Version(seen)
    return Finding(label, "holds" if same else "refuted", claimed, seen)


def _public(version: str | None) -> str | None:
    """``2.13.0`` of ``2.13.0+cpu``; ``None`` for what is no version."""
    try:
        return Version(version).public if version else None
    except InvalidVersion:
        return None


def _ending(check: Check) -> str:
    if check.status < 0:
        return f"an end by signal {-check.status}{' (an instruction that this processor lacks)' if check.status == -4 else ''}"
    return check.why or f"exit status {check.status}"
