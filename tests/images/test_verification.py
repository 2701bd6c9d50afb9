"""What an image's answers say of its labels."""

from __future__ import annotations

import json
import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import archspec.cpu
import pytest

from modak.builds import worker
from modak.builds.charliecloud import Charliecloud
from modak.builds.verify import file_of, standing, verified
from modak.errors import Conflict, DataError, Unavailable
from modak.facts import Image, ImageLabels
from modak.images.probe import MARK, Claims, probe
from modak.images.selection import catalogue, choose
from modak.images.suitability import Wanted
from modak.images.verification import Check, Finding, Seen, Verdict, hindrance, judge, measured, read_probe

CLAIMS: Claims = {
    "framework": "pytorch",
    "version": "2.13.0",
    "source": "pip",
    "architecture": "x86_64",
    "compilers": ["inductor"],
    "distribution": ["horovod"],
    "python": "3.12",
    "cuda": "12.4",
    "mpi": "openmpi",
    "mpi_version": "4.1",
}
CLAIMED = ("framework", "version", "compiler inductor", "distribution horovod", "mpi", "mpi_version", "python", "cuda", "architecture")
"""What is judged of these."""
FINE = Check(0)


def seen(**other: Any) -> Seen:
    """An image that carries all of it."""
    values: dict[str, Any] = {
        "ran": True,
        "architecture": "x86_64",
        "mpi": {"openmpi": "4.1.8"},
        "python": "3.12.3",
        "says": {"version": "2.13.0+cpu", "cuda": "12.4.1"},
        "checks": {"framework": FINE, "exercise": FINE, "compiler inductor": FINE, "distribution horovod": FINE},
    }
    return Seen(**(values | other))


def verdicts(claims: Claims, found: Seen) -> dict[str, str]:
    """The verdict on each label."""
    return {finding.label: finding.verdict for finding in judge(claims, found)}


@pytest.mark.parametrize("said", ["INFO: converting\nFATAL: no space left\n\n", "\x1b[91mFATAL: no space left\n\x1b[0m"])
def test_the_last_words_of_a_runtime_are_its_reason(said: str) -> None:
    """What it said before is rarely why it ended; blank lines say nothing, and Apptainer's starter ends in one that only ends a colour."""
    assert read_probe(said).last_words == "FATAL: no space left"


def test_labels_that_hold() -> None:
    """Each of them is looked at. A version's local part is the builder's own; 3.12 holds for 3.12.3."""
    assert verdicts(CLAIMS, seen()) == dict.fromkeys(CLAIMED, "holds")


@pytest.mark.parametrize(
    ("claims", "found", "labels"),
    [
        ({"framework": "pytorch", "source": "pip"}, {}, {"framework"}),
        ({"framework": "mpich", "source": "hub"}, {"mpi": {"mpich": "4.0.2"}}, {"framework", "mpicc"}),
        (CLAIMS, {"checks": {"framework": Check(1), "exercise": Check(1)}, "says": {}}, {*CLAIMED} - {"version", "cuda"}),
    ],
    ids=["a framework", "an MPI library", "a framework that cannot be imported"],
)
def test_nothing_else_is_judged_than_what_is_claimed_and_could_be_asked(claims: Claims, found: dict[str, Any], labels: set[str]) -> None:
    """What nobody claimed is not compared, nor what a framework would tell that cannot be imported."""
    assert {*verdicts(claims, seen(**found))} == labels


