"""Keras: a high-level interface whose images are those of its backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from modak.dsl import FrameworkOptions, Switch
from modak.frameworks.base import NOTHING, Carrier, Compiler, Framework


class KerasOptions(FrameworkOptions):
    """Options of Keras; ``version`` is Keras's own, not the backend's."""

    backend: Literal["tensorflow", "theano", "cntk", "mxnet", "jax", "torch", "pytorch"] = "tensorflow"
    xla: Switch | None = None
    ngraph: Switch | None = None
    distribution: Literal["horovod", "multi-worker"] | None = None


@dataclass(frozen=True)
class Keras(Framework):
    """Keras on one of its backends."""

    name: str = "keras"
    options: type[FrameworkOptions] = KerasOptions
    compilers: tuple[Compiler, ...] = (Compiler("xla", "xla"), Compiler("ngraph", "ngraph", built_in=False))

    def carrier(self, options: FrameworkOptions) -> Carrier:
        """The backend's images. Keras counts versions of its own, so none is asked of the backend."""
        backend = options.value_of("backend")
        return Carrier("pytorch" if backend == "torch" else backend)

    def environment(self, options: FrameworkOptions) -> Mapping[str, str]:
        """``KERAS_BACKEND``, without which Keras looks for TensorFlow (keras.io, configuring your backend)."""
        backend = options.value_of("backend")
        return NOTHING if backend == "tensorflow" else {"KERAS_BACKEND": "torch" if backend == "pytorch" else backend}
