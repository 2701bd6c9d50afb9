"""Systems that are sent to `/infrastructures`.

The published shape says less of a system than a system file. What it does not say: container runtimes (the published service runs every
image with Singularity), and figures of processors and accelerators.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StringConstraints, ValidationError, WithJsonSchema

from modak import plugins
from modak.detected.hardware import of_type, vendor_of
from modak.errors import Fault, RequestError, unknown
from modak.facts import Accelerator, Facts, FileSystem, Node, Partition, Processor, RuntimePolicy, Source, StorageClass, System, Vendor
from modak.published.posted import Line, Posted
from modak.text.faults import faults_of, validated
from modak.text.grammar import Name
from modak.text.units import memory

SOURCE: Final = Source(fields=("*",), citation="POST /infrastructures")
RUNTIMES: Final = (
    RuntimePolicy(name="singularity", reason="the published service runs every image with it"),
    RuntimePolicy(name="none"),
)
ONLY_PARTITION: Final = "*"
"""The published name of a single partition, which scripts do not name."""
_MAKERS: Final[Mapping[Vendor, str]] = {
    "nvidia": r"nvidia|tesla|geforce|quadro",
    "amd": r"amd|instinct|radeon",
    "intel": r"intel|ponte vecchio|pvc",
}
_MOST_BYTES: Final = 10**15


def _scheduler(name: str) -> str:
    found = plugins.named("schedulers", name)
    if found is None:
        raise ValueError(unknown("scheduler", name, plugins.names("schedulers")))
    return str(found.name)


def _in_service(disabled: str | bool | None) -> None:
    if disabled:
        raise ValueError("a system that is out of service is not stored: jobs would be sent there; leave it out")


def _bytes(value: Any) -> Any:
    return memory(value) if isinstance(value, str) else value


def _location(url: str) -> str:
    if not re.fullmatch(r"file://(/.*|\$[A-Za-z_][A-Za-z0-9_]*)", url):
        raise ValueError("file:///PATH, or file://$VARIABLE: what jobs reach as a directory")
    return url


def _nothing(storage: Mapping[str, Any]) -> Mapping[str, Any]:
    if storage:
        raise ValueError("storage belongs into configuration.storage")
    return storage


Microarchitecture = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,64}$")]
Few = Annotated[int, Field(ge=1, le=1000, strict=True)]
Bytes = Annotated[
    int,
    Field(gt=0, le=_MOST_BYTES, strict=True),
    BeforeValidator(_bytes),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1, "maximum": _MOST_BYTES}, {"type": "string", "pattern": "^[0-9]{1,6} ?[kMGT]i?B$"}]}
    ),
]
NoStorage = Annotated[Mapping[str, Any], AfterValidator(_nothing), WithJsonSchema({"type": "object", "maxProperties": 0})]


class PostedStorage(Posted):
    """A file system that jobs see."""

    storage_class: StorageClass
    """The class by which requests ask for it."""


class PostedCpu(Posted):
    """A processor."""

    arch: Literal["x86_64", "aarch64", "ppc64le"]
    """Its architecture."""
    microarch: Microarchitecture | None = None
    """The archspec target, for instance `skylake_avx512`."""
    ncores: Few
    """Cores of a socket."""
    nthreads: Annotated[int, Field(ge=1, le=16, strict=True)] = 1
    """Hardware threads of a core."""


class PostedAccelerator(Posted):
    """An accelerator."""

    type: Literal["gpu", "fpga", "tpu"]
    """Jobs can be sent to GPUs alone."""
    model: Annotated[Line, StringConstraints(max_length=100)]
    """Its name with its maker's."""


class PostedNode(Posted):
    """One kind of node."""

    ncpus: Annotated[int, Field(ge=1, le=64, strict=True)]
    """Sockets."""
    cpu: PostedCpu
    naccel: Annotated[int, Field(ge=0, le=64, strict=True)] | None = None
    """Accelerators."""
    accel: PostedAccelerator | None = None
    memory: Bytes | None = None
    """Bytes, or text such as `512GiB`."""
    storage: NoStorage = Field(default_factory=dict)
    """Empty: storage belongs into the configuration."""


class PostedPartition(Posted):
    """A partition or queue."""

    nnodes: Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
    """Nodes."""
    default: StrictBool | None = None
    """Whether jobs get it that name none."""
    node: PostedNode
    storage: NoStorage = Field(default_factory=dict)
    """Empty: storage belongs into the configuration."""


class PostedConfiguration(Posted):
    """What a system consists of."""

    scheduler: Annotated[Name, AfterValidator(_scheduler)] | None = None
    """Its name; not given: none."""
    storage: Mapping[Annotated[str, AfterValidator(_location)], PostedStorage] = {}
    """File systems by their place: `file:///PATH` or `file://$VARIABLE`."""
    partitions: Annotated[Mapping[Name | Literal["*"], PostedPartition], Field(min_length=1)]
    """By name; `*`: the only one, which scripts do not name."""


