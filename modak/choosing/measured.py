"""Shapes in which an application was measured on a system and which the request allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from modak.choosing.openparams import values_of, with_values
from modak.choosing.requirements import (
    allowed_compilers,
    carrier,
    compiler_named,
    cores_with,
    drives_all_gpus,
    front_end_measured,
    has_a_gpu_per_rank,
    is_allowed,
    is_distributed,
    is_said_distributed,
    leaves_threads_open,
    mpi_asked,
    precision,
)
from modak.choosing.shapes import Shape
from modak.dsl import Request
from modak.facts import HostMpi, Layout, Node, canonical_name, mpi_family, parameters
from modak.frameworks.base import Carrier
from modak.perfmodel import Curve
from modak.perfmodel.fitting.precisions import USUAL_PRECISION, WIDER, canonical_precision
from modak.perfmodel.laws.problems import number_ratios
from modak.perfmodel.matching.questions import equal_values, of_exact_text
from modak.target import Target
from modak.text.grammar import version_range


def measured_shapes(request: Request, target: Target, curves: Sequence[Curve], host: HostMpi | None) -> Sequence[Shape]:
    """Shapes in which the application was measured on the target and which the request allows, and fuller ones.

    Those of runs that differ in numbers among their parameters alone are among them, as far as the models tell how these compare.
    If it was only measured otherwise (another data set, version, precision, batch or MPI, or without a compiler that is on), the shapes of
    those runs: the best layout depends more on application and node than on these. Results that do not say which problem they are of do
    not displace those of other problem sizes. ``host``: the host's MPI that would start the ranks. Shapes have 0 for counts that the
    results do not give.
    """
    return _in_usual_precision(tuple(_evidence_shapes(request, target, curves, host)))


def _evidence_shapes(request: Request, target: Target, curves: Sequence[Curve], host: HostMpi | None) -> Iterator[Shape]:
    allowed, found, front_end = allowed_compilers(request), carrier(request), front_end_measured(request, curves)
    found = replace(found, framework=front_end) if found and front_end else found
    here = [curve for curve in curves if was_measured_on(curve, target)]
    own = [curve for curve in here if _same_framework(curve, found) and (is_allowed(curve.series.compiler, allowed) or None not in allowed)]
    spelt = _spelt(own)
    own = with_values(own, request)
    those = _comparable(own, curves, request, allowed) or filter(_tells_layout, own)
    for known in dict.fromkeys(shape for curve in those for shape in _shapes_of(curve, target.node, request)):
        shape = replace(known, framework=front_end, compiler=spelt.get(canonical_name(known.compiler), known.compiler))
        yield _as_asked(shape, request, allowed, host)


def _comparable(own: Sequence[Curve], known: Sequence[Curve], request: Request, allowed: frozenset[str | None]) -> list[Curve]:
    """Of a system's ``own`` curves those that agree with the request, and those of other problem sizes that can be compared with them, or
    all of these if nobody ran the problem."""
    of_text = of_exact_text(own, known, parameters(request.optimisation.workload.named))
    same = [curve for curve in of_text if _agrees(curve, request, allowed)]
    named = [curve for curve in of_text if _names_problem(curve, request) and _same_otherwise(curve, request) and _tells_layout(curve)]
    of_problem = [curve for curve in same if _names_problem(curve, request)]
    return same + (_of_other_sizes(named, of_problem, request, allowed) if of_problem else named)


def _shapes_of(curve: Curve, node: Node | None, request: Request) -> Iterator[Shape]:
    """The shapes in which a curve was measured, and fuller ones; with a rank for each GPU where GPUs would be idle otherwise."""
    one_gpu_each, stated = has_a_gpu_per_rank(request, max(curve.nodes)), request.job_options.process_count_per_node
    measured = (_shape_of(curve, layout, node, request) for layout in _layouts(curve))
    for shape in (*measured, *_fuller(curve, node, request)):
        idle = one_gpu_each and stated != shape.ranks_per_node < shape.gpus_per_node
        yield _a_rank_per_gpu(shape) if idle else shape


def _in_usual_precision(shapes: Sequence[Shape]) -> Sequence[Shape]:
    """The shapes with one spelling of each precision. Those that state none are in the usual one, if some state that, or one below it:
    half precision must not answer for them."""
    spelt = {str(canonical_precision(name)): name for name in sorted({shape.precision or "" for shape in shapes}, reverse=True) if name}
    unstated = spelt.get(USUAL_PRECISION, USUAL_PRECISION) if spelt.keys() - {WIDER} else None
    return [replace(shape, precision=spelt.get(str(canonical_precision(shape.precision)), unstated)) for shape in shapes]


def _of_other_sizes(curves: Iterable[Curve], of_problem: Iterable[Curve], request: Request, allowed: frozenset[str | None]) -> list[Curve]:
    """Of the curves of other problem sizes, those whose layout can be compared with the layouts of this problem: it was measured at several
    sizes, or at one where one of these was, too. A time of one other size alone tells nothing of this one.
    """
    asked = parameters(request.optimisation.workload.named)
    sized = [(curve, number_ratios(asked, curve.series.params)) for curve in curves if is_allowed(curve.series.compiler, allowed)]
    found = [(curve, tuple(ratios.items())) for curve, ratios in sized if ratios]
    sizes: dict[Hashable, set[Hashable]] = defaultdict(set)
    for curve, size in found:
        sizes[_way_to_run(curve)].add(size)
    ways = {_way_to_run(curve) for curve in of_problem}
    shared = {size for way in ways for size in sizes.get(way, ())}
    return [curve for curve, _ in found if len(own := sizes[_way_to_run(curve)]) > 1 or not shared.isdisjoint(own)]


def _way_to_run(curve: Curve) -> Hashable:
    """What curves of one layout and build have in common, whatever the problem."""
    return curve.layout, curve.scale, canonical_name(curve.series.compiler)


def _spelt(curves: Iterable[Curve]) -> Mapping[str, str]:
    """One spelling of each compiler: ``gcc 9.3`` and ``gcc-9.3`` are one build."""
    names = {compiler_named(curve.series.compiler) for curve in curves}
    return {canonical_name(name): name for name in sorted((name for name in names if name), reverse=True)}


def ran_single_threads(curves: Iterable[Curve], request: Request) -> bool:
    """Whether nothing but ranks of one thread each was ever measured on processors, several of them on a node, of a program of which the
    request does not say more: it is taken for one with MPI alone, which would leave the cores of further threads idle."""
    if not leaves_threads_open(request):
        return False
    told = [curve for curve in curves if curve.estimated is None and not curve.on_gpus and curve.states_threads]
    several = any(max(curve.per_node if curve.scale == "ranks" else {curve.layout.ranks_per_node or 0}) > 1 for curve in told)
    return several and all(curve.layout.threads_per_rank == 1 for curve in told)


def was_measured_on(curve: Curve, target: Target) -> bool:
    """Whether a curve was measured on the target's system, on the same kind of nodes."""
    return canonical_name(curve.series.system) in target.names and curve.series.partition not in target.other_nodes(bool(curve.on_gpus))


