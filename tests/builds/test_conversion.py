"""Recipes of users, translated for the other runtime, or refused."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from modak.builds.userrecipe import converted, recipe_text
from modak.errors import RequestError
from modak.recipes.convertible import refusals
from modak.recipes.forms import Form

DOCKERFILE = """\
FROM ubuntu:24.04
# a comment
RUN echo one && \\
    echo "two  blanks" '$HOME'
COPY a.txt /opt/a.txt
ENV NAME="two words"
WORKDIR /opt
RUN for i in 1 2; do echo "$NAME $i"; done; pwd
LABEL modak.framework=mpi
CMD ["bash"]
"""
DEFINITION = """\
Bootstrap: docker
From: ubuntu:24.04

%post
    for i in 1 2; do
    echo "a  $i" 'b'
    done

%environment
    export A=b

%labels
    modak.framework mpi
"""
SAYS = "one\ntwo  blanks $HOME\ntwo words 1\ntwo words 2\n/opt\n"


def test_a_dockerfile_as_a_definition() -> None:
    """Its commands print what Docker's would, with their variables set; run here by the shell that Apptainer runs them with."""
    text = converted(DOCKERFILE, "dockerfile", "Dockerfile")
    assert text.startswith("Bootstrap: docker\nFrom: ubuntu:24.04\n")
    assert "%files\n    a.txt /opt/a.txt\n" in text
    assert "modak.framework mpi" in text
    post = text.split("%post\n")[1].split("%labels")[0]
    assert subprocess.run(["/bin/sh", "-e", "-c", post], capture_output=True, text=True).stdout == SAYS


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        ("FROM a/b:1\nRUN make \\", "Bootstrap: docker\nFrom: a/b:1\n\n%post\n    /bin/sh -c make\n"),
        (
            "FROM a/b:1\nCOPY x /y\nENV A=b\nLABEL modak.framework=mpi\nRUN true\nUSER root\n",
            'Bootstrap: docker\nFrom: a/b:1\n\n%files\n    x /y\n\n%environment\n    export A="b"\n\n'
            '%post\n    export A="b"\n    /bin/sh -c true\n\n'
            "%labels\n    modak.framework mpi\n",
        ),
    ],
)
def test_a_definition_has_the_sections_of_which_there_is_something_to_say(recipe: str, text: str) -> None:
    """Variables are set when the image runs, too."""
    assert converted(recipe, "dockerfile", "Dockerfile") == text


@pytest.mark.parametrize(
    ("text", "form", "faults"),
    [
        ("FROM a/b:1\n\nRUN a \\\n  b\nWORKDIR x\n", "dockerfile", ("line 5: WORKDIR that is no plain absolute path",)),
        ("FROM a/b:1\n# escape=`\n", "dockerfile", ("line 2: a parser directive",)),
        ("Bootstrap: docker\nFrom: a\n%environment\n# stage: of a comment\nexport A=b\n", "definition", ()),
        ("FROM a/b:$V\n", "dockerfile", ("line 1: options and names of FROM",)),
        ("FROM a AS b\nFROM c\n", "dockerfile", ("line 1: options and names of FROM", "line 2: a second stage")),
        (
            "# from: b\nBootstrap: docker\nFrom: A\n%files from\n%setup\n%\n",
            "definition",
            (
                "line 4: options of %files",
                "line 5: the section %setup",
                "line 6: the section %",
                "line 1: capitals in the base image's name, which are lost",
            ),
        ),
        ("FROM a/b:1\nUSER me\n\nENV A=b \\\n  C=d\n", "dockerfile", ("line 2: USER", "line 4: ENV with anything but one NAME=value")),
    ],
)
def test_a_fault_of_a_recipe_has_the_number_of_its_line(text: str, form: Form, faults: tuple[str, ...]) -> None:
    """Counted from 1, with blank, continued and other lines."""
    assert refusals(text, form) == faults


def test_a_definition_as_a_dockerfile() -> None:
    """``%post`` is one script, as it was: loops and quotes stay whole."""
    found = converted(DEFINITION, "definition", "x.def")
    (run,) = (line for line in found.splitlines() if line.startswith("RUN "))
    assert subprocess.run(["/bin/sh", "-c", run[4:]], capture_output=True, text=True).stdout == "a  1 b\na  2 b\n"
    assert ("ENV A=b" in found, "LABEL modak.framework=mpi" in found) == (True, True)


