"""The style sheet: what it shows can be told apart by people who see little contrast."""

from __future__ import annotations

import re

import pytest

from modak import web

LEAST = {"ink": 4.5, "quiet": 4.5, "accent": 4.5, "bad": 4.5, "edge": 3.0}
"""Least contrast with what is behind: of text 4.5, of the edges of fields 3 (WCAG 2.2, criteria 1.4.3 and 1.4.11)."""


def luminance(colour: str) -> float:
    """The relative luminance of a colour ``#rrggbb`` (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_and_fields_stand_out(scheme: int) -> None:
    """On both backgrounds, in both schemes."""
    roots = re.findall(r":root \{(.*?)\}", web.static("style.css"))
    colours = dict(re.findall(r"--(\w+): (#\w{6})", roots[scheme]))
    light = {name: luminance(colour) + 0.05 for name, colour in colours.items()}
    for name, least in LEAST.items():
        ratios = [max(light[name], light[back]) / min(light[name], light[back]) for back in ("paper", "pale")]
        assert min(ratios) >= least, name
