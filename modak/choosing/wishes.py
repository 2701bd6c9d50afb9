"""What a request says about how its application runs: framework, graph compilers, distribution, processes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from modak import plugins
from modak.dsl import Request
from modak.frameworks.base import Carrier
from modak.perfmodel.matching import same_name
from modak.recipes.mpilibs import LIBRARIES
from modak.schedulers.header import expand_nodes


def switches(request: Request) -> Mapping[str, Any]:
    """Graph compilers of the request's framework and what the request says of each: on, off, ``auto`` or nothing."""
    optimisation = request.optimisation
    if optimisation.framework is None:
        return {}
    framework = plugins.find("frameworks", optimisation.framework)
    return {compiler.name: getattr(optimisation.options, compiler.option, None) for compiler in framework.compilers}


OTHER_GRAPH_COMPILERS: Final = ("tensorrt", "tf-trt", "torch-tensorrt", "torch.compile", "dynamo", "nvfuser", "openvino", "tvm")
"""Those that no framework here switches, as :func:`same_name` folds them."""


@cache
def graph_compilers() -> frozenset[str]:
    """Names of the graph compilers of all frameworks."""
    named = (compiler.name.lower() for framework in plugins.all_of("frameworks") for compiler in framework.compilers)
    return frozenset((*named, *OTHER_GRAPH_COMPILERS))


def compiler_named(label: str | None) -> str | None:
    """What results call their compiler, a graph compiler as its framework spells it: ``XLA`` is ``xla``."""
    folded = same_name(label) if label else None
    return folded if folded in graph_compilers() else label


def is_build(compiler: str | None) -> bool:
    """Whether what results call their compiler is what the application was built with (``gcc-8.3``), and no graph compiler.

    A graph compiler is switched on; of builds there is always one, and results say which is the fastest.
    """
    return compiler is not None and same_name(compiler) not in graph_compilers()


def may_have(compiler: str | None, allowed: frozenset[str | None]) -> bool:
    """Whether a run with that compiler is one of what is ``allowed``; where none has to be on, any build is."""
    return compiler_named(compiler) in allowed or (None in allowed and is_build(compiler))


def allowed_compilers(request: Request) -> frozenset[str | None]:
    """What ``compiler`` may be: the one that is named, or on; else none, or any of those left to the evidence."""
    if request.optimisation.workload.compiler:
        return frozenset([compiler_named(request.optimisation.workload.compiler)])
    said = switches(request)
    on = frozenset(name for name, value in said.items() if value is True)
    return on or frozenset([None, *(name for name, value in said.items() if value == "auto")])


def precision(request: Request) -> str | None:
    """The precision that the request asks for; ``None``: it does not say, or leaves it to the evidence."""
    asked = request.optimisation.workload.precision
    return None if asked == "auto" else asked


def is_distributed(request: Request) -> bool:
    """Whether the application runs as more than one process."""
    optimisation, application = request.optimisation, request.application
    mpi = optimisation.framework == "mpi" or optimisation.framework in LIBRARIES
    if application.app_type in ("mpi", "hpc") or mpi or "mpi" in optimisation.config.parallelisation:
        return True
    if optimisation.config.distributed_training or distribution(request):
        return True
    many = (application.mpi_ranks, stated_nodes(request), request.job_options.process_count_per_node)
    return any(count is not None and count > 1 for count in many)


def stated_nodes(request: Request) -> int | None:
    """The number of nodes that the request gives; where it gives neither that nor ranks, as many as it names."""
    options = request.job_options
    if options.node_count or request.application.mpi_ranks or not options.request_specific_nodes:
        return options.node_count
    return len(expand_nodes(options.request_specific_nodes))


def carrier(request: Request) -> Carrier | None:
    """The framework (and version) whose images and results the request is about; ``None``: none, as for MPI programs."""
    optimisation = request.optimisation
    if optimisation.framework is None:
        return None
    found: Carrier | None = plugins.find("frameworks", optimisation.framework).carrier(optimisation.options)
    return found


def library(request: Request) -> Carrier | None:
    """The MPI library (and version) whose images an MPI program may run in; ``None``: none is named."""
    optimisation = request.optimisation
    named = optimisation.framework if optimisation.framework in LIBRARIES else getattr(optimisation.options, "library", None)
    return Carrier(named, optimisation.options.version) if named else None


DEEPSPEED: Final = "deepspeed"


def distribution(request: Request) -> str | None:
    """The distribution layer of a training run, for instance ``horovod``."""
    options = request.optimisation.options
    if request.optimisation.framework == "horovod":
        return "horovod"
    value = getattr(options, "distribution", None)
    return str(value) if value else None


def by_torchrun(request: Request) -> bool:
    """Whether PyTorch's own launcher starts the ranks, which then talk to each other without MPI. DeepSpeed reads what it tells them."""
    found, layer = carrier(request), distribution(request)
    by_itself = found is not None and found.framework == "pytorch" and layer in (None, "ddp", "fsdp", DEEPSPEED)
    return by_itself and request.application.app_type not in ("mpi", "hpc")


def is_single_threaded(request: Request) -> bool:
    """Whether the application is MPI alone: a rank on every core."""
    return request.optimisation.framework == "mpi" or (request.optimisation.framework is None and request.application.app_type == "mpi")
