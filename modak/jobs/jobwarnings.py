"""What a user should know of a job that cannot be all that was asked: of its image, the host's MPI library, the request's own texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from packaging.version import Version

from modak import plugins
from modak.choosing.mpi import whose_mpi
from modak.choosing.openswitch import stated_beyond
from modak.choosing.requirements import (
    A_GPU_PER_RANK,
    DEEPSPEED,
    distribution,
    is_said_distributed,
    is_within_one_process,
    library,
    mpi_asked,
)
from modak.choosing.shapes import Shape
from modak.choosing.software import Software
from modak.dsl import Notice, Request, variable_of
from modak.facts import HostMpi, mpi_family
from modak.jobs.data import addresses
from modak.jobs.spec import JobSpec
from modak.launchers.family import TITLES, WITHOUT_MPI, compatible, own_family
from modak.results.units import per_part_rate
from modak.target import Target
from modak.text.amounts import counted
from modak.text.grammar import version_range
from modak.text.programs import (
    ALONE,
    BINDERS,
    JOB_SCRIPTS,
    OPENERS,
    SCRIPTS,
    given_to_shell,
    is_python,
    program_name,
    programs_of,
    split_env,
    started_by,
)
from modak.text.words import Word, expandable, lead, line, literal
from modak.tuning.setting import setting_of

TORCHRUN_SINCE: Final = Version("1.10")
_INTERPRETERS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("sh", "bash"), "bash"),
    **dict.fromkeys(("R", "r"), "Rscript"),
    "jl": "julia",
    "pl": "perl",
    "py": "python3",
}
"""What starts files with these endings."""
_TEE: Final = re.compile(r"\|&?\s*tee\s")
_INSTALLERS: Final = OPENERS | {"pip", "pip3", "virtualenv"}
_CORES_OF_NUMACTL: Final = re.compile("-[abl]*[NCc]|--(?:cpunode|physcpu|cpu)bind")
"""Options of numactl that bind to cores; others are about memory alone."""
_VALUE_FOLLOWS: Final = frozenset({"--mempolicy", "--best-memattr", "--restrict", "--restrict-flags", "-i", "--input"})
"""Options of hwloc-bind with a value of their own: it is no place to bind to."""
_TAKES_DIGITS: Final = re.compile(
    r"""
    (
        (?: (?<!\\)\.                                       # any sign: a point, if it is not escaped,
            | \[\^ (?! [^]]* (?:0-9|:digit:) ) [^]]+ \]     # or a set of those that it excludes, if digits are none of them;
        ) [*+]\??                                           # as many as there are
    )
    \(\[                                                    # right before a group that begins with a set
    """,
    re.VERBOSE,
)
"""What takes the digits of the number, too, before the group that is to have them."""
_SUBMITTERS: Final = frozenset({"sbatch", "salloc", "qsub", "bsub"})
_CONTAINERS: Final = frozenset({"docker", "podman", "nerdctl"})
"""Programs that start containers, and are not on the nodes of a cluster."""
_NAME_OF_SECRET: Final = re.compile(r"(?:--?)?(?:[a-z0-9]+[-_])*(?:token|api[-_]?key|password|passwd|secret)", re.IGNORECASE)
_SECRETS: Final = re.compile("token|key|passw|secret", re.IGNORECASE)
"""What each of these names has in it."""
_SECRET: Final = re.compile(r"(?![./])(?=[^0-9]*[0-9])(?=[^a-z]*[a-z])[a-z0-9_.+/=-]{16,}", re.IGNORECASE)
"""A value that looks like one: long, with letters and digits, and no path. ``--eos-token '</s>'`` has none."""
_MODULES: Final = (["-m", "pip"], ["-m", "venv"])
_HOMES: Final = ("/home/", "/users/")
_IN_IMAGES: Final = ("/usr/", "/bin/", "/opt/", "/root/")
"""Where the images of the catalogue have programs."""


def of_configuration(
    request: Request, target: Target, shape: Shape, software: Software, spec: JobSpec, host: HostMpi | None
) -> tuple[Notice, ...]:
    """The warnings for all jobs of a configuration, whose ranks the MPI library ``host`` starts."""
    return (
        *_too_old(spec, software),
        *_own_version(request, software),
        *_own_layer(request, software),
        *stated_beyond(request, target.accelerator if shape.gpus_per_node else None),
        *_unlisted(request, target, shape, spec, host),
        *_other_version(request, target, shape, software, spec),
        *_other_cores(request, spec),
        *_other_gpus(request, spec),
    )


def of_request(request: Request, expanded: Collection[str], spec: JobSpec) -> tuple[Notice, ...]:
    """The warnings for the job of one request; ``expanded`` are the variables in its words."""
    of_program = (
        *_of_program(_no_program(request, spec)),
        *_environments(request, spec),
        *_of_program(_bound_alike(request, spec), _whole_job(request, spec), _unseen_status(request)),
        *_copies(request, spec),
        *_unnamed(request, spec),
        *_secrets(request),
    )
    of_metric = (*_unread(request), *_cut_off(request), *_of_no_gpu(request, spec))
    of_values = (*_unset(request, expanded), *_not_taken(request, spec))
    return (*addresses(request), *of_metric, *of_values, *of_program, *_around(request, spec))


def _of_program(*texts: str) -> Iterator[Notice]:
    """A warning for each text about the program that is not empty."""
    return (Notice(field="application.executable", message=text) for text in texts if text)


# --- the image


def _too_old(spec: JobSpec, software: Software) -> Iterator[Notice]:
    """A warning if the image is too old to have torchrun."""
    version = software.framework_version
    if spec.launcher == "torchrun" and version is not None and Version(version) < TORCHRUN_SINCE:
        why = f"the image has PyTorch {version}, but torchrun needs {TORCHRUN_SINCE} or later: the job cannot start"
        yield Notice(field="optimisation.options.version", message=f"{why}; use a later version, or Horovod")


def _own_version(request: Request, software: Software) -> Iterator[Notice]:
    """A warning if the request gives a version of Keras, or a backend that does not bring it: images are known by the backend's version."""
    options, found = request.optimisation.options, software.image.labels if software.image else software.recipe
    field = "version" if options.version is not None else "backend"
    if request.optimisation.framework == "keras" and found and (field == "version" or found.framework != "tensorflow"):
        needed = f"Keras {options.version}" if options.version is not None else "Keras"
        text = f"the image is chosen by its {found.framework} ({found.version}), not by Keras: make sure that it has {needed}"
        yield Notice(field=f"optimisation.options.{field}", message=text)


def _own_layer(request: Request, software: Software) -> Iterator[Notice]:
    """A warning if the image is built from a recipe and the request asks for DeepSpeed, which no recipe installs."""
    if software.recipe is not None and distribution(request) == DEEPSPEED:
        text = "the recipe does not install DeepSpeed: the application must provide it"
        yield Notice(field="optimisation.options.distribution", message=text)


# --- the host's MPI library


def _unlisted(request: Request, target: Target, shape: Shape, spec: JobSpec, host: HostMpi | None) -> Iterator[Notice]:
    """A warning if the system file lists no MPI that starts the image's, or no module of it, or not the layout's: launcher and modules are
    then of another."""
    usual, own = target.host_mpi, own_family(spec.container)
    if usual is None or spec.launcher in WITHOUT_MPI:
        return
    if text := _unlisted_in_image(target, spec, usual, own, host) if own else _unlisted_of_layout(request, target, shape, usual):
        yield Notice(field="target.name", message=text)


def _unlisted_in_image(target: Target, spec: JobSpec, usual: HostMpi, own: str, host: HostMpi | None) -> str:
    """That the system file lists no MPI that starts that of the image, of family ``own``, or no module of it; empty if it does."""
    title = TITLES.get(own, own)
    if spec.launcher_flavour is None:
        stops = {"mpirun": f"mpirun is not that of {title}", "srun": f"Slurm does not offer {spec.pmi}"}.get(spec.launcher)
        lists = f"the system file of {target.title} does not list {title} ([[mpi]]), which is in the image"
        return f"{lists}: the job stops where {stops}" if stops else ""
    if spec.launcher != "mpirun" or host == usual or (host and host.module):
        return ""
    names = f"the system file of {target.title} names no module of {title} ([[mpi]]), which is in the image"
    return f"{names}: the job stops where mpirun is that of {TITLES.get(usual.family, usual.family)}"


def _unlisted_of_layout(request: Request, target: Target, shape: Shape, usual: HostMpi) -> str:
    """That the system file does not list the MPI of the layout; empty if it does, or if a warning of the candidates says so already."""
    asked = mpi_asked(request)
    only_in_image = asked is not None and target.runtime is not None and not compatible(asked, usual.family)
    label = shape.mpi or (asked if only_in_image else None)
    if not label or target.mpi_called(label):
        return ""
    said = asked is not None and not only_in_image and shape.mpi_from != "container" and not target.mpi_called(asked)
    if said and (mpi_family(label) or label) == asked:
        return ""
    default = " ".join(filter(None, (usual.family, usual.version)))
    return f"the system file of {target.title} does not list {label} ([[mpi]]): the job is set up for its default, {default}"


def _other_version(request: Request, target: Target, shape: Shape, software: Software, spec: JobSpec) -> Iterator[Notice]:
    """A warning if the ranks use the host's MPI, and it is of another version than the request gives."""
    asked, host = library(request), target.mpi_called(shape.mpi)
    if asked is None or asked.version is None or host is None or host.version is None:
        return
    used = spec.launcher not in WITHOUT_MPI and whose_mpi(target, shape, software.reference) == "host"
    if not used or host.family != asked.framework or version_range(asked.version).contains(host.version, prereleases=True):
        return
    text = f"the ranks use the {host.family} of {target.title}, which is version {host.version}, not {asked.version}"
    yield Notice(field="optimisation.options.version", message=text)


# --- the cores


def _other_cores(request: Request, spec: JobSpec) -> Iterator[Notice]:
    """A warning if the ranks have fewer cores than the request gives them, because the node has no more, or more, one for each thread.
    Without threads in the request, its cores are those, and a warning says if they do not fit."""
    asked, has = request.job_options.core_count_per_process, spec.resources
    if asked is None or asked == has.cores_per_rank or request.application.threads is None:
        return
    why = f"the {counted(has.ranks_per_node, 'rank')} of a node share its {has.node_cores}"
    if asked < has.cores_per_rank:
        why = f"each of its {has.threads_per_rank} threads has one"
    text = f"{counted(asked, 'core')} for each rank requested, but {why}: a rank gets {has.cores_per_rank}"
    yield Notice(field="job_options.core_count_per_process", message=text)


def _other_gpus(request: Request, spec: JobSpec) -> Iterator[Notice]:
    """A warning if ranks of a layer that gives each of them a GPU are more, or fewer, than the GPUs of their node."""
    has = spec.resources
    ranks, gpus = has.ranks_per_node, has.gpus_per_node
    if distribution(request) not in A_GPU_PER_RANK or not gpus or ranks == gpus:
        return
    text = f"the {counted(ranks, 'rank')} of a node share its {counted(gpus, 'GPU')}, which NCCL refuses: give each a GPU of its own"
    if ranks < gpus:
        text = f"each rank trains on one GPU, so a node uses {ranks} of its {gpus} GPUs: request_gpus {ranks} leaves the others"
    field = "application.mpi_ranks" if request.application.mpi_ranks else "job_options.process_count_per_node"
    yield Notice(field=field, message=text)


# --- the request's own texts


def _unread(request: Request) -> Iterator[Notice]:
    """A warning if nothing says what to look for in the metric's file, or for what there is no result to be written into."""
    application, metric = request.application, request.optimisation.workload.metric
    if application.write_result:
        if application.metric_file and not metric:
            why = "it is never read: optimisation.workload.metric says what to look for in it"
            yield Notice(field="application.metric_file", message=why)
        return
    wishes = {
        "application.result_file": application.result_file,
        "application.metric_file": application.metric_file,
        "optimisation.workload.metric": metric,
    }
    why = "it is left out: application.write_result is false"
    yield from (Notice(field=field, message=why) for field, wish in wishes.items() if wish)


def _cut_off(request: Request) -> Iterator[Notice]:
    """A warning if the pattern of the metric leaves its group the last digit alone: what stands before it takes as much as it can."""
    metric = request.optimisation.workload.metric
    if metric and (found := _TAKES_DIGITS.search(metric.pattern)):
        why = f"'{found[1]}' before the group takes all digits of the number but the last"
        way = f"put between them what stands before the number, '{found[1]} ('"
        yield Notice(field="optimisation.workload.metric.pattern", message=f"{why}: {way}")


def _of_no_gpu(request: Request, spec: JobSpec) -> Iterator[Notice]:
    """A warning if a rate of each GPU is printed, and none is counted that could make it the rate of all: the result would be refused."""
    metric = request.optimisation.workload.metric
    if metric and (each := per_part_rate(metric.unit)) and each[1] == "gpu" and not spec.resources.gpus_per_node:
        why = f"{metric.unit!r}, but the job uses no GPUs, so that its result cannot be loaded"
        yield Notice(field="optimisation.workload.metric.unit", message=f"{why}: ask for them, or print the rate of the run, in {each[0]}")


def _unset(request: Request, expanded: Collection[str]) -> Iterator[Notice]:
    """A warning for each of the ``expanded`` variables that only a tuner sets: without a value the job stops where it is expanded."""
    tuning = request.optimisation.autotuning
    tuned = tuning.space.environment if tuning and tuning.space else {}
    given = (*request.job_options.copy_environment_variable, *setting_of(request).environment)
    unset = sorted(name for name in expanded if name in tuned and not expandable(name, given))
    why = "has no value in this script, and the job stops there: give one in optimisation.autotuning.setting (modak tune tries several)"
    yield from (Notice(field=f"optimisation.autotuning.space.environment.{name}", message=f"${{{name}}} {why}") for name in unset)


def _not_taken(request: Request, spec: JobSpec) -> Iterator[Notice]:
    """A warning for each parameter that is chosen and that no command takes: the job may run with another value."""
    names = request.optimisation.workload.open_params
    text = line(spec.words) if names else ""
    for name in names:
        variable = variable_of(name)
        if variable in spec.values and not re.search(rf"{variable}(?![A-Z0-9_])", text):
            why = f"{spec.values[variable]} is chosen, but the command does not take ${{{variable}}}: the job may run with another value"
            yield Notice(field=f"optimisation.workload.params.{name}", message=why)


def _no_program(request: Request, spec: JobSpec) -> str:
    """That the command begins with a file that a shell does not start as it is written, or with what only queues a job. An image may have
    scripts in PATH."""
    _, program = split_env(request.application.command)
    first = program[0] if program else ""
    name = program_name(first)
    ending = name.rpartition(".")[2] if "." in name else ""
    if ending == "ipynb":
        return f"a notebook does not start by itself: 'jupyter nbconvert --to script {name}' makes a program of it"
    if ending == "jar":
        return "a jar does not start by itself: begin with 'java -jar'"
    if own := _own_container(program, spec):
        why = f"{own} starts a container of its own, which the script does by itself"
        return f"{why}: name its image in application.container_runtime, and the program alone in the command"
    if name in _SUBMITTERS:
        return f"{name} only queues another job: name what that job is to run"
    by_python = ending == "py" and (spec.launcher == "torchrun" or split_env(spec.command)[1][0] != first)
    if ending in _INTERPRETERS and first == name and spec.container is None and not by_python:
        why = f"{name} is looked for in PATH, in which the folder of the job is not"
        return f"{why}: begin with './', or '{_INTERPRETERS[ending]} {name}'"
    return ""


def _own_container(program: tuple[Word, ...], spec: JobSpec) -> str | None:
    """The program that starts a container; on the node itself a runtime that the site has may do so."""
    refused = (name for name in programs_of(program) if name in _CONTAINERS or (spec.container and plugins.named("runtimes", name)))
    return next(refused, None)


def _whole_job(request: Request, spec: JobSpec) -> str:
    """That all that the job runs is a script of a shell that was written to be submitted: by its name, or, if each of several ranks runs
    it, perhaps."""
    command, ranks = split_env(request.application.command)[1], spec.resources.ranks
    shell = bool(command) and program_name(command[0]) in ("sh", "bash")
    at, runs_text = given_to_shell(command) if shell else (0, False)
    name = program_name(command[-1]) if command else ""
    if len(command) != at + 1 or runs_text or not (shell or name.endswith(SCRIPTS)):
        return ""
    how = "name the program that it starts, and what else it does in application.pre-execution"
    if name.endswith(JOB_SCRIPTS):
        return f"{name} is a job script, as its name says, whose options (#SBATCH, #PBS, …) have no effect within a job: {how}"
    return f"each of the {ranks} ranks runs all of {name}: if it starts ranks itself (mpirun, srun), {how}" if ranks > 1 else ""


def _unseen_status(request: Request) -> str:
    """That a pipe ends in ``tee``, whose status is then that of the run: it succeeds whatever the program before it does."""
    text = literal(request.application.command)
    if not _TEE.search(text) or "pipefail" in text or "PIPESTATUS" in text:
        return ""
    why = "a run that fails would count as one that ended well, because tee does, whose status a shell takes for that of the pipe"
    return f"{why}: begin with bash -o pipefail -c, or leave tee out: the job's output is kept in a file"


def _copies(request: Request, spec: JobSpec) -> Iterator[Notice]:
    """A warning if nothing but a number of nodes, or of ranks on each, says that a program of Julia, R, … is several processes. Of one with
    threads alone there is one already."""
    application, options = request.application, request.job_options
    said = application.mpi_ranks or application.app_type not in (None, "other") or is_said_distributed(request)
    if said or is_within_one_process(request) or spec.resources.ranks == 1:
        return
    name = next((one for one in programs_of(application.command) if one in ALONE), "")
    if not name:
        return
    field = "process_count_per_node" if options.process_count_per_node else "node_count"
    text = f"{spec.resources.ranks} copies of the program start, and {name} does not connect them: application.mpi_ranks 1 starts it once"
    yield Notice(field=f"job_options.{field}", message=text)


def _unnamed(request: Request, spec: JobSpec) -> Iterator[Notice]:
    """A warning if a training in several processes says by no name, also not that of MPI, what connects them: ``torchrun`` comes by one."""
    wanted = request.optimisation
    named = wanted.framework or wanted.config.parallelisation or request.application.app_type == "mpi"
    if wanted.app_type == "ai_training" and wanted.config.distributed_training and not named and spec.resources.ranks > 1:
        text = "no framework is named, so the ranks start as those of MPI do; PyTorch's ddp needs torchrun, which 'pytorch' brings"
        yield Notice(field="optimisation.ai_training.config.ai_framework", message=text)


def _bound_alike(request: Request, spec: JobSpec) -> str:
    """That the command begins with a program that binds each rank of a node to the same cores."""
    _, command = split_env(request.application.command)
    name, ranks = program_name(command[0]) if command else "", spec.resources.ranks_per_node
    if name not in BINDERS or ranks == 1 or not _binds_cores(name, [lead(word) for word in command[1 : -len(started_by(command)[-1])]]):
        return ""
    return f"{name} binds all {ranks} ranks of a node to the same cores, which they would share: give the program without it"


def _binds_cores(binder: str, words: Sequence[str]) -> bool:
    """Whether one of :data:`~modak.text.programs.BINDERS` with these words before its program binds to cores, not only to memory.

    >>> _binds_cores("hwloc-bind", ["--membind", "node:0"]), _binds_cores("hwloc-bind", ["core:0-3", "--membind", "node:0"])
    (False, True)
    """
    if binder == "numactl":
        return any(map(_CORES_OF_NUMACTL.match, words))
    if binder != "hwloc-bind":
        return True
    of_memory = False
    for before, word in pairwise(("", *words)):
        if word in ("--membind", "--cpubind"):
            of_memory = word == "--membind"
        elif not (of_memory or word.startswith("-") or before in _VALUE_FOLLOWS):
            return True
    return False


def _secrets(request: Request) -> Iterator[Notice]:
    """A warning for each command that holds what looks like a secret: whoever may read the plan, or the script, reads it there."""
    application = request.application
    commands = {"executable": application.command, "pre-execution": application.pre_execution, "post-execution": application.post_execution}
    for field, command in commands.items():
        if not _SECRETS.search(literal(command)):
            continue
        if name := next(filter(None, map(_secret, command, (*command[1:], ""))), None):
            why = f"the value of {name} looks like a secret, which the plan and the script keep as plain text"
            how = "let the program read a variable, and pass that on (job_options.copy_environment_variable)"
            yield Notice(field=f"application.{field}", message=f"{why}: {how}")


def _secret(word: Word, following: Word) -> str:
    """The name of the secret that a word seems to set, or an option with the word behind it; empty if it does not."""
    name, equals, value = lead(word).partition("=")
    if not equals:
        value = lead(following) if name.startswith("-") else ""
    return name if _NAME_OF_SECRET.fullmatch(name) and _SECRET.fullmatch(value) else ""


def _environments(request: Request, spec: JobSpec) -> Iterator[Notice]:
    """Warnings if the command, or what runs before it, names an environment of the user's in which the ranks do not start."""
    application = request.application
    _, command = split_env(application.command)
    before = [program_name(word) for word in application.pre_execution[:3]]
    opener = program_name(command[0]) if command[1:2] == ("run",) and program_name(command[0]) in OPENERS else ""
    if opener and spec.launcher == "torchrun":
        why = f"torchrun starts before '{opener} run', outside the environment that this opens"
        yield from _of_program(f"{why}: begin with the path of that environment's Python")
        return
    if spec.container is None:
        yield from _activated(before)
        return
    own = "for an environment of your own set target.container_runtime to 'none'"
    if command and is_python(command[0]) and _of_user(command[0], own_image=bool(application.container_runtime)):
        why = "this Python starts in the container, where packages of the host may not work"
        yield from _of_program(f"{why}: {own}; for that of the image write 'python3'")
    if opener and not application.container_runtime:
        why = f"'{opener} run' starts in the container, which has neither it nor the environments of the host"
        yield from _of_program(f"{why}: {own}; for the Python of the image write 'python3'")
    if _prepares(before):
        why = "it runs on the node, outside the container, which does not see what it installs or activates"
        yield Notice(field="application.pre-execution", message=f"{why}: {own}, or use an image with these packages")


def _prepares(before: list[str]) -> bool:
    """Whether a command that begins with these words installs packages, or opens an environment."""
    installs = bool(before) and before[0] in _INSTALLERS and before[1:2] not in (["run"], ["download"])
    return installs or before[1:] in _MODULES or before[1:2] == ["activate"]


def _around(request: Request, spec: JobSpec) -> Iterator[Notice]:
    """Warnings if what runs before or after the program works in the job's own directory, and not all see what it writes there."""
    application, staged = request.application, spec.staging
    before, after = ("MODAK_SCRATCH" in line(command) for command in (application.pre_execution, application.post_execution))
    if before and staged and not staged.shared and spec.resources.nodes > 1:
        why = "it runs on the first node alone, and the other nodes, each with a MODAK_SCRATCH of its own, do not see what it writes there"
        yield Notice(field="application.pre-execution", message=f"{why}: name shared storage (application.storage_class_pref)")
    if after and application.stage_out:
        why = "it runs when stage_out has copied the results out, and what it writes into MODAK_SCRATCH is lost"
        yield Notice(field="application.post-execution", message=f"{why}: let it work on the copies")


def _activated(before: list[str]) -> Iterator[Notice]:
    """A warning if a command that only an interactive shell knows is to open the environment."""
    if before[1:2] == ["activate"] and before[0] in OPENERS:
        way = "write 'source PATH/TO/bin/activate NAME', or begin the executable with the path of the environment's Python"
        yield Notice(field="application.pre-execution", message=f"the shell of a job does not know '{before[0]} activate': {way}")


def _of_user(path: Word, *, own_image: bool) -> bool:
    """Whether a program's path is one that users have, and not an image: one of their own may have programs anywhere but in homes.

    >>> _of_user("/home/me/env/bin/python", own_image=True), _of_user("env/bin/python", own_image=True)
    (True, True)
    >>> [_of_user(path, own_image=False) for path in ("/scratch/me/env/bin/python", "/opt/conda/bin/python", "python")]
    [True, False, False]
    """
    if not isinstance(path, str):
        return True
    if not path.startswith("/"):
        return "/" in path
    return path.startswith(_HOMES) if own_image else not path.startswith(_IN_IMAGES)
