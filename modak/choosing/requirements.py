"""What a request asks for its application: framework, graph compilers, distribution layer, MPI library, number of processes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any, Final

from modak import plugins
from modak.dsl import LEARNING, Request
from modak.facts import Node, canonical_name
from modak.frameworks.base import Carrier, Compiler
from modak.perfmodel import Curve
from modak.recipes.mpilibs import LIBRARIES
from modak.text.hosts import expand_nodes


def switches(request: Request) -> Mapping[str, Any]:
    """The graph compilers of the request's framework that can be switched off, with the request's setting of each: ``True``, ``False``,
    ``"auto"`` or ``None``."""
    options = request.optimisation.options
    return {one.name: options.value_of(one.option) for one in compilers(request) if not one.always}


def compilers_on(request: Request) -> tuple[str, ...]:
    """The graph compilers that the request switches on."""
    return tuple(name for name, value in switches(request).items() if value is True)


def compilers(request: Request) -> tuple[Compiler, ...]:
    """The graph compilers of the request's framework."""
    framework = request.optimisation.framework
    return plugins.find("frameworks", framework).compilers if framework else ()


def without_compilers(request: Request, names: Collection[str]) -> Request:
    """The request with these graph compilers switched off, where they can be."""
    options, work = request.optimisation.options, request.optimisation.workload
    off = {one.option: False for one in compilers(request) if one.name in names and not one.always}
    named = None if compiler_named(work.compiler) in names else work.compiler
    return request.changed(
        optimisation={"options": options.model_copy(update=off), "workload": work.model_copy(update={"compiler": named})}
    )


WITHIN_ONE_PROCESS: Final = ("openmp", "openacc", "opencl")
"""Programming models that start no processes."""
OTHER_GRAPH_COMPILERS: Final = ("tensorrt", "tf-trt", "torch-tensorrt", "torch.compile", "dynamo", "nvfuser", "openvino", "tvm")
"""Graph compilers that no framework plug-in can switch, in the spelling of :func:`canonical_name`."""


@cache
def graph_compilers() -> frozenset[str]:
    """Names of the graph compilers of all frameworks."""
    named = (compiler.name.lower() for framework in plugins.all_of("frameworks") for compiler in framework.compilers)
    return frozenset((*named, *OTHER_GRAPH_COMPILERS))


def compiler_named(label: str | None) -> str | None:
    """The compiler label of results, graph compilers in their framework's spelling: ``XLA`` is ``xla``."""
    folded = canonical_name(label) if label else None
    return folded if folded in graph_compilers() else label


def is_build(compiler: str | None) -> bool:
    """Whether the compiler label of results is the compiler that built the application (``gcc-8.3``), and not a graph compiler.

    A graph compiler is on or off; every application has exactly one build, and results say which is the fastest.
    """
    return compiler is not None and canonical_name(compiler) not in graph_compilers()


def is_allowed(compiler: str | None, allowed: frozenset[str | None]) -> bool:
    """Whether a run may have that compiler, in any spelling. If ``allowed`` contains ``None`` (no graph compiler has to be on), any build
    may."""
    if compiler is None or (None in allowed and is_build(compiler)):
        return None in allowed
    return canonical_name(compiler) in map(canonical_name, filter(None, allowed))


def allowed_compilers(request: Request) -> frozenset[str | None]:
    """Allowed values of ``compiler``: the one that the request names or switches on; else ``None``, those set to ``auto``, and those that
    are a part of the framework, which results name or not."""
    if request.optimisation.workload.compiler:
        return frozenset([compiler_named(request.optimisation.workload.compiler)])
    if on := compilers_on(request):
        return frozenset(on)
    always = (one.name for one in compilers(request) if one.always)
    return frozenset([None, *always, *(name for name, value in switches(request).items() if value == "auto")])


def precision(request: Request) -> str | None:
    """The requested precision; ``None``: not given, or ``auto``."""
    asked = request.optimisation.workload.precision
    return None if asked == "auto" else asked


def is_distributed(request: Request) -> bool:
    """Whether the application runs as more than one process."""
    ranks = request.application.mpi_ranks
    counts = (ranks,) if ranks else (stated_nodes(request), request.job_options.process_count_per_node)
    return is_said_distributed(request) or any(count is not None and count > 1 for count in counts)


def is_said_distributed(request: Request) -> bool:
    """Whether the request says, apart from its counts, that the application runs as more than one process."""
    optimisation, application = request.optimisation, request.application
    mpi = optimisation.framework == "mpi" or optimisation.framework in LIBRARIES
    if application.app_type == "mpi" or mpi or "mpi" in optimisation.config.parallelisation:
        return True
    if application.app_type == "hpc" and not is_within_one_process(request):
        return True
    return bool(optimisation.config.distributed_training or distribution(request))


