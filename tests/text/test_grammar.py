"""A value that matches its grammar cannot add a directive, a path or a command."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from modak.text import grammar, words

BROKEN = ["n[1-2-3]", "n[-1]", "n[--]", "n[-]", "n[,]", "n[1-]", "n[]"]
MANY = f"n[{','.join(['1-9999'] * 100)}]"
"""Ranges that are few each, and a million nodes together: whoever reads them takes a second of the service's time."""
HEADERS = {
    "JobName": (["a", "3dgan_v1.2+x-y"], ["", "-a", ".a", "a b", "a\n", "a\r", "a/b", "a=b", "a#b", "é", "%x", "../../T", "a" * 65]),
    "Account": (["_a", "pr12ab", "user@site"], ["-a", "a b", "a,b", "a'b", "a;b", 'a"b', "$(id)"]),
    "Constraint": (["skylake&ssd", "a|b", "gpu:2"], ["a b", "&a", "a;b", "a&"]),
    "NodeList": (["n1", "n1,n2", "n[01-12],m[3,5]"], ["n1 n2", "n[1-999999999]", "n[9-1]", "-w", "n[1-2]x", MANY, *BROKEN]),
    "ArraySpec": (["0-15", "5-5", "1,3,5", "0-99:2%10"], ["a", "1-", "1 -w", "%2", "5-1", "0-9:0"]),
    "Dependency": (["afterok:12", "afterok:1:2,afterany:3", "singleton", "afterok:1,singleton"], ["afterok", "afterok:1 -w", "x;y"]),
    "Email": (["me@example.org"], ["me", "a@b,c@d", "a@b c", "@b", "a@-"]),
    "BeginTime": (
        ["2027-01-31", "2027-01-31T08:00", "08:00", "now+2hours"],
        ["2027-13-01", "25:00", "now -w", "tomorrow", "2027-02-30T08:00"],
    ),
    "EnvironmentName": (["A", "_a1"], ["1a", "a-b", "a=b", "a b", ""]),
    "CopiedName": (
        ["SCENARIO", "OMP_STACKSIZE", "SINGULARITY_DIR", "OMPI_MCA_btl", "I_MPI_HYDRA_BOOTSTRAP"],
        [
            *("LD_PRELOAD", "PATH", "PYTHONPATH", "BASH_ENV", "IFS", "SINGULARITY_BIND", "SLURM_CONF", "PBS_X", "ENV", "a-b", "x;y"),
            *("TAR_OPTIONS", "OMPI_MCA_plm_rsh_agent", "OMPI_MCA_plm_rsh_args", "I_MPI_HYDRA_BOOTSTRAP_EXEC", "FLUX_RC1_PATH"),
            *("HYDRA_BOOTSTRAP_EXEC", "HYDRA_LAUNCHER_EXTRA_ARGS", "PMIX_INSTALL_PREFIX", "OPAL_PKGLIBDIR"),
            *("OPAL_SYSCONFDIR", "OPAL_DESTDIR", "OPAL_EXEC_PREFIX", "OMPI_MCA_mca_base_envar_file_prefix"),
        ],
    ),
    "SettableName": (
        ["OMP_STACKSIZE", "TMPDIR"],
        ["PATH", "MODAK_SCRATCH", "HOME", "XDG_CONFIG_HOME", "OMP_TOOL_LIBRARIES", "OPENSSL_CONF"],
    ),
    "SiteResource": (
        ["matlab=1", "filesystems=home:eagle", "lic@server=2"],
        ["matlab", "a=", "=b", "a=-x", "a=b c", "a=b=c", "-a=b", "select=2", "Prologue=/x", "h_vmem=1G", "a=b,c=d"],
    ),
    "DirectiveText": (
        ["--get-user-env", "-l filesystems=", "--gres=gpu:1", "-p -100", "--nice=-5"],
        ["-", "--", "a", "--a=", "-a ", "-a -b", "-a --uid=0", "-a b c", "-a b\n", "-a $b", "-a b;c"],
    ),
    "ResourceText": (
        ["-l select={nodes}:ngpus={gpus_per_node}", "-R span[ptile={cores_per_node}]", "-nnodes {nodes}", "-p -100"],
        ["-l {node}", "-l {nodes", "-l -b", "-l --uid={nodes}", "-l {nodes} -b", "-l -{nodes}", "-l $x"],
    ),
    "LauncherOption": (["--gpu-bind=closest", "-hostfile ${SGE_JOB_HOSTLIST}"], ["gpu", "-a b c", "-a $(id)", "-a ${b;c}", "-a `b`"]),
    "ModuleName": (["intel/19.0", "gcc"], ["a b", "-a", "a;b"]),
    "AbsolutePath": (["/", "/lustre/x-1/"], ["a", "/a/../b", "/a b", "/a$b", "//a"]),
    "OutputPath": (
        ["logs/%x-%j.out", "./a", "%j", "a" * 256],
        ["a" * 257, "/a", "../a", "a/../b", "-a", "%q", "a b", "~a", "$HOME", "a\\"],
    ),
    "SourceText": (
        ["https://example.org/a/b.git", "${HOME}/a/.git", "/a/b", "src"],
        ["http://a/b", "https://u@h/x", "https://h/x?y", "$HOME/x", "${home}/a;b", "../a", "-a", "git@h:x", f"https://h/{'x' * 503}"],
    ),
    "ImageReference": (
        [
            "docker://a/b:1",
            "library://u/c/n:1.0",
            "shub://u/n",
            "private://r/n:2",
            "oras://h:5000/a/b@sha256:" + "a" * 64,
            "docker://Registry.example.org/a__b/c--d:Tag",
            "library://U/c",
            "/images/a.sif",
            "a.sqfs",
            "/images/a.sqsh",
        ],
        [
            *(
                "a",
                "docker://-a",
                "docker://a/b@sha256:ab",
                "http://a/b",
                "../a.sif",
                "docker://a b",
                "docker://a/b:c;d",
                "docker://a/../b",
            ),
            *("docker://A/b", "docker://a/B:1", "oras://h:5000/A", "docker://a/b.-c", "docker://a/b-"),
        ],
    ),
    "RelativePath": (["r.json", "results/r", "results/"], [".", "./r", "../r", "/tmp/r", "a//b", "-r", "a b", ".r"]),
    "MetricPattern": (
        ["rate: ([[:digit:].]+)", r"\[[a-z]+\] ([0-9]+)", "[a||] ([+--9|||+]+)", "([0-9&&])"],
        ["rate", "(a)(b)", "(?:a)", r"(\d)", "(a\n)", "(a||+)"],
    ),
    "VersionText": (["2.1", "1.14.0rc1", "12.8+cu115"], ["2.*", "a", "2.1;x", " 2.1", "2.1\n", ""]),
    "VersionRange": (["2.1", "2.*", ">=1.14,<2"], ["latest", ">=", "2.1 or 3", "", "2.1\n", ">=1\t,<2", "===abc", "===2.1"]),
    "SoundText": (["a\tb\nc", "é"], ["a\0", "a\x1b[1m", "\u2028", "a\r"]),
}


