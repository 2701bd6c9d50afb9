"""Reading results: each file format is one small file here that implements :class:`Format`, and one entry in ``BUILTIN``.

A format only finds the cells (:class:`modak.ingest.table.Raw`). Columns, their contents and their units are checked in one
place for all formats, :mod:`modak.ingest.checking`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from modak.ingest.formats.csv import Csv
from modak.ingest.formats.extrap import ExtraP, ExtraPText
from modak.ingest.formats.google_benchmark import GoogleBenchmark
from modak.ingest.formats.hpl import Hpl
from modak.ingest.formats.hyperfine import Hyperfine
from modak.ingest.formats.json import Json
from modak.ingest.formats.markdown import Markdown
from modak.ingest.formats.mlperf import MlPerf
from modak.ingest.formats.modak_result import ModakResult
from modak.ingest.formats.perflog import PerfLog
from modak.ingest.formats.pytest_benchmark import PytestBenchmark
from modak.ingest.formats.ramble import Ramble
from modak.ingest.formats.reframe import ReFrame
from modak.ingest.formats.sacct import Sacct
from modak.ingest.formats.sacct_json import SacctJson
from modak.ingest.sources import Source
from modak.ingest.table import Raw


class Format(Protocol):
    """A file format of results."""

    @property
    def name(self) -> str:
        """Its name for ``--format``."""

    def recognises(self, head: bytes, name: str) -> bool:
        """Whether a file called ``name`` that starts with ``head`` (up to 64 KiB) is of this format."""

    def read(self, source: Source) -> Iterator[Raw]:
        """The file's rows, part by part, as text.

        Raises :class:`modak.errors.DataError` with faults ``:LINE`` for what is not of the format; the file's name is put before this, and
        before notes that begin so. A file with a header and no rows gives one empty part, so that the header is checked.
        """


BUILTIN: Final[tuple[Format, ...]] = (
    ModakResult(),
    ReFrame(),
    PerfLog(),
    Ramble(),
    MlPerf(),
    GoogleBenchmark(),
    PytestBenchmark(),
    Hyperfine(),
    Sacct(),
    SacctJson(),
    ExtraP(),
    ExtraPText(),
    Markdown(),
    Hpl(),
    Json(),
    Csv(),
)
"""In the order in which they are tried; the first that recognises a file reads it. CSV comes last, because any text may be CSV."""
