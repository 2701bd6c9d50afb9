"""Warnings about what a job's own texts say."""

from __future__ import annotations

from typing import Any

import pytest

from modak.facts import Facts, Image, ImageLabels
from modak.normalise import normalise
from modak.optimise import optimise

DDP = {"app_type": "ai_training", "ai_training": {"pytorch": {"distribution": "ddp"}}}


def told(field: str, *, image: bool = False, **application: Any) -> list[str]:
    """The warnings at a field of the application."""
    own = {"container_runtime": "docker://own/image:1"} if image else {}
    target = {"job_scheduler_type": "slurm", "container_runtime": "apptainer" if image else "none"}
    wanted = {"app_type": "hpc"} if image else DDP
    job = {"application": {"executable": "train.py", **own, **application}, "target": target, "optimisation": wanted}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    return [each.message for each in warnings if each.field == f"application.{field}"]


@pytest.mark.parametrize(
    ("executable", "says"),
    [
        ("fit.ipynb", "jupyter nbconvert --to script fit.ipynb"),
        ("run.sh 1", "'bash run.sh'"),
        ("env A=1 run.sh", "'bash run.sh'"),
        ("fit.R", "'Rscript fit.R'"),
        ("app.jar --n 3", "a jar does not start by itself: begin with 'java -jar'"),
        ("./lib/app.jar", "a jar does not start by itself"),
        ("docker run --gpus all own/image python train.py", "name its image in application.container_runtime"),
        ("sbatch job.sh", "sbatch only queues another job: name what that job is to run"),
        ("bash run.slurm", "run.slurm is a job script, as its name says"),
        ("${HOME}/case/run.sbatch", "run.sbatch is a job script, as its name says"),
        ("./run.sh 1", None),
        ("bash run.sh", None),
        ("./solver case.job", None),
        ("solver", None),
        ("jupyter nbconvert --execute fit.ipynb", None),
    ],
)
def test_a_file_that_does_not_start_as_it_is_written_is_told(executable: str, says: str | None) -> None:
    """A job would end at once with "command not found"."""
    messages = told("executable", executable=executable, app_type="other")
    assert [says in each for each in messages if says] == ([True] if says else [])
    assert bool(messages) == bool(says)


@pytest.mark.parametrize(
    ("executable", "ranks", "warned"),
    [
        ("numactl --cpunodebind=0 --membind=0 ./solver", 2, True),
        ("env A=1 numactl -l -C 0-3 ./solver", 2, True),
        ("numactl -N 0 sh -c './solver'", 2, True),
        ("numactl -l sh -c './solver -N 1'", 2, False),
        ("taskset -c 0-3 ./solver", 2, True),
        ("likwid-pin -c 0-3 ./solver", 2, True),
        ("taskset -c0-3 ./solver", 2, True),
        ("numactl -lc 0 ./solver", 2, True),
        ("hwloc-bind core:0-3 ./solver", 2, True),
        ("hwloc-bind --mempolicy interleave --membind node:0 --cpubind core:0-3 -- ./solver", 2, True),
        ("hwloc-bind core:0-3 --membind node:0 ./solver", 2, True),
        ("hwloc-bind --mempolicy interleave --membind node:all -- ./solver", 2, False),
        ("numactl --interleave=all ./solver -N 1", 2, False),
        ("numactl -m 1 ./solver", 2, False),
        ("taskset -c 0-3 ./solver", 1, False),
    ],
)
def test_what_binds_all_ranks_of_a_node_to_the_same_cores_is_told(executable: str, ranks: int, warned: bool) -> None:
    """They have cores of their own, and would share those of one."""
    job = {"application": {"executable": executable, "app_type": "mpi"}, "target": {"job_scheduler_type": "slurm"}}
    counts = {"job_options": {"process_count_per_node": ranks, "node_count": 2}}
    warnings = optimise(normalise({"job": job | counts}).request, Facts(version="1")).plan.warnings
    assert any(f"binds all {ranks} ranks of a node to the same cores" in each.message for each in warnings) == warned