def compatible_curves(curves: Sequence[Curve], request: Request) -> Iterable[Curve]:
    """Curves, measured anywhere, that do not contradict the request in workload, MPI library or compiler."""
    allowed = allowed_compilers(request)
    of_text = of_exact_text(curves, curves, parameters(request.optimisation.workload.named))
    return (curve for curve in of_text if _agrees(curve, request, allowed))


def _agrees(curve: Curve, request: Request, allowed: frozenset[str | None]) -> bool:
    there, asked = curve.series.params, parameters(request.optimisation.workload.named)
    same_params = all(name not in there or equal_values(there[name], text) for name, text in asked.items())
    return same_params and _same_otherwise(curve, request) and is_allowed(curve.series.compiler, allowed)


def _tells_layout(curve: Curve) -> bool:
    """Whether the results behind a curve give its ranks or GPUs per node."""
    return curve.scale in ("ranks", "gpus") or bool(curve.layout.ranks_per_node or curve.layout.gpus_per_node)


def _as_asked(shape: Shape, request: Request, allowed: frozenset[str | None], host: HostMpi | None) -> Shape:
    """The shape with precision, batch and MPI library of the request, and with a compiler that it allows."""
    work = request.optimisation.workload
    mpi = shape.mpi if _same_mpi(shape.mpi, request) else _mpi_instead(shape, request, host)
    compiler = shape.compiler if is_allowed(shape.compiler, allowed) else min(name for name in allowed if name)
    asked = precision(request) or shape.precision
    return replace(shape, compiler=compiler, precision=asked, batch_size=work.batch_size or shape.batch_size, mpi=mpi)


def _a_rank_per_gpu(shape: Shape) -> Shape:
    """The shape with a rank for each GPU, for results that count only what the scheduler started, such as one torchrun on each node."""
    ranks = shape.gpus_per_node
    threads = shape.threads_per_rank * shape.ranks_per_node // ranks or 1
    return replace(shape, ranks_per_node=ranks, threads_per_rank=threads, origin="raised")


def _same_framework(curve: Curve, found: Carrier | None) -> bool:
    """Whether a curve was measured in the framework of the request; an unnamed framework counts as that."""
    label = curve.series.framework
    return found is None or label is None or canonical_name(label) == canonical_name(found.framework)


def _names_problem(curve: Curve, request: Request) -> bool:
    """Whether the results give a value for each parameter that the request names."""
    return all(name in curve.series.params for name in request.optimisation.workload.named)


