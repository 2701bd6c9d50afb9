"""Errors that a caller can cause. Each class has its HTTP status and the exit status of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import Final

FEW: Final = 6
"""Up to so many known names are listed beside the one that is probably meant."""
MANY: Final = 30
"""Of more known names, if none is like the unknown one, only the first are listed."""
LONGEST_SHOWN: Final = 200
"""Characters of an unknown name that a message repeats."""
COMPARED: Final = 200
"""Most names that one is compared with where there may be many: 20,000 would take half a second."""


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that is wrong: the field, row or file it is in, and what is allowed there."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


def strictly(warnings: Iterable[Fault]) -> tuple[Fault, ...]:
    """Warnings as the faults that ``strict`` makes of them: their messages say what is done otherwise."""
    return tuple(Fault(one.field, f"{one.message} (strict: refused)") for one in dict.fromkeys(warnings))


class ModakError(Exception):
    """Base of everything that MODAK reports to a caller: one line a fault."""

    status = 500
    exit_code = 1
    title = "internal error"
    warnings: tuple[Fault, ...] = ()
    """What was noticed on the way: how a request was read that is then refused."""

    def __init__(self, message: str = "", *, field: str = "", faults: Sequence[Fault] = ()) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults) or (Fault(field, message),)
        super().__init__("\n".join(map(str, self.faults)))

    @classmethod
    def raise_for(cls, *faults: Iterable[Fault]) -> None:
        """Raise the error if there is any fault."""
        if found := tuple(chain.from_iterable(faults)):
            raise cls(faults=found)


class RequestError(ModakError):
    """The request's content is wrong (a value, an unknown key in strict mode, something that cannot be expressed safely)."""

    status = 422
    title = "the request is wrong"


class BadSyntax(ModakError):
    """The body is not a JSON document, or one that readers of JSON understand differently."""

    status = 400
    title = "the document cannot be read"


class DataError(ModakError):
    """A results, system, image or rule file has a fault; nothing of it is stored."""

    status = 422
    title = "the data is wrong"


class UnknownName(ModakError):
    """An unknown name; the message says which known one is probably meant, or lists them."""

    status = 404
    title = "unknown name"

    def __init__(self, what: str, name: str, known: Iterable[str], *, field: str = "") -> None:
        super().__init__(unknown(what, name, known), field=field)


class NotFound(ModakError):
    """There is nothing with this id. Known ids are not listed."""

    status = 404
    title = "not found"


class Conflict(ModakError):
    """Each value is valid, but not together with the others, or not on this system."""

    status = 409
    title = "the request does not fit the system"


class AlreadyThere(Conflict):
    """What is there already stands in the way: an entry of that name, or a build that has ended."""

    title = "in conflict with what is there"


BY_REPLACING: Final = "replace=true at POST /systems, /images or /rules replaces it"
"""How an entry is stored although another one has its name; the command line says it in its own words."""


class Infeasible(ModakError):
    """No configuration meets the constraints; the message names the closest one and the constraint that it violates."""

    status = 409
    exit_code = 4
    title = "nothing feasible"


class Unauthorised(ModakError):
    """No valid token was sent."""

    status = 401
    title = "a token is needed"


class Forbidden(ModakError):
    """The caller is known, and may not do this."""

    status = 403
    title = "the token does not allow this"


class Unavailable(ModakError):
    """The database, the service, or a program that is needed cannot be reached."""

    status = 503
    exit_code = 3
    title = "out of reach"

    def __init__(self, message: str = "", *, field: str = "", faults: Sequence[Fault] = (), public_message: str = "") -> None:
        super().__init__(message, field=field, faults=faults)
        self.public_message = public_message
        """The message for callers of the service, if ``message`` contains hosts, users or files of the service."""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """One line for an unknown name: the known name that may be meant, and all known names. Of many only those with the same words.

    >>> unknown("system", "supermuc", ["hlrs-testbed", "supermuc-ng"])
    "unknown system 'supermuc'; did you mean 'supermuc-ng'? known: hlrs-testbed, supermuc-ng"
    >>> unknown("rule", "omp", ["omp-places", "omp-bind", *"abcdefg"])
    "unknown rule 'omp'; did you mean 'omp-bind'? similar: omp-places"
    >>> unknown("image", "train.sif", [f"image-{number}" for number in range(50)])
    "unknown image 'train.sif'; known: image-0, image-1, image-10, image-11, image-12, image-13, … (50 in all)"
    """
    names = sorted(known)
    shown = repr(name) if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]!r}…"
    said = f"unknown {what} {shown}"
    close = nearest_name(name, names) if len(names) > FEW else None
    if close is None:
        listed = names if len(names) <= MANY else [*names[:FEW], f"… ({len(names)} in all)"]
        return f"{said}{did_you_mean(name, names)} known: {', '.join(listed) or 'none'}"
    words = set(_words(name))
    similar = [other for other in names if other != close and words.issubset(_words(other))]
    more = ["…"] if len(similar) > FEW else []
    return f"{said}; did you mean {close!r}?{' similar: ' if similar else ''}{', '.join(similar[:FEW] + more)}"