@pytest.mark.parametrize(
    ("executable", "application", "optimisation", "warned"),
    [
        ("julia -p 2 prog.jl", {}, {}, True),
        ("env A=1 nice spark-submit p.py", {"app_type": "other"}, {"app_type": "big_data"}, True),
        ("julia prog.jl", {"mpi_ranks": 1}, {}, False),
        ("julia prog.jl", {"app_type": "mpi"}, {}, False),
        ("Rscript fit.R", {}, {"app_type": "big_data", "big_data": {"config": {"distributed_training": True}}}, False),
        ("./solver julia", {}, {}, False),
        ("julia prog.jl", {"app_type": "other"}, {"app_type": "hpc", "hpc": {"openmp": {}}}, False),
    ],
)
def test_copies_of_a_program_that_starts_others_by_itself_are_told(
    executable: str, application: dict[str, Any], optimisation: dict[str, Any], warned: bool
) -> None:
    """Each would do all of the work."""
    job = {"application": {"executable": executable, **application}, "optimisation": optimisation, "job_options": {"node_count": 2}}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    told = [one.field for one in warnings if "2 copies of the program start" in one.message]
    assert told == ["job_options.node_count"] * warned


@pytest.mark.parametrize(
    ("app_type", "chosen", "warned"),
    [
        ("python", {"config": {"distributed_training": True}}, True),
        ("mpi", {"config": {"distributed_training": True}}, False),
        ("python", {"config": {"distributed_training": True, "parallelisation": "mpi"}}, False),
        ("python", {"pytorch": {"distribution": "ddp"}}, False),
    ],
)
def test_a_training_in_several_processes_whose_framework_is_not_named_is_told(app_type: str, chosen: dict[str, Any], warned: bool) -> None:
    """Nothing connects its processes, which would each train alone."""
    training = {"app_type": "ai_training", "ai_training": chosen}
    job: dict[str, Any] = {"application": {"executable": "python train.py", "app_type": app_type}, "optimisation": training}
    job |= {"target": {"job_scheduler_type": "slurm"}, "job_options": {"node_count": 2}}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    assert ("optimisation.ai_training.config.ai_framework" in [one.field for one in warnings]) is warned


@pytest.mark.parametrize(("executable", "warned"), [("conda run -n torch python train.py", True), ("conda-train", False)])
def test_torchrun_starts_outside_the_environment_that_another_program_opens(executable: str, warned: bool) -> None:
    """It is that of PATH, or none."""
    assert any("torchrun starts before 'conda run'" in each for each in told("executable", executable=executable)) == warned


@pytest.mark.parametrize(
    ("executable", "image", "warned"),
    [
        ("/home/me/env/bin/python train.py", True, True),
        ("${HOME}/env/bin/python3.11 train.py", True, True),
        ("env/bin/python train.py", True, True),
        ("/opt/conda/bin/python train.py", True, False),
        ("/app/env/bin/python train.py", True, False),
        ("python train.py", True, False),
        ("env A=1 /home/me/env/bin/python train.py", True, True),
        ("/home/me/env/bin/python train.py", False, False),
    ],
)
def test_a_python_of_the_users_own_does_not_belong_into_a_container(executable: str, image: bool, warned: bool) -> None:
    """Its packages were made for the host."""
    assert any("target.container_runtime to 'none'" in each for each in told("executable", image=image, executable=executable)) == warned


@pytest.mark.parametrize(
    ("command", "image", "warned"),
    [
        ("pip install -r requirements.txt", True, True),
        ("python3 -m pip install --user torch", True, True),
        ("source ${HOME}/env/bin/activate", True, True),
        ("conda activate torch", True, True),
        ("conda activate torch", False, True),
        ("source ${HOME}/miniconda3/bin/activate torch", False, False),
        ("pip install -r requirements.txt", False, False),
        ("source setup.sh", True, False),
        ("python3 prepare.py", True, False),
        ("conda run -n tools python3 prepare.py", True, False),
        ("pip download -d wheels torch", True, False),
        ("uv sync", True, True),
        ("python3 -m venv env", True, True),
    ],
)
def test_what_is_installed_before_the_run_is_not_in_the_container(command: str, image: bool, warned: bool) -> None:
    """It runs on the node. There, ``conda activate`` is a function of interactive shells."""
    assert bool(told("pre-execution", image=image, **{"pre-execution": command})) == warned


