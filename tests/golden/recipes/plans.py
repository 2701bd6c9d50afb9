"""The recipes that stand beside this file, and what they are planned from."""

from __future__ import annotations

from pathlib import Path

from modak.recipes.plan import Extras, Hardware, Recipe, Variant, plan
from modak.recipes.text import written

BROADWELL = Hardware(microarchitecture="broadwell")
TESTBED = Hardware("nvidia", "6.1", microarchitecture="broadwell")
TODAY = {"pytorch": "2.15", "tensorflow": "2.21", "jax": "0.10.2", "openmpi": "5.0.11", "mpich": "5.0.2"}
"""Today's releases, asked for as people write them; an official image of JAX or an MPI library is of another version."""
OFFICIAL = {"jax": "0.4.33", "openmpi": "4.1.6", "mpich": "4.2.0"}
VARIANTS: tuple[Variant, ...] = ("hub", "pip", "opt-build")
DEVICES = {"cpu": Hardware(microarchitecture="zen4"), "gpu": Hardware("nvidia", "9.0", microarchitecture="zen4")}
WHOLE = {
    f"today-{framework}-{variant}-{device}": plan(framework, OFFICIAL.get(framework, version) if variant == "hub" else version, variant, on)
    for framework, version in TODAY.items()
    for variant in VARIANTS
    for device, on in DEVICES.items()
} | {
    "tensorflow-opt-build-cpu": plan("tensorflow", "2.1", "opt-build", BROADWELL, Extras(compilers=("xla",))),
    "tensorflow-opt-build-gpu": plan("tensorflow", "2.1", "opt-build", TESTBED, Extras(compilers=("xla",))),
    "tensorflow-opt-build-today": plan("tensorflow", "2.20", "opt-build", Hardware("nvidia", "9.0", microarchitecture="zen4")),
    "tensorflow-pip-horovod-openmpi": plan("tensorflow", "2.1", "pip", Hardware(), Extras(distribution="horovod", mpi="openmpi")),
    "tensorflow-opt-build-2.12": plan("tensorflow", "2.12", "opt-build", TESTBED),
    "pytorch-pip-1.5-gpu": plan("pytorch", "1.5", "pip", TESTBED),
    "pytorch-pip": plan("pytorch", "2.13", "pip", Hardware()),
    "pytorch-opt-build-gpu": plan("pytorch", "1.4", "opt-build", TESTBED),
    "mxnet-pip-horovod-mpich-gpu": plan("mxnet", "1.6", "pip", Hardware("nvidia", "6.1"), Extras(distribution="horovod", mpi="mpich")),
    "tensorflow-pip-intel-mpi": plan("tensorflow", "2.11", "pip", Hardware(), Extras(distribution="horovod", mpi="intel-mpi")),
    "tensorflow-hub-gpu": plan("tensorflow", "2.1", "hub", TESTBED),
    "tensorflow-pip-ngraph": plan("tensorflow", "1.14", "pip", Hardware(), Extras(compilers=("ngraph",))),
    "pytorch-opt-build-glow": plan("pytorch", "1.4", "opt-build", BROADWELL, Extras(compilers=("glow",))),
    "pytorch-hub-rocm": plan("pytorch", "2.10", "hub", Hardware("amd")),
    "tensorflow-hub-rocm": plan("tensorflow", "2.21", "hub", Hardware("amd")),
    "jax-hub-rocm": plan("jax", "0.10.0", "hub", Hardware("amd")),
    "cntk-hub": plan("cntk", "2.7", "hub", Hardware()),
    "caffe-opt-build-gpu": plan("caffe", "1.0", "opt-build", TESTBED),
    "intel-caffe-hub": plan("intel-caffe", None, "hub", Hardware()),
    "nvcaffe-hub-gpu": plan("nvcaffe", None, "hub", TESTBED),
    "mxnet-hub-gpu": plan("mxnet", "1.6", "hub", TESTBED),
}


TWICE = tuple(name for name in WHOLE if not name.startswith("today-"))
"""Those that stand here in both forms. Of the others the Dockerfile is enough: that a definition runs the same is tested of all."""


def made(name: str) -> Recipe:
    """A recipe by its name."""
    found = WHOLE[name]
    assert found is not None
    return found


if __name__ == "__main__":
    folder = Path(__file__).parent
    for name in WHOLE:
        (folder / f"{name}.dockerfile").write_text(written(made(name), "dockerfile"))
    for name in TWICE:
        (folder / f"{name}.def").write_text(written(made(name), "definition"))
