"""Command lines become words as bash would make them, or are refused."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modak.dsl import Application
from modak.errors import RequestError
from modak.text import words
from modak.text.words import Joined, Variable

BASH = shutil.which("bash") or "bash"
VALUES = {"HOME": "/home/v", "SLURM_JOB_ID": "7", "USER": "o'neil $x *", "OWN": "a b"}


def from_bash(line: str) -> tuple[str, ...]:
    """The words that bash makes of a line."""
    done = subprocess.run(
        [BASH, "--norc", "-c", f"printf '%s\\0' {line}"], env={"PATH": "/nowhere", **VALUES}, capture_output=True, check=True, cwd="/"
    )
    return tuple(done.stdout.decode().split("\0")[:-1])


def value(word: words.Word) -> str:
    """What a word is, with the variables' values in place."""
    parts = word.parts if isinstance(word, Joined) else (word,)
    return "".join(VALUES[part.variable] if isinstance(part, Variable) else part for part in parts)


def test_words_are_parsed_as_written() -> None:
    """Blanks, quotes, backslashes, line continuation and ${NAME} make the words that a user means."""
    found = words.parse("./solve -n 4 'a b' \"c \\\"d\\\" ${HOME}\" e\\ f '' \\\n ${SLURM_JOB_ID}.out", field="f")
    assert found == (
        "./solve",
        "-n",
        "4",
        "a b",
        Joined(parts=('c "d" ', Variable(variable="HOME"))),
        "e f",
        "",
        Joined(parts=(Variable(variable="SLURM_JOB_ID"), ".out")),
    )


@pytest.mark.parametrize("text", ["$HOME/train.rec", '"$HOME"/train.rec', '"$HOME/train.rec"'])
def test_braces_may_be_left_out(text: str) -> None:
    """$NAME is ${NAME}: in plain text, in double quotes, and beside a quoted part."""
    assert words.parse(text) == words.parse("${HOME}/train.rec")


def test_a_name_without_braces_is_as_long_as_it_can_be() -> None:
    """$HOMEx is the variable HOMEx, as in bash, and not HOME with an x."""
    with pytest.raises(RequestError, match=r"\$\{HOMEx\} may not be expanded"):
        words.parse("$HOMEx")


def test_a_dollar_in_single_quotes_is_never_an_expansion() -> None:
    """'${HOME}' in single quotes stays text, and is quoted so in the script."""
    (word,) = words.parse("'${HOME} $(id)'")
    assert word == "${HOME} $(id)"
    assert words.shell(word) == "'${HOME} $(id)'"


@pytest.mark.parametrize(
    "sign", [*";&|<>(){}[]*?~#`\n", "$(id)", "$", "$$", "$1", "${HOME:-x}", "${HOME", "$HOME\\\nx", "$é", f"$H{'x' * 128}"]
)
def test_what_a_shell_acts_on_is_refused_with_its_position(sign: str) -> None:
    """Outside quotes nothing but ${NAME} may mean anything; the message says where."""
    with pytest.raises(RequestError, match="character 5: ") as caught:
        words.parse(f"./a {sign}", field="application.arguments")
    assert caught.value.faults[0].field == "application.arguments"


def test_a_variable_before_the_program_is_told_how_to_set() -> None:
    """For bash it would be an assignment for this command; an option belongs behind a program."""
    options = r"; name the program \('executable'\) before its options"
    for text, hint in (("A=1 ./a", "; to set a variable, begin with env NAME=value"), ("-a", options)):
        with pytest.raises(RequestError, match=f"the first word is the program: .* and not start with '-'{hint}$"):
            words.command(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\nb", "character 2: a shell acts on a line break; put it in single quotes"),
        ("pw.x < a.in", "character 6: a shell acts on '<'; .*; many programs have an option .* \\(-in FILE\\); for a shell .* sh -c '…'$"),
        ("orca a > b", "character 8: a shell acts on '>'; .* \\(job_options.standard_output_file\\); for a shell .* sh -c '…'$"),
        ("a | b", "character 3: a shell acts on '|'; put it in single quotes where it is meant literally; for a shell to act on it"),
        ("infer.py in/*.npy", "character 13: a shell acts on '[*]'; .*; a program may take the folder, .*; for a shell .* sh -c '…'$"),
        ("a ~/b", "character 3: a shell acts on '~'; .*; write \\$\\{HOME\\} for '~'$"),
        ("a (b", "character 3: a shell acts on '\\('; put it in single quotes where it is meant literally$"),
        ("a 'b", "character 3: the quote is not closed"),
        ("nohup python3 train.py > log &", "character 24: a shell acts on '>'"),
        ("nohup python3 train.py &", "character 24: a shell acts on '&'; .*; leave nohup and '&' out: .*$"),
        ("python3 train.py &", "character 18: a shell acts on '&'; .*; leave nohup and '&' out: .*$"),
        ("a & b", "character 3: a shell acts on '&'; .*; for a shell to act on it, write sh -c '…'$"),
        ("conda activate e && python a.py", "character 18: .* meant literally; in place of opening an environment, begin with the path"),
        ("source ~/e/bin/activate; python a.py", "character 8: a shell acts on '~'"),
        ("source e/bin/activate; python a.py", "character 22: .*; in place of opening an environment, begin with the path of its Python"),
        ("module load gcc; ./a", "character 16: .*; load modules before you submit the script, which gets your environment"),
        ("module load gcc\n./a", "character 16: a shell acts on a line break; .*; load modules before you submit the script"),
        ("export A=1; ./a", "character 11: .*; to set a variable, begin with env NAME=value$"),
        ("cd run && ./a", "character 8: .*; leave cd out, and submit the script from that folder: it starts there$"),
        ('a "b`c`"', "character 5: a shell acts on '`'; put it in single quotes where it is meant literally$"),
    ],
)
def test_what_is_refused_is_told_with_what_to_write(text: str, says: str) -> None:
    """Characters are counted from one."""
    with pytest.raises(RequestError, match=says):
        words.parse(text)


