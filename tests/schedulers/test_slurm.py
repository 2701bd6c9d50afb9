"""Slurm's header: each field in sbatch's own words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from modak.facts import Node, Partition, System
from modak.jobs.spec import JobSpec, Resources
from modak.schedulers.slurm import Slurm, foreign
from tests.schedulers.headers import BARE, sized, wrote
from tests.systems import site

NODE = Node(processor="xeon", sockets=2, cores=48, threads_per_core=2)
SITE = site(NODE, nodes=100)
COUNTS_THREADS = SITE.model_copy(update={"cpu_unit": "thread"})


def header(job: JobSpec = BARE, **attributes: Any) -> list[str]:
    """Options beyond those that every job has."""
    usual = {"--job-name=solver", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=1"}
    return [option for option in wrote("slurm", job, **attributes)[0] if option not in usual]


def warned(job: JobSpec = BARE, **attributes: Any) -> list[str]:
    """Fields that a warning names."""
    return wrote("slurm", job, **attributes)[1]


def at(*directives: str) -> JobSpec:
    """A job on a system that wants these options in every job."""
    return replace(BARE, system=SITE.model_copy(update={"mandatory_directives": directives}))


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("--no-requeue", {"requeue": True}),
        ("-A main", {"account": "other"}),
        ("-C v100", {"constraint": "ssd"}),
        ("-L matlab:2", {"site_resources": ("matlab=1",)}),
        ("-a 1-4", {"array": "0-3"}),
        ("-b 18:00", {"begin": "19:00"}),
        ("-d singleton", {"dependency": "after:1"}),
        ("-e x.err", {"error": "y.err"}),
        ("-o x.out", {"output": "y.out"}),
        ("-p long", {"partition": "main"}),
        ("-q long", {"qos": "debug"}),
        ("-t 10", {"wall_time_s": 60}),
        ("-w n1", {"node_list": "n2"}),
    ],
)
def test_the_sites_word_replaces_what_it_excludes(wanted: str, said: dict[str, Any]) -> None:
    """In its short form, too; not both, of which Slurm would take one without a word."""
    assert (header(at(wanted), **said)[-1], warned(at(wanted), **said)) == (wanted, ["job_options"])
    assert header(replace(BARE, system=SITE), **said)[0] not in header(at(wanted), **said)


def test_the_sites_word_replaces_what_ranks_that_share_cores_need() -> None:
    """In its short form, too."""
    job = replace(at("-O"), resources=Resources(ranks_per_node=96, oversubscribed=True))
    alone = header(replace(job, system=SITE))
    assert [option for option in alone if option not in header(job)] == ["--overcommit"]


@pytest.mark.parametrize(("memory", "field"), [("memory_per_node", "memory_limit"), ("memory_per_core", "minimum_memory_per_processor")])
def test_resource_directives_stand_for_the_memory_of_the_job_too(memory: str, field: str) -> None:
    """A site that asks for nodes in its own words gives each its memory: one option more might be refused. The warning says so."""
    job = replace(sized(**{memory: 2**31}), resource_directives=("--nodes={nodes}",))
    assert (header(job), warned(job)) == ([], [field])


@pytest.mark.parametrize("memory", ["--mem=0", "--mem-per-gpu=4G"])
def test_the_sites_memory_goes_before_memory_per_core(memory: str) -> None:
    """sbatch refuses a script with both kinds."""
    job = replace(at(memory), resources=replace(BARE.resources, memory_per_core=2**30))
    assert header(job) == [memory]


def test_the_sites_short_options_replace_those_of_every_job() -> None:
    """Its name and its size."""
    job = at("-J solver2", "-N 2", "-n 4", "-c 8")
    found = [" ".join(option) for option in Slurm().directives(job).options]
    assert found == ["--ntasks-per-node=1", "-J solver2", "-N 2", "-n 4", "-c 8"]


def test_a_job_that_may_start_again_keeps_what_it_wrote() -> None:
    """Slurm empties the output file at a second start unless it is told to append."""
    assert header(requeue=True) == ["--requeue", "--open-mode=append"]


@pytest.mark.parametrize(("output", "fields"), [("x-%A.out", ["standard_output_file"]), ("x-%a.out", []), ("x-%j.out", [])])
def test_jobs_of_an_array_that_write_one_file_are_warned_about(output: str, fields: list[str]) -> None:
    """Each would empty it at its start."""
    assert warned(array="0-3", output=output) == fields


def test_more_named_nodes_than_the_job_has_are_left_out() -> None:
    """sbatch refuses them; fewer are part of what it gives the job."""
    assert (header(node_list="n[1-2],m"), warned(node_list="n[1-2],m")) == ([], ["request_specific_nodes"])
    assert "--nodelist=n[1-2],m" in header(sized(nodes=3), node_list="n[1-2],m")


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ({}, []),
        ({"account": "pn12ab"}, ["--account=pn12ab"]),
        ({"partition": "main"}, ["--partition=main"]),
        ({"queue": "main"}, ["--partition=main"]),
        ({"wall_time_s": 90 * 60}, ["--time=01:30:00"]),
        ({"wall_time_s": 30 * 3600}, ["--time=1-06:00:00"]),
        ({"wall_time_s": 100 * 86400}, ["--time=100-00:00:00"]),
        ({"constraint": "ssd&v100"}, ["--constraint=ssd&v100"]),
        ({"node_list": "n[07]"}, ["--nodelist=n[07]"]),
        ({"array": "0-15:3%2"}, ["--array=0-15:3%2"]),
        ({"output": "%x-%A_%a.out"}, ["--output=%x-%A_%a.out"]),
        ({"error": "x.err"}, ["--error=x.err"]),
        ({"join": True}, []),
        ({"join": True, "output": "x.out", "error": "x.err"}, ["--output=x.out"]),
        ({"join": False}, ["--error=%x-%j.err"]),
        ({"join": False, "error": "x.err"}, ["--error=x.err"]),
        ({"notify": ("begin", "end", "fail")}, ["--mail-type=BEGIN,END,FAIL"]),
        ({"notify": ("requeue", "time_limit", "array_tasks")}, ["--mail-type=REQUEUE,TIME_LIMIT,ARRAY_TASKS"]),
        ({"notify": ("none",)}, ["--mail-type=NONE"]),
        ({"email": "a@b.de", "notify": ("end",)}, ["--mail-type=END", "--mail-user=a@b.de"]),
        ({"dependency": "afterok:1:2,afterany:3"}, ["--dependency=afterok:1:2,afterany:3", "--kill-on-invalid-dep=yes"]),
        ({"dependency": "afternotok:1"}, ["--dependency=afternotok:1", "--kill-on-invalid-dep=yes"]),
        ({"dependency": "afterany:1?aftercorr:2"}, ["--dependency=afterany:1?aftercorr:2", "--kill-on-invalid-dep=yes"]),
        ({"dependency": "after:1,afterany:3"}, ["--dependency=after:1,afterany:3"]),
        ({"dependency": "singleton"}, ["--dependency=singleton"]),
        ({"dependency": "afterok:1,singleton"}, ["--dependency=afterok:1,singleton", "--kill-on-invalid-dep=yes"]),
        ({"begin": "2026-12-24T18:00"}, ["--begin=2026-12-24T18:00"]),
        ({"exclusive": True}, ["--exclusive"]),
        ({"exclusive": False}, []),
        ({"copy_environment": True}, ["--export=ALL"]),
        ({"copy_environment": False}, ["--export=NONE"]),
        ({"copy_variables": ("A", "B")}, ["--export=ALL,A,B"]),
        ({"copy_variables": ("A", "B"), "copy_environment": False}, ["--export=A,B"]),
    ],
)
def test_a_field_gives_its_option(said: dict[str, Any], options: list[str]) -> None:
    """And nothing else; nothing to warn about."""
    assert header(**said) == options
    assert warned(**said) in ([], ["standard_error_file"])


def test_a_dependency_that_slurm_does_not_have_is_told() -> None:
    """It stays as it is written: a job that did not wait would be worse than one that is rejected."""
    assert "--dependency=afterok:1,before:2" in header(dependency="afterok:1,before:2")
    assert warned(dependency="afterok:1,before:2") == ["job_dependency"]


@pytest.mark.parametrize(
    ("resources", "options"),
    [
        ({"nodes": 24, "ranks_per_node": 4, "cores_per_rank": 12}, ["--nodes=24", "--ntasks-per-node=4", "--cpus-per-task=12"]),
        ({"gpus_per_node": 4}, ["--gpus-per-node=4"]),
        ({"memory_per_node": 77 * 10**9}, ["--mem=73432M"]),
        ({"memory_per_core": 2 * 2**30}, ["--mem-per-cpu=2048M"]),
        ({"memory_per_node": 10**9, "memory_per_core": 2**30, "ranks_per_node": 4}, ["--ntasks-per-node=4", "--mem=4096M"]),
        ({"numa_constraint": "numa4"}, ["--constraint=numa4"]),
    ],
)
def test_a_size_gives_its_option(resources: dict[str, Any], options: list[str]) -> None:
    """Sizes are whole MiB, never more than was asked for."""
    assert header(sized(**resources)) == options


def test_a_gpu_is_asked_for_in_the_sites_own_way() -> None:
    """``--gres`` where its description says so; always for the node, never one a task."""
    by_gres = replace(sized(gpus_per_node=2), system=SITE.model_copy(update={"gpu_directive": "gres"}))
    assert header(by_gres) == ["--gres=gpu:2"]


@pytest.mark.parametrize(
    ("directive", "words", "asked"),
    [
        ("gres", "--gpus-per-node={gpus_per_node}", "--gres=gpu:2"),
        ("gres", "--gpus-per-node=a:{gpus_per_node}", "--gpus-per-node=a:2"),
        ("gpus-per-node", "--gpus-per-node={gpus_per_node}", "--gpus-per-node=2"),
    ],
)
def test_the_site_s_option_for_gpus_holds_in_detected_resource_directives_too(directive: str, words: str, asked: str) -> None:
    """They name the usual option where nodes have no known memory; words of the site's own, as with a type, stay."""
    job = replace(sized(gpus_per_node=2), system=SITE.model_copy(update={"gpu_directive": directive}), resource_directives=(words,))
    assert [word for word in header(job) if "gpu" in word or "gres" in word] == [asked]


