"""One recipe, two images, one catalogue: PyTorch and MPI in both, chosen by their labels, run by the generated script."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modak.builds import verify, worker
from modak.builds.order import Site, of_text
from modak.builds.service import BuildService
from modak.builds.userrecipe import converted
from modak.dsl import Texts
from modak.facts import Facts, Image, ImageLabels
from modak.normalise import normalise
from modak.optimise import optimise
from modak.settings import Settings
from modak.store import open_store
from modak.store.audit import Actor
from tests.conftest import tool
from tests.e2e import images
from tests.e2e.images import everyone
from tests.e2e.slurm import Slurm
from tests.e2e.test_job_scripts import slurm_for
from tests.e2e.test_scripts_for_real import ran, system
from tests.e2e.test_training import TRAIN
from tests.e2e.torch_image import torch_root

pytestmark = pytest.mark.timeout(600)  # half a gigabyte is copied five times, which takes long on a busy machine
UNCOMPRESSED = "-noI -noD -noF -noX"
"""Options of ``mksquashfs``: to compress what is in these images would take more than a minute of a core."""
RECIPE = """\
FROM site/torch-base:1
COPY hello.openmpi /opt/hello.openmpi
ENV PATH=/usr/local/bin:/usr/bin:/bin
RUN python3 -c 'import torch'
LABEL modak.framework=pytorch
LABEL modak.version=2.13.0
LABEL modak.compilers=jit
LABEL modak.mpi=openmpi
"""
"""What is built on a base that the site has: no step of it reaches the internet."""


@pytest.fixture(scope="module")
def built(scratch: Path, apptainer: Path, mpi_programs: dict[str, Path]) -> Iterator[dict[str, Image]]:
    """The catalogue's entries of both images, by runtime."""
    bases, recipe = scratch / "bases", scratch / "recipe"
    recipe.mkdir()
    images.add_program(torch_root(bases / "torch-base-1"), mpi_programs["openmpi"])
    (recipe / "hello.openmpi").write_bytes(mpi_programs["openmpi"].read_bytes())
    (recipe / "hello.openmpi").chmod(0o755)
    with pytest.MonkeyPatch.context() as here, open_store(f"sqlite:///{scratch}/used.db", fill=False) as store:
        here.setenv("PATH", f"{quick_charliecloud(scratch / 'quick')}:{apptainer.parent}:{os.environ['PATH']}")
        here.setenv("CH_IMAGE_STORAGE", str(scratch / "ch-image-used"))
        here.setenv("APPTAINER_MKSQUASHFS_ARGS", UNCOMPRESSED)
        building, site = BuildService(store, Settings(images_dir=str(scratch / "built"))), Site(bases=str(bases))
        for text, runtime in ((RECIPE, "charliecloud"), (converted(RECIPE, "dockerfile", "Dockerfile"), "apptainer")):
            order = of_text(text, runtime, "torch-mpi", recipe, site)
            build = store.builds.ask(order.key, order.as_json(), Actor("tester"))
            worker.work(store.builds, building.folder, 900)
            told = building.state(build.id)
            assert told["state"] == "done", (told, building.log(build.id))
        yield {"apptainer" if image.reference.endswith(".sif") else "charliecloud": image for image in store.snapshot().images}


