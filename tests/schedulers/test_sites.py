"""What sites ask of a header beyond their scheduler's usual words, as system files say it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from modak import plugins
from modak.facts import Node, Partition, System
from modak.jobs.spec import Attributes, JobSpec, Resources
from modak.schedulers import Scheduler
from modak.text.grammar import SiteResource
from tests.schedulers import headers
from tests.systems import site

SITE = site(Node(processor="xeon", sockets=2, cores=48, threads_per_core=2), nodes=100)
JOB = JobSpec(
    ("./solver",),
    Resources(
        nodes=2, ranks_per_node=4, cores_per_rank=6, threads_per_rank=6, threads_per_core=2, gpus_per_node=4, memory_share=48 * 2**30
    ),
    Attributes(name="solver"),
    system=SITE,
)
MEMORY = {"memory_per_node": 8 * 2**30}


def wrote(scheduler: str, job: JobSpec = JOB, **said: Any) -> tuple[list[str], list[str]]:
    """The header's options, and the fields that warnings name."""
    return headers.wrote(scheduler, job, **said)


def wanting(*directives: str) -> JobSpec:
    """The job at a site that wants these options in every job."""
    return replace(JOB, system=SITE.model_copy(update={"mandatory_directives": directives}))


def asking(*directives: str, **resources: Any) -> JobSpec:
    """The job in a partition that is asked for nodes by these options."""
    return replace(JOB, resource_directives=directives, resources=replace(JOB.resources, **resources))


@pytest.mark.parametrize(
    ("scheduler", "directives", "options"),
    [
        (
            "slurm",
            ("--nodes={nodes}", "--ntasks={ranks}", "--gres=gpu:a100:{gpus_per_node}"),
            ["--nodes=2", "--ntasks=8", "--gres=gpu:a100:4"],
        ),
        (
            "slurm",
            ("--nodes={nodes}", "--ntasks-per-node={ranks_per_node}", "-c {cpus_per_task}"),
            ["--nodes=2", "--ntasks-per-node=4", "-c 6"],
        ),
        ("pbspro", ("-l select={nodes}:system=polaris", "-l place=scatter"), ["-l select=2:system=polaris", "-l place=scatter"]),
        ("torque", ("-l nodes={nodes}:ppn={cpus_per_node}:a100",), ["-l nodes=2:ppn=24:a100"]),
        ("lsf", ("-nnodes {nodes}", "-alloc_flags smt4"), ["-nnodes 2", "-alloc_flags smt4"]),
        ("lsf", ("-n {ranks}", "-R span[ptile={ranks_per_node}]"), ["-n 8", "-R span[ptile=4]"]),
        ("gridengine", ("-l rt_F={nodes}",), ["-l rt_F=2"]),
        ("flux", ("--nodes={nodes}", "--exclusive"), ["--nodes=2", "--exclusive"]),
    ],
)
def test_a_partition_is_asked_for_nodes_in_the_sites_words(scheduler: str, directives: tuple[str, ...], options: list[str]) -> None:
    """They stand in the place of all usual options for nodes, and of nothing else."""
    usual, _ = wrote(scheduler)
    found, warned = wrote(scheduler, asking(*directives))
    added, gone = [option for option in found if option not in usual], [option for option in usual if option not in found]
    rest = [option for option in usual if option in found and option not in options]
    assert (sorted({*added, *options}), warned) == (sorted(options), [])
    assert set(options) <= set(found)
    assert gone
    assert all("name" in option or option[:2] in ("-S", "-N", "-J", "-o") or option == "-cwd" for option in rest)


def test_placeholders_are_totals_or_of_one_node() -> None:
    """Cores are the job's, CPUs what the scheduler counts."""
    layout = "{ranks_per_node}.{threads_per_rank}.{cores}.{cores_per_node}.{cores_per_rank}"
    totals = "{cpus}.{gpus}.{memory_mib_per_node}.{memory_mib_per_cpu}"
    job = replace(asking(f"-l x={layout}.{totals}"), system=SITE.model_copy(update={"cpu_unit": "thread"}))
    assert "-l x=4.6.48.24.6.96.8.49152.1024" in wrote("pbspro", job)[0]