def test_every_core_is_got_where_slurm_counts_hardware_threads() -> None:
    """Without the hint, 4 tasks of 12 CPUs would be 24 of the 48 cores."""
    job = replace(sized(ranks_per_node=4, cores_per_rank=12, threads_per_rank=12, threads_per_core=2), system=COUNTS_THREADS)
    assert header(job) == ["--ntasks-per-node=4", "--cpus-per-task=12", "--hint=nomultithread"]


def test_nodes_without_hyper_threads_need_no_hint() -> None:
    """Beside others that have some; if no node is said to have any, the file is not taken at its word."""
    job = sized(ranks_per_node=4, cores_per_rank=12, threads_per_rank=12)
    plain = NODE.model_copy(update={"threads_per_core": 1})
    silent = site(plain, cpu_unit="thread")
    mixed = site(plain, cpu_unit="thread", partitions=(*silent.partitions, Partition(name="smt", nodes=4, node=NODE, default=True)))
    assert header(replace(job, system=mixed)) == ["--ntasks-per-node=4", "--cpus-per-task=12"]
    assert "--hint=nomultithread" in header(replace(job, system=silent))


def test_hyper_threads_are_asked_for_as_slurm_counts_them() -> None:
    """2 ranks of 48 threads on 24 cores: 48 CPUs each where threads are the unit, 24 where cores are."""
    layout = {"ranks_per_node": 2, "cores_per_rank": 24, "threads_per_rank": 48, "threads_per_core": 2, "hyperthreads": True}
    assert header(replace(sized(**layout), system=COUNTS_THREADS)) == ["--ntasks-per-node=2", "--cpus-per-task=48"]
    assert header(replace(sized(**layout), system=SITE)) == ["--ntasks-per-node=2", "--cpus-per-task=24"]


