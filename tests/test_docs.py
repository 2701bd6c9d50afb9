"""What users type stands in the documentation, and the examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.document import API
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
DOCS = "\n".join([README, *(file.read_text() for file in sorted((ROOT / "docs").glob("*.md")))])


def found_in(name: str, text: str) -> bool:
    """Whether a name stands in a text, whole."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def written(name: str) -> bool:
    """Whether it stands in the documentation."""
    return found_in(name, DOCS)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of the command line with its options' longest names."""
    import typer.main

    from modak.cli import app

    def walk(command: Any, name: str) -> Iterator[tuple[str, list[str]]]:
        for child in getattr(command, "commands", {}).items():
            yield from walk(child[1], f"{name} {child[0]}")
        if not hasattr(command, "commands"):
            options = [max(one.opts, key=len) for one in command.params if one.opts and one.opts[0].startswith("-")]
            yield name, sorted(set(options) - {"--help"})

    yield from walk(typer.main.get_command(app), "modak")


def test_every_command_and_option_is_documented() -> None:
    """By its full name, for instance ``modak systems add``; its options by theirs."""
    unwritten = [f"{name} {o}".strip() for name, options in commands() for o in ["", *options] if not written(o or name)]
    assert unwritten == [], "describe these in docs/cli.md"


def test_every_setting_is_documented_with_its_default() -> None:
    """Name and default value."""
    from modak.settings import settings_table

    unwritten = [row for rows in settings_table().values() for row in rows if not written(row[0]) or (row[1] and row[1] not in DOCS)]
    assert unwritten == [], "describe these with their defaults in docs/cli.md or docs/service.md"


def test_every_endpoint_is_documented() -> None:
    """Every path of the OpenAPI document."""
    assert API["paths"]
    assert [path for path in API["paths"] if path not in DOCS] == [], "describe these in docs/http.md"


NAMED = {
    "schedulers": ("README.md", "docs/scripts.md", "docs/request.md", "docs/knowledge.md", "modak/facts/systems.py"),
    "launchers": ("README.md", "docs/scripts.md"),
    "runtimes": ("README.md", "docs/scripts.md", "docs/request.md", "modak/facts/systems.py"),
    "frameworks": ("README.md", "docs/request.md"),
    "ingest": ("README.md", "docs/results.md", "tests/data/README.md"),
}
"""Where each kind of plug-in has all of its names."""
MARKED = {"docs/knowledge.md": "{}", "modak/facts/systems.py": '"{}"'}
"""How a name stands on a page; on the others as code. Some are words that a page has anyway: none, shell, csv."""


@pytest.mark.parametrize(("kind", "page"), [(kind, page) for kind, pages in NAMED.items() for page in pages])
def test_every_plug_in_is_documented(kind: str, page: str) -> None:
    """Every built-in variant by the name that requests and files use."""
    text = (ROOT / page).read_text()
    if page == "README.md":
        text = text.partition("\n## Supported schedulers")[2].partition("\n## ")[0]
    names = [one.name for one in importlib.import_module(f"modak.{kind}").BUILTIN]
    unwritten = [name for name in names if not found_in(MARKED.get(page, "`{}`").format(name), text)]
    assert unwritten == [], f"name these in {page}, where the others of {kind} stand"


def test_every_metric_and_accelerator_is_documented() -> None:
    """Names that tables of results and system files use."""
    from modak.facts import Accelerator
    from modak.knowledge import packaged_root, read_array
    from modak.results.metrics import METRICS

    assert [name for name in METRICS if not written(name)] == [], "name these in the table of metrics of docs/results.md"
    known = read_array(packaged_root() / "hardware" / "accelerators.toml", Accelerator)
    assert [one.name for one in known if not written(one.name)] == [], "name these in the list of accelerators of docs/knowledge.md"


@pytest.mark.parametrize("kind", ["system", "rule"])
def test_every_field_of_systems_and_rules_is_documented(kind: str) -> None:
    """What an administrator's files may say, with the conditions of rules."""
    from modak.schemas import schema

    whole = schema(kind)
    fields = {name for part in (whole, *whole["$defs"].values()) for name in part.get("properties", ())} - {"$schema"}
    assert len(fields) > 20
    assert [name for name in sorted(fields) if not written(name)] == [], "describe these in docs/knowledge.md or docs/images-and-rules.md"


