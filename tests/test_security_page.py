"""What docs/security.md promises is tested where it says."""

from __future__ import annotations

import ast
import re

from tests.conftest import ROOT

PAGE = (ROOT / "docs/security.md").read_text()


def test_every_test_that_the_page_names_is_there() -> None:
    """By file and function."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    there = {
        file: {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)}
        for file in {file for file, _ in named}
    }
    assert len(named) > 40
    assert [f"{file}::{name}" for file, name in named if name not in there[file]] == []


def test_every_threat_names_its_defence_and_its_test() -> None:
    """No empty cell."""
    rows = [line.strip("|").split("|") for line in PAGE.split("## Threats")[1].splitlines() if line.startswith("| ")][1:]
    assert [row for row in rows if len([cell for cell in row if cell.strip()]) != 3] == []
