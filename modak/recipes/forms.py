"""The two forms of a recipe's text, and which of them a container runtime builds from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from modak import plugins

Form = Literal["definition", "dockerfile"]
"""A Singularity (or Apptainer) definition file, or a Dockerfile."""
BETWEEN: Final[Mapping[Form, str]] = {"definition": "\n    ", "dockerfile": " && \\\n    "}
"""What separates two commands of a step."""


def form_of(runtime: str) -> Form:
    """The form that a runtime's tool builds from: Podman and Charliecloud's ``ch-image`` take a Dockerfile.

    >>> form_of("singularity"), form_of("charliecloud")
    ('definition', 'dockerfile')
    """
    return plugins.find("runtimes", runtime).form
