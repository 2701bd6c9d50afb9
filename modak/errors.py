"""What a caller can get wrong. Each class carries its HTTP status and the exit status of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


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


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """One line for an unknown name: the nearest known one first, then all of them.

    >>> unknown("system", "supermuc", ["hlrs-testbed", "supermuc-ng"])
    "unknown system 'supermuc'; did you mean 'supermuc-ng'? known: hlrs-testbed, supermuc-ng"
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    return f"unknown {what} {name!r}{hint} known: {', '.join(names) or 'none'}"
