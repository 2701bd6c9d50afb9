"""Processors, accelerators, and nodes that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from modak.facts.fact import Count, Fact, Positive, Prose, Source, Vendor
from modak.text.grammar import Constraint, Name, VersionText

ARCHITECTURES: Final[Mapping[str, str]] = {"x86": "x86_64", "amd": "x86_64", "arm": "aarch64", "power": "ppc64le"}
"""Architectures by the words for a CPU that requests use."""
_BY_VENDOR: Final[Mapping[str, str]] = {"intel": "x86_64", "amd": "x86_64", "arm": "aarch64", "ibm": "ppc64le"}


class Processor(Fact):
    """A processor type; figures are per socket."""

    name: Name
    """As nodes refer to it."""
    vendor: Literal["intel", "amd", "arm", "ibm"] | None = None
    """Not given: unknown; no rule for a vendor applies."""
    model: Prose
    """As its maker calls it."""
    microarchitecture: Name
    """The archspec target, for instance ``skylake_avx512``."""
    cores: Count | None = None
    """Physical cores of a socket."""
    threads_per_core: Count | None = None
    """Hardware threads of a core."""
    fp32_tflops: Positive | None = None
    """Peak in single precision, in TFLOP/s."""
    fp64_tflops: Positive | None = None
    """Peak in double precision, in TFLOP/s."""
    memory_max_gb: Positive | None = None
    """The most memory of a socket, in GB."""
    memory_bandwidth_gbs: Positive | None = None
    """In GB/s."""
    pcie_gbs: Positive | None = None
    """Over PCIe, in GB/s."""
    sources: tuple[Source, ...]
    """Where the figures come from."""

    @property
    def architecture(self) -> str | None:
        """``x86_64``, ``aarch64`` and the like: by its microarchitecture, or by its vendor if archspec does not know that. ``None``:
        unknown."""
        found = microarchitectures().get(self.microarchitecture)
        return "ppc64le" if found == "ppc64" else found or _BY_VENDOR.get(self.vendor or "")  # no image is for archspec's power9


@cache
def microarchitectures() -> Mapping[str, str]:
    """Every microarchitecture that archspec knows, and its architecture."""
    import archspec.cpu

    return {name: str(target.family) for name, target in archspec.cpu.TARGETS.items()}


class Accelerator(Fact):
    """An accelerator type; figures are per device."""

    name: Name
    """As nodes refer to it."""
    vendor: Vendor
    """Its maker."""
    model: Prose
    """As its maker calls it."""
    compute_capability: VersionText | None = None
    """NVIDIA only, for instance ``6.1``."""
    int8_tops: Positive | None = None
    """Peak with 8-bit integers, in TOP/s."""
    fp16_tflops: Positive | None = None
    """Peak in half precision, in TFLOP/s."""
    fp32_tflops: Positive | None = None
    """Peak in single precision, in TFLOP/s."""
    fp64_tflops: Positive | None = None
    """Peak in double precision, in TFLOP/s."""
    memory_gb: Positive | None = None
    """In GB."""
    memory_bandwidth_gbs: Positive | None = None
    """In GB/s."""
    pcie_gbs: Positive | None = None
    """Over PCIe, in GB/s."""
    interconnect_gbs: Positive | None = None
    """To other GPUs of the node, in GB/s."""
    sources: tuple[Source, ...]
    """Where the figures come from."""


class NumaMode(Fact):
    """One way in which the cores of a node are divided into NUMA domains; a mode belongs to the node, not to the job step."""

    domains: Count
    """NUMA domains of a node."""
    standard: bool = False
    """Whether nodes are in this mode unless a job asks for another."""
    note: Prose | None = None
    """How to ask for it where it is not the standard."""
    constraint: Constraint | None = None
    """The scheduler's node feature that selects it, where the site has one."""


class Node(Fact):
    """One kind of node."""

    processor: Name
    """The name of its type."""
    sockets: Count
    """Processors in the node."""
    cores: Count
    """Physical cores in the node."""
    threads_per_core: Count = 1
    """Hardware threads of a core that jobs can use."""
    reserved_cores: Annotated[int, Field(ge=0)] = 0
    """Cores that the site keeps for itself: never laid out."""
    numa_modes: tuple[NumaMode, ...] = ()
    """The modes that there are; exactly one is the standard."""
    memory_gb: Positive | None = None
    """In GB."""
    usable_memory_gb: Positive | None = None
    """What a job may use; beyond it the job (at some sites the node) dies."""
    accelerator: Name | None = None
    """The name of its type."""
    accelerators: Annotated[int, Field(ge=0, le=1000)] = 0
    """GPUs in the node."""
    driver_cuda: VersionText | None = None
    """The newest CUDA that the driver of its GPUs takes, as ``nvidia-smi`` prints it; not given: unknown, any image is taken to run."""
    local_storage_gb: Positive | None = None
    """Storage of the node itself, in GB."""
    power_w: Positive | None = None
    """Under load, in watts."""

    @model_validator(mode="after")
    def _fits(self) -> Node:
        if self.reserved_cores >= self.cores:
            raise ValueError("reserved_cores must leave at least one core")
        if self.accelerators and not self.accelerator:
            raise ValueError("accelerators are counted but 'accelerator' names no type")
        if self.memory_gb and self.usable_memory_gb and self.usable_memory_gb > self.memory_gb:
            raise ValueError("usable_memory_gb exceeds memory_gb")
        if self.numa_modes and sum(mode.standard for mode in self.numa_modes) != 1:
            raise ValueError("exactly one of numa_modes is the standard")
        return self

    @property
    def usable_cores(self) -> int:
        """Physical cores that a layout may use."""
        return self.cores - self.reserved_cores

    @property
    def hardware_threads(self) -> int:
        """Threads that the cores of a layout run at once."""
        return self.usable_cores * self.threads_per_core

    @property
    def job_memory_gb(self) -> float | None:
        """Memory that a job may use, in GB; ``None``: unknown."""
        return self.usable_memory_gb or self.memory_gb

    def needs_hyperthreads(self, threads: int) -> bool:
        """Whether so many threads of a node run on hyper-threads: on nodes without any they share the cores.

        >>> [Node(processor="x", sockets=2, cores=48, threads_per_core=count).needs_hyperthreads(96) for count in (1, 2)]
        [False, True]
        """
        return self.threads_per_core > 1 and threads > self.usable_cores

    def cores_with(self, gpus: int) -> int:
        """Cores that go with so many of the node's GPUs: all without any, else their part of them.

        >>> Node(processor="x", sockets=2, cores=48, accelerator="y", accelerators=4).cores_with(1)
        12
        """
        return max(1, self.usable_cores * gpus // self.accelerators) if 0 < gpus < self.accelerators else self.usable_cores

    @property
    def standard_numa_domains(self) -> int:
        """NUMA domains of the standard mode; one a socket where no mode is recorded."""
        return next((mode.domains for mode in self.numa_modes if mode.standard), self.sockets)
