"""The shape of the program, read from the source with ``ast``: a pure core, a thin shell, and nothing that happens on import."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

SHELL = {
    "__main__",
    "blas",
    "interrupts",
    "settings",
    "files",
    "garbage",
    "knowledge",
    "store",
    "tuner",
    "ingest",
    "schemas",
    "builds",
    "detect",
    "service",
    "api",
    "client",
    "cli",
    "plotting",
    "processes",
    "auth",
    "web",
}
"""The modules that touch the world. Everything else is the core: values in, values out."""
PLUGINS = ("schedulers", "launchers", "runtimes", "frameworks", "ingest")
WORLD = {
    *("os", "io", "shutil", "subprocess", "tempfile", "pathlib", "glob", "socket", "ssl", "http", "urllib.request", "sqlite3"),
    *("logging", "time", "random", "secrets", "asyncio", "multiprocessing", "signal", "pickle", "joblib", "jinja2"),
    *("sqlalchemy", "alembic", "fastapi", "starlette", "uvicorn", "typer", "rich", "httpx2", "psycopg"),
}
ACTS = {"open", "print", "input", "eval", "exec", "__import__", "now", "today", "utcnow", "uuid4", "uuid1"}
HEAVY = {
    "sklearn",
    "scipy",
    "pandas",
    "numpy",
    "alembic",
    "sqlalchemy",
    "fastapi",
    "hpccm",
    "spython",
    "httpx2",
    "matplotlib",
    "optuna",
    "tree_sitter",
}
IMPORT_EVERYTHING = """
import importlib, json, pkgutil, sys
told = []
acts = {"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.mkdir", "socket.connect", "socket.bind", "sqlite3.connect"}
def hook(event, arguments):
    if event in acts or event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        told.append((event, str(arguments)[:100]))
