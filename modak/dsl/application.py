"""What to run: command, data to copy, commands around it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from modak.dsl.document import Count, Document, Fraction
from modak.text.grammar import ImageReference, InsidePath, JobName, Name, RelativePath, SoundText, SourceText
from modak.text.words import Word


class Build(Document):
    """Sources of an application that is built before it runs. ``build_command`` is code: it runs inside the container."""

    src: SourceText | None = None
    """Location of the sources: an ``https://`` address or a path."""
    build_command: Annotated[SoundText, Field(max_length=10_000)] | None = None
    """A shell command, in which ``{{BUILD_PARALLELISM}}`` stands for the count."""
    build_parallelism: Count | None = None
    """Number of steps of the build that run in parallel."""


class StageIn(Document):
    """Data to copy into the job's own directory before the run."""

    source: Word = Field(alias="from")
    to: InsidePath
    unpack: bool = False
    """Whether to unpack a tar file or a SquashFS file (``.sqfs``) there: one file to read from shared storage, not thousands."""


class StageOut(Document):
    """Data to copy out of the job's own directory after the run."""

    source: InsidePath = Field(alias="from")
    to: Word


class Application(Document):
    """What to run."""

    app_tag: JobName | None = None
    """The application's name; its results are used for the prediction, unless the workload names another."""
    app_type: Literal["mpi", "hpc", "python", "c", "c++", "fortran", "other"] | None = None
    """``mpi`` and ``hpc`` start on all ranks; ``python`` is one process, or a launcher if training is distributed; others as
    ``hpc`` where there are several ranks, else one process.
    """
    container_runtime: ImageReference | None = None
    """An image of the caller's own. Default: an image of the catalogue."""
    executable: tuple[Word, ...] = ()
    """Words of the command; more than one where it was written as a command line."""
    arguments: tuple[Word, ...] = ()
    mpi_ranks: Count | None = None
    """Ranks in total."""
    allowed_ranks: Annotated[tuple[Count, ...], Field(max_length=100)] = ()
    """The only total numbers of ranks that the program runs with: powers of two, cubes, divisors of a global batch. Empty: any."""
    threads: Count | None = None
    """OpenMP threads per rank."""
    minimal_efficiency: Fraction | None = None
    """Lowest acceptable parallel efficiency, above 0 and at most 1."""
    storage_class_pref: Name | None = None
    """Preferred storage class; the script exports its path as ``${MODAK_STORAGE}``."""
    stage_in: Annotated[tuple[StageIn, ...], Field(max_length=100)] = ()
    """Data to copy into ``${MODAK_SCRATCH}``, a directory of the job's own, before the run."""
    stage_out: Annotated[tuple[StageOut, ...], Field(max_length=100)] = ()
    """Data to copy out of ``${MODAK_SCRATCH}`` after the run."""
    preflight: bool = True
    """Whether the script begins with checks."""
    write_result: bool = True
    """Whether the script writes its result at its end, and sends it to the service."""
    result_file: RelativePath | None = None
    """Where the script writes its result, relative to the folder of submission. Default: ``modak-result-JOB.json``."""
    metric_file: Word | None = None
    """The file that ``workload.metric`` is read from in place of the output, as the host sees it: ``log.lammps``."""
    pre_execution: tuple[Word, ...] = ()
    post_execution: tuple[Word, ...] = ()
    checkpoint: tuple[Word, ...] = ()
    """Runs on the first node when the signal before the limit comes; without it the application gets the signal."""
    build: Build | None = None

    @property
    def command(self) -> tuple[Word, ...]:
        """Executable and arguments; none without an executable, which arguments are no program in place of."""
        return self.executable + self.arguments if self.executable else ()

    @property
    def words(self) -> tuple[Word, ...]:
        """All words in which a variable may be expanded: those of commands, places that data are copied from and to, the metric's file."""
        places = (*(copy.source for copy in self.stage_in), *(copy.to for copy in self.stage_out))
        places += (self.metric_file,) if self.metric_file else ()
        return (*self.executable, *self.arguments, *self.pre_execution, *self.post_execution, *self.checkpoint, *places)
