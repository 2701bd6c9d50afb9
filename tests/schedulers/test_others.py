"""PBS Pro, LSF, Flux and Grid Engine: one matrix of what is said and what each writes, ``None`` where it warns instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from modak import plugins
from modak.dsl import Signal
from modak.jobs.spec import JobSpec, Resources
from tests.golden.scripts.jobs import LARGE, TESTBED
from tests.schedulers.headers import BARE, sized, wrote

DIALECTS = ("pbspro", "lsf", "flux", "gridengine")
PLAIN = {
    "pbspro": ["-S /bin/bash", "-N solver", "-l select=1:ncpus=1:mpiprocs=1:ompthreads=1", "-l place=scatter"],
    "lsf": ["-J solver", "-n 1", "-R span[ptile=1]", "-o solver.%J.out"],
    "flux": ["--job-name=solver", "--nodes=1", "--nslots=1", "--cores-per-slot=1"],
    "gridengine": ["-S /bin/bash", "-N solver", "-cwd"],
}
"""What a job that says nothing gets."""
Lines = list[str] | None
Row = tuple[dict[str, Any], Lines, Lines, Lines, Lines]
"""What is said, and what each of :data:`DIALECTS` writes."""

MATRIX: list[Row] = [
    ({"account": "p1"}, ["-A p1"], ["-P p1"], ["--bank=p1"], ["-P p1"]),
    ({"queue": "q"}, ["-q q"], ["-q q"], ["--queue=q"], ["-q q"]),
    ({"partition": "q"}, ["-q q"], ["-q q"], ["--queue=q"], ["-q q"]),
    ({"wall_time_s": 30 * 3600 + 59}, ["-l walltime=30:00:59"], ["-W 30:01"], ["--time-limit=108059s"], ["-l h_rt=30:00:59"]),
    ({"constraint": "a&b|c"}, None, ["-R select[a&&b||c]"], ["--requires=a&b|c"], None),
    ({"array": "1-8:2%3"}, ["-J 1-8:2%3", "-r y"], ["-J solver[1-8:2]%3", "-o solver.%J.%I.out"], None, ["-t 1-8:2", "-tc 3"]),
    ({"array": "0-7"}, ["-J 0-7", "-r y"], None, None, None),
    ({"array": "5-5"}, None, ["-J solver[5-5]", "-o solver.%J.%I.out"], None, ["-t 5-5"]),
    ({"array": "1,5"}, None, ["-J solver[1,5]", "-o solver.%J.%I.out"], None, None),
    ({"output": "x.out"}, ["-o x.out"], ["-o x.out"], ["--output=x.out"], ["-o x.out"]),
    ({"output": "%x-%j.out"}, None, ["-o solver-%J.out"], ["--output={{name}}-{{id}}.out"], ["-o $JOB_NAME-$JOB_ID.out"]),
    ({"output": "%N.out"}, None, None, None, ["-o $HOSTNAME.out"]),
    ({"error": "x.err"}, ["-e x.err"], ["-e x.err"], ["--error=x.err"], ["-e x.err"]),
    ({"join": True}, ["-j oe"], [], [], ["-j y"]),
    ({"join": False}, [], ["-e solver.%J.err"], ["--error={{name}}-{{id}}.err"], []),
    ({"notify": ("none",)}, ["-m n"], [], None, ["-m n"]),
    ({"notify": ("begin", "end", "fail")}, ["-m abe"], ["-B", "-N"], None, ["-m abe"]),
    ({"notify": ("requeue",)}, None, None, None, None),
    ({"email": "a@b.de", "notify": ("end",)}, ["-m e", "-M a@b.de"], ["-u a@b.de", "-N"], None, ["-m e", "-M a@b.de"]),
    (
        {"dependency": "afterany:1:2"},
        ["-W depend=afterany:1:2"],
        ["-w ended(1)&&ended(2)"],
        ["--dependency=afterany:1", "--dependency=afterany:2"],
        ["-hold_jid 1,2"],
    ),
    ({"dependency": "afterok:1?afternotok:2"}, None, ["-w done(1)||exit(2)", "-ti"], None, None),
    (
        {"dependency": "after:1,afterany:2"},
        ["-W depend=after:1,afterany:2"],
        ["-w started(1)&&ended(2)"],
        ["--dependency=after:1", "--dependency=afterany:2"],
        None,
    ),
    ({"dependency": "singleton"}, None, None, None, None),
    ({"dependency": "afterany:1,singleton"}, None, None, None, None),
    ({"dependency": "afterok:1,aftercorr:2"}, None, None, None, None),
    ({"begin": "2026-12-24T18:00"}, ["-a 202612241800"], ["-b 2026:12:24:18:00"], ["--begin-time=2026-12-24-18:00"], ["-a 202612241800"]),
    ({"begin": "2026-12-24"}, ["-a 202612240000"], ["-b 2026:12:24:00:00"], ["--begin-time=2026-12-24-00:00"], ["-a 202612240000"]),
    ({"begin": "18:00"}, ["-a 1800"], ["-b 18:00"], ["--begin-time=18:00"], None),
    ({"begin": "18:00:30"}, ["-a 1800.30"], ["-b 18:00"], ["--begin-time=18:00:30"], None),
    ({"begin": "now+12hours"}, None, None, ["--begin-time=+12h"], None),
    ({"exclusive": True}, ["-l place=scatter:exclhost"], ["-x"], ["--exclusive"], None),
    ({"requeue": True}, ["-r y"], ["-r"], None, ["-r y"]),
    ({"requeue": False}, ["-r n"], ["-rn"], None, ["-r n"]),
    ({"signal": Signal(name="USR1", seconds=120)}, None, None, None, None),
    ({"copy_environment": True}, ["-V"], ["-env all"], ["--env=*"], ["-V"]),
    ({"copy_environment": False}, [], ["-env none"], ["--env-remove=*"], []),
    ({"copy_variables": ("A", "B")}, ["-v A,B"], ["-env all,A,B"], ["--env=A", "--env=B"], ["-v A,B"]),
]
SIZES: list[Row] = [
    (
        {"nodes": 2, "ranks_per_node": 4, "cores_per_rank": 12, "threads_per_rank": 24, "gpus_per_node": 4},
        ["-l select=2:ncpus=48:mpiprocs=4:ompthreads=24:ngpus=4"],
        ["-n 96", "-R span[ptile=48]", "-gpu num=4/host"],
        ["--nodes=2", "--nslots=2", "--cores-per-slot=48", "--gpus-per-slot=4"],
        ["-l gpu=4", "-pe mpi 96"],
    ),
    (
        {"cores_per_rank": 4, "memory_per_node": 2**33},
        ["-l select=1:ncpus=4:mpiprocs=1:ompthreads=1:mem=8192mb"],
        ["-n 4", "-R span[ptile=4]", "-R rusage[mem=8192MB/host]"],
        None,
        ["-l h_vmem=2048M", "-pe smp 4"],
    ),
    (
        {"cores_per_rank": 4, "memory_per_core": 2**30},
        ["-l select=1:ncpus=4:mpiprocs=1:ompthreads=1:mem=4096mb"],
        ["-n 4", "-R span[ptile=4]", "-R rusage[mem=1024MB/task]"],
        None,
        ["-l h_vmem=1024M", "-pe smp 4"],
    ),
    (
        {"ranks_per_node": 2},
        ["-l select=1:ncpus=2:mpiprocs=2:ompthreads=1"],
        ["-n 2", "-R span[ptile=2]"],
        ["--cores-per-slot=2"],
        ["-pe smp 2"],
    ),
    ({"numa_constraint": "quad"}, None, ["-R select[quad]"], ["--requires=quad"], None),
]


def written(dialect: str, job: JobSpec = BARE, **attributes: Any) -> tuple[list[str], list[str]]:
    """Header lines that a bare job does not have, and the fields of warnings."""
    lines, fields = wrote(dialect, job, **attributes)
    return [line for line in lines if line not in PLAIN[dialect]], fields


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_bare_job_has_a_short_header(dialect: str) -> None:
    """And no reason to warn."""
    header = plugins.find("schedulers", dialect).directives(BARE)
    assert ([" ".join(option) for option in header.options], header.warnings) == (PLAIN[dialect], ())


def cells(rows: list[Row]) -> list[Any]:
    """Each scheduler with what is said and its own options."""
    return [
        pytest.param(dialect, said, options, id="-".join([*said, dialect]))
        for said, *row in rows
        for dialect, options in zip(DIALECTS, row, strict=True)
    ]


@pytest.mark.parametrize(("dialect", "said", "options"), cells(MATRIX))
def test_a_field_is_written_or_warned_about(dialect: str, said: dict[str, Any], options: Lines) -> None:
    """In the scheduler's own words."""
    lines, warned = written(dialect, **said)
    if options is None:
        assert [line for line in lines if "walltime" not in line] == []
        assert warned
    else:
        assert (lines, warned) == (options, [])


