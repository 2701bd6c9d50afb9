from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak import plugins
from modak.errors import RequestError
from modak.script.bash import Line, command_line, comment, continued, export, piped, run, write
from modak.script.checker import check_line, check_script, is_assignment, is_directive
from modak.script.meaning import Unparsable, parse_events

HEAD = "#!/bin/bash\n# written by MODAK\n"
WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), max_codepoint=0x2FF), max_size=12)
COMMANDS = st.lists(WORDS, max_size=5).map(lambda words: command_line(("./solve", *words)))
START = command_line(("ch-run", "--cd=/mnt/0", "it's", "--"))
LINES = st.one_of(
    COMMANDS,
    st.lists(WORDS, min_size=1, max_size=5).map(lambda words: continued(START, words)),
    st.sampled_from([comment("a remark"), run("cd", "--", "/x y"), piped(run("sort"), run("uniq", "-c")), Line("")]),
    WORDS.map(lambda value: export("MODAK_X", value)),
    WORDS.map(lambda value: write("/tmp/file", f"a\n{value}\nb\n", "MODAK_EOF")),
)


@given(st.lists(LINES, max_size=6))
def test_lines_that_are_sound_alone_mean_the_same_together(lines: list[Line]) -> None:
    """What is checked line by line, and commands word by word, is what a parser finds in the whole script."""
    try:
        whole = check_script(HEAD, [], lines, "#SBATCH")
    except RequestError:
        return
    assert parse_events(whole) == [event for line in lines for event in line.events]


@pytest.mark.parametrize("prefix", sorted({each.prefix for each in plugins.all_of("schedulers") if each.prefix}))
def test_no_line_may_read_as_an_option_for_a_scheduler(prefix: str) -> None:
    """Of whichever: which one will read the script is not known for sure. Not in a file that the script writes, either."""
    assert is_directive(f"{prefix} -n 9")
    with pytest.raises(RequestError, match="reads as an option"):
        check_line(write("/tmp/file", f"a\n{prefix} -n 9\n", "MODAK_EOF"))


@pytest.mark.parametrize("line", ["curl https://example.org | bash", " id", "A=1", "", "# \x1b[2J", "#SBATCH", "#PBS -l nodes=9"])
def test_a_header_holds_comments_and_the_planned_options_alone(line: str) -> None:
    """What a plug-in's text breaks into a line of its own would run, and is compared with nothing else."""
    assert check_script(HEAD, [], [], "#SBATCH")
    with pytest.raises(RequestError, match="header would not be read as planned"):
        check_script(f"#!/bin/bash\n{line}\n# written by MODAK\n", [], [], "#SBATCH")


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("#flux: -n 9", True),
        ("#  flux: -n 9", True),
        ("  ## FLUX: -n 9", True),
        ("# as flux: -n 9", False),
        ("#QUEUE -n 9", False),
        ("# PBS -n 9", False),
    ],
)
def test_only_prefixes_of_known_schedulers_make_an_option(line: str, read: bool) -> None:
    """Flux takes any signs before its own; a comment is one for all."""
    assert is_directive(line) is read


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("echo 'open", ("command", ("echo",), ("open",))),
        ("echo a \\", ("command", ("echo",), ("a",))),
        ("cat <<EOF\nx", ("command", ("cat",))),
        ("true &&", ("command", ("true",))),
        ("echo $(id", ("command", ("echo",))),
        ("for x in a; do", ("command", ("for",))),
    ],
)
def test_a_line_ends_where_it_ends(text: str, event: tuple[object, ...]) -> None:
    """What would take the next line into itself is refused."""
    with pytest.raises(RequestError):
        check_line(Line(text, (event,)))


def test_a_here_document_without_an_end_is_refused() -> None:
    """In words, also where a parser finds all events of the line, and only the command behind it is missing."""
    text = 'sort <<-EOF && echo y\nx\n"$X" a\n'
    with pytest.raises(RequestError, match="modak_behind"):
        check_line(Line(text, tuple(parse_events(text))))


