"""Pages for a browser: a form that becomes a request, and answers, results, curves and systems to look at.

HTML alone, without scripts, and without anything from other servers. Every value is escaped. The addresses are in :mod:`modak.api.pages`.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import modak
from modak.text.grammar import UNSOUND

if TYPE_CHECKING:
    from jinja2 import Environment

HERE: Final = Path(__file__).parent


def page(template: str, base: str, **values: Any) -> str:
    """The page that a template makes of values; ``base`` is the way from its address up to that of the first page (``../``)."""
    return _environment().get_template(f"{template}.html").render(base=base, version=modak.__version__, static=_address, **values)


@cache
def static(name: str) -> str:
    """The text of a file that pages refer to."""
    return (HERE / "static" / name).read_text()


@cache
def _address(name: str) -> str:
    """The address of such a file below a page's ``base``: another one for another text, since browsers keep files for a while."""
    return f"{name}?{hashlib.sha256(static(name).encode()).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    """Imported with the first page: a service that nobody looks at does without it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_sound,
    )


def _sound(value: Any) -> Any:
    """What a page shows of an address or a form, without characters that change how the rest is displayed; markup has none."""
    return UNSOUND.sub("", value) if type(value) is str else value