def _same_otherwise(curve: Curve, request: Request) -> bool:
    """Whether a curve does not contradict the workload and MPI library of the request, except by its parameters."""
    series, work = curve.series, request.optimisation.workload
    precisions = (canonical_precision(series.precision), canonical_precision(precision(request)))
    pairs = ((series.dataset, work.dataset), precisions, (curve.layout.batch_size, work.batch_size))
    return (
        _same_mpi(series.mpi, request)
        and _same_version(series.framework_version, carrier(request))
        and all(wanted is None or known is None or known == wanted for known, wanted in pairs)
    )


def _same_version(label: str | None, found: Carrier | None) -> bool:
    """Whether results may be of the framework version that the request names."""
    return label is None or found is None or found.version is None or version_range(found.version).contains(label)


def _same_mpi(label: str | None, request: Request) -> bool:
    """Whether the MPI label of results (``intel-mpi 2019``) may mean the library that the request names."""
    asked = mpi_asked(request)
    return asked is None or label is None or mpi_family(label) == asked or label.startswith(asked)


def _mpi_instead(shape: Shape, request: Request, host: HostMpi | None) -> str | None:
    """The MPI for a shape that was measured with another library: the host's if it is bound from there, else the requested one."""
    if shape.mpi_from != "host" or host is None:
        return mpi_asked(request)
    return shape.mpi if mpi_family(shape.mpi) == host.family else host.family


def _layouts(curve: Curve) -> tuple[Layout, ...]:
    """The layouts in which a curve was measured: one, or one for each size within a node."""
    if curve.varying is None:
        return (curve.layout,)
    return tuple(curve.layout_at(count) for count in sorted(curve.per_node))


def _fuller(curve: Curve, node: Node | None, request: Request) -> Iterator[Shape]:
    """Of a curve over several counts within a node, the shape with twice the largest one, or with as many as the node has room for.

    On GPUs also those with four times as many, and so on, and of a single count if the request says that the program is distributed: on
    other nodes the idle GPUs of the first one would be idle, too. Times are predicted as surely as those of the measured shapes on more
    nodes, and no network is needed. Ranks share the cores, or the hyper-threads if these were measured: where they do not suffice for ranks
    on more GPUs, each rank has fewer threads.
    """
    if node is None or curve.varying is None or (curve.scale != "gpus" and curve.layout.gpus_per_node):
        return
    if len(curve.per_node) == 1 and not (curve.scale == "gpus" and is_said_distributed(request)):
        return
    others = {"ranks": curve.layout.threads_per_rank, "threads": curve.layout.ranks_per_node}.get(curve.scale)
    room = node.accelerators if curve.scale == "gpus" else node.usable_cores // (others or 1)
    most = max(curve.per_node)
    largest = _shape_of(curve, curve.layout_at(most), node, request)
    cores = max(node.usable_cores, largest.ranks_per_node * largest.threads_per_rank)
    while most < room:
        most = min(2 * most, room)
        shape = _shape_of(curve, _as_many_each(curve.layout_at(most), curve, request), node, request)
        if shape.ranks_per_node <= cores:
            threads = min(shape.threads_per_rank, cores // max(1, shape.ranks_per_node))
            yield replace(shape, threads_per_rank=threads, hyperthreads=largest.hyperthreads, origin="fuller")
        if curve.scale != "gpus":
            break


def _as_many_each(layout: Layout, curve: Curve, request: Request) -> Layout:
    """The layout on more GPUs than the single count of a curve, with as many ranks for each, unless one rank drives several."""
    ranks, measured = layout.ranks_per_node, max(curve.per_node)
    if curve.scale != "gpus" or len(curve.per_node) > 1 or ranks is None or ranks < measured or drives_all_gpus(request):
        return layout
    return layout.model_copy(update={"ranks_per_node": ranks * (layout.gpus_per_node or measured) // measured})


def _shape_of(curve: Curve, layout: Layout, node: Node | None, request: Request) -> Shape:
    """A curve's shape; if its threads are not recorded, the cores of the node, or those that go with its GPUs, are shared among the ranks.

    If its ranks are not recorded, there is one for each GPU, but one for all in inference: a model is shared among the GPUs of a process.
    """
    series = curve.series
    gpus = layout.gpus_per_node or 0
    tells_layout = _tells_layout(curve)
    alone = request.optimisation.app_type == "ai_inference" and not is_distributed(request)
    ranks = layout.ranks_per_node or (0 if alone else gpus) or int(tells_layout)
    shared = cores_with(request, node, gpus) if node else ranks
    threads = layout.threads_per_rank or (max(1, shared // ranks) if tells_layout else 0)
    return Shape(
        ranks_per_node=ranks,
        threads_per_rank=threads,
        gpus_per_node=gpus,
        hyperthreads=bool(series.hyperthreads) or (node is not None and node.needs_hyperthreads(ranks * threads)),
        numa_mode=series.numa_mode,
        mpi=series.mpi,
        mpi_from=series.mpi_from,
        compiler=compiler_named(series.compiler),
        framework_version=series.framework_version,
        precision=series.precision,
        batch_size=layout.batch_size,
        params=values_of(curve, request),
        origin="evidence" if tells_layout else "assumed",
    )
