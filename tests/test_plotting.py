"""Pictures: of the right kind, of what they are given, and the same every time."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from modak.perfmodel.plotlines import PlotLine
from modak.plotting import picture

LINE = PlotLine(
    label="4 ranks × 12 threads",
    metric="epoch_time",
    unit="s",
    better="lower",
    scale="nodes",
    measured_x=(1.0, 2.0, 4.0),
    measured_y=(100.0, 51.0, 27.0),
    stopped_x=(),
    stopped_y=(),
    x=(1.0, 2.0, 4.0, 8.0),
    y=(100.0, 51.0, 27.0, 15.0),
    lower=(95.0, 49.0, 25.0, 12.0),
    upper=(105.0, 53.0, 29.0, 19.0),
    perfect=(100.0, 50.0, 25.0, 12.5),
    shifted=None,
)


def texts(svg: bytes) -> list[str]:
    """What an SVG picture says."""
    return ["".join(found.itertext()).strip() for found in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314


def test_png_has_a_size_that_can_be_read() -> None:
    """Its magic number, then width and height in pixels."""
    content = picture([LINE], "png", "3dgan on supermuc-ng")
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
    assert width == 1200
    assert 700 < height < 1100


def test_svg_names_axes_units_sizes_and_lines() -> None:
    """As text, so that it can be searched."""
    said = texts(picture([LINE], "svg", "3dgan on supermuc-ng"))
    assert {"3dgan on supermuc-ng", "nodes", "epoch time (s; less is better)", "4 ranks × 12 threads"} <= set(said)
    assert {"1", "2", "4", "8", "100", "measured", "model with its 90% interval", "perfect scaling from the first point"} <= set(said)


def test_values_that_are_scaled_to_a_shift_are_named() -> None:
    """Behind the name of their line, also behind a long one."""
    for label, said in (("one", "one"), (120 * "a", 60 * "a")):
        line = replace(LINE, label=label, shifted="20% longer since 2026-03-11")
        (found,) = (text for text in texts(picture([line], "svg", "")) if "(scaled" in text)
        assert found.startswith(said)
        assert found.endswith(" (scaled: 20% longer since 2026-03-11)")


def test_throughput_says_that_more_is_better() -> None:
    """Over GPUs."""
    said = texts(picture([replace(LINE, metric="throughput", unit="samples/s", better="higher", scale="gpus")], "svg", ""))
    assert {"throughput (samples/s; more is better)", "GPUs"} <= set(said)


@pytest.mark.parametrize(
    ("scale", "named"),
    [(1.0, {"20", "50", "100"}), (4.3e6, {"100 M", "200 M", "500 M"}), (3.7e12, {"50 T", "100 T", "200 T"})],
)
def test_large_values_have_a_letter(scale: float, named: set[str]) -> None:
    """In place of 5e+13."""
    few: dict[str, Any] = {
        name: tuple(scale * value for value in getattr(LINE, name)) for name in ("measured_y", "y", "lower", "upper", "perfect")
    }
    assert named <= set(texts(picture([replace(LINE, **few)], "svg", "")))


@pytest.mark.parametrize("value", [1.0, 1.6, 2.2, 4.3, 7.0])
def test_a_narrow_axis_has_labels_enough_to_be_read(value: float) -> None:
    """One size, and its perfect scaling to the next: a factor of two, in which no round number needs to be."""
    narrow = replace(LINE, measured_x=(10.0,), measured_y=(value,), x=(10.0, 20.0), y=(value, value / 2), lower=(value, value / 2))
    said = texts(picture([replace(narrow, upper=narrow.lower, perfect=narrow.y)], "svg", ""))
    assert sum(float(text) < 10 for text in said if text.replace(".", "").isdigit()) >= 2


def test_runs_that_were_stopped_are_drawn_and_explained() -> None:
    """Where there are any, at their sizes."""
    without, shown = (texts(picture([line], "svg", "")) for line in (LINE, replace(LINE, stopped_x=(16.0,), stopped_y=(30.0,))))
    assert set(shown) - set(without) == {"16", "stopped, so it takes longer (arrow)"}


def test_sizes_whose_labels_would_touch_are_not_both_named() -> None:
    """On an axis of seven decades twice the largest size is too near to it."""
    sizes = (1.0, 1e3, 1e7)
    said = texts(picture([replace(LINE, measured_x=sizes, measured_y=(3.0, 2.0, 1.0), x=(1.0, 1e3, 1e7, 2e7))], "svg", ""))
    assert ("10 M" in said, "20 M" in said) == (True, False)


def test_the_level_is_named_as_it_was_asked() -> None:
    """No interval holds everything."""
    assert "model with its 99.5% interval" in texts(picture([LINE], "svg", "", level=0.995))


def test_every_line_is_named_and_long_names_are_cut() -> None:
    """One entry each, however many."""
    lines = [replace(LINE, label=f"layout {place}") for place in range(7)] + [replace(LINE, label="x" * 200)]
    said = texts(picture(lines, "svg", ""))
    assert [f"layout {place}" in said for place in range(7)] == [True] * 7
    assert "x" * 99 + "…" in said


def axes_path(svg: bytes) -> str | None:
    """The outline of the axes in an SVG picture."""
    (axes,) = (group for group in ElementTree.fromstring(svg).iter() if group.get("id") == "patch_2")  # noqa: S314
    return axes[0].get("d")


def test_a_long_title_takes_no_width_from_the_axes() -> None:
    """Of an application with a long name, on many systems: it takes a second line, and no more."""
    long, longer = (picture([LINE], "svg", "x" * letters) for letters in (100, 200))
    width = [(path or "").split()[4] for path in map(axes_path, (long, longer, picture([LINE], "svg", "x\nx")))]
    assert len(set(width)) == 1
    assert any(said.endswith("…") for said in texts(longer))


def test_labels_are_text_and_nothing_else() -> None:
    """No mathematics, no markup, no warning for a letter that the font lacks."""
    odd = ["$a_1^{2$", "日本 \U0001f600", "<&>", "_hidden"]
    said = texts(picture([replace(LINE, label=label) for label in odd], "svg", "$x_1^{2$"))
    assert {*odd, "$x_1^{2$"} <= set(said)


def test_the_same_data_gives_the_same_bytes() -> None:
    """No date, no random names."""
    for kind in ("png", "svg"):
        assert picture([LINE], kind, "title") == picture([LINE], kind, "title")


def test_without_matplotlib_one_line_names_the_extra(packaged_database: Path) -> None:
    """And the data can still be had."""
    program = "import sys; sys.modules['matplotlib'] = None; from modak.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", program, "models", "plot", "--application", "3dgan", "--system", "supermuc-ng"]
    environment = {**os.environ, "MODAK_DATABASE_URL": f"sqlite:///{packaged_database}"}
    kinds = (["-o", "x.png"], ["--json"])
    drawn, told = (subprocess.run([*words, *kind], capture_output=True, text=True, env=environment) for kind in kinds)
    assert drawn.returncode == 3
    assert drawn.stderr == "modak: drawing needs matplotlib: pip install 'modak[plot]' (--json gives the data without it)\n"
    assert (told.returncode, '"perfect"' in told.stdout) == (0, True)
