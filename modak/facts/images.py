"""Images of the catalogue, and the labels that say what is in them."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from modak.facts.fact import Fact, Positive, Prose, StorageClass, Vendor
from modak.facts.names import canonical_name
from modak.text.grammar import ImageReference, Name, VersionText

Label = Annotated[Name, AfterValidator(canonical_name)]
"""A name in the one spelling that choices compare: ``TensorFlow`` is ``tensorflow``."""


class ImageLabels(Fact):
    """What is in an image, in words that a request can ask for."""

    framework: Label
    """The framework or MPI library for which it is used."""
    version: VersionText
    """Of the framework or library."""
    source: Literal["hub", "pip", "opt-build"]
    """Taken from a registry, installed from packages, or built from source."""
    compilers: tuple[Label, ...] = ()
    """Graph compilers inside: ``xla``, ``ngraph``, ``glow``, ``inductor``."""
    distribution: tuple[Label, ...] = ()
    """``horovod`` and the like."""
    architecture: Name = "x86_64"
    """Of the processors on which it runs."""
    microarchitecture: Name | None = None
    """The archspec target that it was compiled for; not given: runs on any of its architecture."""
    accelerator: Literal[Vendor, "none"] = "none"
    """Maker of the GPUs for which it is built."""
    cuda: VersionText | None = None
    """Its version of CUDA."""
    rocm: VersionText | None = None
    """Its version of ROCm."""
    oneapi: VersionText | None = None
    """Its version of oneAPI."""
    compute_capability_min: VersionText | None = None
    """The oldest NVIDIA GPU on which it runs."""
    compute_capability_max: VersionText | None = None
    """The newest NVIDIA GPU on which it runs."""
    mpi: Literal["openmpi", "mpich", "intel-mpi", "mvapich"] | None = None
    """The MPI library inside."""
    mpi_version: VersionText | None = None
    """Of the MPI library."""
    python: VersionText | None = None
    """Its version of Python."""


class Image(Fact):
    """An entry of the catalogue: a reference, what it carries, and how we know."""

    reference: ImageReference
    """Where it is: ``docker://repository/name:tag``, or a file."""
    labels: ImageLabels
    opt_dsl_code: Name | None = None
    """The name of its container mapping, for callers of the published service."""
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    """SHA-256 of its content, which the job compares."""
    size_gb: Positive | None = None
    """In GB."""
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
    """What else is known of it."""
    source: Prose
    """Who says so."""
