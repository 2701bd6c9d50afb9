"""The vocabulary that all headers are made of."""

from __future__ import annotations

import pytest

from modak import plugins
from modak.errors import RequestError
from modak.jobs.spec import Attributes, JobSpec, Resources
from modak.schedulers.header import Directives, mib, options, safe_directives


@pytest.mark.parametrize("word", ["a b", "a\tb", "a\n", "a#b", "a'b", 'a"b', "a\\b", "$x", "`x`", "a;b", "é", "", "a\u2028b"])
def test_a_word_that_is_more_than_a_word_is_refused(word: str) -> None:
    """Blanks, quotes, comments, what a shell reads, anything beyond ASCII."""
    with pytest.raises(RequestError, match="cannot stand in a job's header"):
        safe_directives(Directives((("-N", word),)))


def test_a_word_is_refused_beside_others_that_are_sound() -> None:
    """Each line is looked at, also where all are options of one word."""
    with pytest.raises(RequestError, match="cannot stand in a job's header"):
        safe_directives(Directives((("--nodes=1",), ("--job-name=a b",))))


@pytest.mark.parametrize("option", [("x",), ("-N", "-wrap"), ("-l", "nodes=1", "--wrap=id"), ("nodes=1", "-l")])
def test_a_line_holds_one_option(option: tuple[str, ...]) -> None:
    """It begins with the option's name, and no value looks like another."""
    with pytest.raises(RequestError, match="is more than one option"):
        safe_directives(Directives((option,)))


def test_a_negative_number_is_a_value() -> None:
    """Of a priority; no scheduler has options that begin with a digit."""
    assert safe_directives(Directives((("-p", "-100"),))).options == (("-p", "-100"),)


def test_what_is_not_said_is_left_out() -> None:
    """``True`` is a bare option."""
    assert options({"a": 1, "b": None, "c": "", "d": True, "e": False, "f": "x"}) == (("--a=1",), ("--d",), ("--f=x",))


@pytest.mark.parametrize(
    ("scheduler", "path", "said"),
    [
        ("torque", "logs/%j.err", ["does not expand %"]),
        ("pbspro", "logs/%j.err", ["does not expand %"]),
        ("lsf", "logs/%N.err", ["does not support %N"]),
        ("flux", "logs/%a.err", ["supports only %j and %x"]),
        ("lsf", "logs/%j.err", ["does not create directories"]),
        ("gridengine", "logs/%j.err", ["does not create directories"]),
        ("slurm", "logs/%j.err", ["does not create directories"]),
        ("torque", "logs/run.err", ["does not create directories"]),
        ("pbspro", "logs/run.err", ["does not create directories"]),
        ("flux", "logs/%j.err", ["does not create directories"]),
    ],
)
def test_a_directory_is_needed_for_files_that_are_written_alone(scheduler: str, path: str, said: list[str]) -> None:
    """A file that the scheduler cannot be given has one warning, which says so."""
    job = JobSpec(("./solver",), Resources(), Attributes(name="small", error=path))
    messages = [each.message for each in plugins.find("schedulers", scheduler).directives(job).warnings]
    assert [text for message in messages for text in said if text in message] == said
    assert len(messages) == 1


def test_memory_is_never_more_than_was_asked_for() -> None:
    """Whole MiB, at least one."""
    assert (mib(2**21 - 1), mib(2**21), mib(1)) == (1, 2, 1)
