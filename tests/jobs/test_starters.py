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


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("${HOME}/venv/bin/torchrun train.py", '"${HOME:?}"/venv/bin/python3'),
        ("/opt/conda/bin/accelerate launch train.py", "/opt/conda/bin/python3"),
        ("${HOME}/.local/bin/torchrun train.py", "python3"),
    ],
)
def test_a_launcher_by_its_path_stands_for_the_python_beside_it(command: str, python: str) -> None:
    """The torchrun of PATH may be that of another environment."""
    found = without_starter(words.parse(command), "accelerate" if "accelerate" in command else "torchrun")
    assert found
    assert words.shell(found[0][0]) == python
