"""PyTorch: TorchScript, GLOW (1.x) and, since 2.0, ``torch.compile`` with Inductor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from packaging.version import Version
from pydantic import AliasChoices, ConfigDict, Field

from modak.dsl import FrameworkOptions, Switch
from modak.frameworks.base import Compiler, Cuda, Framework, Inspection, SourceBuild, Toolchain, machine_code
from modak.recipes.pins import clone
from modak.recipes.wheels import TORCH

_SOURCE: Final = "/var/tmp/pytorch"  # noqa: S108 (a path inside the image that is being built)
_REPOSITORY: Final = "https://github.com/pytorch/pytorch.git"
_WHEELS: Final = "https://download.pytorch.org/whl"
_CUDA_10_1: Final = Cuda("10.1", "7", "nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04")
_CUDA_12_6: Final = Cuda("12.6", "9", "nvidia/cuda:12.6.3-cudnn-devel-ubuntu24.04")
_CUDA_13_0: Final = Cuda("13.0", "9", "nvidia/cuda:13.0.2-cudnn-devel-ubuntu24.04")
_GLOW: Final = "/var/tmp/glow"  # noqa: S108 (likewise)


_INSPECTION: Final = Inspection(
    module="torch",
    exercise="""
model = torch.nn.Linear(8, 2)
model(torch.ones(4, 8)).pow(2).mean().backward()
torch.optim.SGD(model.parameters(), 0.1).step()
""",
    says={"version": "torch.__version__", "cuda": "torch.version.cuda", "rocm": "torch.version.hip", "flags": "torch.__config__.show()"},
    compilers={
        "inductor": "torch.compile(lambda x: x * 2)(torch.ones(2))",
        "jit": "torch.jit.trace(lambda x: x * 2, torch.ones(2))(torch.ones(2))",
        "glow": "import torch_glow",
    },
)


class PyTorchOptions(FrameworkOptions):
    """Options of PyTorch. ``inductor`` may be written ``torch_compile``."""

    model_config = ConfigDict(populate_by_name=True)

    inductor: Switch | None = Field(default=None, validation_alias=AliasChoices("inductor", "torch_compile"))
    glow: Switch | None = None
    jit: Switch | None = None
    """TorchScript."""
    distribution: Literal["horovod", "ddp", "fsdp", "deepspeed"] | None = None


def _torch_1(minor: str, release: str, cuda: str, hub: str | None = None) -> Toolchain:
    """PyTorch 1.4 to 1.7 on Ubuntu 18.04; the wheels bring their CUDA, and so do official images, which run without a GPU, too."""
    return Toolchain(
        versions=f"{minor}.*",
        release=release,
        distro="ubuntu18",
        python="3.6",
        pip=("torch=={version}+cpu",),
        pip_nvidia=(f"torch=={{version}}{cuda}",),
        pip_options=("--find-links", f"{_WHEELS}/torch_stable.html"),
        pip_options_nvidia=("--find-links", f"{_WHEELS}/torch_stable.html"),
        cuda=_CUDA_10_1,
        source=True,
        horovod="0.21.3",
        capabilities=("3.7", "7.5"),
        hub=hub,
        hub_nvidia=hub,
        note="unverified: not built since Ubuntu 18.04 ended in 2023, and what it downloads may be gone",
    )


def _torch_2(minor: str, release: str, cuda: Cuda = _CUDA_12_6, locked: tuple[str, ...] = ()) -> Toolchain:
    """PyTorch 2.6 and later on Ubuntu 24.04. The CUDA 12.6 wheels, up to 2.14, are those that still serve Maxwell to Volta."""
    index = f"{_WHEELS}/cu{cuda.version.replace('.', '')}"
    image = f"docker://pytorch/pytorch:{{version}}-cuda{cuda.version}-cudnn9-runtime"
    return Toolchain(
        versions=f"{minor}.*",
        release=release,
        distro="ubuntu24",
        python="3.12",
        pip=("torch=={version}", "numpy"),
        pip_nvidia=("torch=={version}", "numpy"),
        pip_options=("--index-url", f"{_WHEELS}/cpu"),
        pip_options_nvidia=("--index-url", index),
        locked=locked,
        cuda=cuda,
        source=True,
        compiler=("gcc", "13.3.0"),
        architectures=("x86_64", "aarch64"),
        capabilities=("5.0", "9.0") if cuda is _CUDA_12_6 else ("7.5", "12.1"),
        hub=image,
        hub_nvidia=image,
    )


def _rocm(version: str, rocm: str) -> Toolchain:
    """AMD's own image of a release."""
    image = f"docker://rocm/pytorch:rocm{rocm}_ubuntu24.04_py3.12_pytorch_release_{{version}}"
    return Toolchain(versions=f"=={version}", release=version, distro="ubuntu24", python="3.12", hub_amd=image, rocm=rocm)


