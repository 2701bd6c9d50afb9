"""A setting in a job: exported variables, options after the command, and both as parameters of its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.dsl import Request, Setting, Value
from modak.text.words import Word

_NOTHING: Final = Setting()


def setting_of(request: Request) -> Setting:
    """The values that the request's job runs with."""
    tuning = request.optimisation.autotuning
    return tuning.setting if tuning else _NOTHING


def exported(request: Request) -> dict[str, str]:
    """The variables of the setting, which take precedence over those of rules, launchers and frameworks."""
    return {name: as_text(value) for name, value in setting_of(request).environment.items()}


def option_words(request: Request) -> tuple[Word, ...]:
    """The options of the setting: ``--name value``, or ``--name=value`` for a name that ends with ``=``."""
    pairs = ((name, as_text(value)) for name, value in setting_of(request).options.items())
    return tuple(word for name, value in pairs for word in ((f"{name}{value}",) if name.endswith("=") else (name, value)))


def recorded(request: Request) -> dict[str, Value]:
    """The setting as parameters of the results table."""
    setting = setting_of(request)
    return {column(name): value for name, value in {**setting.environment, **setting.options}.items()}


def column(name: str) -> str:
    """The name of a parameter in the results table, after ``params.``.

    >>> column("--batch-size"), column("NB=")
    ('batch-size', 'NB')
    """
    return name.lstrip("-").rstrip("=")


def as_text(value: Value) -> str:
    """A value as a program reads it; numbers without a fraction have no point.

    >>> as_text(8), as_text(0.5), as_text(2.0), as_text("close")
    ('8', '0.5', '2', 'close')
    """
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def in_words(values: Mapping[str, Value]) -> str:
    """Values by name of their parameter as text; the name of an option may end in ``=`` itself.

    >>> in_words({"threads": 2, "--batch=": 64})
    'threads=2, --batch=64'
    """
    return ", ".join(f"{name.removesuffix('=')}={as_text(value)}" for name, value in values.items())
