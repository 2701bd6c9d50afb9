"""`modak systems detect`: this machine as a system file, or what differs from the one that is stored."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from modak.cli import common, show
from modak.text.amounts import cell, counted

if TYPE_CHECKING:
    from modak.detected import Description
    from modak.facts import Accelerator, Processor, System

DIFFERS: Final = 1
"""The exit status of ``--diff`` where something differs, as of diff(1)."""


def detect(
    name: Annotated[str | None, typer.Option(help="Name of the system; default: the cluster's own name.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write NAME.toml and files of unknown hardware to this folder.")
    ] = None,
    probe: Annotated[bool, typer.Option("--probe", help="Also query a node of each Slurm partition, in a job with one task.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show differences from the stored system; exit status 1 if there are any.")] = False,
    as_json: common.AsJson = False,
) -> None:
    """Describe this machine as a system file. What cannot be detected is left out, with a note.

    Example, on a login node: modak systems detect -o my-cluster/
    """
    from modak.detect import detect as describe_machine
    from modak.facts import System

    processors, accelerators = _known()
    with show.progress("asking this machine"):
        found = describe_machine(processors, accelerators, os.environ, name=name, probe=probe)
    stored = common.answered(System, common.client().item("systems", found.system.name)) if diff else None
    show.note(*found.notes_beside(stored) if stored else found.notes)
    if stored:
        _differences(stored, found, as_json)
    elif output is not None:
        _write(found, output)
    elif as_json:
        show.document({"system": _json(found.system), **{key: list(map(_json, items)) for key, items in _hardware(found).items()}})
    else:
        typer.echo(_text(found), nl=False)


def _known() -> tuple[Mapping[str, Processor], Mapping[str, Accelerator]]:
    """The hardware in the database; with MODAK_SERVER, which does not list hardware, that of this MODAK."""
    if common.settings().server:
        from modak.knowledge import packaged_root, read_all

        shipped = read_all(packaged_root())
        return {one.name: one for one in shipped.processors}, {one.name: one for one in shipped.accelerators}
    facts = common.local().facts()
    return facts.processors, facts.accelerators


def _hardware(found: Description) -> Mapping[str, Sequence[Processor | Accelerator]]:
    return {"processors": found.processors, "accelerators": found.accelerators}


def _json(item: System | Processor | Accelerator) -> dict[str, Any]:
    return item.model_dump(mode="json", exclude_unset=True, exclude_none=True)


def _text(found: Description) -> str:
    """The system file, with entries for unknown hardware as comments below, so that the text is still a system file."""
    from modak.detected import toml

    parts = [toml([found.system])]
    for kind, items in _hardware(found).items():
        if items:
            lines = toml(items).splitlines()
            parts.append(f"\n# {kind} that MODAK does not know: a file of its own, for modak systems add --{kind} FILE\n#\n")
            parts.append("".join(f"# {line}".rstrip() + "\n" for line in lines))
    return "".join(parts)


def _write(found: Description, folder: Path) -> None:
    """One file for the system and one for each kind of unknown hardware; the command that adds them."""
    from modak.detected import toml
    from modak.files import write_all

    name = found.system.name
    files = {kind: folder / f"{name}-{kind}.toml" for kind, items in _hardware(found).items() if items}
    system = folder / f"{name}.toml"
    write_all({system: toml([found.system]), **{file: toml(_hardware(found)[kind]) for kind, file in files.items()}})
    typer.echo(" ".join(["modak systems add", str(system), *(f"--{kind} {file}" for kind, file in files.items())]))


def _differences(stored: System, found: Description, as_json: bool) -> None:
    from modak.detected.drift import drift

    differences = drift(stored, found.system, found.unnamed_gpus, shown_lists=found.shown_lists)
    if as_json:
        show.document({"system": stored.name, "differences": [one._asdict() for one in differences]})
    else:
        for one in differences:
            typer.echo(f"{one.field}: {_shown(one.stored, 'not stored')} → {_shown(one.seen, 'not seen')}")
        typer.echo(f"{stored.name}: {counted(len(differences), 'difference')}", err=True)
    if differences:
        raise typer.Exit(DIFFERS)


def _shown(value: Any, missing: str) -> str:
    return missing if value is None else cell(value)