def test_what_a_job_does_not_ask_for_is_not_asked_for() -> None:
    """A job without GPUs, in words for jobs with and without."""
    job = asking("-l ncpus={cpus}", "-l ngpus={gpus}", "-l mem={memory_mib}mb", gpus_per_node=0, memory_share=None)
    assert [option for option in wrote("pbspro", job)[0] if option.startswith("-l")] == ["-l ncpus=48"]


def test_a_part_of_an_option_is_left_out_alone() -> None:
    """A chunk of PBS without GPUs is still a chunk."""
    job = asking(
        "-l select={nodes}:ncpus={cpus_per_node}:ngpus={gpus_per_node}:system=x", "--gres=gpu:a100:{gpus_per_node}", gpus_per_node=0
    )
    assert [option for option in wrote("pbspro", job)[0] if "select" in option or "gres" in option] == ["-l select=2:ncpus=24:system=x"]


@pytest.mark.parametrize(("unit", "threads", "cpus"), [("core", 12, 6), ("thread", 12, 12), ("thread", 6, 6)])
def test_cpus_of_a_task_are_those_of_slurms_own_option(unit: str, threads: int, cpus: int) -> None:
    """Hardware threads only if Slurm counts them and the job uses them: a step would not fit the allocation otherwise."""
    resources = {"threads_per_rank": threads, "hyperthreads": threads > 6}
    job = replace(asking("--cpus-per-task={cpus_per_task}", **resources), system=SITE.model_copy(update={"cpu_unit": unit}))
    for each in (job, replace(job, resource_directives=())):
        assert f"--cpus-per-task={cpus}" in wrote("slurm", each)[0]


@pytest.mark.parametrize(
    ("scheduler", "directives", "said", "kept", "gone"),
    [
        ("gridengine", ("-l rt_F={nodes}",), {"site_resources": ("rt_F=100",)}, "-l rt_F=2", "-l rt_F=100"),
        ("slurm", ("-N {nodes}", "-C gpu"), {"constraint": "ssd"}, "-C gpu", "--constraint=ssd"),
    ],
)
def test_a_request_does_not_change_what_the_site_asks_for(
    scheduler: str, directives: tuple[str, ...], said: dict[str, Any], kept: str, gone: str
) -> None:
    """The site's option stands alone, and a warning says which it replaces."""
    found, warned = wrote(scheduler, asking(*directives), **said)
    assert (kept in found, gone in found, warned) == (True, False, ["job_options"])


def test_the_sites_words_for_nodes_replace_the_usual_ones_for_gpus() -> None:
    """Slurm would be asked for them twice."""
    job = replace(
        asking("--nodes={nodes}", "--gpus-per-node=a100:{gpus_per_node}"), system=SITE.model_copy(update={"gpu_directive": "gres"})
    )
    assert [option for option in wrote("slurm", job)[0] if "gpu" in option] == ["--gpus-per-node=a100:4"]


def test_pbs_reads_names_of_resources_in_any_case() -> None:
    """The usual options for nodes are gone, and the site's wall time stands alone."""
    found, warned = wrote("pbspro", asking("-l Select={nodes}:system=x", "-l WALLTIME=01:00:00"), wall_time_s=60)
    assert ([option for option in found if option.startswith("-l")], warned) == (
        ["-l Select=2:system=x", "-l WALLTIME=01:00:00"],
        ["job_options"],
    )


@pytest.mark.parametrize(
    ("scheduler", "words", "warned"),
    [
        ("torque", "-l nodes={nodes}", ["architecture_constraint"]),
        ("torque", "-l nodes={nodes}:numa4", []),
        ("pbspro", "-l select={nodes}", ["architecture_constraint"]),
    ],
)
def test_a_numa_mode_that_the_sites_words_do_not_say_is_warned_of(scheduler: str, words: str, warned: list[str]) -> None:
    """Torque has it as a property of the nodes. Where the usual words do not say it either, there is one warning."""
    assert wrote(scheduler, asking(words, numa_constraint="numa4"))[1] == warned


