"""Command lines as words: a user's text is parsed into words once, and quoted once, at the end.

A word is a plain ``str``, which is literal, or :class:`Joined`: literal text and variables in order. So a ``$`` that the user put in
single quotes is never taken for an expansion.

``${NAME}`` or ``$NAME`` is the only expansion, for the names that :func:`expandable` allows. Other characters that a shell interprets
outside quotes are refused, with their position. Quotes and backslashes have their meaning in bash: text that this module accepts gives
the same words as in bash (the value of a variable stays one word).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SerializeAsAny

from modak.errors import RequestError
from modak.text.grammar import EnvironmentName, sound

LONGEST_WORD: Final = 65_536
MOST_WORDS: Final = 10_000
OVER_HTTPS: Final = ("--proto", "=https", "--proto-redir", "=https", "--max-redirs", "3", "--tlsv1.2", "--fail", "--location")
"""Options of ``curl`` where scripts and recipes download: over HTTPS only, also after the few redirections that a server may send, and
without taking the page of an error for the file."""

_NAME: Final = re.compile(r"\$(\{)?([A-Za-z_][A-Za-z0-9_]{0,127})(?(1)\}|(?![A-Za-z0-9_]|\\\n))")
"""An expansion: its brace, if it has one, and its name. Without braces a name is as long as it can be. One that a line continuation
follows is refused: for bash it goes on behind that."""
_PLAIN: Final = re.compile(r"[^ \t\\'\"$;&|<>(){}\[\]*?~#`\n]+")
_BARE: Final = re.compile(r"[^\\'\"$;&|<>(){}\[\]*?~#`\n]*")
"""A command line in which only blanks have a meaning, once its expansions are taken out."""
_BLANKS: Final = re.compile(r"[ \t]+")
_RESERVED: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in", "function", "time"}
    | {"coproc"}
)
_FAMILIES: Final = re.compile(r"(?:MODAK|SLURM|PBS|LSB|FLUX)_[A-Z0-9_]+|[A-Z][A-Z0-9_]*_ROOT")
"""The job's own variables; where modules say that an application is installed (``ASTER_ROOT`` in published requests)."""
_SECRET: Final = frozenset({"SLURM_JWT", "MODAK_TOKEN"})
EXPANDABLE: Final = frozenset(
    {"HOME", "USER", "LOGNAME", "HOSTNAME", "PWD", "TMPDIR", "SCRATCH", "WORK", "PROJECT"}
    | {"WORKSPACE_DIR", "SINGULARITY_DIR", "OMP_NUM_THREADS", "JOB_ID", "SGE_TASK_ID"}
)
"""Variables that a command may use beside the job's own (``MODAK_*``, ``SLURM_*``, ``PBS_*``, ``LSB_*``, ``FLUX_*``) and ``*_ROOT``."""


class Variable(BaseModel):
    """``${NAME}`` inside a word."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    variable: EnvironmentName

    @property
    def expanded(self) -> str:
        """What stands in the braces: the script stops if the variable is not set."""
        return f"{self.variable}:?"

    def __hash__(self) -> int:
        """Of the name alone, because Python caches the hash of a text: words are looked up often."""
        return hash(self.variable)


class Own(Variable):
    """``${NAME…}`` in a word of MODAK's own, with another operator."""

    operator: str

    @property
    def expanded(self) -> str:
        """The name and the operator."""
        return f"{self.variable}{self.operator}"


Plain = Annotated[str, Field(max_length=LONGEST_WORD), AfterValidator(sound)]