SKYLAKE: Claims = {**CLAIMS, "microarchitecture": "skylake_avx512"}
MPICH: Claims = {"framework": "mpich", "version": "4.0.2", "source": "hub"}
BUILT = {"says": {"version": "2.13.0", "flags": "-march=skylake-avx512"}}
REPORTS: dict[str, tuple[Claims, Seen, list[str]]] = {
    "what holds": (
        SKYLAKE,
        seen(processor_flags=frozenset(archspec.cpu.TARGETS["skylake_avx512"].features), **BUILT),
        [
            "framework: seen pytorch: holds",
            "version: seen 2.13.0: holds",
            "compiler inductor: seen at work: holds",
            "distribution horovod: seen at work: holds",
            "mpi: seen openmpi: holds",
            "mpi_version: claimed 4.1, seen 4.1.8: holds",
            "python: claimed 3.12, seen 3.12.3: holds",
            "cuda: claimed 12.4, nothing seen: unknown",
            "architecture: seen x86_64: holds",
            "microarchitecture: claimed skylake_avx512, seen it runs, built with -march=skylake-avx512: holds",
        ],
    ),
    "what does not": (
        SKYLAKE,
        Seen(
            ran=True,
            mpi={"mpich": "4.0.2", "intel-mpi": "2019"},
            says={"version": "2.12.0"},
            checks={
                "framework": FINE,
                "exercise": Check(-4),
                "compiler inductor": Check(1, why="no compiler"),
                "distribution horovod": Check(-11),
            },
        ),
        [
            "framework: claimed pytorch, seen an end by signal 4 (an instruction that this processor lacks): refuted",
            "version: claimed 2.13.0, seen 2.12.0: refuted",
            "compiler inductor: seen no compiler: refuted",
            "distribution horovod: seen an end by signal 11: refuted",
            "mpi: claimed openmpi, seen mpich, intel-mpi: refuted",
            "python: claimed 3.12, nothing seen: unknown",
            "cuda: claimed 12.4, nothing seen: unknown",
            "architecture: claimed x86_64, nothing seen: refuted",
            "microarchitecture: claimed skylake_avx512, seen this machine lacks abm adx aes avx: unknown",
        ],
    ),
    "an MPI library": (
        MPICH,
        seen(mpi={"mpich": "4.0.3"}, checks={"exercise": FINE}),
        ["framework: seen mpich: holds", "version: claimed 4.0.2, seen 4.0.3: refuted", "mpicc: seen at work: holds"],
    ),
    "no MPI library": (
        MPICH,
        seen(mpi={}, checks={"exercise": Check(127)}),
        ["framework: claimed mpich, seen none: refuted", "mpicc: seen exit status 127: refuted"],
    ),
    "no image": (MPICH, Seen(), ["image: seen no sign of life: its shell did not run: refuted"]),
}


@pytest.mark.parametrize("which", REPORTS)
def test_the_report_says_what_was_claimed_and_what_was_seen(which: str) -> None:
    """A line for each label that is claimed, as far as there is something to say."""
    claims, found, lines = REPORTS[which]
    assert [str(finding) for finding in judge(claims, found)] == lines


@pytest.mark.parametrize(("flag", "told"), [("pni", "it runs"), ("ssse3", "it runs"), ("avx", "this machine lacks sse3")])
def test_a_processor_has_sse3_under_another_name(flag: str, told: str) -> None:
    """Linux calls it pni; what has its successor has it, too."""
    able = frozenset({"mmx", "sse", "sse2", flag})
    (finding,) = [each for each in judge({**CLAIMS, "microarchitecture": "nocona"}, seen(processor_flags=able)) if each.label[:2] == "mi"]
    assert finding.seen == told