def with_examples() -> list[str]:
    """The modules that hold an example in a docstring."""
    files = [file for file in sorted((ROOT / "modak").rglob("*.py")) if ">>> " in file.read_text()]
    return [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files]


@pytest.mark.parametrize("name", with_examples())
def test_examples_in_docstrings_are_true(name: str) -> None:
    """Each ``>>>`` gives what stands below it."""
    ran = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert ran.attempted
    assert not ran.failed


def found(name: str) -> bool:
    """Whether a dotted name is a module, or something in one: a function, a class, a field of a class."""
    try:
        pkgutil.resolve_name(name)
    except ImportError:
        return False
    except AttributeError:
        owner, _, field = name.rpartition(".")
        return found(owner) and field in getattr(pkgutil.resolve_name(owner), "__annotations__", {})
    return True


def test_docstrings_refer_to_what_exists() -> None:
    """A module or function that was renamed or moved leaves no name behind."""
    said = [
        (str(file.relative_to(ROOT)), name)
        for file in sorted((ROOT / "modak").rglob("*.py"))
        for name in re.findall(r":[a-z]+:`~?(modak\.[\w.]+)`", file.read_text())
    ]
    assert len(said) > 100
    assert [(file, name) for file, name in said if not found(name)] == [], "nothing has these names"


PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "examples/README.md", "benchmarks_db/README.md", "tests/data/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def test_links_between_documents_lead_somewhere() -> None:
    """Every relative link names a file of the repository."""
    links = ((file, link) for file in PAGES for link in re.findall(r"\]\(([^)#]+)", file.read_text()))
    lost = [f"{file.name}: {link}" for file, link in links if "://" not in link and not (file.parent / link).exists()]
    assert lost == [], "nothing is there"


def test_percentages_are_written_without_a_blank() -> None:
    """In text and tables alike; code is as it is typed or printed."""
    code = re.compile(r"^```.*?^```|`[^`]*`", re.DOTALL | re.MULTILINE)
    apart = [f"{file.name}: {text}" for file in PAGES for text in re.findall(r"\S+\d\s+%", code.sub("", file.read_text()))]
    assert apart == []


def test_rows_of_a_table_have_the_cells_of_its_header() -> None:
    """Two tables without a blank line between them would be shown as one, and a ``|`` in a cell would begin another."""
    tables = [
        (file.name, [len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()])
        for file in PAGES
        for table in re.findall(r"(?:^\|.*\n)+", re.sub(r"^```.*?^```", "", file.read_text(), flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    ]
    assert len(tables) > 100
    assert [(name, cells) for name, cells in tables if len(set(cells)) > 1] == []


def sections(page: Path) -> set[str]:
    """The names of a page's headings in links, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def test_links_to_sections_lead_to_one() -> None:
    """A heading that was renamed or moved to another page takes the links with it."""
    links = [(file, *link) for file in PAGES for link in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", file.read_text())]
    assert len(links) > 100
    lost = [f"{file.name}: {page}#{name}" for file, page, name in links if name not in sections(file.parent / page if page else file)]
    assert lost == [], "no section has these names"


def test_every_decision_is_found_by_its_topic() -> None:
    """The list of the records names each of them once, by its number and its title."""
    folder = ROOT / "docs/decisions"
    lines = [line for line in (folder / "README.md").read_text().splitlines() if line.startswith("- [")]
    titles = {file.name: file.read_text().splitlines()[0] for file in folder.glob("[0-9]*.md")}
    numbers = {name: int(name.partition("-")[0]) for name in titles}
    entries = [f"- [{numbers[name]}]({name}): {title.removeprefix(f'# {numbers[name]}. ')}" for name, title in titles.items()]
    missing = [entry for entry in entries if sum(f"{line} ".startswith(f"{entry} ") for line in lines) != 1]
    assert missing == [], "list these in docs/decisions/README.md"


def test_of_decisions_that_change_each_other_both_say_so() -> None:
    """Below their titles: nobody follows the older one unawares, or wonders what the newer one is to replace."""
    heads = {file.name: file.read_text().partition("\n\n**")[0] for file in (ROOT / "docs/decisions").glob("[0-9]*.md")}
    pairs = [(one, other) for one, head in heads.items() for other in re.findall(r"\]\((\d{4}-[^)]+)\)", head)]
    assert len(pairs) > 10
    assert [(one, other) for one, other in pairs if one not in heads[other]] == []