@pytest.mark.parametrize("text", ['"$(id)"', '"`id`"', '"$?"', "'open", '"open', "end\\", "a\0b", "a\x1b[31m", "\r", "\u2028", "\ud800"])
def test_quotes_hide_no_command_and_must_close(text: str) -> None:
    """Substitutions in double quotes, open quotes, a last backslash and control characters are refused."""
    with pytest.raises(RequestError):
        words.parse(text)


@pytest.mark.parametrize("text", ['"a;b|c (d) {e} [f] *?~#"', r"a\;b\$c", "'\n'", '"\n"', '"a\\\nb"', r'"\a\\\""'])
def test_quoted_text_is_literal_as_in_bash(text: str) -> None:
    """What quotes make literal for bash is literal here."""
    assert tuple(map(value, words.parse(text))) == from_bash(text)


@pytest.mark.parametrize("name", ["PATH", "SECRET", "LD_PRELOAD", "BASH_ENV", "SLURM_JWT", "MODAK_TOKEN", "AWS_SECRET_ACCESS_KEY", "IFS"])
def test_other_variables_may_not_be_expanded(name: str) -> None:
    """Only the job's own variables, the usual places and the request's own names expand."""
    with pytest.raises(RequestError, match=name):
        words.parse(f"x ${{{name}}}")


def test_the_place_of_an_installed_application_may_be_expanded() -> None:
    """As in the published request of a solver, whose program lies below ``${ASTER_ROOT}``."""
    (program,) = words.parse("${ASTER_ROOT}/14.4/bin/aster ")
    assert program == Joined(parts=(Variable(variable="ASTER_ROOT"), "/14.4/bin/aster"))


def test_the_request_may_name_more_variables() -> None:
    """A variable that the request copies into the job may be used in its command."""
    assert words.parse("${OWN}", names={"OWN"}) == (Joined(parts=(Variable(variable="OWN"),)),)


@pytest.mark.parametrize("text", ["", "''", "A=1 ./x", "-x", "'A=1'", "--", "-${HOME}", "${WORK}/n=2/solve"])
def test_a_program_is_a_program(text: str) -> None:
    """The first word is not empty, no assignment and no option."""
    with pytest.raises(RequestError) as caught:
        words.command(text, field="application.executable")
    assert caught.value.faults[0].field == "application.executable"


def test_a_program_may_begin_with_a_variable() -> None:
    """${HOME}/bin/app is a program."""
    assert words.command("${HOME}/bin/app")


def test_an_unset_variable_stops_the_script() -> None:
    """A variable that is not set is an error of the script, not an empty word."""
    done = subprocess.run([BASH, "-c", f"echo {words.shell(words.parse('a${SCRATCH}')[0])}; echo after"], env={}, capture_output=True)
    assert done.returncode != 0
    assert b"after" not in done.stdout


@pytest.mark.parametrize("word", ["if", "then", "done", "time", "function", "!", "{", "[[", "coproc"])
def test_keywords_are_words(word: str) -> None:
    """A keyword of bash as a program's name is quoted, so that it starts no statement."""
    assert words.shell(word).startswith("'")


def test_words_survive_json() -> None:
    """A request's words, literal or with expansions, come back equal from JSON."""
    application = Application(executable=words.parse("a ${HOME}/b '$x'"))
    assert Application.model_validate_json(application.model_dump_json()) == application
    assert hash(application.executable)


def test_too_much_is_refused() -> None:
    """There is a limit to the length of a word and to their number."""
    for text in ("a" * (words.LONGEST_WORD + 1), "a " * (words.MOST_WORDS + 1)):
        with pytest.raises(RequestError, match="at most"):
            words.parse(text)


PIECES = [*"ab=/.-,:%+@^!_ \t'\"\\$;*#\n", "${HOME}", "$HOME", "${SLURM_JOB_ID}", "\\\n", "é"]
LINES = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@settings(max_examples=300, deadline=None)
@given(LINES)
def test_accepted_lines_give_the_words_of_bash(line: str) -> None:
    """Whatever is accepted, bash makes the same words of it."""
    try:
        found = words.parse(line)
    except RequestError:
        return
    assert tuple(map(value, found)) == (from_bash("x " + line)[1:])


LITERALS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@settings(max_examples=200, deadline=None)
@given(st.lists(LITERALS | st.sampled_from(["${HOME}", "--", "if", "'", "\n"]), max_size=6))
def test_quoted_words_reach_a_program_byte_for_byte(argv: list[str]) -> None:
    """Any literal text, quoted, is what a program receives."""
    assert from_bash("x " + words.line(tuple(argv)))[1:] == tuple(argv)


def test_a_value_stays_one_word() -> None:
    """A variable's value with blanks, quotes and stars is one argument, unchanged."""
    (word,) = words.parse("a${USER}")
    assert from_bash(words.shell(word)) == ("a" + VALUES["USER"],)


def test_a_long_word_of_many_pieces_is_read_at_once() -> None:
    """Half a million quoted pieces cost no more than their letters: each is looked at once."""
    assert words.parse("x " + "''" * 500_000 + "y") == ("x", "y")
    with pytest.raises(RequestError, match="at most 65536 characters"):
        words.parse("x" + "a'b'" * 400_000)
