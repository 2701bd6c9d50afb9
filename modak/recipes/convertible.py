"""Translation of a recipe into the other form. What could change its meaning is refused.

spython reads a recipe into a value, but misreads many instructions silently (a second stage, options of COPY, lists in place
of commands, here-documents, …). :func:`refusals` finds these line by line; :func:`dockerfile` and :func:`definition` write what
spython read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from modak.recipes.forms import Form

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_WITHIN: Final = r"(?:[^\"\\`$]|\$(?!\())*"
"""What double quotes may hold: no command, which a shell would run and Docker takes as it is."""
_PATH: Final = r"[^\s\[\]*?$\"'\\]+"
_FORMS: Final = {
    "COPY": (re.compile(rf"(?!-){_PATH}\s+{_PATH}"), "COPY of anything but one plain path to another"),
    "ENV": (re.compile(rf"{_NAME}=(?:(?:[^\s\"'\\`$]|\$(?!\())*|\"{_WITHIN}\"|'[^']*')"), "ENV with anything but one NAME=value"),
    "LABEL": (re.compile(r"[A-Za-z0-9._-]+=(?:[^\s\"'\\]*|\"[^\"\\]*\")"), "LABEL with anything but one NAME=value"),
    "WORKDIR": (re.compile(r"/[A-Za-z0-9._/-]*"), "WORKDIR that is no plain absolute path"),
    "USER": (re.compile("root"), "USER"),
}
"""The form in which spython reads an instruction as Docker does, and the fault of any other."""
_EXPORT: Final = re.compile(rf"(?:export\s+)?{_NAME}=(?:[^\s\"'\\;&|`()]*|\"{_WITHIN}\")")
_IGNORED: Final = frozenset(("CMD", "ENTRYPOINT", "EXPOSE", "MAINTAINER"))
"""Instructions that jobs do not need: a job names its own command."""
_KNOWN: Final = frozenset(("files", "post", "environment", "labels", "help", "runscript"))


@dataclass(frozen=True)
class Stage:
    """What spython found in a recipe of one stage."""

    base: str
    files: Sequence[Sequence[str]]
    environment: Sequence[str]
    commands: Sequence[str]
    labels: Sequence[str]


def refusals(text: str, form: Form) -> tuple[str, ...]:
    """``line N: why`` for each line that cannot be translated."""
    found = _in_dockerfile(text) if form == "dockerfile" else _in_definition(text)
    return tuple(f"line {number}: {why}" for number, why in found)


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """A Dockerfile's instructions, each with the number of its first line; comments are left out, continued lines joined."""
    begun = 0
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#") or (not line.strip() and not parts):
            continue
        begun = begun or number
        parts.append(line.rstrip().removesuffix("\\"))
        if not line.rstrip().endswith("\\"):
            yield begun, " ".join(part.strip() for part in parts)
            begun, parts = 0, []
    if parts:
        yield begun, " ".join(part.strip() for part in parts)


def _in_dockerfile(text: str) -> Iterator[tuple[int, str]]:
    stages = 0
    for number, line in logical_lines(text):
        word, _, rest = line.partition(" ")
        stages += word.upper() == "FROM"
        if why := _docker_fault(word.upper(), rest.strip(), stages):
            yield number, why
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(r"\s*#\s*(syntax|escape)\s*=", line):
            yield number, "a parser directive"


def _docker_fault(word: str, rest: str, stages: int) -> str | None:
    """What spython would misread in an instruction; ``None``: nothing."""
    if word == "FROM":
        return "a second stage" if stages > 1 else "options and names of FROM" if len(rest.split()) != 1 or "$" in rest else None
    if word == "RUN":
        return "RUN with a list or options" if rest[:1] == "[" or rest[:2] == "--" else "a here-document" if "<<" in rest else None
    if word in _FORMS:
        form, fault = _FORMS[word]
        return None if form.fullmatch(rest) else fault
    return None if word in _IGNORED else word


