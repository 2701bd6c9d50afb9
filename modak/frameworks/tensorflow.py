"""TensorFlow: with XLA built in, and nGraph as a bridge for some 1.x releases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from packaging.version import Version

from modak.dsl import FrameworkOptions, Switch
from modak.frameworks.base import Compiler, Cuda, Framework, Inspection, SourceBuild, Toolchain, machine_code
from modak.recipes.pins import fetch, unpack
from modak.recipes.wheels import TENSORFLOW, TENSORFLOW_CUDA

_SOURCE: Final = "/var/tmp/tensorflow"  # noqa: S108 (a path inside the image that is being built)
_WHEEL: Final = "/var/tmp/wheel"  # noqa: S108 (likewise)
_USUAL: Final = ("6.0", "7.0")
"""The compute capabilities for which a source build is made if no GPU is named; since 2.18 the last one."""
_CUDA_10_0: Final = Cuda("10.0", "7", "nvidia/cuda:10.0-cudnn7-devel-ubuntu18.04")
_CUDA_10_1: Final = Cuda("10.1", "7", "nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04")
_CUDA_11_0: Final = Cuda("11.0", "8", "nvidia/cuda:11.0.3-cudnn8-devel-ubuntu20.04")
_CUDA_11_2: Final = Cuda("11.2", "8", "nvidia/cuda:11.2.2-cudnn8-devel-ubuntu20.04")
_CUDA_11_8: Final = Cuda("11.8", "8", "nvidia/cuda:11.8.0-cudnn8-devel-ubuntu22.04")


_INSPECTION: Final = Inspection(
    module="tensorflow",
    exercise="""
layer = tensorflow.keras.layers.Dense(2)
with tensorflow.GradientTape() as tape:
    loss = tensorflow.reduce_mean(layer(tensorflow.ones((4, 8))) ** 2)
slopes = tape.gradient(loss, layer.trainable_variables)
tensorflow.keras.optimizers.SGD(0.1).apply_gradients(zip(slopes, layer.trainable_variables))
""",
    says={"version": "tensorflow.__version__", "cuda": "tensorflow.sysconfig.get_build_info().get('cuda_version')"},
    compilers={
        "xla": """
import inspect
words = set(inspect.signature(tensorflow.function).parameters) & {"jit_compile", "experimental_compile"}
if not words:
    raise SystemExit(75)
tensorflow.function(lambda x: x * 2, **{sorted(words)[-1]: True})(tensorflow.ones(2))
""",
        "ngraph": "import ngraph_bridge",
    },
)


class TensorFlowOptions(FrameworkOptions):
    """Options of TensorFlow."""

    xla: Switch | None = None
    ngraph: Switch | None = None
    distribution: Literal["horovod", "parameter-server", "multi-worker"] | None = None


def _old(minor: str, release: str, bazel: str, cuda: Cuda, pip_nvidia: str = "tensorflow") -> Toolchain:
    """TensorFlow 1.14 to 2.3 on Ubuntu 18.04. Wheels of that age do not bound these dependencies, whose later releases break them."""
    pins = ("protobuf<3.20", "h5py<3")
    py3 = "-py3" if Version(minor) < Version("2.2") else ""
    return Toolchain(
        versions=f"{minor}.*",
        release=release,
        distro="ubuntu18",
        python="3.6",
        pip=("tensorflow-cpu=={version}" if minor in ("2.1", "2.2", "2.3") else "tensorflow=={version}", *pins),
        pip_nvidia=(f"{pip_nvidia}=={{version}}", *pins),
        pip_needs_cuda=True,
        cuda=cuda,
        source=True,
        bazel=bazel,
        horovod="0.21.3",
        capabilities=("3.5", "7.5"),
        hub=f"docker://tensorflow/tensorflow:{{version}}{py3}",
        hub_nvidia=f"docker://tensorflow/tensorflow:{{version}}-gpu{py3}",
        note="unverified: not built since Ubuntu 18.04 ended in 2023, and what it downloads may be gone",
    )


def _gcc(minor: str, release: str, bazel: str, cuda: Cuda, newest: str) -> Toolchain:
    """TensorFlow 2.4 to 2.12: GCC, CUDA of the base image, Horovod's last release."""
    new = cuda is _CUDA_11_8
    return Toolchain(
        versions=f"{minor}.*",
        release=release,
        distro="ubuntu22" if new else "ubuntu20",
        python="3.10" if new else "3.8",
        pip=("tensorflow-cpu=={version}",),
        pip_nvidia=("tensorflow=={version}",),
        pip_needs_cuda=True,
        cuda=cuda,
        source=True,
        bazel=bazel,
        compiler=("gcc", "11.4.0" if new else "9.4.0"),
        horovod="0.28.1",
        capabilities=("3.5", newest),
        hub="docker://tensorflow/tensorflow:{version}",
        hub_nvidia="docker://tensorflow/tensorflow:{version}-gpu",
    )