@pytest.mark.parametrize(("runtime", "warned"), [("apptainer", True), ("none", False)])
def test_an_environment_of_the_host_does_not_open_in_an_image_of_the_catalogue(runtime: str, warned: bool) -> None:
    """An image of one's own may have Conda."""
    labels = ImageLabels(framework="tensorflow", version="2.1", source="hub")
    image = Image(reference="docker://tensorflow/tensorflow:2.1.0", labels=labels, source="a test")
    wanted = {"app_type": "ai_training", "opt_build": {"acc_type": "none"}, "ai_training": {"tensorflow": {}}}
    target = {"job_scheduler_type": "slurm", "container_runtime": runtime}
    job = {"application": {"executable": "conda run -n me python train.py"}, "target": target, "optimisation": wanted}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1", images=(image,))).plan.warnings
    assert any("'conda run' starts in the container" in each.message for each in warnings) == warned


@pytest.mark.parametrize(
    ("executable", "warned"),
    [
        ("train.py --hf-token hf_0123456789abcdefghij", True),
        ("train.py --api_key=0123456789abcdef0123", True),
        ("env WANDB_API_KEY=0123456789abcdef0123 python3 train.py", True),
        ("train.py --hf-token ${HOME}/0123456789abcdef0123", False),
        ("train.py --eos-token '</s>' --max-tokens 0123456789abcdef0123", False),
        ("train.py --token-file tokens/0123456789abcdef0123", False),
        ("train.py --token /data/tokens/v2-large.json", False),
        ("train.py token 0123456789abcdef0123", False),
    ],
)
def test_a_secret_in_the_command_is_told(executable: str, warned: bool) -> None:
    """Plans are kept, and others may read them."""
    assert any("looks like a secret" in each for each in told("executable", executable=executable)) == warned


def test_a_secret_in_a_step_before_the_run_is_told() -> None:
    """It stands in the script, too."""
    steps: dict[str, Any] = {"executable": "python3 train.py", "pre-execution": "hf auth login --token hf_abcdefghij0123456789"}
    assert any("--token looks like a secret" in each for each in told("pre-execution", **steps))


@pytest.mark.parametrize(
    ("executable", "ranks", "warned"),
    [
        ("bash job.sh", 4, True),
        ("bash -l job.sh", 4, True),
        ("bash -o pipefail job.sh", 4, True),
        ("bash -l", 4, False),
        ("bash -c ./job.sh", 4, False),
        ("./job.sh", 4, True),
        ("bash job.sh", 1, False),
        ("./bind.sh ./solver", 4, False),
        ("sh -c './solver'", 4, False),
        ("./solver", 4, False),
    ],
)
def test_a_script_that_each_rank_runs_whole_is_told(executable: str, ranks: int, warned: bool) -> None:
    """One that was written to be submitted starts all ranks, and each rank would start them again."""
    job = {
        "application": {"app_type": "mpi", "executable": executable, "mpi_ranks": ranks},
        "target": {"job_scheduler_type": "slurm", "container_runtime": "none"},
    }
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    said = [each.message for each in warnings if "ranks runs all of" in each.message]
    assert (len(said), all("runs all of job.sh: if it starts ranks itself" in each for each in said)) == (warned, True)


@pytest.mark.parametrize(
    ("executable", "warned"),
    [
        ("sh -c './solver in | tee log'", True),
        ("bash -o pipefail -c './solver in | tee log'", False),
        ("bash -c './solver in | tee log; exit ${PIPESTATUS[0]}'", False),
        ("sh -c 'seq 9 | xargs ./run.sh'", False),
    ],
)
def test_a_pipe_that_succeeds_whatever_fails_in_it_is_told(executable: str, warned: bool) -> None:
    """The time of a run that failed would be loaded as that of a whole one."""
    assert any("because tee does" in each for each in told("executable", executable=executable, app_type="other")) == warned


@pytest.mark.parametrize("program", ["apptainer exec own.sif", "ch-run ./own --", "time apptainer exec own.sif"])
@pytest.mark.parametrize(("image", "warned"), [(True, True), (False, False)])
def test_a_container_within_the_jobs_own_is_told(image: bool, warned: bool, program: str) -> None:
    """Without one the command may start its own."""
    messages = told("executable", image=image, executable=f"{program} python3 train.py", app_type="other")
    assert any("starts a container of its own" in each for each in messages) == warned


