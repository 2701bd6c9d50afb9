"""The request as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from modak.dsl.application import Application
from modak.dsl.document import Document
from modak.dsl.job import JobOptions, Target
from modak.dsl.optimisation import Optimisation


class Request(Document):
    """A canonical request."""

    job_options: JobOptions = JobOptions()
    application: Application = Application()
    target: Target = Target()
    optimisation: Optimisation = Optimisation()

    def changed(self, **sections: Mapping[str, Any]) -> Request:
        """The request with other values in fields of its sections: ``changed(application={"threads": 4})``. They are not checked."""
        return self.model_copy(update={name: getattr(self, name).model_copy(update=fields) for name, fields in sections.items()})

    @property
    def workload_name(self) -> str | None:
        """The application whose results are used for the prediction."""
        return self.optimisation.workload.application or self.application.app_tag

    @property
    def threads_per_rank(self) -> int | None:
        """The threads of a rank, as the application or the job's options give them; ``None``: neither does."""
        return self.application.threads or self.job_options.core_count_per_process