@dataclass(frozen=True)
class PyTorch(Framework):
    """PyTorch. Capabilities of the wheels: the release matrix in PyTorch's RELEASE.md and pull request test-infra#7046."""

    name: str = "pytorch"
    aliases: tuple[str, ...] = ("torch",)
    options: type[FrameworkOptions] = PyTorchOptions
    compilers: tuple[Compiler, ...] = (
        Compiler("inductor", "inductor", ">=2.0", capability="7.0"),  # Triton's, which PyTorch names if a GPU is older
        Compiler("glow", "glow", "<2", built_in=False, added=("opt-build", "1.4.*")),
        Compiler("jit", "jit"),
    )
    inspection: Inspection | None = field(default=_INSPECTION, repr=False)
    toolchains: tuple[Toolchain, ...] = (
        _torch_1("1.4", "1.4.0", "", "docker://pytorch/pytorch:1.4-cuda10.1-cudnn7-runtime"),
        _torch_1("1.5", "1.5.1", "+cu101"),
        _torch_1("1.6", "1.6.0", "+cu101"),
        _torch_1("1.7", "1.7.1", "+cu101"),
        _torch_2("2.6", "2.6.0"),
        _torch_2("2.7", "2.7.1"),
        _torch_2("2.8", "2.8.0"),
        _torch_2("2.9", "2.9.1"),
        *(
            _torch_2(minor, release, cuda)
            for minor, release in (("2.10", "2.10.0"), ("2.11", "2.11.0"), ("2.12", "2.12.1"), ("2.13", "2.13.0"), ("2.14", "2.14.1"))
            for cuda in (_CUDA_12_6, _CUDA_13_0)
        ),
        _torch_2("2.15", "2.15.0", _CUDA_13_0, TORCH),
        _rocm("2.9.1", "7.2.4"),
        _rocm("2.10.0", "7.2.4"),
    )

    def build_packages(self, build: SourceBuild) -> tuple[str, ...]:
        """A BLAS library, which the build finds by itself; what Glow is built with."""
        glow = ("clang-8", "cmake", "libgoogle-glog-dev", "libpng-dev", "libprotobuf-dev", "llvm-8-dev", "ninja-build", "protobuf-compiler")
        return ("libopenblas-dev", *(glow if "glow" in build.add_ons else ()))

    def kernels(self, build: SourceBuild) -> tuple[str, str] | None:
        """Machine code alone for a GPU that is known; otherwise all that PyTorch chooses by itself."""
        asked = build.compute_capability
        return machine_code(asked, build.toolchain) if asked else build.toolchain.capabilities

    def build_commands(self, build: SourceBuild) -> tuple[str, ...]:
        """The sources with all submodules at the release's tag, built with the target's compiler flags."""
        variables = {"PYTORCH_BUILD_VERSION": build.version, "PYTORCH_BUILD_NUMBER": "1", "BUILD_TEST": "0"}
        variables["USE_CUDA"] = "1" if build.nvidia else "0"
        if build.nvidia and build.compute_capability:
            variables["TORCH_CUDA_ARCH_LIST"] = build.compute_capability
        flags = " ".join(build.flags)
        compiler = f' CFLAGS="{flags}" CXXFLAGS="{flags}"' if flags else ""
        old = Version(build.version) < Version("2.0")
        install = "python3 setup.py install" if old else "pip3 install --no-cache-dir --no-build-isolation --verbose ."
        return (
            *clone(_REPOSITORY, f"v{build.version}", _SOURCE, "--recursive --shallow-submodules "),
            f"cd {_SOURCE}",
            f"pip3 install --no-cache-dir --requirement requirements.txt ninja cmake=={'3.18.4.post1' if old else '3.28.4'}",
            f"env {' '.join(f'{name}={value}' for name, value in variables.items())}{compiler} {install}",
            "cd /",
            f"rm -rf {_SOURCE}",
            *(_glow() if "glow" in build.add_ons else ()),
        )


def _glow() -> tuple[str, ...]:
    """Glow's bridge to PyTorch, from its main branch: it never had a release."""
    return (
        f"git clone --recursive --depth 1 --shallow-submodules https://github.com/pytorch/glow.git {_GLOW}",
        f"cd {_GLOW}/torch_glow",
        "env CC=clang-8 CXX=clang++-8 LLVM_DIR=/usr/lib/llvm-8/lib/cmake/llvm python3 setup.py install",
        "cd /",
        f"rm -rf {_GLOW}",
    )
