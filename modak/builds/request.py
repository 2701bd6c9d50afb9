"""Documents that ask for a build: one of MODAK's recipes, or a request whose image is built. Text is not accepted: it would be code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field

from modak.builds.order import RUNTIMES, FurtherForm
from modak.errors import RequestError
from modak.recipes.plan import Recipe, recipe
from modak.recipes.text import text_for
from modak.text.described import Described
from modak.text.faults import validated


class BuildRequest(Described):
    """Either ``recipe`` or ``job``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    recipe: Mapping[str, Any] | None = None
    """A recipe as plans show it: framework, version, variant, …; its `file` and `content` follow from these, and may be left out."""
    job: Mapping[str, Any] | None = None
    """A request as `POST /optimise` takes it; what its plan has to build is built."""
    runtime: Literal["apptainer", "singularity", "charliecloud"] | None = None
    """Not given: the plan's own, or apptainer."""
    offline: bool = False
    """From the base images, wheels, sources or package index that the settings name."""
    also: tuple[FurtherForm, ...] = Field(default=(), max_length=2)
    """Forms that Charliecloud's image is wanted in beside SquashFS."""


def read_build_request(document: Any) -> BuildRequest:
    """The checked document. Raises :class:`modak.errors.RequestError` that names the wrong fields."""
    found = validated(BuildRequest, document, RequestError)
    if (found.recipe is None) == (found.job is None):
        raise RequestError("one of 'recipe' and 'job' is needed, and only one", field="recipe")
    return found


def read_recipe(shown: Mapping[str, Any]) -> Recipe:
    """The recipe of values as plans show them, with or without the ``file`` and ``content`` that MODAK writes for it.

    Raises as :func:`modak.recipes.plan.recipe`, and :class:`modak.errors.RequestError` for a content that is not MODAK's own.
    """
    made = recipe({name: value for name, value in shown.items() if name not in ("file", "content")})
    if "content" in shown and shown["content"] not in [text_for(made, runtime)[0] for runtime in RUNTIMES]:
        raise RequestError("not the text that MODAK writes for this recipe, and no other one is taken; leave it out", field="content")
    return made
