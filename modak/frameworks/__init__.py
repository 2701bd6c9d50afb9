"""Frameworks: each knows its options, its distribution layers, and how images of it are labelled and built.

A variant is a frozen dataclass that implements :class:`Framework`, with an entry in ``BUILTIN``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from modak.dsl import FrameworkOptions
from modak.frameworks.base import Carrier, Compiler, Inspection, Kind, SourceBuild, Toolchain
from modak.frameworks.caffe import Caffe, IntelCaffe, NvCaffe
from modak.frameworks.cntk import Cntk
from modak.frameworks.horovod import Horovod
from modak.frameworks.jax import Jax
from modak.frameworks.keras import Keras
from modak.frameworks.mpi import Mpi
from modak.frameworks.mpich import Mpich
from modak.frameworks.mxnet import MXNet
from modak.frameworks.openacc import OpenAcc
from modak.frameworks.opencl import OpenCl
from modak.frameworks.openmp import OpenMp
from modak.frameworks.openmpi import OpenMpi
from modak.frameworks.pytorch import PyTorch
from modak.frameworks.tensorflow import TensorFlow


class Framework(Protocol):
    """What MODAK needs to know about a framework."""

    @property
    def name(self) -> str:
        """The name in requests and on images."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that callers use."""

    @property
    def kind(self) -> Kind:
        """``ai``, ``parallel`` or ``distribution``."""

    @property
    def options(self) -> type[FrameworkOptions]:
        """The model of its options: frozen, unknown keys forbidden. The words of ``distribution`` are how it spreads training."""

    @property
    def compilers(self) -> tuple[Compiler, ...]:
        """Its graph compilers."""

    @property
    def toolchains(self) -> tuple[Toolchain, ...]:
        """What its versions are installed and built with; empty: no recipes."""

    @property
    def inspection(self) -> Inspection | None:
        """The test that runs in its images; ``None``: it has no images, or nothing can be tested."""

    def carrier(self, options: FrameworkOptions) -> Carrier | None:
        """The framework whose images are suitable for these options; ``None``: no framework image at all."""

    def environment(self, options: FrameworkOptions) -> Mapping[str, str]:
        """Environment variables that the options need."""

    def build_packages(self, build: SourceBuild) -> tuple[str, ...]:
        """Packages of the Linux distribution that a source build needs."""

    def build_commands(self, build: SourceBuild) -> tuple[str, ...]:
        """Shell commands of a source build; empty: there is none."""


BUILTIN: tuple[Framework, ...] = (
    TensorFlow(),
    PyTorch(),
    Keras(),
    MXNet(),
    Cntk(),
    Caffe(),
    IntelCaffe(),
    NvCaffe(),
    Jax(),
    Horovod(),
    Mpi(),
    OpenMpi(),
    Mpich(),
    OpenMp(),
    OpenAcc(),
    OpenCl(),
)