class PostedInfrastructure(Posted):
    """A system of `/infrastructures`."""

    name: Name
    """As requests name it."""
    disabled: Annotated[StrictBool | Annotated[str, StringConstraints(max_length=64)] | None, AfterValidator(_in_service)] = None
    """Systems that are out of service are refused."""
    description: Line | None = None
    """Its full name; not given: the name."""
    configuration: PostedConfiguration


def infrastructure(document: Any, facts: Facts) -> tuple[System | Processor | Accelerator, ...]:
    """The system, and those processors and accelerators of it that ``facts`` do not have.

    An accelerator of an unknown maker is left out, with a note on the system.

    Raises :class:`modak.errors.RequestError` for fields that are wrong.
    """
    sent = validated(PostedInfrastructure, document, RequestError)
    found = sent.configuration
    new: dict[str, Processor | Accelerator] = {}
    notes: list[str] = []
    partitions = []
    for name, partition in found.partitions.items():
        at = f"configuration.partitions.{name}.node"
        processor = _processor(partition.node.cpu, f"{at}.cpu.microarch")
        accelerator = _accelerator(partition.node, at, facts)
        if partition.node.naccel and accelerator is None and partition.node.accel:
            notes.append(f"{name}: {partition.node.naccel} x {partition.node.accel.model} ({partition.node.accel.type}) are not entered")
        new |= {one.name: one for one in (processor, accelerator) if one is not None}
        partitions.append(_partition(name, partition, processor, accelerator))
    has_default = any(partition.default for partition in partitions)
    if not has_default:
        partitions[0] = partitions[0].model_copy(update={"default": True})
    described = {
        "name": sent.name,
        "title": sent.description or sent.name,
        "site": sent.name,
        "scheduler": found.scheduler,
        "partitions": tuple(partitions),
        "partition_directive": None if has_default else "always",  # which one the scheduler takes by itself is not known
        "runtimes": RUNTIMES,
        "filesystems": tuple(_file_system(url, storage) for url, storage in found.storage.items()),
        "notes": tuple(notes),
        "sources": (SOURCE,),
    }
    system = validated(System, described, RequestError, "configuration")
    return system, *(one for one in new.values() if one.name not in {**facts.processors, **facts.accelerators})


def _partition(name: str, of: PostedPartition, processor: Processor, accelerator: Accelerator | None) -> Partition:
    node = Node(
        processor=processor.name,
        sockets=of.node.ncpus,
        cores=of.node.ncpus * of.node.cpu.ncores,
        threads_per_core=of.node.cpu.nthreads,
        memory_gb=of.node.memory / 1e9 if of.node.memory else None,
        accelerator=accelerator.name if accelerator else None,
        accelerators=of.node.naccel or 0 if accelerator else 0,
    )
    only = name == ONLY_PARTITION
    return Partition(name="default" if only else name, nodes=of.nnodes, default=bool(of.default) or only, node=node)


def _processor(cpu: PostedCpu, field: str) -> Processor:
    """A processor without figures: two models of one microarchitecture and number of cores differ in clock and memory."""
    import archspec.cpu

    known = archspec.cpu.TARGETS
    target = known.get(cpu.microarch or cpu.arch)
    if target is None or target.family.name != cpu.arch:
        names = [name for name, one in known.items() if one.family.name == cpu.arch]
        raise RequestError(unknown("microarchitecture", str(cpu.microarch), names), field=field)
    return Processor(
        name=f"{target.name}-{cpu.ncores}x{cpu.nthreads}",
        vendor=vendor_of(cpu.arch, target.vendor),
        model=f"{target.name}, {cpu.ncores} cores",
        microarchitecture=target.name,
        cores=cpu.ncores,
        threads_per_core=cpu.nthreads,
        sources=(SOURCE,),
    )


def _accelerator(node: PostedNode, at: str, facts: Facts) -> Accelerator | None:
    """The known accelerator of that model, or one without figures; ``None``: none, or one that no job can be sent to."""
    if not node.naccel:
        return None
    if node.accel is None:
        raise RequestError("is required with naccel", field=f"{at}.accel")
    if node.accel.type != "gpu":
        return None
    model = node.accel.model
    same, similar = of_type(model, facts.accelerators)
    vendors: set[Vendor] = {vendor for vendor, words in _MAKERS.items() if re.search(rf"\b({words})\b", model, re.IGNORECASE)}
    vendors = vendors or {facts.accelerators[name].vendor for name in similar}
    slug = "-".join(re.findall(r"[a-z0-9.]+", model.lower())).lstrip(".")[:64]
    if same or len(vendors) != 1 or not slug:
        return same
    return Accelerator(name=slug, vendor=vendors.pop(), model=model, sources=(SOURCE,))


def _file_system(url: str, storage: PostedStorage) -> FileSystem:
    place = url.removeprefix("file://")
    name = re.sub(r"[^A-Za-z0-9._+]+", "-", place).lstrip("._+-")[:64].rstrip("-") or "root"
    at: dict[str, Any] = {"path_variable": place[1:]} if place.startswith("$") else {"path": place}
    try:
        return FileSystem(name=name, kind="other", storage_class=storage.storage_class, **at)
    except ValidationError as error:
        raise RequestError(faults=[Fault("configuration.storage", fault.message) for fault in faults_of(error)]) from None