@pytest.mark.parametrize("tasks", ["--ntasks-per-node={ranks_per_node}", "-n {ranks}"])
def test_more_tasks_than_cpus_are_not_in_the_sites_words_either(tasks: str) -> None:
    """Slurm takes no number of them that its CPUs cannot hold."""
    job = asking("--nodes={nodes}", tasks, "-c {cpus_per_task}", ranks_per_node=192, oversubscribed=True)
    options, warned = wrote("slurm", job)
    about = [option for option in options if option.startswith(("--n", "-n", "-c", "--cpus", "--over"))]
    assert (about, warned) == (["--nodes=2", "--overcommit"], [])


def test_the_sites_words_hide_no_warning_of_the_scheduler() -> None:
    """They replace options alone."""
    assert wrote("slurm", asking("--nodes={nodes}"), join=True, error="x.err")[1] == ["standard_error_file"]


def test_licences_are_not_the_nodes_memory() -> None:
    """Both are LSF's ``-R rusage[…]``; resource directives replace that of memory."""
    found, _ = wrote("lsf", asking("-nnodes {nodes}", **MEMORY), site_resources=("matlab=2",))
    assert [option for option in found if option.startswith("-R")] == ["-R rusage[matlab=2]"]


def test_slots_stand_beside_the_sites_words_if_it_names_their_environment() -> None:
    """``-pe`` without a number is none that Grid Engine takes."""
    job = replace(asking("-l gpu={gpus}"), system=SITE.model_copy(update={"mandatory_directives": ("-pe mpi",)}))
    assert [option for option in wrote("gridengine", job)[0] if option.startswith("-pe")] == ["-pe mpi 48"]


def test_a_parallel_environment_may_be_named_after_the_slots_of_a_node() -> None:
    """Its rule is a fixed number, so a site has one for each number."""
    job = asking("-pe mpi-{cpus_per_node}")
    assert [option for option in wrote("gridengine", job)[0] if option.startswith("-pe")] == ["-pe mpi-24 48"]


@pytest.mark.parametrize(
    ("words", "required", "counted"),
    [("-l gpu={gpus}", ("-pe mpi",), True), ("-pe mpi-{cpus_per_node}", (), True), ("-l nodes={nodes}", (), False)],
)
def test_slots_are_counted_on_the_nodes_if_the_job_asks_for_slots(words: str, required: tuple[str, ...], *, counted: bool) -> None:
    """Grid Engine writes the file with the numbers for parallel environments alone."""
    job = replace(asking(words), system=SITE.model_copy(update={"mandatory_directives": required}))
    assert bool(plugins.find("schedulers", "gridengine").preflight(job)) == counted


@pytest.mark.parametrize(("said", "memory"), [({}, 2 * 48 * 1024), (MEMORY, 2 * 8 * 1024)])
def test_memory_is_the_requests_or_the_part_of_the_jobs_cores(said: dict[str, int], memory: int) -> None:
    """Sites that ask for memory in each job have a small default."""
    assert f"-l mem={memory}mb" in wrote("pbspro", asking("-l mem={memory_mib}mb", **said))[0]


@pytest.mark.parametrize(
    ("scheduler", "said", "field"),
    [
        ("pbspro", {"node_list": "n[1-2]"}, "request_specific_nodes"),
        ("pbspro", {"exclusive": True}, "node_exclusive"),
        ("torque", {"constraint": "ssd"}, "architecture_constraint"),
        ("torque", {"constraint": "ncp"}, "architecture_constraint"),
        ("torque", {"constraint": "ssd&fast"}, "architecture_constraint"),
    ],
)
def test_a_wish_that_only_the_usual_options_hold_is_answered(scheduler: str, said: dict[str, Any], field: str) -> None:
    """Not lost without a word."""
    assert wrote(scheduler, asking("-l ncpus={cpus}"), **said)[1] == [field]
    assert wrote("slurm", asking("--nodes={nodes}"), **said)[1] == []


@pytest.mark.parametrize(
    ("scheduler", "said", "words"),
    [
        ("pbspro", {"exclusive": True}, "-l place=scatter:excl"),
        ("pbspro", {"node_list": "n1"}, "-l select=1:host=n1"),
        ("torque", {"constraint": "ssd&fast"}, "-l nodes={nodes}:ssd:fast"),
    ],
)
def test_a_wish_that_the_sites_words_hold_too_is_no_reason_to_warn(scheduler: str, said: dict[str, Any], words: str) -> None:
    """The job gets it."""
    assert wrote(scheduler, asking(words, nodes=1), **said)[1] == []


