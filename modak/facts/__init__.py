"""The known facts as values: systems, images, rules and results, read from `benchmarks_db/` or from the store.

Every model is frozen and forbids unknown keys; its JSON Schema is what ``modak schema system|image|rule`` prints.
Units: bytes as GB (10^9) where a name ends in ``_gb``, seconds, FLOP/s as TFLOP/s, watts.
"""

from modak.facts.fact import STORED, VENDORS, Count, Fact, Positive, Prose, Source, StorageClass, Vendor
from modak.facts.hardware import ARCHITECTURES, Accelerator, Node, NumaMode, Processor, microarchitectures
from modak.facts.images import Image, ImageLabels
from modak.facts.known import Added, Facts, Known
from modak.facts.names import (
    canonical_image,
    canonical_mpi,
    canonical_name,
    canonical_parameter,
    canonical_runtime,
    canonical_text,
    canonical_version,
    mpi_family,
    other_spellings,
)
from modak.facts.results import DoubtedResults, FailedRuns, Layout, NotedShift, Result, SeriesKey, parameter, parameters
from modak.facts.rules import Condition, Rule
from modak.facts.systems import FileSystem, HostMpi, Interconnect, Partition, Queue, RuntimePolicy, System, own_names

__all__ = [
    "ARCHITECTURES",
    "STORED",
    "VENDORS",
    "Accelerator",
    "Added",
    "Condition",
    "Count",
    "DoubtedResults",
    "Fact",
    "Facts",
    "FailedRuns",
    "FileSystem",
    "HostMpi",
    "Image",
    "ImageLabels",
    "Interconnect",
    "Known",
    "Layout",
    "Node",
    "NotedShift",
    "NumaMode",
    "Partition",
    "Positive",
    "Processor",
    "Prose",
    "Queue",
    "Result",
    "Rule",
    "RuntimePolicy",
    "SeriesKey",
    "Source",
    "StorageClass",
    "System",
    "Vendor",
    "canonical_image",
    "canonical_mpi",
    "canonical_name",
    "canonical_parameter",
    "canonical_runtime",
    "canonical_text",
    "canonical_version",
    "microarchitectures",
    "mpi_family",
    "other_spellings",
    "own_names",
    "parameter",
    "parameters",
]