@pytest.mark.parametrize(
    ("claimed", "told", "verdict"),
    [("12.4", "12.4.1", "holds"), ("12.4.0", "12.4", "holds"), ("12.4.1", "12.4", "unknown"), ("12.4.1", "12.6", "refuted")],
)
def test_versions_are_compared_as_far_as_both_are_told(claimed: str, told: str, verdict: str) -> None:
    """PyTorch prints CUDA without its third number, which does not refute an image that is labelled with it."""
    assert verdicts({**CLAIMS, "cuda": claimed}, seen(says={"version": "2.13.0", "cuda": told}))["cuda"] == verdict


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("version", {"says": {"version": "2.12.0"}}),
        ("python", {"python": "3.11.2"}),
        ("mpi", {"mpi": {"mpich": "4.0.2"}}),
        ("mpi", {"mpi": {"mpich": "4.0.2"}, "mpi_library": "/usr/lib/libmpich.so.12"}),
        ("mpi", {"mpi": {}}),
        ("mpi_version", {"mpi": {"openmpi": "5.0.3"}}),
        ("cuda", {"says": {"version": "2.13.0", "cuda": "11.8"}}),
        ("architecture", {"architecture": "aarch64"}),
        ("distribution horovod", {"checks": {"framework": FINE, "exercise": FINE, "distribution horovod": Check(1, why="no module")}}),
        ("compiler inductor", {"checks": {"framework": FINE, "exercise": FINE, "compiler inductor": Check(1, why="no compiler")}}),
        ("framework", {"checks": {"framework": Check(1, why="no module"), "exercise": Check(1)}}),
        ("framework", {"checks": {"framework": FINE, "exercise": Check(-4)}}),
    ],
)
def test_labels_that_are_refuted(label: str, other: dict[str, Any]) -> None:
    """Each by its own answer, and the others stand."""
    assert verdicts(CLAIMS, seen(**other))[label] == "refuted"


@pytest.mark.parametrize(
    "words",
    [
        "ch-run[7]: error: can't init user+mount namespaces: Operation not permitted (ch_core.c:436 1)",
        "FATAL:   container creation failed: fuse: failed to open /dev/fuse: Permission denied",
        "FATAL:   could not open image x.sif: the image's architecture (arm64) could not run on the host's (amd64)",
        "",
    ],
)
def test_a_machine_that_cannot_run_an_image_says_nothing_of_it(words: str) -> None:
    """As Apptainer 1.4 and Charliecloud 0.31 say it; without a word, too."""
    assert hindrance(CLAIMS, read_probe(words))


def test_such_a_machine_gives_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue's entry stays as it is; only a file that is not the one of the entry is refuted without running it."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "ch-run").write_text("#!/bin/sh\necho 'error: cannot init user+mount namespaces' >&2\nexit 1\n")
    (tmp_path / "ch-run").chmod(0o755)
    (file := tmp_path / "x.sqfs").write_bytes(b"hsqs")
    image = Image(reference="x.sqfs", labels=ImageLabels(framework="pytorch", version="2.13.0", source="pip"), source="a claim")
    with pytest.raises(Unavailable, match="so the image is not verified: error: cannot init user"):
        verified(image, file, Charliecloud())
    changed = image.model_copy(update={"digest": f"sha256:{'0' * 64}"})
    assert verified(changed, file, Charliecloud())[0].refuted


@pytest.mark.parametrize(
    "words",
    [
        "FATAL:   stat /bin/sh: no such file or directory",
        "ch-run[7]: error: can't execve(2): /bin/sh: No such file or directory (ch_core.c:410 2)",
        "FATAL:   While checking container encryption: could not open image x.sif: image format not recognized",
        "ch-run[7]: error: unknown image type: x.sqfs (ch_core.c:278)",
    ],
)
def test_an_image_that_runs_nowhere_is_refuted(words: str) -> None:
    """Its own fault, whatever the machine is."""
    assert not hindrance(CLAIMS, read_probe(words))
    assert verdicts(CLAIMS, read_probe(words)) == {"image": "refuted"}


