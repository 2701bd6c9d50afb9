"""Where the fields of a request stand in the document that was sent, which warnings and errors name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from modak import plugins
from modak.dsl import Notice, Request


def with_document_fields(request: Request, notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """The notices with fields of the document, as :func:`document_field` names them."""
    return tuple(one.model_copy(update={"field": document_field(request, one.field)}) for one in notices)


_OWN: Final = ("optimisation.framework", "optimisation.options.")
_OF_SECTION: Final = ("optimisation.config.", "optimisation.data.")


def document_field(request: Request, field: str) -> str:
    """The field of the document that was sent for one of the request, else that of a form in which it can be sent.

    ``optimisation.app_type-hpc.parallelisation-mpi.library`` for ``optimisation.options.library`` of an MPI program; the framework's
    section for what is not an option of it; ``optimisation.ai_training.config.layers`` for ``optimisation.config.layers``.
    """
    optimisation, options = request.optimisation, type(request.optimisation.options).model_fields
    if field.startswith(_OF_SECTION):
        written = next(iter(optimisation.written.values()), f"optimisation.{optimisation.app_type or 'ai_training'}.")
        return f"{written.rpartition('.')[0]}.{field.partition('.')[2]}"
    if optimisation.framework is None or not field.startswith(_OWN):
        return field
    found = plugins.find("frameworks", optimisation.framework)
    usual, what = ("hpc", "parallelisation") if found.kind == "parallel" else ("ai_training", "ai_framework")
    section = optimisation.written.get(found.name) or f"optimisation.app_type-{optimisation.app_type or usual}.{what}-{found.name}"
    option = field.rpartition(".")[2]
    if option == "version" and "framework_version" in options:  # Horovod's own version selects no image
        option = "framework_version"
    return f"{section}.{option}" if field.startswith(_OWN[1]) and option in options else section
