"""Frameworks: each knows its options, its distribution layers, and how images of it are labelled and built.

A variant is a :class:`Framework`, or of a class that derives from it, with an entry in ``BUILTIN``.
"""

from __future__ import annotations

from typing import Final

from modak.frameworks.accelerated import OPENACC, OPENCL
from modak.frameworks.base import Framework
from modak.frameworks.caffe import INTEL_CAFFE, NVCAFFE, Caffe
from modak.frameworks.cntk import CNTK
from modak.frameworks.horovod import Horovod
from modak.frameworks.jax import Jax
from modak.frameworks.keras import Keras
from modak.frameworks.mpi import MPI
from modak.frameworks.mpilibrary import MPICH, OPENMPI
from modak.frameworks.mxnet import MXNET
from modak.frameworks.openmp import OpenMp
from modak.frameworks.pytorch import PyTorch
from modak.frameworks.tensorflow import TensorFlow

__all__ = ["BUILTIN", "Framework"]

BUILTIN: Final[tuple[Framework, ...]] = (
    TensorFlow(),
    PyTorch(),
    Keras(),
    MXNET,
    CNTK,
    Caffe(),
    INTEL_CAFFE,
    NVCAFFE,
    Jax(),
    Horovod(),
    MPI,
    OPENMPI,
    MPICH,
    OpenMp(),
    OPENACC,
    OPENCL,
)
