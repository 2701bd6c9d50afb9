"""Launchers that users put before their programs."""

from __future__ import annotations

import pytest

from modak.jobs.starters import without_starter
from modak.text import words


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("torchrun --no-python -r3 ./train 1", "./train 1"),
        ("torchrun --no-python --log_dir=${HOME}/logs ./train 1", "./train 1"),
        ("torchrun launch 1", "python3 launch 1"),
    ],
)
def test_what_follows_the_options_of_a_launcher_is_the_program(command: str, program: str) -> None:
    """Not a value of an option that has one already, nor a word of another launcher's."""
    found = without_starter(words.parse(command), "torchrun")
    assert found
    assert words.line(found[0]) == program
