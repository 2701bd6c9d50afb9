"""What MODAK imports is declared, what is declared is used, and the lock files hold it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DECLARED = {canonicalize_name(Requirement(line).name): Requirement(line) for line in PROJECT["project"]["dependencies"]}
UNSEEN = {"uvloop", "httptools", "spython"}
"""uvicorn takes the first two where they are there; the third runs in a process of its own."""


@cache
def imported() -> set[str]:
    """The distributions whose modules MODAK imports, anywhere."""
    trees = [ast.parse(file.read_text()) for folder in ("modak", "alembic") for file in (ROOT / folder).rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    modules = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"modak"}
    carriers = packages_distributions()
    return {canonicalize_name(carriers[module][0]) for module in modules}


def pinned(file: str) -> dict[str, list[str]]:
    """The versions of each package in a lock file: more than one where they depend on Python's version."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;\\]+)", (ROOT / file).read_text(), re.MULTILINE):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


def test_what_is_imported_is_declared() -> None:
    """Nothing comes along by chance, as a dependency of a dependency."""
    assert imported() - set(DECLARED) - {"psycopg", "matplotlib", "optuna", "pyjwt"} == set()


def test_what_is_declared_is_used() -> None:
    """Nobody installs what nothing needs; the exceptions are few and named."""
    assert set(DECLARED) - imported() == UNSEEN


@pytest.mark.parametrize("file", ["requirements/runtime.txt", "requirements/dev.txt"])
def test_the_lock_holds_what_is_declared(file: str) -> None:
    """In versions that pyproject.toml allows; `make lock` was run."""
    locked = pinned(file)
    extras = [Requirement(line) for line in PROJECT["project"]["optional-dependencies"]["dev"]] if "dev" in file else []
    wanted = [*DECLARED.values(), *(one for one in extras if one.name != "modak")]
    assert [str(one) for one in wanted if not any(one.specifier.contains(v) for v in locked.get(canonicalize_name(one.name), []))] == []


@pytest.mark.parametrize("file", ["requirements/runtime.txt", "requirements/dev.txt"])
def test_the_lock_names_no_address_and_a_hash_for_every_file(file: str) -> None:
    """It installs from any index or mirror, and takes nothing that was not there when it was written."""
    text = (ROOT / file).read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert not re.search(r"://|^-|@ |/", text, re.MULTILINE)
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
