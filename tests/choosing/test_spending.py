"""Objectives: each is told where answers, tables and comparisons of choices look for it. What energy and cost are is tested with whole
requests, in ``tests/test_optimise.py``."""

from __future__ import annotations

from inspect import get_annotations
from typing import get_args

from modak.choosing.spending import SPENDINGS
from modak.cli.asking import recommend
from modak.dsl import Minimise
from modak.dsl.answer import Costed
from modak.text.choices import AMOUNTS
from tests.conftest import ROOT


def test_every_objective_is_known_where_it_is_needed() -> None:
    """It is time, or has a figure for each node-hour, with a field in answers and its place in tables."""
    others = [name.replace("_", "-") for name in get_args(Minimise) if name != "time"]
    assert others == ["node-hours", *SPENDINGS], "give it a figure in SPENDINGS of modak/choosing/spending.py"
    assert others == list(AMOUNTS), "name it, its field and its unit in AMOUNTS of modak/text/choices.py"
    assert {field for field, _ in AMOUNTS.values()} <= set(Costed.model_fields), "give Costed of modak/dsl/answer.py its field"


def test_the_help_names_every_objective() -> None:
    """So does the page of the command."""
    told = get_annotations(recommend, eval_str=True)["objective"].__metadata__[0].help
    assert [name for name in get_args(Minimise) if name not in told] == [], "name it in the help of --objective, modak/cli/asking.py"
    page = (ROOT / "docs/cli.md").read_text()
    assert [name for name in get_args(Minimise) if f"`{name}`" not in page] == [], "name it in docs/cli.md, at --objective"
