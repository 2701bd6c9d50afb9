"""What the output of commands says about a machine, as a system file. :mod:`modak.detect` runs the commands.

Nothing is invented: what no command prints is left out, and a note says so. Every figure cites its command.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel

from modak.detected import flux, gridengine, lsf, machine, pbs, slurm, software
from modak.detected.partitions import Told, described_partitions
from modak.detected.seen import NOT_THERE, Cluster, CommandOutput, GpuCount, Machine, SeenNode, SeenPartition, plain
from modak.errors import DataError, Fault, RequestError
from modak.facts import Accelerator, FileSystem, HostMpi, Processor, RuntimePolicy, System
from modak.grouping import grouped
from modak.launchers.family import USUAL_PMI
from modak.text.faults import fault_in, validated
from modak.text.grammar import Name

UNASKED: Final = (
    "not looked for: interconnect, internet and ssh on compute nodes, reserved queues, site policy; title and site are for you to fill in"
)
ALONE: Final = "one machine, no scheduler answers"
MOST_MOUNTS: Final = 64
"""File systems that are listed at most."""
Hardware = TypeVar("Hardware", Processor, Accelerator)


@dataclass(frozen=True)
class Description:
    """A system, its hardware that MODAK does not know yet, and notes about what could not be found out."""

    system: System
    processors: tuple[Processor, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    notes: tuple[str, ...] = ()
    unnamed_gpus: Mapping[str, int] = field(default_factory=dict)
    """GPUs of a node by partition, where they are left out of the system because their model is unknown."""
    on_unnamed: Mapping[str, str] = field(default_factory=dict)
    """The note that says so, by partition."""
    shown_lists: Collection[tuple[str, str]] = ()
    """Partitions, each with a list of qualities of service or accounts that is gone if the system has none: not all commands show them,
    and a system cannot hold any."""

    def notes_beside(self, stored: System) -> Sequence[str]:
        """The notes without those on GPUs whose model somebody has entered into the stored system."""
        entered = {name for part in stored.partitions if part.node.accelerators for name in part.scheduler_names}
        known = {note for name, note in self.on_unnamed.items() if name in entered}
        return [note for note in self.notes if note not in known]


@dataclass(frozen=True)
class Asked:
    """The name of the system to describe, and the host and day of the description."""

    host: str
    day: date
    name: str | None = None
    """``None``: the cluster's, else the host's."""


def describe(
    answers: Mapping[str, CommandOutput],
    probes: Mapping[str, Mapping[str, CommandOutput]],
    asked: Asked,
    processors: Mapping[str, Processor],
    accelerators: Mapping[str, Accelerator],
) -> Description:
    """The system that gave these answers; ``probes``: the answers of a node, by partition; ``processors`` and ``accelerators``: known ones.

    Raises :class:`modak.errors.DataError` where no partition can be described; the faults say why.
    """
    dated = f"({asked.day.isoformat()})"
    host = plain(asked.host, 100)
    here = machine.machine(answers, host, frozenset({host, host.split(".")[0], "localhost"}))
    readers = (slurm.cluster, pbs.cluster, gridengine.cluster, lsf.cluster, flux.cluster)
    cluster = next(filter(None, (reader(answers) for reader in readers)), None) or _alone(here)
    probed = {name: machine.machine(given, f"a node of partition {plain(name, 64)}") for name, given in probes.items()}
    found = described_partitions(Told(cluster, here, probed, processors, accelerators, dated))
    notes = [*_troubles(answers, cluster.scheduler), *found.notes]
    if not found.partitions:
        raise DataError(faults=[Fault("", note) for note in notes] or [Fault("", "no command said anything")])
    installed, demanded = _installed(answers, cluster, asked.day.isoformat(), dated, host), _demanded(cluster, dated)
    name = _name(asked.name, cluster.name or "", host)
    scheduler = [(field, f"{cluster.from_nodes} {dated}") for field in ("scheduler", "cpu_unit")]
    system = {
        "name": name,
        "title": name,
        "site": "unknown",
        "scheduler": cluster.scheduler,
        "cpu_unit": "thread" if found.thread_is_cpu else "core",
        **({"partition_directive": "always"} if found.named else {}),
        **demanded.fields,
        "partitions": found.partitions,
        **installed.fields,
        "sources": _sources([*scheduler, *found.cites, *installed.cites, *demanded.cites]),
    }
    described = validated(System, system, DataError)
    all_notes = tuple(dict.fromkeys([*notes, *installed.notes, *demanded.notes, *cluster.notes, UNASKED]))
    return Description(
        described,
        _new(found.processors, processors),
        _new(found.accelerators, accelerators),
        all_notes,
        unnamed_gpus={name: number for name, number, _ in found.unnamed_gpus},
        on_unnamed={name: note for name, _, note in found.unnamed_gpus},
        shown_lists=found.shown_lists,
    )


def _new(found: Iterable[Hardware], known: Container[str]) -> tuple[Hardware, ...]:
    """Those that are not known yet, by name."""
    return tuple(one for _, one in sorted({one.name: one for one in found}.items()) if one.name not in known)


def toml(items: Sequence[System | Processor | Accelerator]) -> str:
    """One system as a file, or processors or accelerators as the arrays of one."""
    import tomli_w

    dumped = [item.model_dump(mode="json", exclude_unset=True, exclude_none=True) for item in items]
    if isinstance(items[0], System):
        return tomli_w.dumps(dumped[0])
    return tomli_w.dumps({"processors" if isinstance(items[0], Processor) else "accelerators": dumped})


def _alone(here: Machine) -> Cluster:
    """A machine without a scheduler: one partition of one node."""
    gpus = (GpuCount(None, len(here.gpus)),) if here.gpus else ()
    node = SeenNode(name=here.place, partitions=("local",), gpus=gpus)
    return Cluster("shell", (SeenPartition("local", default=True),), (node,), from_partitions=ALONE, from_nodes=ALONE)


def _troubles(answers: Mapping[str, CommandOutput], scheduler: str) -> Iterator[str]:
    """A note for each command that failed; a command that is not installed gets none, nor does one that is of another scheduler."""
    for name, answer in answers.items():
        foreign = scheduler == "gridengine" and name.startswith("qstat")  # its qstat does not take the options of that of PBS
        if answer.trouble and answer.trouble != NOT_THERE and not foreign:
            yield f"{answer.command}: {plain(answer.trouble)}"


class _Part(NamedTuple):
    """Some fields of the system, where they come from (field and citation), and notes about them."""

    fields: Mapping[str, Any]
    cites: Sequence[tuple[str, str]]
    notes: Sequence[str]


def _demanded(cluster: Cluster, dated: str) -> _Part:
    """What every job has to say: a project, options."""
    fields: dict[str, Any] = {}
    cites, notes = list[tuple[str, str]](), list[str]()
    if cluster.charged_by:
        fields["account_required"] = True
        cites.append(("account_required", f"{cluster.charged_by} {dated}"))
        notes.append("account_required: jobs need a project; remove it if the users' default ones are meant to be charged")
    if cluster.directives:
        fields["mandatory_directives"] = list(cluster.directives)
        cites.append(("mandatory_directives", f"{cluster.from_directives} {dated}"))
        notes.append(f"mandatory_directives: {', '.join(cluster.directives)} by what {cluster.from_directives} says; check with the site")
    return _Part(fields, cites, notes)


class _Table(NamedTuple):
    """A field of the system that is a list: its rows, and the citations for them."""

    field: str
    model: type[BaseModel]
    rows: Sequence[dict[str, Any]]
    cited: Collection[str]


def _installed(answers: Mapping[str, CommandOutput], cluster: Cluster, as_of: str, dated: str, host: str) -> _Part:
    """Runtimes, MPI libraries and file systems."""
    fields: dict[str, list[dict[str, Any]]] = {}
    cites, notes = list[tuple[str, str]](), list[str]()
    for table in _tables(answers, cluster, as_of, dated, host):
        kept, left_out = _sound(table)
        notes += left_out
        if kept:
            fields[table.field] = kept
            cites += ((table.field, citation) for citation in sorted(table.cited))
    if "runtimes" in fields:
        fields["runtimes"].append({"name": "none"})
        notes.append(f"runtimes are those installed on {host}, in no order of preference, not a policy of the site")
    if any("pmi" in row for row in fields.get("mpi", ())):
        notes.append("mpi: pmi is offered by srun and usual for the library, but untested")
    return _Part(fields, cites, notes)


def _tables(answers: Mapping[str, CommandOutput], cluster: Cluster, as_of: str, dated: str, host: str) -> tuple[_Table, ...]:
    runtimes = list(software.runtimes(answers))
    libraries = list(software.mpi(answers))
    offered = slurm.pmi_types(answers["srun-mpi"].text) if cluster.scheduler == "slurm" else ()
    pmi = {family: kind for family, kind in USUAL_PMI.items() if kind in offered}
    mounts = machine.mounts(answers["mounts"].text)[:MOST_MOUNTS]
    return (
        _Table(
            "runtimes",
            RuntimePolicy,
            [_given(name=one.name, version=one.version, as_of=as_of, module=one.module) for one in runtimes],
            {f"{one.command} {dated}, on {host}" for one in runtimes},
        ),
        _Table(
            "mpi",
            HostMpi,
            [_given(family=one.name, version=one.version, module=one.module, pmi=pmi.get(one.name)) for one in libraries],
            {f"{one.command} {dated}, on {host}" for one in libraries},
        ),
        _Table(
            "filesystems",
            FileSystem,
            [_given(name=_slug(one.path) or "root", kind=one.kind, path=one.path) for one in mounts],
            {f"/proc/mounts {dated}, on {host}"},
        ),
    )


def _sound(table: _Table) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows that the schema of a system accepts, one of each name; and a note for each other row."""
    kept: dict[str, dict[str, Any]] = {}
    notes = []
    for row in table.rows:
        label = row.get("name") or row["family"]
        why = plain(fault_in(table.model, row)) or (f"the name {label} is taken" if label in kept else "")
        if why:
            notes.append(f"{table.field}: {plain(str(row.get('path') or label), 80)} is left out: {why}")
        else:
            kept[label] = row
    return list(kept.values()), notes


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _sources(cites: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """One source for each citation, with all its fields."""
    found = grouped(cites, itemgetter(1))
    return [{"fields": list(dict.fromkeys(path for path, _ in pairs)), "citation": citation} for citation, pairs in found.items()]


def _slug(text: str) -> str:
    """A text as a name; empty where no character of it is allowed in one."""
    made = re.sub(r"[^a-z0-9._+]+", "-", text.lower()).strip("-._+")[:64]
    return "" if fault_in(Name, made) else made


def _name(asked: str | None, cluster: str, host: str) -> str:
    """What the system is called: as asked for, else as its cluster or its host."""
    if asked is None:
        return _slug(cluster) or _slug(host.split(".")[0]) or "this-machine"
    if why := fault_in(Name, asked):
        raise RequestError(why, field="--name")
    return asked