@pytest.mark.parametrize(
    ("check", "hindered"),
    [
        (Check(1, why="OSError: [Errno 28] No space left on device"), True),
        (Check(1, why="RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), True),
        (Check(-9), True),
        (Check(137), True),
        (Check(1, why="ModuleNotFoundError: No module named 'torch'"), False),
        (Check(-4), False),
        (FINE, False),
    ],
)
def test_a_check_that_the_machine_fails_says_nothing_of_the_image(check: Check, hindered: bool) -> None:
    """For want of room, of memory, or killed by who guards the memory."""
    assert bool(hindrance(CLAIMS, seen(checks={"framework": check}))) is hindered


def test_an_instruction_that_the_machine_lacks_refutes_no_image_for_another() -> None:
    """Compiled for a processor that the login node has not."""
    claims = {**CLAIMS, "microarchitecture": "skylake_avx512"}
    assert "lacks" in hindrance(claims, seen(checks={"framework": Check(-4)}, processor_flags=frozenset(("sse2",))))


@pytest.mark.parametrize(
    ("label", "claims", "other"),
    [
        ("compiler inductor", CLAIMS, {"checks": {"framework": FINE, "exercise": FINE, "compiler inductor": Check(75)}}),
        ("framework", CLAIMS, {"checks": {"framework": FINE}}),
        ("framework", CLAIMS, {"checks": {"exercise": FINE}}),
        ("distribution horovod", CLAIMS, {"checks": {"framework": FINE, "exercise": FINE}}),
        ("mpi", CLAIMS, {"mpi": {}, "mpi_library": "/usr/lib/libmpi.so.40"}),
        ("microarchitecture", {**CLAIMS, "microarchitecture": "skylake_avx512"}, {"processor_flags": frozenset(("sse2",)), **BUILT}),
        ("microarchitecture", {**CLAIMS, "microarchitecture": "archspec-does-not-know-it"}, BUILT),
    ],
)
def test_what_cannot_be_told_is_unknown(label: str, claims: Claims, other: dict[str, Any]) -> None:
    """It is no reason to give an image up."""
    assert verdicts(claims, seen(**other))[label] == "unknown"


@pytest.mark.parametrize(("flag", "verdict"), [("-march=skylake-avx512", "holds"), ("-march=haswell", "refuted")])
def test_the_processor_that_it_was_compiled_for(flag: str, verdict: str) -> None:
    """Where the framework shows its build's flags, and this machine can run them."""
    able = frozenset(archspec.cpu.TARGETS["skylake_avx512"].features)
    found = seen(processor_flags=able, says={"version": "2.13.0", "flags": f"CXX_FLAGS= {flag} -O2"})
    claims = {**CLAIMS, "microarchitecture": "skylake_avx512"}
    assert verdicts(claims, found)["microarchitecture"] == verdict
    assert measured(claims, found).microarchitecture == ("skylake_avx512" if verdict == "holds" else None)


def test_an_image_that_does_not_run() -> None:
    """Says nothing of its labels, and is refuted as a whole."""
    assert verdicts(CLAIMS, read_probe("sh: not found\n")) == {"image": "refuted"}


def test_a_runtime_that_starts_nothing_says_why() -> None:
    """The finding ends with its last words."""
    (finding,) = judge(CLAIMS, read_probe("ch-run[7]: error: can't bind: destination not found: /etc/group\n\n"))
    assert finding.seen.endswith("its shell did not run (ch-run[7]: error: can't bind: destination not found: /etc/group)")


@pytest.mark.parametrize(
    ("other", "framework", "version", "mpicc"),
    [
        ({"mpi": {"mpich": "4.0.2"}, "checks": {"exercise": FINE}}, "holds", "holds", "holds"),
        ({"mpi": {"mpich": "4.0.3"}, "checks": {"exercise": Check(75, why="there is no mpicc")}}, "holds", "refuted", "unknown"),
        ({"mpi": {"openmpi": "4.1.4"}, "mpi_library": "/lib/libmpi.so", "checks": {"exercise": FINE}}, "refuted", None, "holds"),
        ({"mpi": {"mpich": "4.0.2"}, "checks": {"exercise": Check(127, why="no libmpi.so.12")}}, "holds", "holds", "refuted"),
        ({"mpi": {}, "mpi_library": "/usr/lib/libmpi.so", "checks": {}}, "unknown", "unknown", "unknown"),
        ({"mpi": {}, "checks": {}}, "refuted", None, "unknown"),
    ],
)
def test_an_mpi_library_tells_what_it_is(other: dict[str, Any], framework: str, version: str | None, mpicc: str) -> None:
    """Its family and version by what it says of itself; its compiler wrapper by a program that asks it."""
    told = verdicts({"framework": "mpich", "version": "4.0.2", "source": "hub"}, seen(**{"says": {}, **other}))
    assert (told["framework"], told.get("version"), told["mpicc"]) == (framework, version, mpicc)


def test_the_version_of_an_mpi_library_is_the_one_that_it_tells() -> None:
    """Not the one of its recipe."""
    found = seen(mpi={"mpich": "4.0.3"}, says={}, checks={"exercise": FINE})
    assert measured({"framework": "mpich", "version": "4.0.2", "source": "hub", "mpi": "mpich"}, found).version == "4.0.3"


def test_labels_are_what_was_seen() -> None:
    """Not what was asked for: another processor, another Python, a compiler that does not work, an MPI that nobody spoke of."""
    checks = {"framework": FINE, "exercise": FINE, "compiler inductor": Check(1), "distribution horovod": Check(1)}
    made = measured({**CLAIMS, "mpi": None}, seen(architecture="aarch64", python="3.11.2", checks=checks, mpi={"mpich": "4.0.2"}))
    assert (made.architecture, made.python, made.mpi, made.mpi_version) == ("aarch64", "3.11", "mpich", "4.0.2")
    assert (made.compilers, made.distribution) == ((), ())


@pytest.mark.parametrize(
    ("found", "mpi"),
    [
        ({"mpi": {"mpich": "4.0.2", "openmpi": "4.1.8"}}, ("openmpi", "4.1.8")),
        ({"mpi": {}, "mpi_library": "/usr/lib/libmpi.so.40"}, ("openmpi", "4.1")),
        ({"mpi": {"mpich": "4.0.2"}, "mpi_library": "/usr/lib/libmpi.so.40"}, ("mpich", "4.0.2")),
        ({"mpi": {}}, (None, None)),
    ],
)
def test_labels_that_were_not_refuted_stay(found: dict[str, Any], mpi: tuple[str | None, str | None]) -> None:
    """The MPI that was asked for, beside another one or without a word of its version; what was built and works."""
    made = measured(CLAIMS, seen(**found))
    assert (made.mpi, made.mpi_version) == mpi
    assert (made.compilers, made.distribution, made.cuda) == (("inductor",), ("horovod",), "12.4.1")
    assert measured({**MPICH, "cuda": "12.4"}, seen(mpi={"mpich": "4.0.2"}, says={}, checks={})).cuda == "12.4"


def test_an_image_without_its_framework_gets_no_labels() -> None:
    """The message says why."""
    with pytest.raises(DataError, match=r"does not carry pytorch: framework: .*no module"):
        measured(CLAIMS, seen(checks={"framework": Check(1, why="no module"), "exercise": Check(1)}))


def test_an_image_that_does_not_run_gets_no_labels() -> None:
    """Also not the version of its recipe, as an MPI library that prints none."""
    with pytest.raises(DataError, match="does not carry mpich: image: "):
        measured({"framework": "mpich", "version": "4.0.2", "source": "hub"}, Seen())


def test_an_image_without_python_is_none_of_a_python_framework() -> None:
    """Nothing in it could be asked for the version, so the recipe's word stood; a framework that nobody knows how to ask keeps its own."""
    nothing = seen(python=None, says={}, checks={})
    with pytest.raises(DataError, match="does not carry pytorch: it reports no version"):
        measured(CLAIMS, nothing)
    assert measured({"framework": "of-a-plug-in", "version": "2.1", "source": "pip"}, nothing).version == "2.1"


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ({"framework": "holds", "version": "holds", "microarchitecture": "unknown"}, True),
        ({"framework": "holds", "version": "unknown"}, False),
        ({"framework": "unknown"}, False),
        ({"framework": "holds", "version": "holds", "python": "refuted"}, False),
        ({"digest": "holds"}, False),
    ],
)
def test_only_what_was_seen_verifies_an_image(told: dict[str, Verdict], counts: bool) -> None:
    """An image that tells nothing of itself was entered as verified, and preferred for it."""
    found = standing(tuple(Finding(label, verdict) for label, verdict in told.items()), worker.BUILDERS["apptainer"])
    assert (found["verified_on"] is not None) == (found["verified_at"] is not None) == counts


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "Etc/GMT-14"])
def test_the_day_of_a_verification_is_that_of_utc(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """As every other time that is stored: builders in two time zones, which have two dates now, write the same one."""
    with monkeypatch.context() as there:
        there.setenv("TZ", zone)
        time.tzset()
        before = datetime.now(UTC).date()
        found = standing((Finding("framework", "holds"), Finding("version", "holds")), worker.BUILDERS["apptainer"])
        after = datetime.now(UTC).date()
    time.tzset()
    assert found["verified_on"] in {before, after}


def test_the_probe_runs_in_any_shell_and_is_read_back() -> None:
    """Here on this machine, whose Python has no such framework; quotes in what programs print do no harm."""
    ran = subprocess.run(["/bin/sh", "-c", probe(CLAIMS)], capture_output=True, text=True, timeout=250)  # it looks through /usr and /opt
    found = read_probe(ran.stdout)
    assert (found.ran, ran.stderr) == (True, "")
    assert found.processor_flags
    assert set(found.checks) == {"framework", "exercise", "compiler inductor", "distribution horovod"}


def test_a_wrapper_without_its_compiler_says_so() -> None:
    """Open MPI frames what it says with rules."""
    words = (
        "mpicc() { printf '%s\\n' ----- 'unable to find the specified compiler' 'gcc in your PATH.' ----- >&2; return 1; }\nfind() { :; }\n"
    )
    ran = subprocess.run(["/bin/sh", "-c", words + probe({"framework": "openmpi"})], capture_output=True, text=True, timeout=250)
    assert read_probe(ran.stdout).checks["exercise"] == Check(75, why="unable to find the specified compiler ")


@pytest.mark.parametrize(
    ("text", "family", "version"),
    [
        ("Open MPI v4.1.4  http://www.open-mpi.org/community/help/", "openmpi", "4.1.4"),
        ("mpirun (Open MPI) 5.0.6", "openmpi", "5.0.6"),
        ("MPICH Version:     4.0.2 MPICH Release date: Thu Apr  7", "mpich", "4.0.2"),
        ("HYDRA build details:     Version:                                 3.3.2", "mpich", "3.3.2"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.14 Build 20241121", "intel-mpi", "2021.14"),
        ("Intel(R) MPI Library 2021.6 for Linux* OS\n", "intel-mpi", "2021.6"),
        ("Intel(R) MPI Library 2019 Update 9 for Linux* OS", "intel-mpi", "2019"),
        ("MVAPICH Version:       3.0 MVAPICH Release date: x", "mvapich", "3.0"),
        ("MVAPICH2 Version:      2.3.7 MVAPICH2 Release date: x MPICH Version: 3.2.1", "mvapich", "2.3.7"),
    ],
)
def test_every_mpi_tells_its_version_in_its_own_way(text: str, family: str, version: str) -> None:
    """As their own programs, and the libraries themselves, print it."""
    assert read_probe(f"{MARK}{json.dumps(['mpi', text])}\n").mpi == {family: version}


@pytest.mark.parametrize("text", ["Intel(R) MPI Library " * 20_000, "HYDRA build details:" + " " * 200_000], ids=["intel-mpi", "mpich"])
def test_a_long_text_of_an_image_takes_no_time(text: str) -> None:
    """An image may print what it likes; that took hours."""
    began = time.process_time()
    assert read_probe(f"{MARK}{json.dumps(['mpi', text])}\n").mpi == {}
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "line",
    [
        f"{MARK}{json.dumps(['framework', {'status': 1, 'out': 'a banner'}])}",
        f"{MARK}{json.dumps(['framework', {'status': 0, 'out': MARK + json.dumps({'version': 2})}])}",
        f"{MARK}{json.dumps(['framework', {'status': 'bad'}])}",
        f"{MARK}{json.dumps([['framework'], {'status': 0}])}",
        f"{MARK}{json.dumps(['python', 3.12])}",
    ],
    ids=[
        "output of a failed check",
        "a number for a version",
        "a status that is no number",
        "a name that is no text",
        "a version of Python that is no text",
    ],
)
def test_an_image_may_print_anything(line: str) -> None:
    """What is not of the probe's form says nothing of the image."""
    found = read_probe(f"{line}\n")
    assert (found.says, found.python) == ({}, None)


@pytest.mark.parametrize("text", ["x" * 5000, "\x1b[31mred\u202e\nand more", "\ud800"], ids=["long", "in colour", "half a letter"])
def test_what_an_image_says_of_itself_can_be_stored(text: str) -> None:
    """In one line that is not too long: nobody could use a database with an entry that cannot be read again."""
    findings = judge(CLAIMS, seen(python=text, checks={"framework": FINE, "exercise": Check(1, why=text)}))
    marks = standing(findings, worker.BUILDERS["apptainer"])
    image = Image(reference="/a.sif", labels=ImageLabels(framework="pytorch", version="2.13.0", source="pip"), source="a test")
    marked = image.model_copy(update=dict(marks))
    assert Image.model_validate_json(marked.model_dump_json()) == marked


def test_what_is_no_version_refutes_none() -> None:
    """An image may say anything of its Python and CUDA; the labels then leave them out."""
    claims = {**CLAIMS, "cuda": "12.6"}
    found = seen(python="three", says={"version": "2.13.0", "cuda": "none (stub)"})
    assert {name: verdicts(claims, found)[name] for name in ("python", "cuda")} == {"python": "unknown", "cuda": "unknown"}
    assert (measured(claims, found).python, measured(claims, found).cuda) == (None, None)


def test_a_framework_may_print_lines_of_its_own() -> None:
    """What it says of its build is found between a banner and a last word."""
    out = f"welcome {MARK}{json.dumps({'version': '2.13.0'})}\ngoodbye\n"
    assert read_probe(MARK + json.dumps(["framework", {"status": 0, "out": out}])).says == {"version": "2.13.0"}


def test_a_fault_in_colour_is_read() -> None:
    """A compiler's message may hold control characters, which the shell part of the probe does not escape."""
    assert read_probe(f'{MARK}["exercise", {{"status": 1, "why": "\x1b[31merror"}}]').checks["exercise"].status == 1


def test_lines_of_others_are_passed_over() -> None:
    """An image may print what it likes."""
    assert read_probe(f'{MARK}not json\n{MARK}{"[" * 100_000}\n{MARK}3\nmodak\n{MARK}["ran", true]\n').ran


def test_a_refuted_image_serves_nobody() -> None:
    """Though it is the only one that claims what is wanted; the answer says why it is left out."""
    image = Image(reference="a.sif", labels=ImageLabels(framework="pytorch", version="2.13.0", source="pip"), source="here")
    wanted = Wanted(framework="pytorch", runtime="apptainer")
    assert choose(catalogue([image]), wanted).image == image
    left = choose(catalogue([image.model_copy(update={"refuted": ("2026-11-21 on n1: version",)})]), wanted)
    assert left.image is None
    assert "did not match the labels" in " ".join(left.decisions)


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("docker://a/b:1", "docker://a/b:1 is in a registry"),
        ("x.sif", "/x.sif is not there"),
        ("/nowhere/x.sif", "image: /nowhere/x.sif is not there"),
    ],
)
def test_what_is_no_file_here_is_not_run(tmp_path: Path, reference: str, why: str) -> None:
    """A relative name is looked for in the folder of images, where others are found."""
    labels = ImageLabels(framework="pytorch", version="2.13.0", source="pip")
    (tmp_path / "y.sif").touch()
    assert file_of(Image(reference="y.sif", labels=labels, source="a test"), tmp_path) == tmp_path / "y.sif"
    with pytest.raises(Conflict, match=why):
        file_of(Image(reference=reference, labels=labels, source="a test"), tmp_path)