def accepts(kind: Any, text: str) -> bool:
    """Whether a grammar takes a text."""
    try:
        TypeAdapter(kind).validate_python(text)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(("name", "good", "bad"), [(name, *rows) for name, rows in HEADERS.items()])
def test_a_grammar_takes_what_is_documented_and_nothing_else(name: str, good: list[str], bad: list[str]) -> None:
    """Each grammar has examples of both kinds."""
    kind = getattr(grammar, name)
    assert [text for text in good if not accepts(kind, text)] == []
    assert [text for text in bad if accepts(kind, text)] == []


def test_no_value_of_a_variable_is_evaluated_by_bash(tmp_path: Path) -> None:
    """Of bash's own variables some are numbers, for which it runs what stands in ``$( )``, quoted or not; others cannot be set."""
    names = subprocess.run(["bash", "-c", "compgen -v"], env={}, capture_output=True, text=True, check=True).stdout.split()
    assert "RANDOM" in names
    for name in names:
        if accepts(grammar.CopiedName, name):
            set_to = subprocess.run(["bash", "-c", f"export {name}='a[$(touch run)]'"], cwd=tmp_path, env={}, capture_output=True)
            assert (name, set_to.returncode, [*tmp_path.iterdir()]) == (name, 0, [])


SEVERAL_WORDS = (
    "SoundText",
    "MetricPattern",
    "SourceText",
    "VersionRange",
    "Constraint",
    "DirectiveText",
    "ResourceText",
    "LauncherOption",
)
IN_HEADERS = [name for name in HEADERS if name not in SEVERAL_WORDS]