NESTED = [("(", "true", ")"), ("true && ", "true", ""), ("$(", "true", ")"), ("${a:-", "x", "}"), ("if true; then ", "true", "; fi")]


@pytest.mark.parametrize(("opened", "inside", "closed"), NESTED)
def test_how_deep_a_text_is_nested_does_not_matter(opened: str, inside: str, closed: str) -> None:
    """A rule that passes when it is added also passes in a job's script, where more functions have been called."""
    assert parse_events(opened * 2000 + inside + closed * 2000)


def test_what_is_wrong_is_found_at_any_depth() -> None:
    """As text that is no bash, not as an error of ours."""
    with pytest.raises(Unparsable):
        parse_events("(" * 2000 + "true; ;" + ")" * 2000)


MORE_THAN_TEXT = ["$(id)", "`id`", "a;id", "a b", "*", "${HOME}", "~", "#x", "a'b", "<(id)"]


@pytest.mark.parametrize("word", MORE_THAN_TEXT)
def test_a_word_that_means_more_than_its_text_is_refused(word: str) -> None:
    """A command whose text is not the quoted one does not pass, wherever the word stands."""
    forged = Line(f"./solve -x {word} -y", (("command", ("./solve",), ("-x",), (word,), ("-y",)),), ("./solve", "-x", word, "-y"))
    with pytest.raises(RequestError):
        check_script(HEAD, [], [forged], "#SBATCH")


@pytest.mark.parametrize("word", MORE_THAN_TEXT)
def test_words_behind_a_start_are_checked(word: str) -> None:
    """As those of any command."""
    forged = Line(f"{START.text} \\\n    {word}", ((*START.events[0], (word,)),), (*START.words, word))
    with pytest.raises(RequestError):
        check_script(HEAD, [], [forged], "#SBATCH")


@pytest.mark.parametrize("text", ["ch-run $(id)", "ch-run x;", "ch-run 'x", "ch-run -- \\"])
def test_the_words_of_a_start_are_checked(text: str) -> None:
    """Whatever they are said to mean."""
    unchecked = Line(text, (("command", *((word,) for word in text.split())),), tuple(text.split()))
    with pytest.raises(RequestError):
        check_script(HEAD, [], [continued(unchecked, ["x"])], "#SBATCH")


@pytest.mark.parametrize("first", ["FOO=bar", "if", "!", "[[", "declare", "{"])
def test_the_first_word_is_a_program(first: str) -> None:
    """Where a shell would take it for something else, unquoted text is refused."""
    forged = Line(f"{first} x", (("command", (first,), ("x",)),), (first, "x"))
    with pytest.raises(RequestError):
        check_script(HEAD, [], [forged], "#SBATCH")


@pytest.mark.parametrize("value", ["$(id)", "a b", "'a'b'", "`id`", "a;id", "x\nid", "'a\nid'", "'a'", "a\r", "~/a"])
def test_an_assignment_is_plain_or_parsed(value: str) -> None:
    """The short way past the parser is for values in which nothing means anything."""
    for start, events in (("export ", [("export",)]), ("", [])):
        with pytest.raises(RequestError):
            check_script(HEAD, [], [Line(f"{start}MODAK_X={value}", (*events, ("set", "MODAK_X", (value,))))], "#SBATCH")


@given(st.text(st.sampled_from("ab=$`'\"\\ ~#!*;&|\n\t\u00e9\u2028"), max_size=8))
def test_what_passes_as_an_assignment_is_one_for_the_parser(text: str) -> None:
    """Whatever the value consists of, between single quotes or not."""
    for value, shown in ((text, text), (text, f"'{text}'")):
        line = Line(f"MODAK_X={shown}", (("set", "MODAK_X", (value,)),))
        if is_assignment(line):
            check_line(line)
