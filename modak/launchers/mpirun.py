"""``mpirun`` of Open MPI, MPICH and Intel MPI: one name, three command lines. It runs outside of the container."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from modak.jobs.spec import JobSpec, Resources
from modak.launchers.base import Launcher, kept_back, openmp
from modak.launchers.family import TITLES, VERSION_SAYS, answers, compatible, library_family
from modak.launchers.srun import own_environment
from modak.schedulers import Scheduler
from modak.script.bash import Line, comment
from modak.script.shelltext import code, ours
from modak.text.words import Word, variable

Words = Callable[[JobSpec, Scheduler, tuple[str, ...]], tuple[Word, ...]]


@dataclass(frozen=True)
class Mpirun(Launcher):
    """``mpirun``, in the flavour of the job's MPI; Open MPI where none is known."""

    name: str = "mpirun"
    aliases: tuple[str, ...] = ("mpiexec",)

    def unfit(self, job: JobSpec, scheduler: Scheduler) -> str:
        """It runs under every scheduler, with the options of the known MPI families."""
        known = ", ".join(_FLAVOURS)
        return "" if flavour(job) in _FLAVOURS else f"mpirun of {flavour(job)} is not known; known: {known}"

    def needs_ssh(self, job: JobSpec, scheduler: Scheduler) -> bool:
        """Between nodes, unless the scheduler's own daemons start its daemons."""
        return job.resources.nodes > 1 and scheduler.bootstrap is None

    def environment(self, job: JobSpec) -> Mapping[str, str]:
        """OpenMP's; Intel MPI takes its binding from variables."""
        threads = openmp(job.resources, bound=not _unbound(job))
        return {**threads, **(_intel_environment(job.resources) if flavour(job) == "intel-mpi" else {})}

    def setup(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """Under Slurm, daemons get the script's environment even if the job was submitted without one. On one node, Open MPI has none.

        By ssh they get none of it: which variables modules and rules have set is found out when the script runs.
        """
        if _finds_names(job, scheduler):
            known = (f"-x {name}" for name in _named(job, job.environment) if name != _LATER)
            return (comment(_BY_SSH), code(f"MODAK_NAMED=({' '.join(known)})"), ours(_FIND))
        if not scheduler.is_slurm or (job.resources.nodes == 1 and flavour(job) == "openmpi"):
            return ()
        return (
            comment("mpirun starts its daemons with srun, which would not find them with --export=NONE"),
            *own_environment(job, "SLURM_EXPORT_ENV"),
        )

    def preflight(self, job: JobSpec, scheduler: Scheduler) -> tuple[Line, ...]:
        """A check that ``mpirun`` is of the family whose library the ranks use; otherwise each rank would run alone."""
        wanted = library_family(job)
        if wanted is None:
            return (answers("mpirun --version", (VERSION_SAYS["openmpi"],), _NOT_NAMED),)
        said = dict.fromkeys(text for family, text in VERSION_SAYS.items() if compatible(wanted, family))
        where = "the image's MPI is" if job.container and not job.container.host_mpi and job.container.mpi else "the job's MPI is"
        advice = f"mpirun is missing or belongs to another MPI: {where} {TITLES.get(wanted, wanted)}; load its module"
        return (answers("mpirun --version", said, advice),)

    def untold(self, job: JobSpec, scheduler: Scheduler, signal: str) -> str:
        """Each family passes some signals on."""
        family = flavour(job)
        return kept_back(f"{self.name} of {TITLES[family]}", HANDED_ON[family], signal)

    def words(self, job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
        """Ranks, their place and their binding, in the flavour's own words."""
        return _FLAVOURS[flavour(job)](job, scheduler, exported)


def flavour(job: JobSpec) -> str:
    """The MPI family that mpirun belongs to: the host's, unless the ranks' library is the image's and of another; Open MPI where neither
    is known."""
    host, ranks = job.launcher_flavour, library_family(job)
    return (host if host and ranks and compatible(ranks, host) else ranks) or "openmpi"


def _openmpi(job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
    """Open MPI 4 and 5: ``ppr`` ranks a node, ``PE`` cores each. By ssh, other nodes see only the variables that ``-x`` names."""
    has = job.resources
    hosts: tuple[Word, ...] = ("--hostfile", variable(scheduler.host_file)) if scheduler.host_file and has.nodes > 1 else ()
    own = _named(job, exported, *(("LD_LIBRARY_PATH",) if job.all_modules else ()))
    names: tuple[Word, ...] = tuple(each for name in own for each in ("-x", name)) if has.nodes > 1 else ()
    if _finds_names(job, scheduler):
        names = (variable("MODAK_NAMED", "[@]:?"), *(("-x", _LATER) if _LATER in own else ()))
    return ("mpirun", *hosts, "-n", str(has.ranks), *_placed(job), *names)


def _named(job: JobSpec, exported: Iterable[str], *more: str) -> tuple[str, ...]:
    """The variables that ranks on other nodes need, as far as they are known before the script runs."""
    return tuple(dict.fromkeys(("PATH", *more, *exported, *job.attributes.copy_variables)))


def _finds_names(job: JobSpec, scheduler: Scheduler) -> bool:
    """Whether the script has to find out which variables modules and the texts of rules have set, because ssh starts the daemons."""
    ssh = job.resources.nodes > 1 and scheduler.bootstrap is None and flavour(job) == "openmpi"
    return ssh and (bool(job.all_modules) or any(rule.stage == "environment" for rule in job.rules))


def _placed(job: JobSpec) -> tuple[Word, ...]:
    """Ranks per node and their cores; ranks that share cores get their own hardware threads, because it refuses to bind two to one core.

    Horovod on GPUs is not bound, because its threads serve all GPUs of the node; before Open MPI 5 it runs without the openib transport,
    which disturbs NCCL.
    """
    has = job.resources
    if has.oversubscribed:
        return ("--map-by", f"ppr:{has.ranks_per_node}:node:OVERSUBSCRIBE", "--bind-to", "none")
    if has.unbound:
        return ("--map-by", f"ppr:{has.ranks_per_node}:node", "--bind-to", "none")
    if _unbound(job):
        version = job.launcher_version
        older = () if version and Version(version) >= Version("5") else ("--mca", "pml", "ob1", "--mca", "btl", "^openib")
        return ("--map-by", f"ppr:{has.ranks_per_node}:node", "--bind-to", "none", *older)
    if has.shares_cores:
        return ("--use-hwthread-cpus", "--map-by", f"ppr:{has.ranks_per_node}:node:PE={has.threads_per_rank}", "--bind-to", "hwthread")
    return ("--map-by", f"ppr:{has.ranks_per_node}:node:PE={has.cores_per_rank}", "--bind-to", "core")


def _unbound(job: JobSpec) -> bool:
    """Whether ranks are not bound to cores."""
    return flavour(job) == "openmpi" and job.distribution == "horovod" and job.resources.gpus_per_node > 0


def _mpich(job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
    """MPICH's Hydra passes the whole environment on and finds the job's nodes itself. It refuses to bind ranks to more cores than exist."""
    has = job.resources
    bound = "none" if has.oversubscribed or has.unbound else f"core:{has.cores_per_rank}"
    return ("mpirun", "-n", str(has.ranks), "-ppn", str(has.ranks_per_node), "-bind-to", bound)


def _intel(job: JobSpec, scheduler: Scheduler, exported: tuple[str, ...]) -> tuple[Word, ...]:
    has = job.resources
    bootstrap = ("-bootstrap", scheduler.bootstrap) if scheduler.bootstrap and has.nodes > 1 else ()
    return ("mpirun", *bootstrap, "-n", str(has.ranks), "-ppn", str(has.ranks_per_node), "-genvall")


def _intel_environment(has: Resources) -> dict[str, str]:
    """Each rank gets its share of the job's CPUs, whether Slurm counts hardware threads or cores. The second variable makes ``-ppn`` take
    precedence over the scheduler's own placement."""
    binding = {"I_MPI_PIN": "off"} if has.unbound else {"I_MPI_PIN_DOMAIN": "auto:compact"}
    return {**binding, "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"}


_BY_SSH: Final = "by ssh, ranks on other nodes see only the variables that -x names: also those that modules or rules have set"
_FIND: Final = """for MODAK_NAME in $(compgen -e); do
    case " ${MODAK_NAMED[*]} _ PWD OLDPWD SHLVL " in *" ${MODAK_NAME} "*) continue ;; esac
    if [[ "${MODAK_NAME}" == LD_LIBRARY_PATH ]] || ! grep -qzxF -e "${MODAK_NAME}=${!MODAK_NAME}" "/proc/$$/environ"; then
        MODAK_NAMED+=(-x "${MODAK_NAME}")
    fi
done"""
"""What differs from the environment at the start, as the kernel keeps it."""
_LATER: Final = "MODAK_SCRATCH"
"""The variable that is set after the checks, which mpirun starts, too: it would warn of one that is not set."""
_FLAVOURS: Final[Mapping[str, Words]] = {"openmpi": _openmpi, "mpich": _mpich, "mvapich": _mpich, "intel-mpi": _intel}
_NOT_NAMED: Final = (
    "mpirun is missing or not from Open MPI, whose options the script uses: "
    "the MPI of this system is unknown, name it in the system file ([[mpi]])"
)
_HYDRA: Final = frozenset({"USR1", "TERM", "INT", "ALRM"})
HANDED_ON: Final[Mapping[str, frozenset[str]]] = {
    "openmpi": frozenset({"USR1", "USR2"}),
    "mpich": _HYDRA,
    "mvapich": _HYDRA,
    "intel-mpi": frozenset(),
}
"""Signals that ``mpirun`` passes on to its ranks (tested with Open MPI 4.1.4 and MPICH 4.0.2); others end the ranks, or are ignored. That
of Intel MPI kills the ranks on any signal unless ``I_MPI_JOB_SIGNAL_PROPAGATION`` is set; it is a shell script, and may not pass them on
even then."""