@pytest.mark.parametrize(
    ("nodes", "steps", "warned"),
    [(2, "split ${MODAK_SCRATCH}/mesh", True), (2, "split mesh", False), (1, "split ${MODAK_SCRATCH}/mesh", False)],
)
def test_what_the_first_node_prepares_in_its_own_storage_is_not_seen_by_others(nodes: int, steps: str, warned: bool) -> None:
    """Without shared storage each node has a directory of its own."""
    command = {"executable": "./solver ${MODAK_SCRATCH}/mesh", "app_type": "mpi", "pre-execution": steps}
    job = {"application": command, "target": {"job_scheduler_type": "slurm"}, "job_options": {"node_count": nodes}}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    assert any("do not see what it writes" in each.message for each in warnings) is warned


@pytest.mark.parametrize(("steps", "warned"), [("sh -c 'cd $MODAK_SCRATCH && merge'", True), ("merge out", False)])
def test_what_is_written_after_results_were_copied_out_is_lost(steps: str, warned: bool) -> None:
    """The job's own directory is removed at its end."""
    command: dict[str, Any] = {"executable": "./solver ${MODAK_SCRATCH}/out", "post-execution": steps}
    assert any("is lost" in each for each in told("post-execution", stage_out=[{"from": "out", "to": "out"}], **command)) is warned


@pytest.mark.parametrize(
    ("pattern", "takes"),
    [
        ("PWSCF.*([0-9.]+)s WALL", ".*"),
        ("PWSCF.+?([0-9.]+)s WALL", ".+?"),
        ("rate[^:]*([0-9.]+)", "[^:]*"),
        ("PWSCF.* ([0-9.]+)s WALL", None),
        ("rate[^0-9]*([0-9.]+)", None),
        (r"rate\.*([0-9.]+)", None),
        ("rate *([0-9.]+)", None),
    ],
)
def test_a_pattern_that_leaves_its_group_the_last_digit_is_told(pattern: str, takes: str | None) -> None:
    """The result would be 4 for 12.34."""
    metric = {"name": "run_time", "unit": "s", "pattern": pattern}
    job = {"application": {"executable": "./solve"}, "optimisation": {"workload": {"metric": metric}}}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    said = [each.message for each in warnings if each.field == "optimisation.workload.metric.pattern"]
    assert [f"'{takes}' before the group" in each for each in said] == ([True] if takes else [])


@pytest.mark.parametrize(
    ("unit", "gpus", "warned"), [("tokens/s/GPU", 0, True), ("tokens/s/GPU", 4, False), ("tokens/s/node", 0, False), ("tokens/s", 0, False)]
)
def test_a_rate_of_each_gpu_without_any_is_told(unit: str, gpus: int, *, warned: bool) -> None:
    """The result would be refused, with the time of the run."""
    metric = {"name": "throughput", "unit": unit, "pattern": "tps: ([0-9]+)"}
    job = {
        "application": {"executable": "./solve"},
        "optimisation": {"workload": {"metric": metric}},
        "job_options": {"request_gpus": gpus},
    }
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    assert ["uses no GPUs" in each.message for each in warnings if each.field.endswith("metric.unit")] == ([True] if warned else [])


@pytest.mark.parametrize(
    ("kind", "executable", "warned"), [("mpi", "solver.py", True), ("mpi", "./solver.py", False), ("python", "solver.py", False)]
)
def test_a_python_script_of_an_mpi_program_is_no_command(kind: str, executable: str, warned: bool) -> None:
    """Only of ``python`` it is known that Python starts it."""
    hpc = {"app_type": "hpc", "hpc": {"mpi": {"library": "openmpi"}}}
    target = {"job_scheduler_type": "slurm", "container_runtime": "none"}
    job = {"application": {"executable": executable, "app_type": kind}, "target": target, "optimisation": hpc}
    warnings = optimise(normalise({"job": job}).request, Facts(version="1")).plan.warnings
    assert any("'python3 solver.py'" in each.message for each in warnings) is warned
