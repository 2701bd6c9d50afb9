"""Reading a recipe with spython in a separate process, because spython exits on errors and reads its working directory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from modak.errors import Fault, RequestError
from modak.recipes.convertible import definition, dockerfile, refusals, stage_of
from modak.recipes.forms import Form

_PROGRAM: Final = """
import json, sys
from spython.main.parse.parsers import DockerParser, SingularityParser
parser = {"dockerfile": DockerParser, "definition": SingularityParser}[sys.argv[1]](sys.argv[2])
print("\\n" + json.dumps([stage.json() for stage in parser.recipe.values()]))
"""
_NAMES: Final = {"dockerfile": "Dockerfile", "definition": "Singularity"}


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