@pytest.mark.parametrize(
    "line",
    [
        *(
            'RUN ["a", "b"]',
            "RUN --mount=type=cache,target=/x true",
            "RUN cat <<EOF",
            "COPY --chown=1:1 a b",
            'COPY ["a b", "c"]',
            "COPY a b c",
        ),
        *("ADD https://x.org/a.tgz /a", "FROM second", "ARG A=1", 'SHELL ["bash"]', "STOPSIGNAL 9", "HEALTHCHECK CMD true", "USER 1000"),
        *("ENV A=`id`", 'ENV A="`id`"', "ENV A=$(id)", 'ENV A="$(id)"', 'ENV A="${B:-$(id)}"'),
        *("LABEL a=b c=d", "ENV A b", "ENV A=1 B=2", "VOLUME /x", "ONBUILD RUN true", "COPY *.txt /x", "# syntax=docker/dockerfile:1"),
    ],
)
def test_what_spython_mangles_in_a_dockerfile_is_refused(line: str) -> None:
    """By its line."""
    with pytest.raises(RequestError, match=r"Dockerfile: line 2: .* cannot be translated into a definition file"):
        converted(f"FROM ubuntu:24.04\n{line}\n", "dockerfile", "Dockerfile")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "%setup\n    true",
            "%startscript\n    true",
            "%appinstall x\n    true",
            "%arguments\n    A=1",
            "%test\n    true",
            "%post -c bash\n    true",
        ),
        *(
            "%environment\n    if true; then export A=1; fi",
            "%environment\n    export A=$(id)",
            '%environment\n    export A="$(id)"',
            "%files\n    a",
            "%files from build\n    a b",
        ),
        *("%post\n    cat <<EOF\n    EOF", "%post\n    echo a \\\n    b", "%post\n    echo bootstrap: x"),
    ],
)
def test_what_spython_mangles_in_a_definition_is_refused(text: str) -> None:
    """By its line."""
    assert refusals(f"Bootstrap: docker\nFrom: ubuntu:24.04\n{text}\n", "definition")


def test_a_file_of_a_definition_is_copied_to_its_place() -> None:
    """One for each line: source and place."""
    found = converted("Bootstrap: docker\nFrom: ubuntu:24.04\n%files\n    a.txt /opt/a.txt\n    b /b\n", "definition", "x.def")
    assert found == "FROM ubuntu:24.04\nCOPY a.txt /opt/a.txt\nCOPY b /b\n"


def test_a_dockerfile_without_labels_has_none_as_a_definition() -> None:
    """Nor an empty section."""
    assert "%labels" not in converted("FROM ubuntu:24.04\nRUN true\n", "dockerfile", "Dockerfile")


@pytest.mark.parametrize(
    "header",
    [
        "Bootstrap: localimage\nFrom: x.sif",
        "Bootstrap: docker\nFrom: a\nStage: b",
        "Bootstrap: docker\nFrom: Ubuntu",
        "Bootstrap: docker",
        "Bootstrap: docker\nFrom:",
    ],
)
def test_a_header_that_no_dockerfile_has_is_refused(header: str) -> None:
    """Other sources of a base image, or none, stages, capitals."""
    with pytest.raises(RequestError, match=r"x.def: line 1: .* cannot be translated into a Dockerfile"):
        converted(f"{header}\n%post\n    true\n", "definition", "x.def")


@pytest.mark.parametrize(
    ("recipe", "form"), [("  FROM a/b:1\nRUN true\n", "dockerfile"), ("Bootstrap : docker\nFrom : a/b\n%post\n    true\n", "definition")]
)
def test_a_recipe_of_which_spython_finds_no_base_image_is_refused(recipe: str, form: Form) -> None:
    """Builders read these; what is translated would begin with nothing."""
    with pytest.raises(RequestError, match=r"^x: spython cannot read it$"):
        converted(recipe, form, "x")


def test_the_kind_of_a_recipe_chooses_the_runtime(tmp_path: Path) -> None:
    """Unless another one is asked for: then it is translated."""
    file = tmp_path / "Dockerfile"
    file.write_text(DOCKERFILE)
    assert recipe_text(file, None) == (DOCKERFILE, "charliecloud")
    text, runtime = recipe_text(file, "singularity")
    assert (runtime, bool(re.match("Bootstrap", text))) == ("apptainer", True)


@pytest.mark.parametrize(("recipe", "runtime"), [(DOCKERFILE, "charliecloud"), (DEFINITION, "apptainer")])
def test_a_recipe_may_begin_with_comments(tmp_path: Path, recipe: str, runtime: str) -> None:
    """Indented, too, and with blank lines."""
    (tmp_path / "x").write_text(f"# what it is for\n\n  # and by whom\n  \n{recipe}")
    assert recipe_text(tmp_path / "x", None)[1] == runtime


def test_a_byte_order_mark_is_no_part_of_a_recipe(tmp_path: Path) -> None:
    """Builders would take it for the beginning of an instruction."""
    file = tmp_path / "Dockerfile"
    file.write_text(f"\ufeff{DOCKERFILE}", encoding="utf-8")
    assert recipe_text(file, None) == (DOCKERFILE, "charliecloud")


def test_a_file_without_an_end_is_refused() -> None:
    """No more is read than a recipe may have."""
    with pytest.raises(RequestError, match="larger than 1 MiB"):
        recipe_text(Path("/dev/zero"), None)


@pytest.mark.parametrize("content", [b"print('hello')\n", b"\xff\xfe", b""])
def test_what_is_no_recipe_is_refused(tmp_path: Path, content: bytes) -> None:
    """In one line that names the file."""
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(RequestError, match=r"/x: is (no text|neither)"):
        recipe_text(tmp_path / "x", None)
