"""When two texts mean the same: spellings of systems, frameworks and their versions, compilers, MPI libraries, container
runtimes, images and parameters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Final

from modak.grouping import grouped
from modak.text.grammar import IMAGE_ENDINGS, IMAGE_SCHEMES

_NUMBER: Final = re.compile(
    r"""
    [+-]? (?:
        (?: 0 | [1-9][0-9]* ) (?: \.0* | \.[0-9]*[1-9] )?          # 10, 10.0, 1.25; neither 007, a label, nor 1.10, perhaps a version
        | \. [0-9]*[1-9]                                           # .25
        | (?: 0 | [1-9][0-9]* ) (?: \.[0-9]* )? [eE][+-]?[0-9]{1,3}  # 1e3, 1.10e3
    )
    """,
    re.VERBOSE,
)
_JOINTS: Final = str.maketrans("_ /@", "----")
_WORDS: Final = ("true", "false", "none")
_GRID: Final = re.compile(r"[0-9]+(?:\s?[xX×*]\s?[0-9]+)+")
_WITHOUT_SLASHES: Final = re.compile(rf"(?i:({IMAGE_SCHEMES})):([^/0-9][^/]*/.+)")
"""``docker:repository/name:tag``, as answers of the published service had it: neither a tag, which has no ``/``, nor a port, a number."""
_DIGEST: Final = "@sha256:[0-9a-f]{64}"
_TAGGED: Final = re.compile(
    r"(?!sha256:)(?:[a-z0-9][a-z0-9.-]*:[0-9]+/)?[a-z0-9][a-z0-9._/-]*"
    rf"(?:{_DIGEST}|:[A-Za-z0-9_][A-Za-z0-9._-]{{0,127}}(?:{_DIGEST})?)"
)
"""An image of a registry, perhaps at a port, with its tag or its digest."""
_TAG: Final = re.compile(r"[vV][0-9]")
_MPI_SPELLINGS: Final = {"openmpi": "openmpi", "mpich": "mpich", "intelmpi": "intel-mpi", "impi": "intel-mpi", "mvapich": "mvapich"}


@lru_cache(maxsize=512)
def mpi_family(label: str | None) -> str | None:
    """The family of the MPI library that results call so; ``None`` where it is none of :class:`modak.facts.HostMpi`.

    >>> mpi_family("Open MPI 4.1"), mpi_family("intel-mpi 2019"), mpi_family("MVAPICH2"), mpi_family("cray-mpich 8.1"), mpi_family("MPT")
    ('openmpi', 'intel-mpi', 'mvapich', 'mpich', None)
    """
    folded = "".join(filter(str.isalpha, (label or "").lower())).removeprefix("cray")
    return next((family for spelling, family in _MPI_SPELLINGS.items() if folded.startswith(spelling)), None)


@lru_cache(maxsize=512)
def canonical_mpi(label: str | None) -> str:
    """Equal for labels of results that mean the same MPI library and version, however they write its name.

    >>> canonical_mpi("Open MPI 4.1"), canonical_mpi("openmpi-4.1"), canonical_mpi("impi 2019"), canonical_mpi("Intel MPI 2019")
    ('openmpi4.1', 'openmpi4.1', 'intel-mpi2019', 'intel-mpi2019')
    """
    folded = canonical_name(label).replace("-", "")
    spelling = next((one for one in _MPI_SPELLINGS if folded.startswith(one)), "")
    return _MPI_SPELLINGS.get(spelling, "") + folded.removeprefix(spelling)


def canonical_image(reference: str) -> str:
    """The reference of an image with its scheme, which is that of a registry if a tag or a digest shows that it is in one.

    >>> [*map(canonical_image, ("img:1", "Docker://img:1", "img", "img:1.sif", "sha256:9f2c"))]
    ['docker://img:1', 'docker://img:1', 'img', 'img:1.sif', 'sha256:9f2c']
    >>> canonical_image("docker:a/img:1"), canonical_image("docker:1"), canonical_image(f"img@sha256:{'0' * 64}")[:23]
    ('docker://a/img:1', 'docker://docker:1', 'docker://img@sha256:000')
    """
    bare = _WITHOUT_SLASHES.fullmatch(reference)
    scheme, mark, name = (bare[1], "://", bare[2]) if bare else reference.partition("://")
    if mark:
        return f"{scheme.lower()}://{name}"
    return f"docker://{reference}" if _TAGGED.fullmatch(reference) and not reference.endswith(IMAGE_ENDINGS) else reference


def canonical_version(version: str) -> str:
    """A version without the ``v`` that the tag of its release begins with (as in PEP 440).

    >>> canonical_version("v2.1"), canonical_version("2.1"), canonical_version("vega")
    ('2.1', '2.1', 'vega')
    """
    return version[1:] if _TAG.match(version) else version


def canonical_runtime(name: str) -> str:
    """Equal for container runtimes that run each other's images and take each other's options."""
    return "apptainer" if name == "singularity" else name


def canonical_name(name: object) -> str:
    """What is equal for names of a system, a framework or a compiler that mean the same: case, underscores, hyphens and spaces do not tell,
    nor what stands before the version in the name of a module or a package.

    >>> canonical_name("GCC 9.3"), canonical_name("gcc-9.3"), canonical_name("gcc/9.3"), canonical_name("My_Site")
    ('gcc-9.3', 'gcc-9.3', 'gcc-9.3', 'my-site')
    """
    return str(name).lower().translate(_JOINTS)


def other_spellings(texts: Collection[str], known: Collection[str]) -> Mapping[str, str]:
    """For each of the texts that is not known, what is known under this name in another case or with other separators, if that is one.

    >>> other_spellings(["3D GAN", "Solver"], ["3d-gan", "SOLVER", "solver"])
    {'3D GAN': '3d-gan'}
    """
    unknown = set(texts).difference(known)
    alike = grouped(known, canonical_name) if unknown else {}
    found = {text: alike.get(canonical_name(text), ()) for text in texts if text in unknown}
    return {text: few[0] for text, few in found.items() if len(few) == 1}


def canonical_text(text: str) -> str:
    """Equal for texts that look alike: one has letters with accents, the other letters and accents (Unicode's NFC and NFD).

    >>> canonical_text("Stro\u0308mung") == canonical_text("Str\u00f6mung")
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


@lru_cache(maxsize=4096)
def canonical_parameter(text: str) -> str:
    """Equal for values of a parameter that mean the same: numbers, ``true``, ``false`` and ``none`` in any case, grids with any sign
    between their counts.

    What may be no number stays a text of its own: ``007``, and ``1.10``, which may be another version than ``1.1``.

    >>> {*map(canonical_parameter, ("10", "10.0", "1e1"))}, canonical_parameter("1.10") == canonical_parameter("1.1")
    ({'1e1'}, False)
    >>> canonical_parameter("TRUE"), canonical_parameter("64 × 32"), canonical_parameter("gmres")
    ('true', '64x32', 'gmres')
    """
    if _NUMBER.fullmatch(text):
        sign, digits, exponent = Decimal(text).as_tuple()
        number = "".join(map(str, digits)).lstrip("0")
        short = number.rstrip("0")
        return f"{'-' * sign}{short}e{int(exponent) + len(number) - len(short)}" if short else "0"
    if _GRID.fullmatch(text):
        return "x".join(re.findall(r"[0-9]+", text))
    return text.lower() if text.lower() in _WORDS else canonical_text(text)
