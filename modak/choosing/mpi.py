"""Whose MPI library the ranks of a job use: the host's or the image's."""

from __future__ import annotations

from modak.choosing.requirements import by_torchrun, distribution, mpi_asked
from modak.choosing.shapes import Shape
from modak.dsl import Notice, Request
from modak.facts import HostMpi, mpi_family
from modak.launchers.family import OWN_NETWORK, compatible
from modak.target import Target


def host_mpi(request: Request, target: Target) -> tuple[HostMpi | None, tuple[Notice, ...]]:
    """The MPI of the host that the request names. If the system does not have it: none where an image may have it, else its default MPI
    and a warning."""
    asked = mpi_asked(request)
    found = target.mpi_called(asked)
    if found or not (asked and target.host_mpi and target.system):
        return found or target.host_mpi, ()
    if target.runtime and not compatible(asked, target.host_mpi.family):
        return None, ()
    known = ", ".join(mpi.family for mpi in target.system.mpi)
    message = f"no {asked} is recorded for {target.system.name} (known: {known}); {target.host_mpi.family} is used instead"
    if not compatible(asked, target.host_mpi.family):
        message += f": ranks of a program built with {asked} may each run alone; if the site has it, enter it in the system file (mpi)"
    field = "framework" if request.optimisation.framework == asked else "options.library"
    return target.host_mpi, (Notice(field=f"optimisation.{field}", message=message),)


def bound_mpi(target: Target, shape: Shape, request: Request) -> HostMpi | None:
    """The host's MPI that is bound into the image; ``None``: ranks do not use the host's MPI."""
    host = fitting_mpi(target, shape, request) if shape.mpi_from == "host" else None
    return host if host and host.bindable else None


def fitting_mpi(target: Target, shape: Shape, request: Request) -> HostMpi | None:
    """The host's MPI that starts the ranks and that the image must fit; ``None``: the image's own MPI need not fit any."""
    if shape.mpi_from == "container" or not (shape.mpi or shape.mpi_from) or not by_mpi(request):
        return None
    found, asked = target.mpi_for(shape.mpi), mpi_asked(request)
    return None if found and asked and not compatible(asked, found.family) else found


def own_mpi(shape: Shape, request: Request) -> str | None:
    """The family of the image's own MPI that the layout was measured with, or that the request names instead; ``None``: of none, or not
    known."""
    return mpi_family(shape.mpi) if shape.mpi_from == "container" and by_mpi(request) else None


def whose_mpi(target: Target, shape: Shape, image: str | None) -> str | None:
    """Whose MPI the ranks use. ``None``: there is none, or it is not known: the host's is bound into an image only if the system says where
    it is."""
    if image is None:
        return "host" if shape.mpi else None
    host = target.mpi_for(shape.mpi)
    return None if shape.mpi_from == "host" and not (host and host.bindable) else shape.mpi_from


def by_mpi(request: Request) -> bool:
    """Whether MPI connects the ranks, as far as the request says how they find each other."""
    return not by_torchrun(request) and distribution(request) not in OWN_NETWORK