def is_within_one_process(request: Request) -> bool:
    """Whether the programming models that the request names are all within a process."""
    optimisation = request.optimisation
    return optimisation.framework in WITHIN_ONE_PROCESS or bool(optimisation.config.parallelisation)


def stated_nodes(request: Request) -> int | None:
    """The requested number of nodes; if neither that nor total ranks are given, the number of nodes that the request names."""
    options = request.job_options
    if options.node_count or request.application.mpi_ranks or not options.request_specific_nodes:
        return options.node_count
    return len(expand_nodes(options.request_specific_nodes))


def cores_with(request: Request, node: Node, gpus: int) -> int:
    """Cores of a node for a run on so many of its GPUs: those that go with them, or all if the request wants whole nodes."""
    return node.cores_with(0 if request.job_options.node_exclusive else gpus)


def carrier(request: Request) -> Carrier | None:
    """The framework (and version) of the request's images and results; ``None``: none, as for MPI programs."""
    optimisation = request.optimisation
    if optimisation.framework is None:
        return None
    return plugins.find("frameworks", optimisation.framework).carrier(optimisation.options)


def is_front_end(name: str | None) -> bool:
    """Whether a framework runs on another one. Their results stay apart: Keras took 4.7 times as long as TensorFlow."""
    found = plugins.named("frameworks", name) if name else None
    return found is not None and found.is_front_end


def front_end_measured(request: Request, curves: Iterable[Curve]) -> str | None:
    """The framework of a request that runs on another one, if results name it; ``None``: results are those of the other one."""
    name = request.optimisation.framework
    return name if is_front_end(name) and any(canonical_name(curve.series.framework) == name for curve in curves) else None


def library(request: Request) -> Carrier | None:
    """The MPI library (and version) that an MPI program's image must have; ``None``: not named."""
    optimisation = request.optimisation
    named = optimisation.framework if optimisation.framework in LIBRARIES else optimisation.options.value_of("library")
    return Carrier(named, optimisation.options.version) if named else None


def mpi_asked(request: Request) -> str | None:
    """The MPI library that the request names."""
    asked = library(request)
    return asked.framework if asked else None


DEEPSPEED: Final = "deepspeed"
A_GPU_PER_RANK: Final = ("horovod", "ddp", "fsdp", DEEPSPEED)
"""Distribution layers in which a process trains on one GPU: with fewer ranks than GPUs, the other GPUs are idle."""


def drives_all_gpus(request: Request) -> bool:
    """Whether a process of the framework trains on all GPUs of its node: more of them would share these. MXNet's workers get as many
    as their command names, and a parameter server would have more traffic from one for each GPU."""
    found = carrier(request)
    with_servers = found is not None and found.framework == "mxnet" and distribution(request) == "parameter-server"
    framework = plugins.named("frameworks", found.framework) if found else None
    return with_servers or (framework is not None and framework.drives_all_gpus)


def distribution(request: Request) -> str | None:
    """The distribution layer of a training run, for instance ``horovod``."""
    options = request.optimisation.options
    if request.optimisation.framework == "horovod":
        return "horovod"
    value = options.value_of("distribution")
    return str(value) if value else None


def by_torchrun(request: Request) -> bool:
    """Whether torchrun starts the ranks, which then communicate without MPI (plain PyTorch, DDP, FSDP, DeepSpeed)."""
    if request.application.app_type in ("mpi", "hpc") or distribution(request) not in (None, "ddp", "fsdp", DEEPSPEED):
        return False
    found = carrier(request)
    return found is not None and found.framework == "pytorch"


def has_a_gpu_per_rank(request: Request, nodes: int) -> bool:
    """Whether each process of a run that was measured on up to so many nodes trains on one GPU.

    With torchrun as the launcher also where the request names no distribution layer, unless all is one process: such processes take the
    GPU of their local rank.
    """
    return distribution(request) in A_GPU_PER_RANK or (by_torchrun(request) and (nodes > 1 or is_distributed(request)))


def is_single_threaded(request: Request) -> bool:
    """Whether the application uses MPI without threads: one rank per core."""
    return _is_mpi_program(request) and not names_openmp(request)


def leaves_threads_open(request: Request) -> bool:
    """Whether the request names no programming model, and is not one of a framework, which has threads of its own."""
    optimisation = request.optimisation
    named = optimisation.framework or optimisation.config.parallelisation or optimisation.further
    return not named and optimisation.app_type not in LEARNING


def is_hybrid(request: Request) -> bool:
    """Whether the application uses MPI between its processes and OpenMP within them."""
    return _is_mpi_program(request) and names_openmp(request)


def _is_mpi_program(request: Request) -> bool:
    return request.optimisation.framework == "mpi" or (request.optimisation.framework is None and request.application.app_type == "mpi")


def names_openmp(request: Request) -> bool:
    """Whether the request says that the application has OpenMP threads."""
    optimisation = request.optimisation
    return "openmp" in {optimisation.framework, *optimisation.config.parallelisation, *optimisation.further}