@pytest.mark.parametrize(
    ("words", "said", "fields"),
    [
        (("--nodes={nodes}",), {"memory_per_node": 2**33}, ["memory_limit"]),
        (("--nodes={nodes}",), {"memory_per_core": 2**30}, ["minimum_memory_per_processor"]),
        (("--nodes={nodes}", "--mem={memory_mib_per_node}M"), {"memory_per_node": 2**33}, []),
    ],
)
def test_memory_without_a_place_is_answered(words: tuple[str, ...], said: dict[str, int], fields: list[str]) -> None:
    """The request wants it, the site's words do not have it."""
    assert wrote("slurm", asking(*words, **said))[1] == fields


@pytest.mark.parametrize(
    ("scheduler", "usual", "wanted", "option"),
    [
        ("pbspro", "-A mine", "-P", "-P mine"),
        ("pbspro", "-A mine", "-W group_list=", "-W group_list=mine"),
        ("torque", "-A mine", "-W group_list", "-W group_list=mine"),
        ("gridengine", "-P mine", "-g", "-g mine"),
        ("lsf", "-P mine", "-G", "-G mine"),
        ("slurm", "--account=mine", "--account", "--account=mine"),
        ("slurm", "--account=mine", "-A", "--account=mine"),
        ("flux", "--bank=mine", "--bank", "--bank=mine"),
    ],
)
def test_the_account_stands_under_the_name_that_the_site_wants(scheduler: str, usual: str, wanted: str, option: str) -> None:
    """In place of the scheduler's usual one; if the request names none, it is told to."""
    found, warned = wrote(scheduler, wanting(wanted), account="mine")
    assert (option in found, usual in found, warned) == (True, usual == option, wrote(scheduler)[1])
    without, missing = wrote(scheduler, wanting(wanted))
    assert ([each for each in without if each.startswith(wanted.removesuffix("="))], missing) == ([], [*wrote(scheduler)[1], "account"])


def test_an_account_stands_under_each_name_that_the_site_wants() -> None:
    """One of them may be the scheduler's usual one."""
    found, warned = wrote("pbspro", wanting("-A", "-W group_list="), account="mine")
    assert ([option for option in found if "mine" in option], warned) == (["-A mine", "-W group_list=mine"], [])


@pytest.mark.parametrize(
    ("scheduler", "wanted", "said", "option", "field"),
    [
        ("slurm", "--qos", {"qos": "debug"}, "--qos=debug", "qos"),
        ("slurm", "-q", {"qos": "debug"}, "--qos=debug", "qos"),
        ("slurm", "--time", {"wall_time_s": 60}, "--time=00:01:00", "wall_time_limit"),
        ("pbspro", "-l filesystems=", {"site_resources": ("filesystems=home",)}, "-l filesystems=home", "site_resources"),
        ("pbspro", "-l walltime=", {"wall_time_s": 60}, "-l walltime=00:01:00", "wall_time_limit"),
        ("lsf", "-W", {"wall_time_s": 60}, "-W 0:01", "wall_time_limit"),
    ],
)
def test_a_value_that_the_site_wants_is_the_requests(scheduler: str, wanted: str, said: dict[str, Any], option: str, field: str) -> None:
    """An option without its value would be refused: the request gives it, or is told to."""
    found, warned = wrote(scheduler, wanting(wanted), **said)
    assert (found.count(option), warned) == (1, [])
    assert wrote(scheduler, wanting(wanted))[1] == [field]
    assert not any(each.split("=")[0] == wanted.split("=")[0] for each in wrote(scheduler, wanting(wanted))[0])


def test_a_system_has_no_more_options_than_a_header_holds() -> None:
    """Otherwise each job there would be refused, and its sender could do nothing about it."""
    many = [f"--option{number}" for number in range(100)]
    with pytest.raises(ValidationError, match="mandatory_directives"):
        System.model_validate({**SITE.model_dump(), "mandatory_directives": many})
    with pytest.raises(ValidationError, match="resource_directives"):
        Partition.model_validate({**SITE.partitions[0].model_dump(), "resource_directives": many})