def quick_charliecloud(folder: Path) -> Path:
    """A folder with the installed Charliecloud, whose ``ch-convert`` takes the ``mksquashfs`` beside it: one that does not compress."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    installed = tool("Charliecloud", "ch-image").parent
    (folder / "lib").symlink_to(installed.parent / "lib")
    for name in ("ch-image", "ch-convert", "ch-run", "python3"):
        (programs / name).symlink_to(installed / name)
    pack = programs / "mksquashfs"
    pack.write_text(f'#!/bin/sh\nfolder=$1 file=$2\nshift 2\nexec {tool("SquashFS", "mksquashfs")} "$folder" "$file" {UNCOMPRESSED} "$@"\n')
    pack.chmod(0o755)
    return programs


def answered(found: dict[str, Image], runtime: str, application: dict[str, Any], job_options: dict[str, Any], **more: Any) -> Texts:
    """A plan that names no image: it is chosen by what it carries."""
    wish = {
        "app_type": "ai_training",
        "app_type-ai_training": {"config": {"ai_framework": "pytorch"}, "ai_framework-pytorch": {"version": "2.13"}},
    }
    job = {
        "application": application,
        "job_options": {"wall_time_limit": 600, **job_options},
        "target": {"name": "throwaway", "container_runtime": runtime},
        "optimisation": wish,
    }
    here = system(**more)
    read = normalise(json.loads(json.dumps({"job": job})))
    answer = optimise(read.request, Facts(version="1", systems={here.name: here}, images=tuple(found.values())), read.warnings)
    assert answer.plan.image is not None
    assert answer.plan.image["reference"] == found[runtime].reference
    return answer.texts


def test_both_carry_what_their_labels_say(built: dict[str, Image]) -> None:
    """The labels come from running them: they agree, though one recipe was translated for the other."""
    assert set(built) == {"apptainer", "charliecloud"}
    one, other = built["apptainer"].labels, built["charliecloud"].labels
    assert one == other
    assert (one.version, one.compilers, one.mpi, one.python) == ("2.13.0", ("jit",), "openmpi", one.python)
    assert (one.mpi_version or "").startswith("4.")
    assert all(image.verified_on and not image.refuted for image in built.values())


@pytest.mark.parametrize("runtime", ["apptainer", "charliecloud"])
def test_a_training_step_runs_in_the_image_that_was_chosen(slurm: Slurm, built: dict[str, Image], tmp_path: Path, runtime: str) -> None:
    """No variable says where the image is: the catalogue does."""
    (tmp_path / "train.py").write_text(TRAIN)
    application = {"app_tag": "net", "app_type": "python", "executable": "python3 train.py"}
    layout = {"node_count": 1, "process_count_per_node": 1, "core_count_per_process": 2}
    job = ran(slurm, answered(built, runtime, application, layout), tmp_path)
    assert (job.state, "rank 0 of 1 threads 2 learns True" in job.output) == ("COMPLETED", True), job


@pytest.mark.parametrize("runtime", ["apptainer", "charliecloud"])
def test_an_mpi_program_runs_in_the_same_image(slurm: Slurm, built: dict[str, Image], tmp_path: Path, runtime: str) -> None:
    """Two nodes with two ranks."""
    application = {"app_tag": "hello", "app_type": "mpi", "executable": "/opt/hello.openmpi"}
    texts = answered(
        built, runtime, application, {"node_count": 2, "process_count_per_node": 2, "core_count_per_process": 1}, launcher="mpirun"
    )
    job = ran(slurm_for(slurm, "openmpi", tmp_path, tmp_path), texts, tmp_path, enough=everyone)
    assert everyone(job.output), job


@pytest.mark.parametrize("runtime", ["apptainer", "charliecloud"])
def test_an_image_of_another_mpi_library_is_refuted(built: dict[str, Image], runtime: str) -> None:
    """It holds Open MPI: labelled so it stands, labelled MPICH it does not; without a compiler wrapper nobody can tell what that does."""
    image = built[runtime]
    for family, refuted in (("openmpi", ()), ("mpich", ("framework", "mpi"))):
        version = image.labels.mpi_version or ""
        labels = ImageLabels(framework=family, version=version, source="hub", mpi=family)
        entry, findings = verify.verified(
            image.model_copy(update={"labels": labels, "digest": None}), Path(image.reference), worker.BUILDERS[runtime]
        )
        assert tuple(each.label for each in findings if each.verdict == "refuted") == refuted
        assert bool(entry.refuted) is bool(refuted)
        assert [each.verdict for each in findings if each.label == "mpicc"] == ["unknown"]


def test_the_images_run_without_modak(built: dict[str, Image], apptainer: Path) -> None:
    """They are ordinary images."""
    python = ("python3", "-c", "import torch; print(torch.__version__)")
    words: list[str | Path] = [apptainer, "--silent", "exec", built["apptainer"].reference, *python]
    assert subprocess.run(words, capture_output=True, text=True).stdout.startswith("2.13.0")