def _clang(minor: str, release: str, bazel: str | None, clang: str, *, locked: bool = False) -> Toolchain:
    """TensorFlow 2.16 and later: Clang, wheels that bring their CUDA; since 2.18 the source build downloads its own CUDA too."""
    return Toolchain(
        versions=f"{minor}.*",
        release=release,
        distro="ubuntu24",
        python="3.12",
        pip=("tensorflow-cpu=={version}",),
        pip_nvidia=("tensorflow[and-cuda]=={version}",),
        locked=(*TENSORFLOW, f"tensorflow-cpu=={release}") if locked else (),
        locked_nvidia=(*TENSORFLOW, *TENSORFLOW_CUDA, f"tensorflow=={release}") if locked else (),
        source=bazel is not None,
        bazel=bazel,
        compiler=("clang", clang),
        architectures=("x86_64", "aarch64"),
        capabilities=("5.0" if minor == "2.16" else "6.0", "9.0"),
        hub="docker://tensorflow/tensorflow:{version}",
        hub_nvidia="docker://tensorflow/tensorflow:{version}-gpu",
    )


def _rocm(version: str, rocm: str) -> Toolchain:
    """AMD's own image of a release."""
    image = f"docker://rocm/tensorflow:rocm{rocm}-ubuntu24.04-py3.12-tf{version.removesuffix('.0')}"
    return Toolchain(versions=f"=={version}", release=version, distro="ubuntu24", python="3.12", hub_amd=image, rocm=rocm)


@dataclass(frozen=True)
class TensorFlow(Framework):
    """TensorFlow. Its build rows repeat the table "Tested build configurations" of tensorflow.org/install/source."""

    name: str = "tensorflow"
    aliases: tuple[str, ...] = ("tf", "tensorflow-gpu")
    options: type[FrameworkOptions] = TensorFlowOptions
    compilers: tuple[Compiler, ...] = (
        Compiler("xla", "xla"),
        Compiler("ngraph", "ngraph", ">=1.12,<2", built_in=False, added=("pip", "1.14.*")),
    )
    inspection: Inspection | None = field(default=_INSPECTION, repr=False)
    toolchains: tuple[Toolchain, ...] = (
        _old("1.14", "1.14.0", "0.24.1", _CUDA_10_0, "tensorflow-gpu"),
        _old("1.15", "1.15.5", "0.26.1", _CUDA_10_0),
        _old("2.0", "2.0.4", "0.26.1", _CUDA_10_0, "tensorflow-gpu"),
        _old("2.1", "2.1.0", "0.27.1", _CUDA_10_1),
        _old("2.2", "2.2.3", "2.0.0", _CUDA_10_1),
        _old("2.3", "2.3.4", "3.1.0", _CUDA_10_1),
        _gcc("2.4", "2.4.4", "3.1.0", _CUDA_11_0, "8.0"),
        _gcc("2.5", "2.5.3", "3.7.2", _CUDA_11_2, "8.6"),
        _gcc("2.6", "2.6.5", "3.7.2", _CUDA_11_2, "8.6"),
        _gcc("2.7", "2.7.4", "3.7.2", _CUDA_11_2, "8.6"),
        _gcc("2.8", "2.8.4", "4.2.1", _CUDA_11_2, "8.6"),
        _gcc("2.9", "2.9.3", "5.0.0", _CUDA_11_2, "8.6"),
        _gcc("2.10", "2.10.1", "5.1.1", _CUDA_11_2, "8.6"),
        _gcc("2.11", "2.11.1", "5.3.0", _CUDA_11_2, "8.6"),
        _gcc("2.12", "2.12.1", "5.3.0", _CUDA_11_8, "9.0"),
        _clang("2.16", "2.16.2", None, "17.0.6"),
        _clang("2.17", "2.17.1", None, "17.0.6"),
        _clang("2.18", "2.18.1", "6.5.0", "17.0.6"),
        _clang("2.19", "2.19.1", "6.5.0", "18.1.3"),
        _clang("2.20", "2.20.0", "7.4.1", "18.1.3"),
        _clang("2.21", "2.21.0", "7.4.1", "18.1.8", locked=True),
        _rocm("2.20.0", "7.14.1"),
        _rocm("2.21.0", "7.14.1"),
    )

    def kernels(self, build: SourceBuild) -> tuple[str, str] | None:
        """Up to 2.12 the build has PTX beside the machine code, since 2.18 machine code alone."""
        row, asked = build.toolchain, build.compute_capability
        if row.capabilities is None or row.cuda is None:
            return machine_code(asked or _USUAL[-1], row)
        return asked or _USUAL[0], row.capabilities[1]

    def build_packages(self, build: SourceBuild) -> tuple[str, ...]:
        """What Bazel and TensorFlow's scripts call."""
        clang = () if build.toolchain.cuda else (f"clang-{build.toolchain.compiler[1].split('.')[0]}", "lld", "patchelf")
        return ("curl", "patch", "unzip", "zip", *clang)

    def build_commands(self, build: SourceBuild) -> tuple[str, ...]:
        """Bazel, the sources at the release's tag, a wheel with the target's compiler flags, its installation."""
        bazel = build.toolchain.bazel
        machine = {"x86_64": "x86_64", "aarch64": "arm64"}[build.architecture]
        binary = f"https://github.com/bazelbuild/bazel/releases/download/{bazel}/bazel-{bazel}-linux-{machine}"
        compile_ = _with_system_cuda(build) if build.toolchain.cuda else _hermetic(build)
        return (
            *fetch(binary, "/usr/local/bin/bazel"),
            "chmod 0755 /usr/local/bin/bazel",
            *unpack(f"https://github.com/tensorflow/tensorflow/archive/refs/tags/v{build.version}.tar.gz", _SOURCE),
            *compile_,
            "cd /",
            f"rm -rf {_SOURCE} {_SOURCE}.tar.gz {_WHEEL} /root/.cache/bazel /usr/local/bin/bazel",
        )