class Joined(BaseModel):
    """A word with at least one expansion: its parts, in order, without blanks between them."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    parts: Annotated[tuple[SerializeAsAny[Plain | Variable], ...], Field(min_length=1)]

    @cached_property
    def shell(self) -> str:
        """The word as :func:`shell` writes it; cached, because MODAK's own words are in many scripts."""
        return "".join([shlex.quote(part) if isinstance(part, str) else f'"${{{part.expanded}}}"' for part in self.parts])

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names that it expands."""
        return tuple([part.variable for part in self.parts if not isinstance(part, str)])

    def __hash__(self) -> int:
        """Of its text, because Python caches the hash of a text: words are looked up often."""
        return hash(self.shell)


Word = SerializeAsAny[Plain | Joined]
"""Written by its own type: a union would be tried one type after the other."""


def variable(name: str, operator: str = ":?") -> Word:
    """``${NAME}``; the script stops if it is not set, unless another operator follows the name.

    >>> shell(variable("TMPDIR", ":-/tmp"))
    '"${TMPDIR:-/tmp}"'
    """
    return Joined(parts=(Variable(variable=name) if operator == ":?" else Own(variable=name, operator=operator),))


def word(*of: Word) -> Word:
    """Words as one, without blanks between them.

    >>> shell(word(variable("MODAK_IMAGE"), "/usr/lib"))
    '"${MODAK_IMAGE:?}"/usr/lib'
    """
    if all(isinstance(each, str) for each in of):
        return "".join(map(str, of))
    parts = [part for each in of for part in ((each,) if isinstance(each, str) else each.parts) if part != ""]
    return Joined(parts=tuple(parts))


def parse(text: str, *, field: str = "", names: Collection[str] = ()) -> tuple[Word, ...]:
    """The words of a command line. ``names`` may be expanded beside those that :func:`expandable` knows.

    Raises :class:`modak.errors.RequestError` with the field, the position and what is allowed.

    >>> parse("./solve -n 4 'a b' ${SCRATCH}/in")
    ('./solve', '-n', '4', 'a b', Joined(parts=(Variable(variable='SCRATCH'), '/in')))
    """
    try:
        found: tuple[Word, ...]
        if _BARE.fullmatch(_NAME.sub("", sound(text))) and all(expandable(name, names) for _, name in _NAME.findall(text)):
            found = tuple([_bare(part) if "$" in part else part for part in _BLANKS.split(text) if part])
        else:
            found = tuple(_joined(parts) for parts in _words(text, frozenset(names)))
        long = len(text) > LONGEST_WORD and any(len(word) > LONGEST_WORD for word in found if isinstance(word, str))
        if long or len(found) > MOST_WORDS:
            raise ValueError(f"allowed: at most {MOST_WORDS} words of at most {LONGEST_WORD} characters")
    except ValueError as error:
        raise RequestError(str(error), field=field) from None
    return found


def command(text: str, *, field: str = "", names: Collection[str] = ()) -> tuple[Word, ...]:
    """The words of a command line whose first word is a program: not empty, no assignment, no option."""
    found = parse(text, field=field, names=names)
    check_program(found, field=field)
    return found


def check_program(words: tuple[Word, ...], *, field: str = "") -> None:
    """Raises :class:`modak.errors.RequestError` if the first word cannot be a program: no word, ``NAME=value`` or ``-option``."""
    first = lead(words[0]) if words else ""
    if not first and not (words and isinstance(words[0], Joined)):
        raise RequestError("the program's name is empty", field=field)
    sets = "=" in literal(words[:1])  # also behind an expansion: env would take the path of a program for a variable
    if sets or first.startswith("-"):
        how = "to set a variable, begin with env NAME=value" if sets else "name the program ('executable') before its options"
        raise RequestError(f"the first word is the program: it may hold no '=' and not start with '-'; {how}", field=field)


def lead(word: Word) -> str:
    """The literal text that a word starts with, up to its first expansion."""
    if isinstance(word, str):
        return word
    return word.parts[0] if isinstance(word.parts[0], str) else ""


def tail(word: Word) -> str:
    """The literal text that a word ends with, behind its last expansion."""
    last = word if isinstance(word, str) else word.parts[-1]
    return last if isinstance(last, str) else ""


def expandable(name: str, names: Collection[str] = ()) -> bool:
    """Whether a command may use the variable: the job's own, the usual places, roots of applications, the request's own ``names``."""
    return name in EXPANDABLE or name in names or bool(_FAMILIES.fullmatch(name) and name not in _SECRET)


def shell(word: Word) -> str:
    """The word as bash text, quoted; a variable that is not set stops the script.

    >>> shell("it's"), shell("$x"), shell(Joined(parts=("/data/", Variable(variable="USER"))))
    ('\\'it\\'"\\'"\\'s\\'', "'$x'", '/data/"${USER:?}"')
    """
    if not isinstance(word, str):
        return word.shell
    return f"'{word}'" if word in _RESERVED else shlex.quote(word)


def replaced(of: Word, variables: Mapping[str, Word]) -> Word:
    """The word with other words in place of these variables.

    >>> replaced(Joined(parts=(Variable(variable="WORK"), "/in")), {"WORK": "/mnt/1"})
    '/mnt/1/in'
    """
    if isinstance(of, str) or variables.keys().isdisjoint(of.variables):
        return of
    return word(*(part if isinstance(part, str) else variables.get(part.variable, Joined(parts=(part,))) for part in of.parts))


def line(words: tuple[Word, ...]) -> str:
    """Words as one line of bash."""
    return " ".join(map(shell, words))


def variables(words: tuple[Word, ...]) -> tuple[str, ...]:
    """Names that the words expand, sorted."""
    return tuple(sorted({name for word in words if not isinstance(word, str) for name in word.variables}))


def literal(words: Iterable[Word]) -> str:
    """What stands in the words literally, a line for each: to look for what a shell of theirs may read.

    >>> literal(("sh", "-c", "cd $MODAK_SCRATCH"))
    'sh\\n-c\\ncd $MODAK_SCRATCH'
    """
    texts = (word if isinstance(word, str) else "".join([part for part in word.parts if isinstance(part, str)]) for word in words)
    return "\n".join(texts)


def _bare(word: str) -> Joined:
    """A word in which only expansions have a meaning."""
    pieces = _NAME.split(word)  # text, brace, name, text, brace, name, …
    parts = [_variable(piece) if at % 3 == 2 else piece for at, piece in enumerate(pieces) if at % 3 != 1]
    return Joined(parts=tuple([part for part in parts if part != ""]))


def _joined(parts: list[str | Variable]) -> Word:
    """Neighbouring literals as one; a word without variables is plain text."""
    if len(parts) == 1 and isinstance(parts[0], str):
        return parts[0]
    merged: list[str | Variable] = []
    for literal, run in groupby(parts, key=lambda part: isinstance(part, str)):
        if not literal:
            merged += run
        elif text := "".join(map(str, run)):
            merged.append(text)
    if any(isinstance(part, Variable) for part in merged):
        return Joined(parts=tuple(merged))
    return "".join(part for part in merged if isinstance(part, str))


def _words(text: str, names: frozenset[str]) -> Iterator[list[str | Variable]]:
    """Parts of each word. A word begins at its first part, so ``''`` is an empty word."""
    word: list[str | Variable] | None = None
    at = 0
    while at < len(text):
        if text[at] in " \t":
            if word is not None:
                yield word
            word, at = None, at + 1
        elif text.startswith("\\\n", at):
            at += 2
        else:
            parts, at = _piece(text, at, names)
            if word is None:
                word = parts
            else:
                word += parts
    if word is not None:
        yield word


def _piece(text: str, at: int, names: frozenset[str]) -> tuple[list[str | Variable], int]:
    """The quoted string, escape, expansion or plain run at ``at``, and where it ends."""
    if run := _PLAIN.match(text, at):
        return [run[0]], run.end()
    sign = text[at]
    if sign == "'":
        return _single(text, at)
    if sign == '"':
        return _double(text, at, names)
    if sign == "$":
        return _expansion(text, at, names)
    if sign == "\\":
        if at + 1 == len(text):
            raise ValueError(f"character {at + 1}: a backslash with nothing after it")
        return [text[at + 1]], at + 2
    shown = "a line break" if sign == "\n" else repr(sign)
    first = next((instead for begins, instead in _FIRST.items() if sign in "&;\n" and begins.match(text)), "")
    hint = first or _MEANT.get(sign, "")
    raise ValueError(f"character {at + 1}: a shell acts on {shown}; put it in single quotes where it is meant literally{hint}")


_FIRST: Final[Mapping[re.Pattern[str], str]] = {
    re.compile(begins): f"; {instead}"
    for begins, instead in {
        r"\s*(?:(?:source|[.])\s+\S*activate|(?:conda|mamba|micromamba)\s+activate)\b": "in place of opening an environment, begin with "
        "the path of its Python: ${HOME}/env/bin/python",
        r"\s*(?:module|ml)\s": "load modules before you submit the script, which gets your environment (job_options.copy_environment)",
        r"\s*export\s": "to set a variable, begin with env NAME=value",
        r"\s*nohup\s|[^&;\n]*[^&;\n]&\s*\Z": "leave nohup and '&' out: a job runs without a terminal, and would end before the program",
        r"\s*cd\s": "leave cd out, and submit the script from that folder: it starts there",
    }.items()
}
"""By what a line of several commands begins with: what to write in place of the first."""
_BY_SHELL: Final = "; for a shell to act on it, write sh -c '…'"
_MEANT: Final[Mapping[str, str]] = {
    "~": "; write ${HOME} for '~'",
    **dict.fromkeys("*?", "; a program may take the folder, and find its files itself" + _BY_SHELL),
    **dict.fromkeys("<>|&;$", _BY_SHELL),
    "|": "; for a shell to act on it, write bash -o pipefail -c '…', which fails if one of the parts does",
    "<": f"; many programs have an option for the file that they read (-in FILE){_BY_SHELL}",
    ">": f"; the job's output is kept in a file (job_options.standard_output_file){_BY_SHELL}",
}


def _single(text: str, at: int) -> tuple[list[str | Variable], int]:
    end = text.find("'", at + 1)
    if end < 0:
        raise ValueError(f"character {at + 1}: the quote is not closed")
    return [text[at + 1 : end]], end + 1


def _double(text: str, at: int, names: frozenset[str]) -> tuple[list[str | Variable], int]:
    """Double quotes: ``$``, backtick and some backslashes keep their meaning, the rest is literal."""
    parts: list[str | Variable] = [""]
    now = at + 1
    while now < len(text) and text[now] != '"':
        if text[now] == "$":
            more, now = _expansion(text, now, names)
            parts += more
        elif text[now] == "`":
            raise ValueError(f"character {now + 1}: a shell acts on '`'; put it in single quotes where it is meant literally")
        elif text[now] == "\\" and text[now + 1 : now + 2] in tuple('$`"\\\n'):
            parts.append(text[now + 1].replace("\n", ""))
            now += 2
        else:
            parts.append(text[now])
            now += 1
    if now >= len(text):
        raise ValueError(f"character {at + 1}: the quote is not closed")
    return parts, now + 1


def _expansion(text: str, at: int, names: frozenset[str]) -> tuple[list[str | Variable], int]:
    found = _NAME.match(text, at)
    if not found:
        raise ValueError(
            f"character {at + 1}: '$' is allowed as ${{NAME}} or $NAME alone, or in single quotes where it is meant literally{_MEANT['$']}"
        )
    name = found[2]
    if not expandable(name, names):
        allowed = ", ".join(sorted(EXPANDABLE))
        raise ValueError(
            f"character {at + 1}: ${{{name}}} may not be expanded; allowed: MODAK_*, SLURM_*, PBS_*, LSB_*, FLUX_*, *_ROOT, {allowed}, "
            "and the names in copy_environment_variable"
        )
    return [_variable(name)], found.end()


@lru_cache(maxsize=256)
def _variable(name: str) -> Variable:
    return Variable(variable=name)