def test_an_option_that_needs_no_value_stands_as_it_is() -> None:
    """``-l wd`` of one site is complete."""
    assert "-l wd" in wrote("pbspro", wanting("-l wd"))[0]


def test_an_option_that_the_request_has_given_a_value_keeps_it() -> None:
    """The site wants memory to be named in each job; without a value sbatch would refuse it."""
    job = wanting("--mem")
    found, warned = wrote("slurm", replace(job, resources=replace(job.resources, memory_per_node=2**33)))
    assert ([option for option in found if option.startswith("--mem")], warned) == (["--mem=8192M"], [])


def test_what_the_site_wants_and_the_job_has_anyway_is_no_reason_to_warn() -> None:
    """Nothing is replaced."""
    found, warned = wrote("pbspro", wanting("-l walltime=00:01:00"), wall_time_s=60)
    assert (found.count("-l walltime=00:01:00"), warned) == (1, [])


WORDS: list[tuple[dict[str, Any], dict[str, str | None]]] = [
    ({"qos": "debug"}, {"slurm": "--qos=debug", "torque": None, "pbspro": None, "lsf": None, "gridengine": None, "flux": None}),
    (
        {"reservation": "course"},
        {
            "slurm": "--reservation=course",
            "torque": None,
            "pbspro": "-q course",
            "lsf": "-U course",
            "gridengine": None,
            "flux": None,
        },
    ),
    ({"reservation": "7"}, {"gridengine": "-ar 7"}),
    (
        {"site_resources": ("matlab=2",)},
        {
            **{"slurm": "--licenses=matlab:2", "torque": "-l matlab=2", "pbspro": "-l matlab=2"},
            **{"lsf": "-R rusage[matlab=2]", "gridengine": "-l matlab=2", "flux": None},
        },
    ),
    (
        {"site_resources": ("storage=gdata/ab1+scratch/ab1",)},
        {
            **{"slurm": None, "lsf": None, "flux": None},
            **dict.fromkeys(("torque", "pbspro", "gridengine"), "-l storage=gdata/ab1+scratch/ab1"),
        },
    ),
]


@pytest.mark.parametrize(("said", "scheduler", "option"), [(said, *each) for said, words in WORDS for each in words.items()])
def test_what_users_choose_job_by_job_is_in_each_schedulers_words(said: dict[str, Any], scheduler: str, option: str | None) -> None:
    """Or a warning names the field."""
    found, warned = wrote(scheduler, **said)
    new = [each for each in found if each not in wrote(scheduler)[0]]
    fields = [field for field in warned if field in said]
    assert (new, fields) == (([option], []) if option else ([], list(said)))


@pytest.mark.parametrize("named", ["queue", "partition"])
def test_a_reservation_is_a_queue_of_pbs_pro(named: str) -> None:
    """It has one queue: the other is named in a warning."""
    asked: dict[str, Any] = {"reservation": "R7", named: "normal"}
    found, warned = wrote("pbspro", **asked)
    assert ("-q R7" in found, "-q normal" in found, warned) == (True, False, ["reservation"])


@pytest.mark.parametrize("scheduler", ["pbspro", "torque", "gridengine"])
def test_no_resource_that_a_header_asks_for_is_the_sites_own(scheduler: str) -> None:
    """Another value for it would be a second wish for the same."""
    job = replace(JOB, attributes=replace(JOB.attributes, wall_time_s=3600))
    found: Scheduler = plugins.find("schedulers", scheduler)
    asked = [text for option, *texts in found.directives(job).options if option == "-l" for text in texts]
    names = {name for text in asked for name in re.findall(r"(?:^|[,:])([a-z_]+)=", text)}
    assert len(names) > 1
    taken = TypeAdapter(SiteResource)
    for name in sorted(names - {"ppn", "gpus"}):  # parts of Torque's nodes=, no resources
        with pytest.raises(ValidationError, match="is no resource of the site's own"):
            taken.validate_python(f"{name}=1")