sys.dont_write_bytecode = True
sys.addaudithook(hook)
import modak
for found in pkgutil.walk_packages(modak.__path__, "modak."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
import fastapi, sqlalchemy
live = (sqlalchemy.Engine, fastapi.FastAPI, modak.settings.Settings)
ours = [(name, module) for name, module in sys.modules.items() if name.startswith("modak")]
held = [(name, key) for name, module in ours for key, value in vars(module).items() if isinstance(value, live)]
print(json.dumps({"modules": len(ours), "told": told, "held": held}))
"""


@cache
def every_module() -> tuple[tuple[str, ast.Module], ...]:
    """The modules of MODAK, as (path, syntax tree)."""
    return tuple((str(file.relative_to(ROOT)), ast.parse(file.read_text())) for file in sorted((ROOT / "modak").rglob("*.py")))


def core_modules() -> tuple[tuple[str, ast.Module], ...]:
    """Those of the core."""
    return tuple((path, tree) for path, tree in every_module() if Path(path).parts[1].removesuffix(".py") not in SHELL)


def core() -> Iterator[tuple[str, ast.AST]]:
    """Every node of the core, with the path that it stands in."""
    return ((path, node) for path, tree in core_modules() for node in ast.walk(tree))


def imports() -> Iterator[tuple[str, str]]:
    """Every module or member that the core imports, anywhere, with its place."""
    for path, node in core():
        if isinstance(node, ast.Import):
            yield from ((f"{path}:{node.lineno}", alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{path}:{node.lineno}", f"{node.module}.{alias.name}") for alias in node.names)


def called(node: ast.Call) -> str:
    """The last part of what a call calls: ``compile`` for ``re.compile(…)``."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def within(name: str, packages: set[str]) -> bool:
    """Whether a dotted name is one of the packages or lies in one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_the_core_is_there() -> None:
    """The claims below would hold for an empty list, too."""
    paths = {path for path, _ in core_modules()}
    assert {"modak/optimise.py", "modak/script/job.py", "modak/schedulers/slurm.py", "modak/perfmodel/__init__.py"} <= paths
    assert "modak/settings.py" not in paths


def test_every_module_has_its_place_in_the_architecture() -> None:
    """A newcomer finds each module and package of ``modak`` named on one page."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    present = {file.stem for file in (ROOT / "modak").iterdir() if file.suffix == ".py" or (file / "__init__.py").exists()}
    missing = sorted(name for name in present - {"__init__", "__main__"} if f"`{name}`" not in page and f"`{name}/`" not in page)
    assert missing == [], "name these in docs/architecture.md"


LARGE = (
    *("dsl", "facts", "text", "normalise", "results", "perfmodel", "choosing", "images", "jobs", "script", "advice"),
    *("service", "store", "api", "builds"),
)
"""Packages of which the page names every module."""


@pytest.mark.parametrize("package", LARGE)
def test_every_module_of_a_large_question_has_its_place_in_the_architecture(package: str) -> None:
    """Their names alone do not say where to begin."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    files = sorted(file.relative_to(ROOT / "modak").with_suffix("") for file in (ROOT / "modak" / package).rglob("*.py"))
    named = {file: (f"`{file.name}`", f"`{file.parent.name}/{file.name}`", f"`{file}`") for file in files if file.name != "__init__"}
    missing = [str(file) for file, names in named.items() if not any(name in page for name in names)]
    assert missing == [], f"say in docs/architecture.md what these modules of {package}/ are for"


def test_the_architecture_names_what_exists() -> None:
    """A module that was renamed or moved leaves no name behind."""
    names = re.findall(r"`([a-z_]+(?:/[a-z_]*)*)`", (ROOT / "docs" / "architecture.md").read_text())
    files = {str(file.relative_to(ROOT / "modak").with_suffix("")) for file in (ROOT / "modak").rglob("*.py")}
    known = {part for file in files for part in file.removesuffix("/__init__").split("/")}
    places = (ROOT, ROOT / "modak")
    lost = [name for name in names if name.strip("/") not in known | files and not any((place / name).is_dir() for place in places)]
    assert lost == [], "no module or package has these names"


def test_the_shell_is_made_of_modules_that_exist() -> None:
    """A name left behind would excuse a module that comes later."""
    assert sorted(name for name in SHELL if not list((ROOT / "modak").glob(f"{name}*"))) == [], "take these out of SHELL, above"


def test_the_core_imports_nothing_that_touches_the_world() -> None:
    """No files, processes, network, clock, log, chance, database or web framework."""
    found = [(place, name) for place, name in imports() if within(name, WORLD)]
    assert found == [], "pass the values in, or do this in a module of the shell (SHELL, above)"


def test_the_core_imports_no_module_of_the_shell() -> None:
    """The shell calls the core, never the other way round."""
    shell = {f"modak.{name}" for name in SHELL}
    assert [(place, name) for place, name in imports() if within(name, shell)] == []


def test_the_core_imports_in_one_order() -> None:
    """No circle at the heads of modules, not even of types: each can be read after those that it imports.

    Only ``plugins`` names what it will find, and a plug-in the Protocol of its own package.
    """
    graph: dict[str, set[str]] = {dotted(path): set() for path, _ in core_modules()}
    for path, tree in core_modules():
        typing = (node for part in tree.body if isinstance(part, ast.If) for node in part.body)
        named = ((node.module, alias.name) for node in (*tree.body, *typing) if isinstance(node, ast.ImportFrom) for alias in node.names)
        found = {f"{module}.{name}" if f"{module}.{name}" in graph else str(module) for module, name in named}
        graph[dotted(path)] = {one for one in found & set(graph) if not f"{dotted(path)}.".startswith(f"{one}.")}
    graph["modak.plugins"].clear()
    assert sorted(TopologicalSorter(graph).static_order()) == sorted(graph)  # of a circle there is no order: an error names it


def dotted(path: str) -> str:
    """The name of the module in a file."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_the_core_opens_prints_and_asks_for_nothing() -> None:
    """Nor does it read the clock or evaluate text."""
    assert [f"{path}:{node.lineno} {called(node)}" for path, node in core() if isinstance(node, ast.Call) and called(node) in ACTS] == []


def test_every_dataclass_of_the_core_is_frozen() -> None:
    """A value that flows through functions is not changed by any of them."""
    classes = ((path, node) for path, node in core() if isinstance(node, ast.ClassDef))
    marked = ((f"{path}:{node.lineno} {node.name}", ast.unparse(mark)) for path, node in classes for mark in node.decorator_list)
    assert [place for place, mark in marked if "dataclass" in mark and "frozen=True" not in mark] == []


def test_no_function_of_the_core_keeps_state_in_its_module() -> None:
    """None rebinds a name of its module."""
    assert [f"{path}:{node.lineno}" for path, node in core() if isinstance(node, ast.Global)] == []


def test_modules_only_define_things_when_they_are_imported() -> None:
    """At a module's own level stand imports, definitions and constants: no loop, no condition, no statement that does something."""
    statements = ((path, node) for path, tree in every_module() for node in tree.body)
    acting = [f"{path}:{node.lineno} {ast.unparse(node)[:60]}" for path, node in statements if not defines(node)]
    assert acting == [], "do this in a function"


def defines(node: ast.stmt) -> bool:
    """An import, a definition, a constant, a docstring, what only type checkers see, or a declaration such as ``Index(…)`` of a table."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call() as call):
            return called(call)[:1].isupper()
        case ast.If():
            return ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'")
    return isinstance(
        node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
    )


@cache
def imported() -> Mapping[str, Any]:
    """What happens while all of MODAK is imported, and what its modules hold then."""
    found: Mapping[str, Any] = json.loads(python("-c", IMPORT_EVERYTHING).stdout)
    assert found["modules"] > 300
    return found


def test_importing_everything_touches_nothing() -> None:
    """No process, no connection, no database and no file opened for writing."""
    assert imported()["told"] == []


def test_no_module_holds_a_live_thing() -> None:
    """No engine, application or settings is made on import: whoever starts MODAK makes them and passes them on."""
    assert imported()["held"] == []


@pytest.mark.parametrize("kind", PLUGINS)
def test_a_kind_of_plug_in_is_a_tuple_of_variants_of_one_type_each_with_its_own_name(kind: str) -> None:
    """BUILTIN is where a newcomer adds one word, and mypy reads the contract; two variants of one name would hide each other."""
    source = (ROOT / "modak" / kind / "__init__.py").read_text()
    assert re.search(r"^BUILTIN: (Final\[)?tuple\[[A-Z][a-z]+, \.\.\.\]", source, re.MULTILINE)
    variants = import_module(f"modak.{kind}").BUILTIN
    assert isinstance(variants, tuple)
    assert len({one.name for one in variants}) == len(variants) > 0


def test_alembic_is_no_package() -> None:
    """An ``__init__.py`` there would hide the library of that name."""
    assert not (ROOT / "alembic" / "__init__.py").exists()


def test_help_imports_no_heavy_library() -> None:
    """A library that takes long to import is imported by the function that needs it."""
    names = {name.split(".")[0] for name in imported_by_help()}
    assert "typer" in names
    assert names & HEAVY == set()


def test_help_imports_few_modules() -> None:
    """Their number is what its time depends on; the schemas of documents take half as long as all the others."""
    assert 100 < len(imported_by_help()) < 350
    assert {name for name in imported_by_help() if name.startswith(("modak.dsl", "modak.facts"))} == set()


def test_a_client_of_a_service_imports_no_schemas() -> None:
    """Which would be a sixth of the time of a short command; filters of results alone need them."""
    imported = python("-c", "import sys, modak.client; print(*sys.modules)").stdout.split()
    assert [name for name in imported if name.startswith(("modak.dsl", "modak.facts"))] == []


@cache
def imported_by_help() -> tuple[str, ...]:
    """The modules that ``modak --help`` imports."""
    listed = python("-X", "importtime", "-m", "modak", "--help").stderr.splitlines()
    return tuple(line.rpartition("|")[2].strip() for line in listed if line.startswith("import time:"))


def python(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter."""
    ran = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return ran
