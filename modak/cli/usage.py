"""What is said of a command line that is no command: typer's messages in the words of the others, and what may be meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command

_ALLOWED: Final = (
    (re.compile(r"Input should be a valid integer\b.*", re.DOTALL), "allowed: a whole number"),
    (re.compile(r"Input should be a valid number\b.*", re.DOTALL), "allowed: a number"),
    (re.compile(r"Input should be greater than or equal to "), "allowed: at least "),
    (re.compile(r"Input should be less than or equal to "), "allowed: at most "),
)
"""Typer's words for the values of options, in those of the other messages."""
_UNKNOWN: Final = re.compile(r"(?P<fault>No such command '(?P<name>.+?)')(?:\. Did you mean .+)?", re.DOTALL)
_OPTION: Final = re.compile(r"No such option: --(?P<name>\S+)")


def explained(error: typer.TyperException, words: Sequence[str], app: typer.Typer) -> str:
    """The message about the ``words`` of a command line that typer refused: what is wrong, and which help says what is right."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else _command_in(words, get_command(app))
    message = error.format_message().replace("Value error, ", "").removesuffix(".")
    for wording, allowed in _ALLOWED:
        message = wording.sub(allowed, message)
    if context:
        message = _meant(message, context)
    return f"{message} (see '{path} --help')"


def _meant(message: str, context: typer.Context) -> str:
    """The message, with the commands that an unknown one may stand for, or where the request says what an unknown option would."""
    if unknown := _UNKNOWN.fullmatch(message):
        paths = _paths_of(unknown["name"], context.find_root().command)
        return f"{unknown['fault']}; did you mean {' or '.join(repr(f'modak {found}') for found in paths)}?" if paths else message
    if (option := _OPTION.match(message)) and (place := _place_of(option["name"], context.command)):
        return f"{message}; {place}"
    return message


def _command_in(words: Sequence[str], here: Any) -> str:
    """The command below ``here`` that the words begin with: some errors of the parser do not name it."""
    path = ["modak"]
    for word in words:
        here = here.commands.get(word) if isinstance(here, TyperGroup) else None
        if here is None:
            break
        path.append(word)
    return " ".join(path)


def _paths_of(name: str, group: Any) -> list[str]:
    """Where in a group, and in those inside it that --help lists, there is a command of that name: ``load``, ``results list``."""
    found = [name] if name in group.commands else []
    inner = ((key, one) for key, one in group.commands.items() if isinstance(one, TyperGroup) and not one.hidden)
    return [*found, *(f"{key} {path}" for key, one in inner for path in _paths_of(name, one))]


def _place_of(option: str, command: Any) -> str:
    """Where the request says what an option of that name would, for a command that reads a request."""
    from modak.normalise.unknown import place_of

    return place_of(option) if any(each.name == "request" for each in command.params) else ""