def test_ranks_that_share_a_core_say_so() -> None:
    """Where ``CR_ONE_TASK_PER_CORE`` is set sbatch would reject the job; the option stays for its steps."""
    layout = {"ranks_per_node": 48, "threads_per_core": 2, "hyperthreads": True}
    job = replace(sized(**layout), system=COUNTS_THREADS)
    assert header(job) == ["--ntasks-per-node=48", "--ntasks-per-core=2"]
    assert "SLURM_NTASKS_PER_CORE" not in foreign(job)
    odd = {"ranks_per_node": 5, "cores_per_rank": 5, "threads_per_rank": 9, "threads_per_core": 2, "hyperthreads": True}
    assert "--ntasks-per-core=2" in header(replace(sized(**odd), system=COUNTS_THREADS))


def test_ranks_that_share_a_core_say_nothing_where_cores_are_counted() -> None:
    """A core with two ranks is one CPU for both: the site decides."""
    assert header(replace(sized(ranks_per_node=48, threads_per_core=2, hyperthreads=True), system=SITE)) == ["--ntasks-per-node=48"]


def test_ranks_without_cpus_of_their_own_get_whole_nodes() -> None:
    """Other jobs on the same CPUs would share them, too."""
    assert "--exclusive" in header(sized(ranks_per_node=96, node_cores=48, oversubscribed=True))


