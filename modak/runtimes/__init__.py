"""Container runtimes: each says how a command is run in an image, and which lines of the script that needs.

A variant is a frozen dataclass that derives from :class:`Runtime`. The script's variable ``MODAK_IMAGE`` is the path of the image.
"""

from __future__ import annotations

from typing import Final

from modak.runtimes.apptainer import Apptainer
from modak.runtimes.base import Runtime
from modak.runtimes.charliecloud import Charliecloud
from modak.runtimes.enroot import Enroot
from modak.runtimes.none import NoContainer
from modak.runtimes.podman_hpc import PodmanHpc
from modak.runtimes.sarus import Sarus

__all__ = ["BUILTIN", "Runtime"]

BUILTIN: Final[tuple[Runtime, ...]] = (
    Apptainer(),
    Apptainer("singularity", version_command=("singularity", "--version")),
    Charliecloud(),
    PodmanHpc(),
    Sarus(),
    Enroot(),
    NoContainer(),
)
