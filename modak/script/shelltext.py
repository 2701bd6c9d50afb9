"""Shell text of others: rules of a site, build commands of an application. It is code.

It is copied unchanged, but for the published placeholders, which become variables. Values are never inserted as text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from typing import Final

from modak.script import checker
from modak.script.bash import Line, function
from modak.script.meaning import Unparsable, parse_events
from modak.text.grammar import UNSOUND

PLACEHOLDERS: Final[Mapping[str, str]] = {"preferred_storage_location": "MODAK_STORAGE", "BUILD_PARALLELISM": "BUILD_PARALLELISM"}
"""The published placeholders ``{{ NAME }}``, and the variable that each stands for."""

_PART: Final = re.compile(r"@([A-Z]+)@")
_OF_KIND: Final = re.compile(r"(.*) @([a-z]+)@\n")
_PLACEHOLDER: Final = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


@lru_cache(maxsize=256)
def rule_fault(text: str) -> str:
    """Why a rule's shell text cannot be in a script; empty if it can.

    >>> rule_fault("export A=${#list[@]}"), rule_fault("echo 'open")
    ('', 'it cannot be checked as bash: line 1 is no bash that can be checked')
    """
    if UNSOUND.search(text):
        return "it contains control characters (for instance a carriage return)"
    if any(map(checker.is_directive, text.split("\n"))):
        return "it contains scheduler options, which are ignored after the first command"
    if unknown := [name for name in _PLACEHOLDER.findall(text) if name not in PLACEHOLDERS]:
        return f"it contains the placeholder {{{{{unknown[0]}}}}}; known: {', '.join(sorted(PLACEHOLDERS))}"
    try:
        inside = function("modak_rule", code(text))
        closed = parse_events(inside.text) == list(inside.events)
    except Unparsable as error:
        return f"it cannot be checked as bash: {error}"
    return "" if closed else "it has a } without its {"


def substituted(text: str) -> str:
    """Shell text with the published placeholders as variables (one that is not set stops the script); other braces stay.

    >>> substituted("make -j {{BUILD_PARALLELISM}} ${#a[@]}")
    'make -j ${BUILD_PARALLELISM:?} ${#a[@]}'
    >>> substituted("awk '{{print}}'")
    "awk '{{print}}'"
    """
    return _PLACEHOLDER.sub(lambda found: f"${{{PLACEHOLDERS[found[1]]}:?}}" if found[1] in PLACEHOLDERS else found[0], text)


def with_parts(text: str, **parts: str) -> str:
    """Shell text of MODAK's own, in which each ``@NAME@`` stands for one of the parts, which are MODAK's own, too.

    >>> with_parts("tar -x@HOW@ -f x.tar", HOW=" --skip-old-files")
    'tar -x --skip-old-files -f x.tar'
    """
    return _PART.sub(lambda found: parts[found[1]], text)


def with_lines(text: str, kinds: Collection[str]) -> str:
    """Shell text of MODAK's own, of which lines that end with ``@kind@`` are there for these kinds of jobs only.

    >>> with_lines("cd ..\\nsleep 1 @late@\\nls @early@\\n", ["late"])
    'cd ..\\nsleep 1\\n'
    """
    return _OF_KIND.sub(lambda found: f"{found[1]}\n" if found[2] in kinds else "", text)


@cache
def ours(text: str) -> Line:
    """Shell text of MODAK's own, without any value of a request; the parser itself finds its events."""
    whole = text.strip("\n")
    return Line(whole, tuple(parse_events(whole)))


@lru_cache(maxsize=256)
def code(text: str) -> Line:
    """Trusted shell text; the parser itself finds its events."""
    whole = substituted(text).strip("\n")
    return Line(whole, tuple(parse_events(whole)))


def placeholders(text: str) -> tuple[str, ...]:
    """Variables that the published placeholders in the text become, sorted."""
    return tuple(sorted({PLACEHOLDERS[name] for name in _PLACEHOLDER.findall(text) if name in PLACEHOLDERS}))
