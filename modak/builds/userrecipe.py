"""Recipes of users: their form, and their translation for a runtime that builds from the other form.

spython reads a recipe in a separate process, because it exits on errors and reads its working directory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from modak.builds.order import RUNTIMES, Runtime, builder_of
from modak.errors import Fault, RequestError
from modak.recipes.convertible import definition, dockerfile, refusals, stage_of
from modak.recipes.forms import Form, form_of

LARGEST: Final = 1 << 20
_PROGRAM: Final = """
import json, sys
from spython.main.parse.parsers import DockerParser, SingularityParser
parser = {"dockerfile": DockerParser, "definition": SingularityParser}[sys.argv[1]](sys.argv[2])
print("\\n" + json.dumps([stage.json() for stage in parser.recipe.values()]))
"""
_NAMES: Final = {"dockerfile": "Dockerfile", "definition": "Singularity"}


def recipe_text(file: Path, runtime: str | None) -> tuple[str, Runtime]:
    """The text that the runtime's tool builds from, and the runtime; ``None``: the one that builds from the recipe's form.

    Raises :class:`modak.errors.RequestError` for a file that is no recipe.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise RequestError("is no recipe: it is larger than 1 MiB", field=str(file))
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise RequestError(f"cannot be read: {error.strerror}", field=str(file)) from None
    except UnicodeDecodeError:
        raise RequestError("is no text", field=str(file)) from None
    form = kind(text, str(file))
    wanted = builder_of(runtime) if runtime else next(each for each in RUNTIMES if form_of(each) == form)
    if form_of(wanted) != form:
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


def converted(text: str, form: Form, name: str) -> str:
    """The recipe in the other form. Raises :class:`modak.errors.RequestError` for each line that cannot be translated."""
    if wrong := refusals(text, form):
        to = "a definition file" if form == "dockerfile" else "a Dockerfile"
        raise RequestError(faults=[Fault(name, f"{each} cannot be translated into {to}; write that one by hand") for each in wrong])
    with TemporaryDirectory(prefix="modak-recipe-") as folder:
        file = Path(folder) / _NAMES[form]
        file.write_text(text, encoding="utf-8")
        words = [sys.executable, "-I", "-c", _PROGRAM, form, str(file)]
        ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 (words of ours)
    try:
        stages = json.loads(ran.stdout.splitlines()[-1])
        stage = stage_of(stages[0]) if len(stages) == 1 else None
    except (ValueError, IndexError):
        stage = None
    if ran.returncode or stage is None or not stage.base:
        raise RequestError("spython cannot read it", field=name)
    return definition(stage, text) if form == "dockerfile" else dockerfile(stage)