def _with_system_cuda(build: SourceBuild) -> tuple[str, ...]:
    """Up to 2.12: ``configure`` answered by variables, the script that packs a wheel."""
    cuda = build.toolchain.cuda if build.nvidia else None
    answers = {
        "PYTHON_BIN_PATH": "/opt/modak/bin/python3",
        "USE_DEFAULT_PYTHON_LIB_PATH": "1",
        "TF_ENABLE_XLA": "1",
        "TF_NEED_ROCM": "0",
        "TF_NEED_TENSORRT": "0",
        "TF_NEED_MPI": "0",
        "TF_SET_ANDROID_WORKSPACE": "0",
        "TF_NEED_CUDA": "1" if cuda else "0",
    }
    if cuda:
        answers |= {"TF_CUDA_VERSION": cuda.version, "TF_CUDNN_VERSION": cuda.cudnn, "TF_CUDA_CLANG": "0"}
        answers |= {"GCC_HOST_COMPILER_PATH": "/usr/bin/gcc", "TF_CUDA_COMPUTE_CAPABILITIES": build.compute_capability or ",".join(_USUAL)}
    numpy = "numpy<1.19" if build.toolchain.python == "3.6" else "numpy<1.24"
    options = ["--config=opt", *(f"--copt={flag}" for flag in build.flags)]
    options += ["--config=cuda" if cuda else "--config=mkl"]  # Intel's library is of x86_64, as all of these versions are
    return (
        f'pip3 install --no-cache-dir "{numpy}" "protobuf<3.20" six mock packaging requests',
        "pip3 install --no-cache-dir --no-deps keras_applications==1.0.8 keras_preprocessing==1.1.2",
        f"yes '' | env {' '.join(f'{name}={value}' for name, value in answers.items())} ./configure",
        f"bazel build {' '.join(options)} //tensorflow/tools/pip_package:build_pip_package",
        f"./bazel-bin/tensorflow/tools/pip_package/build_pip_package {_WHEEL}",
        f"pip3 install --no-cache-dir {_WHEEL}/*.whl",
    )


def _hermetic(build: SourceBuild) -> tuple[str, ...]:
    """Since 2.18: Bazel brings Python and CUDA of fixed versions; the target ``wheel`` packs."""
    clang = f"/usr/lib/llvm-{build.toolchain.compiler[1].split('.')[0]}/bin/clang"
    answers = {"PYTHON_BIN_PATH": "/opt/modak/bin/python3", "USE_DEFAULT_PYTHON_LIB_PATH": "1", "TF_NEED_ROCM": "0", "TF_NEED_CLANG": "1"}
    answers |= {"CLANG_COMPILER_PATH": clang, "TF_SET_ANDROID_WORKSPACE": "0", "TF_NEED_CUDA": "1" if build.nvidia else "0"}
    options = ["--config=opt", f"--repo_env=HERMETIC_PYTHON_VERSION={build.toolchain.python}", *(f"--copt={flag}" for flag in build.flags)]
    if build.nvidia:
        capability = "sm_" + (build.compute_capability or _USUAL[-1]).replace(".", "")
        answers |= {"TF_CUDA_CLANG": "1", "HERMETIC_CUDA_VERSION": "12.5.1", "HERMETIC_CUDNN_VERSION": "9.3.0"}
        answers |= {"HERMETIC_CUDA_COMPUTE_CAPABILITIES": capability}
        options += ["--config=cuda", "--config=cuda_wheel", "--repo_env=WHEEL_NAME=tensorflow"]
    else:
        options += ["--repo_env=WHEEL_NAME=tensorflow_cpu"]
    wheel = "bazel-bin/tensorflow/tools/pip_package/wheel_house/*.whl"
    return (
        f"yes '' | env {' '.join(f'{name}={value}' for name, value in answers.items())} ./configure",
        f"bazel build {' '.join(options)} //tensorflow/tools/pip_package:wheel",
        f'pip3 install --no-cache-dir "$(ls {wheel})[and-cuda]"' if build.nvidia else f"pip3 install --no-cache-dir {wheel}",
    )
