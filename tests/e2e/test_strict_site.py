"""Requests at a strict site: each gets a script that Slurm takes and runs in the shape that was told, or is refused in one line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from modak.errors import Infeasible
from modak.service.service import Service
from modak.store import open_store
from tests.e2e.slurm import Slurm
from tests.e2e.test_detect import Modak

SHOWN = "echo rank $(hostname) $(nproc) $(taskset -cp $$ | sed 's/.*: //') gpus ${CUDA_VISIBLE_DEVICES:-none}"

Writes = Callable[..., str]


@pytest.fixture(scope="module")
def folder(strict: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the user's jobs begin: a program that shows what a rank has."""
    place = Path(strict.environment["SLURM_CONF"]).parent.parent / "home"
    place.mkdir()
    place.chmod(0o777)
    (place / "show").write_text(f"#!/bin/sh\n{SHOWN}\n")
    (place / "show").chmod(0o755)
    return place


@pytest.fixture(scope="module")
def detected(strict: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the site as `modak systems detect` describes it; the administrator enters the model of its GPUs, and which quality
    of service jobs of a partition have that name none."""
    place = tmp_path_factory.mktemp("strict")
    modak = Modak(strict, place)
    modak("systems", "detect", "-o", "out")
    (file,) = (place / "out").glob("strict.toml")
    system = tomllib.loads(file.read_text())
    (gpu,) = [one for one in system["partitions"] if one["name"] == "gpu"]
    next(one for one in system["partitions"] if one["name"] == "usual")["qos"] = "part"
    gpu["node"] |= {"accelerator": "a100-sxm4-80gb", "accelerators": 2}
    fields = ["partitions.gpu.node.accelerator", "partitions.gpu.node.accelerators"]
    system["sources"].append({"fields": fields, "citation": "the administrator"})
    file.write_text(tomli_w.dumps(system))
    hardware = [word for kind in ("processors", "accelerators") for word in _with(place / f"out/strict-{kind}.toml", f"--{kind}")]
    modak("systems", "add", file, *hardware)
    return place


def _with(file: Path, option: str) -> list[str]:
    return [option, str(file)] if file.exists() else []


@pytest.fixture(scope="module")
def write(detected: Path, folder: Path) -> Iterator[Writes]:
    """Writes the script of a request; raises what MODAK refuses it with."""
    (database,) = [file for file in detected.rglob("*") if file.is_file() and file.read_bytes()[:15] == b"SQLite format 3"]
    with Service(open_store(f"sqlite:///{database}")) as service:

        def written(application: dict[str, Any], **options: Any) -> str:
            job = {
                "job_options": {"account": "chem", "wall_time_limit": 300, **options},
                "application": {"executable": "./show", "app_type": "mpi", **application},
                "target": {"name": "strict", "container_runtime": "none"},
            }
            return service.solve({"job": job}).texts.job_script

        yield written


AI = {"account": "ai"}


@pytest.mark.parametrize(
    ("application", "options", "asks"),
    [
        ({}, {}, "--nodes=1 --ntasks-per-node=2 --mem=3500M"),
        ({"mpi_ranks": 4}, {}, "--nodes=2"),
        ({"mpi_ranks": 8}, {}, "--constraint=thick --ntasks-per-node=8 --mem=3500M"),  # by default more than MaxMemPerNode
        ({"threads": 8, "app_type": "other"}, {}, "--constraint=thick --cpus-per-task=8"),
        ({}, {"architecture_constraint": "thick"}, "--partition=work --constraint=thick"),
        ({"mpi_ranks": 2}, {"architecture_constraint": "thin|thick"}, ""),
        ({}, {"memory_limit": "8 GB"}, "--partition=shared"),
        ({}, {"wall_time_limit": 10_800}, "--partition=shared --time=03:00:00"),  # quick has the limit of its QOS
        ({}, {"wall_time_limit": 10_800, "qos": "long"}, "--qos=long --time=03:00:00"),
        ({}, {"qos": "debug", "wall_time_limit": None}, "--qos=debug --time=00:10:00"),
        ({"mpi_ranks": 2}, {"partition": "pairs"}, "--nodes=2"),
        ({}, {"partition": "quick"}, "--nodes=1"),
        ({"mpi_ranks": 1}, {"partition": "whole"}, "--ntasks-per-node=1 --mem=4000M"),
        ({"mpi_ranks": 3}, {"partition": "socket"}, ""),
        ({}, {"node_exclusive": True}, "--exclusive"),
        ({}, {"site_resources": ["matlab=1"]}, "--licenses=matlab:1"),
        ({"app_type": "other"}, {"job_array": "0-3%2", "core_count": 1}, "--array=0-3%2"),
        ({}, {"request_specific_nodes": "thin2"}, "--nodelist=thin2"),
        ({}, {"request_gpus": 2, **AI}, "--partition=gpu --gpus-per-node=2"),
        ({"mpi_ranks": 4}, {"process_count_per_node": 4}, "--constraint=thick"),
        ({}, {"requeue": True, "signal": "USR1@60"}, "--signal=B:USR1@60"),
        ({}, {"partition": "thick", "qos": "part"}, "--qos=part --ntasks-per-node=4 --mem=8000M"),
        ({}, {"partition": "thick", "qos": "Part"}, "--qos=part --ntasks-per-node=4 --mem=8000M"),
        ({}, {"partition": "thick", "qos": "many"}, "--qos=many --ntasks-per-node=8"),
        ({}, {"partition": "pairs", "qos": "lean"}, "--nodes=2 --ntasks-per-node=2 --mem=1500M"),
        ({"mpi_ranks": 2}, {"partition": "thick", "qos": "lean"}, "--ntasks-per-node=2 --mem=3001M"),
        ({"mpi_ranks": 1}, {"partition": "unsaid", "qos": "lean"}, "--mem=3001M"),  # without a default, Slurm gives all of a node
        ({}, {"partition": "usual"}, "--qos=part --ntasks-per-node=4"),
        ({}, {"partition": "usual", "qos": "many"}, "--qos=many --ntasks-per-node=8"),
        ({"mpi_ranks": 1}, {"partition": "thick", "qos": "lean", "node_exclusive": True}, "--exclusive --mem=3001M"),
        ({}, {"partition": "unsaid", "qos": "group"}, "--nodes=1 --mem=3000M"),
        ({}, {"partition": "unsaid", "qos": "many"}, "--constraint=thick --ntasks-per-node=8"),  # its thin nodes are too few
        ({"mpi_ranks": 4}, {"partition": "pairs", "qos": "roomy"}, "--nodes=2 --mem=4000M"),
        ({"mpi_ranks": 2}, {"partition": "pairs", "qos": "roomy"}, "--nodes=2 --ntasks-per-node=1 --mem=2501M"),
        ({"mpi_ranks": 1}, {"partition": "thick", "qos": "roomy"}, "--ntasks-per-node=1 --mem=5001M"),
        ({}, {"partition": "thick", "qos": "each"}, "--ntasks-per-node=4 --mem=1500M"),
        ({}, {"partition": "pairs", "qos": "each"}, "--ntasks-per-node=2 --mem=1500M"),
        ({}, {"partition": "thick", "qos": "mine"}, "--ntasks-per-node=4 --mem=8000M"),
        ({"mpi_ranks": 1}, {"partition": "gpu", "qos": "onegpu", "request_gpus": 1, **AI}, "--gpus-per-node=1"),
        ({}, {"request_specific_nodes": "thick1", "architecture_constraint": "thick"}, "--constraint=thick --nodelist=thick1"),
    ],
)
def test_a_script_is_taken(
    strict: Slurm, write: Writes, folder: Path, application: dict[str, Any], options: dict[str, Any], asks: str
) -> None:
    """By a real submission, which rejects more than a test does; and it asks for what the request means there."""
    text = write(application, **options)
    assert [word for word in asks.split() if f"#SBATCH {word}\n" not in text] == []
    (folder / "job.sh").write_text(text)
    sent = strict.run("sbatch", "--parsable", "--hold", "job.sh", cwd=folder)
    assert sent.returncode == 0, f"{sent.stderr}\n{text}"
    strict.run("scancel", sent.stdout.strip())


@pytest.mark.parametrize(
    ("application", "options", "says"),
    [
        ({}, {"node_count": 3}, "job_options.node_count: 3 nodes requested"),
        ({}, {"qos": "large", "partition": "work", **AI}, "job_options.qos: partition work takes no jobs with qos large (only with normal"),
        ({}, {"qos": "debug", "partition": "shared"}, "job_options.qos: partition shared takes no jobs with qos debug"),
        ({}, {"qos": "debug", "wall_time_limit": 1200}, "may run for at most 00:10:00"),
        ({}, {"partition": "quick", "wall_time_limit": 3600}, "may run for at most 00:15:00"),
        ({"mpi_ranks": 4}, {"partition": "quick"}, "a job on strict/quick can have at most 1"),
        ({}, {"partition": "gpu"}, "job_options.account: partition gpu takes no jobs with account chem (only with ai, vision)"),
        ({}, {"request_gpus": 1}, "partitions with GPUs: gpu (takes no jobs with account chem"),
        ({}, {"memory_limit": "100 GB"}, "job_options.memory_limit: 100 GB per node requested"),
        ({"mpi_ranks": 8}, {"partition": "thick", "qos": "part"}, "application.mpi_ranks: 8 ranks requested, on at least 2 nodes"),
        (
            {},
            {"partition": "thick", "qos": "part", "node_exclusive": True},
            "job_options.node_exclusive: jobs with qos part on strict/thick",
        ),
        ({}, {"partition": "shared", "node_exclusive": True}, "job_options.node_exclusive: jobs on strict/shared get parts of nodes"),
        (
            {"mpi_ranks": 4},
            {"partition": "thick", "qos": "many"},
            "a job with qos many on strict/thick has at least 6 CPUs, and this one has 4",
        ),
        (
            {},
            {"partition": "pairs", "qos": "lean", "memory_limit": "2 GB"},
            "a job with qos lean on strict/pairs has at most 3.146776576",
        ),
        ({}, {"partition": "thick", "qos": "lean", "memory_limit": "4 GB"}, "4 GB per node requested, but only 3.146776576 GB are usable"),
        (
            {},
            {"partition": "thick", "qos": "roomy", "memory_limit": "4 GB"},
            "a job with qos roomy on strict/thick has at least 5.243928",
        ),
        ({}, {"partition": "thick", "qos": "each", "memory_limit": "2 GB"}, "2 GB per node requested, but only 1.572864 GB are usable"),
        ({"mpi_ranks": 8}, {"partition": "thick", "qos": "mine"}, "application.mpi_ranks: 8 ranks requested, on at least 2 nodes"),
        (
            {},
            {"partition": "gpu", "qos": "onegpu", "request_gpus": 2, **AI},
            "a job with qos onegpu on strict/gpu has at most 1 GPU per node, and this one has 2",
        ),
        ({}, {"partition": "quick", "qos": "many"}, "job_options.qos: partition quick takes no jobs with qos many"),
        ({}, {"partition": "pairs", "qos": "group"}, "job_options.qos: partition pairs takes no jobs with qos group"),
        ({"mpi_ranks": 8}, {"partition": "usual"}, "application.mpi_ranks: 8 ranks requested, on at least 2 nodes"),
        ({}, {"partition": "gpu", **AI}, "job_options.request_gpus: a job on strict/gpu has at least 1 GPU, and this one has 0"),
    ],
)
def test_what_slurm_would_reject_is_refused(
    strict: Slurm, write: Writes, application: dict[str, Any], options: dict[str, Any], says: str
) -> None:
    """With the field and what is allowed."""
    with pytest.raises(Infeasible, match=re.escape(says)):
        write(application, **options)


@pytest.mark.parametrize(
    ("application", "options", "shape", "ranks"),
    [
        ({}, {}, {"Partition": "work", "NumCPUs": "2", "MinMemoryNode": "3500M"}, ["0", "1"]),
        ({"app_type": "other"}, {"core_count": 1}, {"NumCPUs": "1", "MinMemoryNode": "1750M"}, ["0"]),
        ({"mpi_ranks": 4}, {}, {"NumNodes": "2", "NumTasks": "4", "NodeList": "thin[1-2]"}, ["0", "0", "1", "1"]),
        ({"mpi_ranks": 2}, {"partition": "pairs"}, {"NumNodes": "2", "NumTasks": "2"}, ["0", "0"]),
        ({"threads": 2, "app_type": "other"}, {}, {"NumTasks": "1", "NumCPUs": "2"}, ["0,1"]),
        ({}, {"request_gpus": 2, **AI}, {"Partition": "gpu", "TresPerNode": "gres/gpu:2"}, ["0", "1"]),
        ({}, {"qos": "debug"}, {"QOS": "debug"}, ["0", "1"]),
        ({"mpi_ranks": 2}, {"partition": "pairs", "qos": "lean"}, {"QOS": "lean", "MinMemoryNode": "1500M"}, ["0", "0"]),
        ({"mpi_ranks": 1}, {"partition": "unsaid", "qos": "group"}, {"QOS": "group", "MinMemoryNode": "3000M"}, ["0"]),
    ],
)
def test_a_job_runs_in_the_shape_that_was_told(
    strict: Slurm,
    write: Writes,
    folder: Path,
    application: dict[str, Any],
    options: dict[str, Any],
    shape: dict[str, str],
    ranks: list[str],
) -> None:
    """By Slurm's own word, and by the CPUs that each rank may use."""
    (folder / "run.sh").write_text(write(application, **options))
    done = strict.submit(Path("run.sh"), folder)
    assert done.state == "COMPLETED", done
    said = strict.run("scontrol", "show", "job", done.id).stdout.replace("gres:", "gres/")  # in 24.11 a slash
    shown = dict(re.findall(r"(\w+)=(\S*)", said))
    assert {name: shown.get(name) for name in shape} == shape
    found = sorted(re.findall(r"^rank \S+ [0-9]+ (\S+) gpus", done.output, re.MULTILINE))
    assert [cpus.replace("-", ",") for cpus in found] == (ranks if (os.cpu_count() or 1) >= 2 else found)
    if "request_gpus" in options:
        assert "gpus 0,1" in done.output
