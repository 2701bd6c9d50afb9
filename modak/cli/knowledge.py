"""The commands for systems, images, rules and models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modak.cli import common, show
from modak.errors import BY_REPLACING, DataError, Fault, ModakError
from modak.text.amounts import counted
from modak.text.listings import COLUMNS, table

if TYPE_CHECKING:
    from modak.facts import Known, Rule


def _group(kind: str, about: str, listed: str, shown: str) -> typer.Typer:
    """The commands of a kind of knowledge, with those that every kind has: list, show, and remove. Models are listed by application, too,
    and not removed."""
    group = common.group(about)
    key = next(iter(COLUMNS[kind]))
    one = typer.Argument(metavar=key.upper(), help=f"The {key} of one of them, as in 'modak {kind} list'.")

    def list_(as_json: common.AsJson = False) -> None:
        _show(kind, common.client().listing(kind), as_json)

    def list_models(application: common.Application = None, as_json: common.AsJson = False) -> None:
        _show(kind, _models_of(application), as_json)

    def show_(name: str = one) -> None:
        show.document(common.client().item(kind, name))

    def remove(name: str = one) -> None:
        notes = common.client().remove(kind, name)
        typer.echo(f"{kind.removesuffix('s')} {name} is removed")
        show.note(*notes)

    group.command("list", help=listed)(list_models if kind == "models" else list_)
    group.command("show", help=shown)(show_)
    if kind != "models":
        group.command(help=f"Remove one of the {kind}. Results and plans that name it stay.")(remove)
    return group


def _models_of(application: str | None) -> list[dict[str, Any]]:
    """The models of one application, or all; an error names an application that may be meant in place of one that has none."""
    from modak.facts import canonical_text
    from modak.service.records import no_model_of

    name = None if application is None else canonical_text(application.strip())
    items = common.client().listing("models", name)
    if name is not None and not items:
        raise no_model_of(name, common.applications())
    return items


def _show(kind: str, items: list[dict[str, Any]], as_json: bool) -> None:
    """Print the items of a kind."""
    if as_json:
        show.document(items)
    else:
        show.table(*table(kind, items))


systems = _group(
    "systems",
    "List, describe, add and remove systems on which jobs run.",
    "Show the known systems.",
    "Show one as JSON, with the source of every figure.",
)
images = _group("images", "List, add, build and verify container images.", "Show the catalogue of images.", "Show one as JSON.")
rules = _group("rules", "List, add and check what sites and applications add to scripts.", "Show the rules.", "Show one as JSON.")
models = _group(
    "models",
    "Show, evaluate and plot performance models.",
    "Show the fitted models. Series that have changed are fitted first.",
    "Show one as JSON: form, coefficients, results behind it.",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A TOML or JSON file; - reads standard input.")]
ImageFile = Annotated[Path, typer.Argument(metavar="FILE", help="A TOML or JSON file (- reads standard input), or a bundle.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace entries of the same name.")]


@systems.command("add")
def systems_add(
    file: File,
    processors: Annotated[Path | None, typer.Option(metavar="FILE", help="File with processors that MODAK does not know yet.")] = None,
    accelerators: Annotated[Path | None, typer.Option(metavar="FILE", help="File with accelerators that MODAK does not know yet.")] = None,
    replace: Replace = False,
) -> None:
    """Add the system in a file. A system of the same name is kept, unless --replace is given."""
    from modak.facts import Accelerator, Processor
    from modak.knowledge import read_array, read_system

    system = read_system(file)
    values: list[Known] = [system]
    values += read_array(processors, Processor) if processors else ()
    values += read_array(accelerators, Accelerator) if accelerators else ()
    _add(values, [f"system {system.name}"], replace=replace)


@images.command("add")
def images_add(file: ImageFile, replace: Replace = False) -> None:
    """Add the images in a file, or the one in a bundle: all or none."""
    from modak.builds.bundle import is_bundle
    from modak.facts import Image
    from modak.knowledge import read_array

    if is_bundle(file):
        with _in_words_of_options():
            entry = common.building().unbundle(file, replace_old=replace)
        typer.echo(f"image {entry.reference} is in the database")
        return
    found = read_array(file, Image)
    _add(found, [f"image {image.reference}" for image in found], replace=replace)


@rules.command("add")
def rules_add(file: File, replace: Replace = False) -> None:
    """Add the rules in a file: all of them or none."""
    found = _checked_rules(file)
    _add(found, [f"rule {rule.name}" for rule in found], replace=replace)


@rules.command("check")
def rules_check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="TOML or JSON files; - reads standard input.")],
    preview: Annotated[bool, typer.Option("--preview", help="Show what the rules would change in the scripts of stored requests.")] = False,
    last: Annotated[int, typer.Option(min=1, max=1000, help="With --preview: number of requests, newest first.")] = 20,
) -> None:
    """Check files of rules without adding them."""
    from modak.rules import needs_scratch

    found = {file: _checked_rules(file) for file in files}
    for file, several in found.items():
        typer.echo(f"{file}: {counted(len(several), 'rule')}, all in order")
        for rule in filter(needs_scratch, several):
            show.note(f"{file}: rules.{rule.name}.script: not every job has MODAK_SCRATCH; give a default: ${{MODAK_SCRATCH:-/tmp}}")
    if preview:
        _preview(common.local().preview([rule for several in found.values() for rule in several], last=last))


@models.command("fit")
def models_fit(application: common.Application = None) -> None:
    """Fit the series that have changed. This happens automatically when a prediction needs it."""
    from modak.service.records import no_model_of

    with show.progress("fitting"):
        fitted = common.local().fit(application)
    if application is not None and not fitted:
        raise no_model_of(application, common.applications())
    typer.echo(f"{counted(fitted, 'model')} {'is' if fitted == 1 else 'are'} up to date")


@contextmanager
def _in_words_of_options() -> Iterator[None]:
    """A conflict says which option replaces an entry, not which parameter of HTTP does."""
    try:
        yield
    except ModakError as error:  # of the store, or what a service answered
        error.faults = tuple(Fault(fault.field, fault.message.replace(BY_REPLACING, "--replace replaces it")) for fault in error.faults)
        raise


def _add(values: Sequence[Known], names: Sequence[str], *, replace: bool) -> None:
    with _in_words_of_options():
        added = common.client().add(values, replace=replace)
    for name in names:
        typer.echo(f"{name} is in the database" if added else f"{name} was there already, unchanged")
    show.note(*added.notes)


def _checked_rules(file: Path) -> Sequence[Rule]:
    from modak.facts import Rule
    from modak.knowledge import read_array
    from modak.rules import rule_faults

    found = read_array(file, Rule)
    DataError.raise_for(Fault(f"{file}: rules.{rule.name}", str(fault)) for rule in found for fault in rule_faults(rule))
    return found


def _preview(seen: Mapping[str, Any]) -> None:
    """A unified diff for each stored request whose script changes."""
    changed = [plan for plan in seen["plans"] if plan["diff"]]
    failed = [plan for plan in seen["plans"] if plan.get("error")]
    typer.echo(f"{len(changed)} of {len(seen['plans'])} stored requests get another script")
    for plan in changed:
        typer.echo(f"\n{plan['diff']}", nl=False)
    show.warn({"field": f"plan {plan['id']}", "message": plan["error"]} for plan in failed)
