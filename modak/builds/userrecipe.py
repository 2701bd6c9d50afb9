"""Recipes of users: their form, and their translation for a runtime that builds from the other form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from modak.builds.order import RUNTIMES, Runtime, builder_of
from modak.errors import RequestError
from modak.recipes.forms import Form, form_of

LARGEST: Final = 1 << 20


def read_recipe(file: Path, runtime: str | None) -> tuple[str, Runtime]:
    """The text that the runtime's tool builds from, and the runtime; ``None``: the one that builds from the recipe's form.

    Raises :class:`modak.errors.RequestError` for a file that is no recipe.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise RequestError("is no recipe: it is larger than 1 MiB", field=str(file))
        text = content.decode("utf-8")
    except OSError as error:
        raise RequestError(f"cannot be read: {error.strerror}", field=str(file)) from None
    except UnicodeDecodeError:
        raise RequestError("is no text", field=str(file)) from None
    form = kind(text, str(file))
    wanted = builder_of(runtime) if runtime else next(each for each in RUNTIMES if form_of(each) == form)
    if form_of(wanted) != form:
        from modak.builds.conversion import converted

        return converted(text, form, str(file)), wanted
    return text, wanted


def kind(text: str, name: str) -> Form:
    """Definition file or Dockerfile, by its first line that is not empty or a comment."""
    for line in text.splitlines():
        if re.match(r"\s*bootstrap\s*:", line, re.IGNORECASE):
            return "definition"
        if re.match(r"\s*(FROM|ARG)\s", line, re.IGNORECASE):
            return "dockerfile"
        if line.strip() and not line.lstrip().startswith("#"):
            break
    raise RequestError("is neither a definition file (Bootstrap: …) nor a Dockerfile (FROM …)", field=name)