@pytest.mark.parametrize(("dialect", "size", "options"), cells(SIZES))
def test_a_size_is_written_or_warned_about(dialect: str, size: dict[str, Any], options: Lines) -> None:
    """In the scheduler's own words."""
    lines, warned = written(dialect, sized(**size))
    if options is None:
        assert warned
    else:
        assert [line for line in lines if line in options] == options


@pytest.mark.parametrize(("dialect", "told"), [("pbspro", False), ("lsf", True), ("flux", True), ("gridengine", True)])
@pytest.mark.parametrize("events", [(), ("none",)])
def test_an_address_without_an_event_is_told_where_no_mail_comes(dialect: str, told: bool, events: tuple[str, ...]) -> None:
    """PBS Pro sends mail if a job is aborted, unless it is told otherwise; the others send none."""
    _, warned = written(dialect, email="a@b.de", notify=events)
    assert ("email_address" in warned) == told


@pytest.mark.parametrize(("policy", "asked"), [("NONE", True), ("ALL", False)])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_sites_policy_on_the_environment_is_kept_with_a_warning(dialect: str, policy: str, *, asked: bool) -> None:
    """The request cannot change it."""
    site = TESTBED.model_copy(update={"export_policy": policy})
    bare, _ = written(dialect, replace(BARE, system=site))
    job = replace(BARE, system=site, attributes=replace(BARE.attributes, copy_environment=asked))
    assert written(dialect, job) == (bare, ["copy_environment"])
    free = replace(job, system=site.model_copy(update={"export_policy": "site"}))
    assert written(dialect, free)[1] == []


