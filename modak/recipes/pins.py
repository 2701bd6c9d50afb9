"""Checksums of what recipes download: SHA-256 of files, commits of tags, digests of images.

They are facts about published files. Open MPI's and MPICH's, TensorFlow's sources and PyTorch's commits are also in Spack's
package files (spack/spack-packages) and in Homebrew's formulas; Bazel's in JAX's ``build/tools/utils.py`` and Bazel's own release
pages; PyTorch's commits from 2.11 on in ``torch/version.py`` of its wheels; digests in public Dockerfiles, each in ten or more.
Where no checksum is known, a comment in the recipe says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from modak.text.words import OVER_HTTPS

_BAZEL: Final = "https://github.com/bazelbuild/bazel/releases/download"
_JAX: Final = "https://github.com/jax-ml/jax/archive/refs/tags"
_TENSORFLOW: Final = "https://github.com/tensorflow/tensorflow/archive/refs/tags"

SHA256: Final[Mapping[str, str]] = {
    f"{_BAZEL}/3.7.2/bazel-3.7.2-linux-x86_64": "70dc0bee198a4c3d332925a32d464d9036a831977501f66d4996854ad4e4fc0d",
    f"{_BAZEL}/5.3.0/bazel-5.3.0-linux-x86_64": "3d144b890b85d95fb13df941bfd010fc3628e9afaa4c85e7d1a002e4fd02b249",
    f"{_BAZEL}/6.5.0/bazel-6.5.0-linux-x86_64": "a40ac69263440761199fcb8da47ad4e3f328cbe79ffbf4ecc14e5ba252857307",
    f"{_BAZEL}/6.5.0/bazel-6.5.0-linux-arm64": "5afe973cadc036496cac66f1414ca9be36881423f576db363d83afc9084c0c2f",
    f"{_BAZEL}/7.4.1/bazel-7.4.1-linux-x86_64": "c97f02133adce63f0c28678ac1f21d65fa8255c80429b588aeeba8a1fac6202b",
    f"{_BAZEL}/7.4.1/bazel-7.4.1-linux-arm64": "d7aedc8565ed47b6231badb80b09f034e389c5f2b1c2ac2c55406f7c661d8b88",
    f"{_TENSORFLOW}/v1.14.0.tar.gz": "aa2a6a1daafa3af66807cfe0bc77bfe1144a9a53df9a96bab52e3e575b3047ed",
    f"{_TENSORFLOW}/v1.15.5.tar.gz": "4c4d23e311093ded2d2e287b18d7c45b07b5984ab88a1d2f91f8f13c886123db",
    f"{_TENSORFLOW}/v2.0.4.tar.gz": "6ca3ce1255da8d655080a89db10da03f72c361d7faecc9a35e6af26ff12c06e6",
    f"{_TENSORFLOW}/v2.1.0.tar.gz": "638e541a4981f52c69da4a311815f1e7989bf1d67a41d204511966e1daed14f7",
    f"{_TENSORFLOW}/v2.2.0.tar.gz": "69cd836f87b8c53506c4f706f655d423270f5a563b76dc1cfa60fbc3184185a3",
    f"{_TENSORFLOW}/v2.3.0.tar.gz": "2595a5c401521f20a2734c4e5d54120996f8391f00bb62a57267d930bce95350",
    f"{_TENSORFLOW}/v2.4.0.tar.gz": "26c833b7e1873936379e810a39d14700281125257ddda8cd822c89111db6f6ae",
    f"{_TENSORFLOW}/v2.5.0.tar.gz": "233875ea27fc357f6b714b2a0de5f6ff124b50c1ee9b3b41f9e726e9e677b86c",
    f"{_TENSORFLOW}/v2.5.3.tar.gz": "58d69b7163f7624debc243750976d27fa7dddbc6fb7c5215aec94732bcc670e1",
    f"{_TENSORFLOW}/v2.6.0.tar.gz": "41b32eeaddcbc02b0583660bcf508469550e4cd0f86b22d2abe72dfebeacde0f",
    f"{_TENSORFLOW}/v2.6.5.tar.gz": "305da42845ac584a42494e521c92a88ce92ee47d93022d4c0bb45180b5c19a8c",
    f"{_TENSORFLOW}/v2.7.0.tar.gz": "bb124905c7fdacd81e7c842b287c169bbf377d29c74c9dacc04f96c9793747bb",
    f"{_TENSORFLOW}/v2.7.4.tar.gz": "75b2e40a9623df32da16d8e97528f5e02e4a958e23b1f2ee9637be8eec5d021b",
    f"{_TENSORFLOW}/v2.8.0.tar.gz": "66b953ae7fba61fd78969a2e24e350b26ec116cf2e6a7eb93d02c63939c6f9f7",
    f"{_TENSORFLOW}/v2.8.4.tar.gz": "c08a222792bdbff9da299c7885561ee27b95d414d1111c426efac4ccdce92cde",
    f"{_TENSORFLOW}/v2.9.0.tar.gz": "8087cb0c529f04a4bfe480e49925cd64a904ad16d8ec66b98e2aacdfd53c80ff",
    f"{_TENSORFLOW}/v2.9.3.tar.gz": "59d09bd00eef6f07477eea2f50778582edd4b7b2850a396f1fd0c646b357a573",
    f"{_TENSORFLOW}/v2.10.0.tar.gz": "b5a1bb04c84b6fe1538377e5a1f649bb5d5f0b2e3625a3c526ff3a8af88633e8",
    f"{_TENSORFLOW}/v2.10.1.tar.gz": "622a92e22e6f3f4300ea43b3025a0b6122f1cc0e2d9233235e4c628c331a94a3",
    f"{_TENSORFLOW}/v2.11.0.tar.gz": "99c732b92b1b37fc243a559e02f9aef5671771e272758aa4aec7f34dc92dac48",
    f"{_TENSORFLOW}/v2.11.1.tar.gz": "624ed1cc170cdcc19e8a15d8cdde989a9a1c6b0534c90b38a6b2f06fb2963e5f",
    f"{_TENSORFLOW}/v2.12.0.tar.gz": "c030cb1905bff1d2446615992aad8d8d85cbe90c4fb625cee458c63bf466bc8e",
    f"{_TENSORFLOW}/v2.12.1.tar.gz": "6bc4600cc0b88e9e40f1800096f5bddbbd3b6e5527a030dea631b87f2ae46b5b",
    f"{_TENSORFLOW}/v2.18.0.tar.gz": "d7876f4bb0235cac60eb6316392a7c48676729860da1ab659fb440379ad5186d",
    f"{_TENSORFLOW}/v2.18.1.tar.gz": "467c512b631e72ad5c9d5c16b23669bcf89675de630cfbb58f9dde746d34afa8",
    f"{_TENSORFLOW}/v2.19.0.tar.gz": "4691b18e8c914cdf6759b80f1b3b7f3e17be41099607ed0143134f38836d058e",
    f"{_TENSORFLOW}/v2.19.1.tar.gz": "fcfb3e88ab3eebdbab98a03c869a4d2616d52ea166c8d8021de1ef921b47be8d",
    f"{_TENSORFLOW}/v2.20.0.tar.gz": "a640d1f97be316a09301dfc9347e3d929ad4d9a2336e3ca23c32c93b0ff7e5d0",
    f"{_TENSORFLOW}/v2.21.0.tar.gz": "ef3568bb4865d6c1b2564fb5689c19b6b9a5311572cd1f2ff9198636a8520921",
    f"{_JAX}/jax-v0.5.3.tar.gz": "1094581a30ec069965f4e3e67d60262570cc3dd016adc62073bc24347b14270c",
    f"{_JAX}/jax-v0.6.2.tar.gz": "d46cb98795f2c1ccdf2b081e02d9d74b659063679a80beb001ad17d482a60e17",
    f"{_JAX}/jax-v0.10.2.tar.gz": "fa7214ab31ed1cd418b4305807e9c4f3f175c783eeea40c28e0f77c3f4c24bc7",
}

COMMITS: Final[Mapping[tuple[str, str], str]] = {
    ("https://github.com/pytorch/pytorch.git", "v1.7.1"): "57bffc3a8e4fee0cce31e1ff1f662ccf7b16db57",
    ("https://github.com/pytorch/pytorch.git", "v2.6.0"): "1eba9b3aa3c43f86f4a2c807ac8e12c4a7767340",
    ("https://github.com/pytorch/pytorch.git", "v2.7.1"): "e2d141dbde55c2a4370fac5165b0561b6af4798b",
    ("https://github.com/pytorch/pytorch.git", "v2.8.0"): "ba56102387ef21a3b04b357e5b183d48f0afefc7",
    ("https://github.com/pytorch/pytorch.git", "v2.9.1"): "d38164a545b4a4e4e0cf73ce67173f70574890b6",
    ("https://github.com/pytorch/pytorch.git", "v2.10.0"): "449b1768410104d3ed79d3bcfe4ba1d65c7f22c0",
    ("https://github.com/pytorch/pytorch.git", "v2.13.0"): "cf30153c4c131c8164ee7798e5022d810682e2cb",
    ("https://github.com/pytorch/pytorch.git", "v2.14.1"): "5c4886908584029761b579af026dcfb627c84070",
    ("https://github.com/pytorch/pytorch.git", "v2.15.0"): "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e",
}

DIGESTS: Final[Mapping[str, str]] = {
    "ubuntu:18.04": "sha256:152dc042452c496007f07ca9127571cb9c29697f42acbfad72324b2bb2e43c98",
    "ubuntu:20.04": "sha256:8feb4d8ca5354def3d8fce243717141ce31e2c428701f6682bd2fafe15388214",
    "ubuntu:24.04": "sha256:d1e2e92c075e5ca139d51a140fff46f84315c0fdce203eab2807c7e495eff4f9",
}


def fetch(url: str, file: str) -> tuple[str, ...]:
    """Commands that download a file, over HTTPS only, and verify its checksum where it is known."""
    load = f"curl {' '.join(OVER_HTTPS)} --silent --show-error --output {file} {url}"
    return (load, verify_checksum(url, file)) if url in SHA256 else (load,)


def unpack(url: str, folder: str) -> tuple[str, ...]:
    """Commands that download a release, as :func:`fetch` does, to ``folder`` with the ending ``.tar.gz``, unpack it and change to it."""
    archive = f"{folder}.tar.gz"
    return (*fetch(url, archive), f"mkdir -p {folder}", f"tar -x -f {archive} -C {folder} --strip-components=1", f"cd {folder}")


def verify_checksum(url: str, file: str, known: Mapping[str, str] = SHA256) -> str:
    """The command that verifies a downloaded file's checksum."""
    return f"echo '{known[url]}  {file}' | sha256sum --check --strict -"


def clone(repository: str, tag: str, folder: str, options: str = "") -> tuple[str, ...]:
    """Commands that fetch a tag, and verify its commit (and so all files and submodules) where it is known."""
    get = f"git clone --depth 1 --branch {tag} {options}{repository} {folder}"
    commit = COMMITS.get((repository, tag))
    return (get, f'test "$(git -C {folder} rev-parse HEAD)" = {commit}') if commit else (get,)


def by_tag(image: str) -> str:
    """An image named by a digest in :data:`DIGESTS`, by name and tag; any other image as it is.

    >>> by_tag(f"ubuntu@{DIGESTS['ubuntu:24.04']}"), by_tag("debian:12")
    ('ubuntu:24.04', 'debian:12')
    """
    return next((name for name, digest in DIGESTS.items() if image == f"{name.rsplit(':', 1)[0]}@{digest}"), image)
