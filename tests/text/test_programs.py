"""What a command begins with."""

from __future__ import annotations

from modak.text.programs import started_by


def test_a_long_command_of_programs_that_run_another_is_a_few_commands() -> None:
    """Not one for each of its words: all of them together would be the square of its length."""
    assert len(started_by(("nohup",) * 10_000)) == 100