def test_no_job_asks_for_the_memory_of_more_cores_than_a_node_has() -> None:
    """Where two ranks share a core: it would wait for ever."""
    shared = sized(ranks_per_node=96, node_cores=48, memory_per_node=10**9, memory_per_core=2**30)
    assert "--mem=49152M" in header(shared)


def test_memory_per_core_is_shared_by_its_hardware_threads() -> None:
    """Slurm's --mem-per-cpu counts threads where those are its CPUs and the job uses them."""
    layout = {"cores_per_rank": 24, "threads_per_rank": 48, "threads_per_core": 2, "hyperthreads": True, "memory_per_core": 2**31}
    assert "--mem-per-cpu=1024M" in header(replace(sized(**layout), system=COUNTS_THREADS))


@pytest.mark.parametrize(("system", "hyperthreads"), [(SITE, True), (COUNTS_THREADS, False)])
def test_memory_per_core_is_that_of_a_cpu_where_a_core_is_one(system: System, hyperthreads: bool) -> None:
    """Because Slurm counts cores, or because the job leaves the second thread of each alone."""
    job = sized(cores_per_rank=24, threads_per_core=2, hyperthreads=hyperthreads, memory_per_core=2**31)
    assert "--mem-per-cpu=2048M" in header(replace(job, system=system))


def test_the_mode_of_the_nodes_joins_the_requests_constraint() -> None:
    """Both must hold."""
    job = sized(numa_constraint="numa4")
    assert header(job, constraint="ssd") == ["--constraint=ssd&numa4"]
    assert header(job, constraint="a|b") == ["--constraint=(a|b)&numa4"]
    assert header(job, constraint="numa4") == ["--constraint=numa4"]


@pytest.mark.parametrize(
    ("policy", "said", "options", "fields"),
    [
        ("NONE", {}, ["--export=NONE"], []),
        ("NONE", {"copy_variables": ("A",)}, ["--export=A"], []),
        ("NONE", {"copy_environment": True}, ["--export=NONE"], ["copy_environment"]),
        ("ALL", {}, ["--export=ALL"], []),
        ("ALL", {"copy_variables": ("A",)}, ["--export=ALL,A"], []),
        ("ALL", {"copy_environment": False}, ["--export=ALL"], ["copy_environment"]),
        ("site", {}, [], []),
    ],
)
def test_the_sites_policy_on_the_environment_holds(policy: str, said: dict[str, Any], options: list[str], fields: list[str]) -> None:
    """What the request wanted beyond it is answered with a warning."""
    job = replace(BARE, system=SITE.model_copy(update={"export_policy": policy}))
    assert header(job, **said) == options
    assert warned(job, **said) == fields


def test_what_the_site_wants_in_every_job_is_there_once() -> None:
    """It replaces the same option of ours, and says so where the value differs."""
    site = SITE.model_copy(update={"mandatory_directives": ("--get-user-env", "--export=NONE", "--partition=test")})
    job = replace(BARE, system=site)
    assert header(job, partition="main") == ["--get-user-env", "--export=NONE", "--partition=test"]
    warnings = Slurm().directives(replace(job, attributes=replace(job.attributes, partition="main"))).warnings
    assert [warning.message for warning in warnings] == [
        "the site requires '--partition=test' in every job: it replaces '--partition=main'"
    ]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"queue": "a", "partition": "b"}, "queue"),
        ({"join": True, "error": "x"}, "standard_error_file"),
        ({"email": "a@b.de"}, "email_address"),
        ({"output": "logs/%j.out"}, "standard_output_file"),
    ],
)
def test_what_slurm_does_otherwise_is_a_warning(said: dict[str, Any], field: str) -> None:
    """It names the field."""
    assert warned(**said) == [field]


def test_memory_both_per_node_and_per_core_is_a_warning() -> None:
    """Slurm takes one of them."""
    assert warned(sized(memory_per_node=10**9, memory_per_core=10**9)) == ["minimum_memory_per_processor"]