def did_you_mean(name: str, known: Iterable[str], otherwise: str = ";") -> str:
    """What follows an unknown name: the known one that is probably meant, or else ``otherwise``, before the list of known ones.

    >>> did_you_mean("slrum", ["slurm", "lsf"]), did_you_mean("cray", ["slurm", "lsf"])
    ("; did you mean 'slurm'?", ';')
    """
    close = nearest_name(name, known)
    return f"; did you mean {close!r}?" if close else otherwise


def spelt_otherwise(name: str, other: str) -> str:
    """What is said of a name that nothing has, where something has it in one other spelling.

    >>> spelt_otherwise("3DGAN", "3dgan")
    "no results of '3DGAN'; those of '3dgan' are used"
    """
    return f"no results of {name!r}; those of {other!r} are used"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is probably meant by ``name``; ``None``: no known name is similar.

    First choice is a name that differs only in case and separators, then one with additional words (``A100``), one with a similar
    spelling or the same letters, one with fewer words (``NVIDIA T4``), and one with the same number, if that is not a small part
    (``Tesla V100``).

    >>> nearest_name("A100", ["a100-sxm4-40gb", "t4"]), nearest_name("NVIDIA T4", ["a100-sxm4-40gb", "t4"]), nearest_name("cray", ["slurm"])
    ('a100-sxm4-40gb', 't4', None)
    >>> nearest_name("lfs", ["flux", "lsf"]), nearest_name("degub", ["debug"]), nearest_name("numpyro", ["neuron"])
    ('lsf', 'debug', None)
    """
    words_of = {each: words for each in known if (words := _words(each))}
    words = _words(name)
    word_set = set(words)
    similar = get_close_matches("-".join(words), map("-".join, words_of.values()), n=1, cutoff=0.7)  # 0.6 takes numpyro for neuron
    letters = sorted("".join(words))
    ways: tuple[Callable[[Sequence[str]], float], ...] = (  # each returns how well a name fits; 0: not at all
        lambda theirs: "".join(theirs) == "".join(words),
        lambda theirs: word_set.issubset(theirs) / len(theirs),
        lambda theirs: ["-".join(theirs)] == similar or sorted("".join(theirs)) == letters,
        lambda theirs: word_set.issuperset(theirs) * (len("".join(theirs)) - 1),
        lambda theirs: shared if 4 * (shared := _numbers(word_set.intersection(theirs))) >= len("".join(words)) else 0,
    )
    for fit in ways if words else ():
        best = max(words_of, key=lambda each: (fit(words_of[each]), -len(each)), default=None)
        if best is not None and fit(words_of[best]):
            return best
    return None


def nearest_of_many(name: str, known: Iterable[str]) -> str | None:
    """:func:`nearest_name` among :data:`COMPARED` of the known names, first those that begin as it does, whatever their order.

    >>> nearest_of_many("solver", ["solver-b", "solver-a"])
    'solver-a'
    """
    return nearest_name(name, sorted(known, key=lambda each: (each[:2].lower() != name[:2].lower(), each))[:COMPARED])


def _numbers(words: Iterable[str]) -> int:
    """Characters of the words with digits."""
    return sum(len(word) for word in words if len(word) > 1 and _DIGIT.search(word))


def _words(name: str) -> list[str]:
    return _WORD.findall(name[:_LONGEST].lower())


_WORD: Final = re.compile(r"[^\W_]+")
_DIGIT: Final = re.compile(r"[0-9]")
_LONGEST: Final = 100
"""Longest part of a name that is compared: names in requests may be long."""
