"""What new rules change in the scripts of stored requests; nothing is stored."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from modak.choosing.problem import as_spelt
from modak.dsl import Request
from modak.errors import ModakError
from modak.facts import Rule
from modak.normalise import normalise
from modak.optimise import optimise
from modak.prepared import Prepared
from modak.text.documents import Json


def preview(plan_id: str, request: Mapping[str, Any], rules: Sequence[Rule], facts_for: Callable[[Request], Prepared]) -> Json:
    """Today's answer to a plan's request without and with the rules; a rule takes the place of a known one with its name.

    ``id``, ``diff`` (unified; empty: the same script) and, where the request can no longer be answered, ``error``.
    """
    names = {rule.name for rule in rules}
    try:
        read = normalise(request)
        facts = facts_for(read.request)
        asked, notices = as_spelt(read.request, facts)
        then = replace(facts, rules=(*(rule for rule in facts.rules if rule.name not in names), *rules))
        both = (optimise(asked, known, (*read.warnings, *notices)).texts for known in (facts, then))
        before, after = (f"{texts.job_script}{texts.build_script}".splitlines(keepends=True) for texts in both)
    except ModakError as error:
        return {"id": plan_id, "diff": "", "error": str(error)}
    lines = difflib.unified_diff(before, after, f"{plan_id} as it is", f"{plan_id} with the rules")
    return {"id": plan_id, "diff": "".join(lines)}
