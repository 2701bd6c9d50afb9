"""Errors that a caller can cause. Each class has its HTTP status and the exit status of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that is wrong: the field, row or file it is in, and what is allowed there."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class ModakError(Exception):
    """Base of everything that MODAK reports to a caller: one line a fault."""

    status = 500
    exit_code = 1
    title = "internal error"

    def __init__(self, message: str = "", *, field: str = "", faults: Sequence[Fault] = ()) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults) or (Fault(field, message),)
        super().__init__("\n".join(map(str, self.faults)))


class RequestError(ModakError):
    """The request's content is wrong (a value, an unknown key in strict mode, something that cannot be expressed safely)."""

    status = 422
    title = "the request is wrong"


class BadSyntax(ModakError):
    """The body is no JSON document, or one that no honest client sends."""

    status = 400
    title = "the document cannot be read"


class DataError(ModakError):
    """A results, system, image or rule file has a fault; nothing of it is stored."""

    status = 422
    title = "the data is wrong"


class UnknownName(ModakError):
    """A name that nothing here carries; the message lists what is known."""

    status = 404
    title = "unknown name"

    def __init__(self, what: str, name: str, known: Iterable[str], *, field: str = "") -> None:
        super().__init__(unknown(what, name, known), field=field)


class NotFound(ModakError):
    """Something that is asked for by its id is not there, and there is no sense in listing what is."""

    status = 404
    title = "not found"


class Conflict(ModakError):
    """Each value is legal, but not together, or not on that system."""

    status = 409
    title = "the request does not fit the system"


class Infeasible(ModakError):
    """No configuration meets the constraints; the message says the closest one and what stands in the way."""

    status = 409
    exit_code = 4
    title = "nothing feasible"


class Unauthorised(ModakError):
    """The caller may not do this."""

    status = 401
    title = "a token is needed"


class Forbidden(ModakError):
    """The caller is known, and may not do this."""

    status = 403
    title = "the token does not allow this"


class Unavailable(ModakError):
    """The database or the service is out of reach."""

    status = 503
    exit_code = 3
    title = "out of reach"

    def __init__(self, message: str = "", *, field: str = "", faults: Sequence[Fault] = (), told: str = "") -> None:
        super().__init__(message, field=field, faults=faults)
        self.told = told
        """What callers of the service read instead, where the message names its places: hosts, users, files."""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """One line for an unknown name: the one that may be meant first, then all of them.

    >>> unknown("system", "supermuc", ["hlrs-testbed", "supermuc-ng"])
    "unknown system 'supermuc'; did you mean 'supermuc-ng'? known: hlrs-testbed, supermuc-ng"
    """
    names = sorted(known)
    return f"unknown {what} {name!r}{did_you_mean(name, names)} known: {', '.join(names) or 'none'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What stands between an unknown name and the list of those that are known.

    >>> did_you_mean("slrum", ["slurm", "lsf"]), did_you_mean("cray", ["slurm", "lsf"])
    ("; did you mean 'slurm'?", ';')
    """
    close = nearest(name, known)
    return f"; did you mean {close!r}?" if close else ";"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody may have meant who wrote ``name``; ``None``: none is near.

    One that differs in case and separators alone comes first, then one with more words (``A100``), one that is spelt alike,
    one with fewer words (``NVIDIA T4``), and one with the same number in it (``Tesla V100``).

    >>> nearest("A100", ["a100-sxm4-40gb", "t4"]), nearest("NVIDIA T4", ["a100-sxm4-40gb", "t4"]), nearest("cray", ["slurm"])
    ('a100-sxm4-40gb', 't4', None)
    """
    told = {each: words for each in known if (words := _words(each))}
    words = _words(name)
    said = set(words)
    alike = get_close_matches("-".join(words), map("-".join, told.values()), n=1, cutoff=0.6)
    ways: tuple[Callable[[Sequence[str]], float], ...] = (  # each says how well a name fits; 0: it does not
        lambda theirs: "".join(theirs) == "".join(words),
        lambda theirs: said.issubset(theirs) / len(theirs),
        lambda theirs: ["-".join(theirs)] == alike,
        lambda theirs: said.issuperset(theirs) * (len("".join(theirs)) - 1),
        lambda theirs: sum(len(word) for word in said.intersection(theirs) if len(word) > 1 and _DIGIT.search(word)),
    )
    for fit in ways if words else ():
        best = max(told, key=lambda each: (fit(told[each]), -len(each)), default=None)
        if best is not None and fit(told[best]):
            return best
    return None


def _words(name: str) -> list[str]:
    return _WORD.findall(name[:_LONGEST].lower())


_WORD: Final = re.compile(r"[^\W_]+")
_DIGIT: Final = re.compile(r"[0-9]")
_LONGEST: Final = 100
"""Letters of a name that are looked at: what others sent may be long."""
