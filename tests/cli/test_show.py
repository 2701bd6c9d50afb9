"""Tables and sentences on terminals of any width, and elsewhere."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from tests.conftest import ROOT
from tests.terminal import read_all

SHOWN = """
from modak.cli import show

rows = [(n, "10 min 54 s – 56 min 36 s", "interpolated", "one word after another and more of them than fit") for n in (4, 512)]
show.table(("nodes", "interval", "basis", "why not"), rows)
show.bullets("Why", ["a sentence that has more words than a narrow line of a terminal can hold at once"])
"""


def on_a_terminal(columns: int, **environ: str) -> list[str]:
    """What a terminal of that width shows, one without styles unless ``environ`` says otherwise."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb", **environ}
    environment.pop("COLUMNS", None)
    with subprocess.Popen([sys.executable, "-c", SHOWN], stdout=theirs, env=environment) as process:
        os.close(theirs)
        shown = read_all(mine).decode()
    assert process.returncode == 0
    return shown.splitlines()


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_nothing_is_wider_than_the_terminal_and_no_word_is_split(columns: int) -> None:
    """Wide enough: one line a row; else the last column is folded; else the last ones follow below their row."""
    lines = on_a_terminal(columns)
    assert max(map(len, lines)) <= columns
    assert {"one", "another", "interpolated", "sentence", "512"} <= set(" ".join(lines).split())
    assert (len(lines) == 6) == (columns == 200)


@pytest.mark.parametrize(
    ("columns", "header", "row"),
    [
        (
            80,
            "nodes                   interval  basis         why not",
            "    4  10 min 54 s – 56 min 36 s  interpolated  one word after another and more",
        ),
        (60, "nodes                   interval  basis", "    4  10 min 54 s – 56 min 36 s  interpolated"),
        (40, "nodes                   interval", "    4  10 min 54 s – 56 min 36 s"),
    ],
)
def test_the_first_columns_stay_under_each_other(columns: int, header: str, row: str) -> None:
    """On a terminal of 80 characters a table can still be read down: what does not fit is named below its row."""
    lines = on_a_terminal(columns)
    assert lines[:2] == [header, row]
    assert ("    why not: one word after another" in "\n".join(lines)) == (columns < 80)


def test_a_first_column_that_does_not_fit_is_named_as_the_others() -> None:
    """Then nothing stands under a header, and each row begins with the name of its first cell."""
    assert on_a_terminal(4)[:2] == ["nodes:", "    4"]


@pytest.mark.parametrize(("environ", "bold"), [({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_headings_are_bold_where_the_terminal_and_its_user_take_it(environ: dict[str, str], bold: bool) -> None:
    """A user sets NO_COLOR to something."""
    assert ("\x1b[1m" in on_a_terminal(80, **{"TERM": "xterm", "NO_COLOR": "", **environ})[0]) == bold


def test_elsewhere_nothing_is_folded() -> None:
    """A file or another program gets a line a row."""
    told = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "40"})
    assert len(told.stdout.splitlines()) == 6
