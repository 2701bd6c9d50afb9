"""Plans and choices as people read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from modak.cli import show
from modak.text.choices import alternatives, configuration, next_steps, warnings


def files(filled: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], dict[Path, str]]:
    """The document with paths as `job_script` and `build_script`, and the files that ``-o`` writes, by path."""
    job = dict(filled["job"])
    if folder is None:
        return dict(filled), {}
    contents = {folder / "job.sh": job["job_content"]}
    job["job_script"] = str(folder / "job.sh")
    if job.get("build_content"):
        contents[folder / "build.sh"] = job["build_content"]
        job["build_script"] = str(folder / "build.sh")
    recipe = job["plan"].get("recipe") or {}
    if recipe.get("content"):
        contents[folder / recipe["file"]] = recipe["content"]
    document = {**filled, "job": job}
    return document, contents | {folder / "response.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n"}


def plan(job: Mapping[str, Any], written: Sequence[str]) -> None:
    """Print the whole answer: choice, predicted time, reasons, alternatives, script."""
    made = job["plan"]
    show.heading("Configuration")
    for name, value in configuration(made).items():
        typer.echo(show.folded(value, f"  {name + ':':<16} ", " " * 19))
    show.bullets("Why", made.get("decisions", ()))
    if made.get("alternatives"):
        typer.echo()
        show.heading("Alternatives")
        show.table(*alternatives(made))
    show.bullets("Advice", made.get("advice", ()))
    show.bullets("Warnings", warnings(made.get("warnings", ())))
    if written:
        show.bullets("Written", written)
        show.bullets("Next", next_steps(job, *(job[name] if job.get(name) in written else "" for name in ("job_script", "build_script"))))
        return
    typer.echo()
    show.heading("Job script")
    typer.echo(job["job_content"], nl=False)
