"""Images of the catalogue, and the labels that say what is in them."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from modak.facts.fact import Fact, Positive, Prose, StorageClass, Vendor
from modak.text.grammar import ImageReference, Name, VersionText


class ImageLabels(Fact):
    """What is in an image, in words that a request can ask for."""

    framework: Name
    version: VersionText
    source: Literal["hub", "pip", "opt-build"]
    compilers: tuple[Name, ...] = ()
    """Graph compilers inside: ``xla``, ``ngraph``, ``glow``, ``inductor``."""
    distribution: tuple[Name, ...] = ()
    """``horovod`` and the like."""
    architecture: Name = "x86_64"
    microarchitecture: Name | None = None
    """The archspec target that it was compiled for; not given: runs on any of its architecture."""
    accelerator: Vendor | Literal["none"] = "none"
    cuda: VersionText | None = None
    rocm: VersionText | None = None
    oneapi: VersionText | None = None
    compute_capability_min: VersionText | None = None
    compute_capability_max: VersionText | None = None
    mpi: Literal["openmpi", "mpich", "intel-mpi", "mvapich"] | None = None
    mpi_version: VersionText | None = None
    python: VersionText | None = None


class Image(Fact):
    """An entry of the catalogue: a reference, what it carries, and how we know."""

    reference: ImageReference
    labels: ImageLabels
    opt_dsl_code: Name | None = None
    """The name of its container mapping, for callers of the published service."""
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    size_gb: Positive | None = None
    verified_on: date | None = None
    """When somebody ran it and saw the labels hold; not given: unverified."""
    verified_at: Prose | None = None
    """On which machine that was, and with which runtime."""
    findings: tuple[Prose, ...] = ()
    """What running it showed, a line a label."""
    refuted: tuple[Prose, ...] = ()
    """Labels that running it refuted, when and where; an image with any is never chosen."""
    storage_class: StorageClass | None = None
    """Where the data of its jobs should lie, unless the request says so."""
    notes: tuple[Prose, ...] = ()
    source: Prose