@pytest.mark.parametrize("name", IN_HEADERS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_grammar_lets_a_second_word_or_line_through(name: str, data: st.DataObject) -> None:
    """A good value with something strange in any place of it is refused, or holds nothing that separates words or options."""
    good = data.draw(st.sampled_from(HEADERS[name][0]))
    at = data.draw(st.integers(0, len(good)))
    text = (
        good[:at]
        + data.draw(st.text(max_size=3) | st.sampled_from([" --x", "\n#SBATCH --x", ";x", "$(x)", "`x`", "'", '"', "\\"]))
        + good[at:]
    )
    if accepts(getattr(grammar, name), text):
        assert not re.search(r"[\s;|&<>()`'\"\\${}*?#!~]", text)
        assert text.isascii()


@given(st.sampled_from(HEADERS["SourceText"][0]))
def test_a_source_is_one_word(text: str) -> None:
    """Sources can be parsed as one word of a command."""
    assert len(words.parse(text)) == 1


@pytest.mark.parametrize(
    ("wanted", "version", "holds"),
    [
        ("2.1", "2.1.0", True),
        ("2.1", "2.10", False),
        ("2.1", "2.1.1", False),
        ("2.1.*", "2.1.1", True),
        ("2.*", "2.10", True),
        (">=1.14,<2", "1.15", True),
        (">=1.14,<2", "2.0", False),
        (">=1.14,<2", "1.15.0a0", True),
    ],
)
def test_versions_are_versions(wanted: str, version: str, holds: bool) -> None:
    """2.1 is not 2.10, nor a prefix of 2.1.1 unless asked for as 2.1.*; vendors' images have versions before a release."""
    assert grammar.version_range(wanted).contains(version) is holds


@pytest.mark.parametrize(
    ("reference", "file"),
    [
        ("docker://tensorflow/tensorflow:2.1.0-gpu", "tensorflow_2.1.0-gpu.sif"),
        ("library://u/c/n:1", "n_1.sif"),
        ("shub://vsoch/hello-world", "hello-world.sif"),
        ("docker://h:5000/a/b@sha256:" + "a" * 64, "b.sif"),
        ("/images/a.sqfs", "a.sqfs"),
        ("a.sqsh", "a.sqsh"),
    ],
)
def test_the_file_of_an_image(reference: str, file: str) -> None:
    """Callers put an image under the last part of its name, with ``_`` for ``:``."""
    assert grammar.image_file(reference) == file


def test_every_pattern_is_told_in_words() -> None:
    """A message never shows a bare regular expression."""
    assert all(allowed and "[A-Z" not in allowed for allowed in grammar.PATTERNS.values())


@pytest.mark.parametrize(
    ("text", "hint"), [(r"took (\d+) s", r"without '\\d' and the like, with one group"), ("took [0-9]+ s", "expression, with one group")]
)
def test_a_pattern_of_other_programs_is_told_what_it_may_not_have(text: str, hint: str) -> None:
    """grep -E and bash have no backslashed letters, which most other programs have."""
    with pytest.raises(ValidationError, match=hint):
        TypeAdapter(grammar.MetricPattern).validate_python(text)