@pytest.mark.parametrize("file", ["logs/x.err", "logs/%N.%x.err", "%u-%b.err"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_file_is_left_out_where_the_streams_are_joined(dialect: str, file: str) -> None:
    """There would be nothing in it, so whatever its name is does not matter either."""
    joined, _ = written(dialect, join=True)
    both = written(dialect, join=True, error=file)
    assert both == (joined, ["standard_error_file"])


@pytest.mark.parametrize(("partition", "warned"), [("fat", ["partition"]), ("long", [])])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_of_a_queue_and_a_partition_the_queue_is_taken(dialect: str, partition: str, warned: list[str]) -> None:
    """None of them has both, which is told if they differ."""
    queue, _ = written(dialect, queue="long")
    both = written(dialect, queue="long", partition=partition)
    assert both == (queue, warned)


def test_pbs_pro_gets_the_nodes_that_are_named() -> None:
    """Also if there are fewer of them than the job has, which is told."""
    job = replace(BARE, resources=Resources(nodes=3), attributes=replace(BARE.attributes, node_list="n[1-2]"))
    chunk = "1:ncpus=1:mpiprocs=1:ompthreads=1"
    assert written("pbspro", job) == ([f"-l select={chunk}:host=n1+{chunk}:host=n2"], ["request_specific_nodes"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_timer_of_the_script_sends_the_signal(dialect: str) -> None:
    """None of them can send it to the script alone: what reaches every process of the job ends those that do not expect it."""
    limited = replace(BARE.attributes, wall_time_s=7200)
    plain, _ = written(dialect, replace(BARE, attributes=limited))
    lines, warned = written(dialect, replace(BARE, attributes=replace(limited, signal=Signal(name="USR1", seconds=120))))
    assert (lines, warned) == (plain, ["signal"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_timer_of_a_signal_needs_a_limit_of_time(dialect: str) -> None:
    """Without one nobody knows when to send it."""
    signal = replace(BARE.attributes, signal=Signal(name="USR1", seconds=120))
    (warning,) = plugins.find("schedulers", dialect).directives(replace(BARE, attributes=signal)).warnings
    assert (warning.field, "needs a wall time limit: left out" in warning.message) == ("job_options.signal", True)


def test_jobs_of_a_pbs_array_may_start_again() -> None:
    """PBS Pro refuses any other array."""
    lines, warned = written("pbspro", array="1-8", requeue=False)
    assert (lines, warned) == (["-J 1-8", "-r y"], ["requeue"])


def test_grid_engine_waits_for_jobs_that_should_succeed() -> None:
    """Not knowing whether they did, it is told; without the wait the job would begin beside them."""
    said = replace(BARE.attributes, dependency="afterok:1:2,afterany:3")
    assert written("gridengine", replace(BARE, attributes=said)) == (["-hold_jid 1,2,3"], ["job_dependency"])


def test_grid_engine_is_not_asked_to_wait_for_a_pattern() -> None:
    """Brackets number a job of an array elsewhere; Grid Engine would take them for a pattern of names."""
    said = replace(BARE.attributes, dependency="afterany:1[2]")
    assert written("gridengine", replace(BARE, attributes=said)) == ([], ["job_dependency"])


@pytest.mark.parametrize(("dialect", "advice"), [("pbspro", "leave it out"), ("lsf", "put %a into"), ("gridengine", "put %a into")])
@pytest.mark.parametrize("stream", ["output", "error"])
def test_jobs_of_an_array_that_write_one_file_are_warned_about(dialect: str, advice: str, stream: str) -> None:
    """What one writes is lost among the others', or under them."""
    names: dict[str, Any] = {stream: "x.txt"}
    said = replace(BARE.attributes, array="1-3", **names)
    (warning,) = plugins.find("schedulers", dialect).directives(replace(BARE, attributes=said)).warnings
    assert (warning.field, advice in warning.message) == (f"job_options.standard_{stream}_file", True)


@pytest.mark.parametrize("dialect", ["lsf", "gridengine"])
def test_a_file_for_each_job_of_an_array_is_no_reason_to_warn(dialect: str) -> None:
    """Its name has the job's index."""
    said = replace(BARE.attributes, array="1-3", output="%a.out", error="%a.err")
    assert written(dialect, replace(BARE, attributes=said))[1] == []


@pytest.mark.parametrize(("dialect", "array"), [("pbspro", "1,3"), ("lsf", "0-3"), ("gridengine", "1,3")])
def test_an_array_that_is_left_out_shares_no_file(dialect: str, array: str) -> None:
    """The one warning is that of the array: there is one job."""
    said = replace(BARE.attributes, array=array, output="x.out")
    assert written(dialect, replace(BARE, attributes=said))[1] == ["job_array"]


THREADED = Resources(ranks_per_node=4, cores_per_rank=12, threads_per_rank=12, threads_per_core=2, memory_per_core=2**31, node_cores=48)


@pytest.mark.parametrize(
    ("dialect", "asked"),
    [
        ("pbspro", ["-l select=1:ncpus=96:mpiprocs=4:ompthreads=12:mem=98304mb"]),
        ("torque", ["-l nodes=1:ppn=96", "-l pmem=1024mb"]),
        ("lsf", ["-n 96", "-R span[ptile=96]", "-R rusage[mem=1024MB/task]"]),
        ("gridengine", ["-l h_vmem=1024M", "-pe smp 96"]),
    ],
)
def test_whole_cores_where_the_scheduler_counts_hardware_threads(dialect: str, asked: list[str]) -> None:
    """Else the job would get half of the cores; the memory of a core is that of its threads."""
    site = LARGE.model_copy(update={"mandatory_directives": ()})
    header = plugins.find("schedulers", dialect).directives(replace(BARE, resources=THREADED, system=site))
    assert [line for line in map(" ".join, header.options) if line in asked] == asked


@pytest.mark.parametrize(
    ("dialect", "asked"), [("pbspro", "ncpus=48:mpiprocs=96"), ("torque", "ppn=48"), ("lsf", "ptile=48"), ("gridengine", "-pe smp 48")]
)
def test_no_job_asks_for_more_cores_than_a_node_has(dialect: str, asked: str) -> None:
    """Where two ranks share a core: it would wait for ever."""
    shared = replace(THREADED, ranks_per_node=96, cores_per_rank=1, threads_per_rank=1, hyperthreads=True)
    header = plugins.find("schedulers", dialect).directives(replace(BARE, resources=shared))
    assert any(asked in " ".join(option) for option in header.options)


@pytest.mark.parametrize(("asked", "field"), [("memory_per_node", "memory_limit"), ("memory_per_core", "minimum_memory_per_processor")])
@pytest.mark.parametrize("gpus", [1, 0])
def test_address_space_is_no_measure_of_memory_on_gpus(asked: str, field: str, gpus: int) -> None:
    """Grid Engine's h_vmem stops CUDA at its start; without GPUs there is no reason to warn."""
    memory: dict[str, Any] = {asked: 2**33}
    job = sized(gpus_per_node=gpus, **memory)
    assert (field in written("gridengine", job)[1]) == bool(gpus)


@pytest.mark.parametrize(("gpus", "directives", "warned"), [(1, (), True), (0, (), False), (1, ("-l rt_G={nodes}",), False)])
def test_the_resource_that_gpus_are_by_convention_is_warned_of(gpus: int, directives: tuple[str, ...], warned: bool) -> None:
    """Unless the system file says how the site's are requested."""
    job = replace(BARE, resources=replace(BARE.resources, gpus_per_node=gpus), resource_directives=directives)
    assert ("request_gpus" in written("gridengine", job)[1]) == warned


def test_named_nodes() -> None:
    """One chunk a host, a requirement, a resource; LSF would take any of them."""
    job = replace(BARE, resources=Resources(nodes=2), attributes=replace(BARE.attributes, node_list="n[1-2]"))
    chunk = "1:ncpus=1:mpiprocs=1:ompthreads=1:host="
    assert f"-l select={chunk}n1+{chunk}n2" in written("pbspro", job)[0]
    assert "--requires=hosts:n[1-2]" in written("flux", job)[0]
    assert "-l hostname=n1|n2" in written("gridengine", job)[0]
    assert "request_specific_nodes" in written("lsf", job)[1]
    blades = replace(BARE, resources=Resources(nodes=4), attributes=replace(BARE.attributes, node_list="b[1-2]n[01-02],m"))
    assert "--requires=hosts:b1n[01-02],b2n[01-02],m" in written("flux", blades)[0], "it reads one range in a name"
    assert "-l hostname=b1n01|b1n02|b2n01|b2n02|m" in written("gridengine", blades)[0]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("afterok:1,afternotok:2,afterany:3", "done(1)&&exit(2)&&ended(3)"),
        ("afterok:1?afternotok:2?afterany:3", "done(1)||exit(2)||ended(3)"),
    ],
)
def test_lsf_joins_dependencies_as_they_were_given(asked: str, said: str) -> None:
    """All of them, or any."""
    assert f"-w {said}" in written("lsf", dependency=asked)[0]


def test_lsf_is_given_the_only_node_that_is_named() -> None:
    """Of one it has no choice."""
    one, two = (replace(BARE, attributes=replace(BARE.attributes, node_list=names)) for names in ("n1", "n[1-2]"))
    assert written("lsf", one) == (["-m n1"], [])
    assert written("lsf", two) == ([], ["request_specific_nodes"])


@pytest.mark.parametrize("dialect", ["lsf", "flux", "gridengine"])
def test_fewer_named_nodes_than_the_job_has_are_left_out(dialect: str) -> None:
    """These schedulers look for all of its nodes among them: the job would never start."""
    job = replace(BARE, resources=Resources(nodes=3))
    usual, told = written(dialect, job)
    few = written(dialect, replace(job, attributes=replace(job.attributes, node_list="n1")))
    assert (few[0], set(few[1]) - set(told)) == (usual, {"request_specific_nodes"})


@pytest.mark.parametrize(
    ("dialect", "both"), [("lsf", "-R select[(a||b)&&(quad)]"), ("flux", "--requires=(a|b)&quad"), ("slurm", "--constraint=(a|b)&quad")]
)
def test_a_constraint_and_a_numa_mode_hold_both(dialect: str, both: str) -> None:
    """The request's alternatives stay together."""
    job = replace(BARE, resources=Resources(numa_constraint="quad"), attributes=replace(BARE.attributes, constraint="a|b"))
    assert both in [" ".join(option) for option in plugins.find("schedulers", dialect).directives(job).options]


def test_lsf_reserves_memory_once() -> None:
    """That of a node goes before that of a core; of one alone there is nothing to tell."""
    node = sized(memory_per_node=2**33)
    core = sized(memory_per_core=2**30)
    assert [written("lsf", job)[1] for job in (node, core)] == [[], []]
    both = replace(node, resources=replace(node.resources, memory_per_core=2**30))
    assert written("lsf", both) == (["-R rusage[mem=8192MB/host]"], ["minimum_memory_per_processor"])


def test_flux_may_reject_more_ranks_than_cores() -> None:
    """``flux run`` gives each rank cores of its own, which is told."""
    job = sized(ranks_per_node=8, node_cores=4, oversubscribed=True)
    assert written("flux", job)[1] == ["application.threads"]


def test_grid_engine_s_job_of_several_nodes_is_told_who_distributes_its_slots() -> None:
    """The parallel environment; the script ends if it did so in another way."""
    (warning,) = plugins.find("schedulers", "gridengine").directives(replace(BARE, resources=Resources(nodes=2, ranks_per_node=8))).warnings
    assert (warning.field, "unless it gets 8 slots on each of 2 nodes" in warning.message) == ("job_options.node_count", True)


@pytest.mark.parametrize(
    ("wanted", "nodes", "asked"),
    [(("-pe orte",), 2, ["-pe orte 16"]), (("-pe smp", "-pe orte"), 1, ["-pe smp 8"]), (("-pe smp", "-pe orte"), 2, ["-pe orte 16"])],
)
def test_the_parallel_environment_is_the_sites(wanted: tuple[str, ...], nodes: int, asked: list[str]) -> None:
    """``-pe NAME`` among the mandatory directives, the first of two for one node; the slots are the job's."""
    site = TESTBED.model_copy(update={"mandatory_directives": wanted})
    job = replace(BARE, resources=Resources(nodes=nodes, ranks_per_node=8), system=site)
    assert [line for line in written("gridengine", job)[0] if line.startswith("-pe")] == asked