def _in_definition(text: str) -> Iterator[tuple[int, str]]:
    section, header = "", {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip()
        if words.startswith("%"):
            section = words[1:].split()[0].lower() if words[1:].split() else ""
            if section not in _KNOWN:
                yield number, f"the section %{section}"
            elif len(words.split()) > 1:
                yield number, f"options of %{section}"
        elif not section and words and not words.startswith("#"):
            key, _, value = words.partition(":")
            header[key.strip().lower()] = value.strip()
        elif words and (why := _definition_fault(section, words)):
            yield number, why
    image = header.get("from", "")
    if header.get("bootstrap", "").lower() != "docker" or not image or len(header) > 2:
        yield 1, "a header of anything but 'Bootstrap: docker' and 'From: IMAGE'"
    if image.lower() != image:
        yield 1, "capitals in the base image's name, which are lost"


def _definition_fault(section: str, line: str) -> str | None:
    if section == "environment" and not line.startswith("#"):
        return None if _EXPORT.fullmatch(line) else "shell code in %environment"
    if section == "files" and len(line.split()) != 2:
        return "a file without a plain place in the image"
    if section == "post" and ("<<" in line or line.endswith("\\") or re.search(r"bootstrap|from:|stage:", line, re.IGNORECASE)):
        return "a here-document, a continued line, or a word that is taken for the header's"
    return None


def definition(stage: Stage, text: str) -> str:
    """A definition file for a Dockerfile. Variables are set while the image is built and when it runs."""
    exports = [f"    export {_quoted(each)}" for each in stage.environment]
    commands = [_run(line) for _, line in logical_lines(text) if re.match(r"(RUN|WORKDIR)\s", line, re.IGNORECASE)]
    parts = [f"Bootstrap: docker\nFrom: {stage.base}\n"]
    if stage.files:
        parts.append("%files\n" + "".join(f"    {source} {target}\n" for source, target in stage.files))
    if exports:
        parts.append("%environment\n" + "\n".join(exports) + "\n")
    parts.append("%post\n" + "\n".join([*exports, *(f"    {each}" for each in commands)]) + "\n")
    if stage.labels:
        parts.append("%labels\n" + "".join(f"    {_label(each)}\n" for each in stage.labels))
    return "\n".join(parts)


def _run(line: str) -> str:
    """Each RUN in a shell of its own, as ``docker build`` has it; WORKDIR changes the directory for those that follow."""
    word, _, rest = line.partition(" ")
    return f"/bin/sh -c {shlex.quote(rest.strip())}" if word.upper() == "RUN" else f"mkdir -p {rest.strip()} && cd {rest.strip()}"


def dockerfile(stage: Stage) -> str:
    """A Dockerfile for a definition file. ``%post`` becomes one script, run by ``sh -e`` as Apptainer does."""
    files = [f"COPY {source} {target}" for source, target in stage.files]
    variables = [f"ENV {each}" for each in stage.environment]
    labels = [f"LABEL {name}={value}" for name, value in (_label(each).split(" ", 1) for each in stage.labels)]
    script = " ".join(shlex.quote(line) for line in stage.commands)
    run = [f"RUN printf '%s\\n' {script} | /bin/sh -e"] if stage.commands else []
    return "\n".join((f"FROM {stage.base}", *files, *run, *variables, *labels)) + "\n"


def _label(text: str) -> str:
    name, _, value = text.partition("=") if "=" in text else text.partition(" ")
    return f"{name.strip()} {value.strip()}"


def _quoted(text: str) -> str:
    """An assignment by which a shell sets the same value."""
    name, _, value = text.partition("=")
    bare = value[1:-1] if value[:1] in ("'", '"') else value
    return f"{name}={shlex.quote(bare)}" if value[:1] == "'" else f'{name}="{bare}"'


def stage_of(found: Mapping[str, Any]) -> Stage:
    """The one stage that spython found."""
    return Stage(
        base=str(found.get("fromHeader", "")).strip(),
        files=tuple(each.split() if isinstance(each, str) else each for each in found.get("files", ())),
        environment=tuple(map(str, found.get("environ", ()))),
        commands=tuple(map(str, found.get("install", ()))),
        labels=tuple(each if isinstance(each, str) else " ".join(each) for each in found.get("labels", ())),
    )
