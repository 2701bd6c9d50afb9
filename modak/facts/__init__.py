"""The known facts as values: systems, images, rules and results, read from `benchmarks_db/` or from the store.

Every model is frozen and forbids unknown keys; its JSON Schema is what ``modak schema system|image|rule`` prints.
Units: bytes as GB (10^9) where a name ends in ``_gb``, seconds, FLOP/s as TFLOP/s, watts.
"""

from modak.facts.fact import STORED, VENDORS, Count, Fact, Positive, Prose, Source, StorageClass, Vendor
from modak.facts.hardware import ARCHITECTURES, Accelerator, Node, NumaMode, Processor, microarchitectures
from modak.facts.images import Image, ImageLabels
from modak.facts.known import Added, Facts, Known
from modak.facts.names import (
    mpi_family,
    other_spellings,
    same_image,
    same_mpi,
    same_name,
    same_parameter,
    same_runtime,
    same_text,
    same_version,
)
from modak.facts.results import Doubted, Failed, Layout, Result, SeriesKey, Shifted, parameter, parameters
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
    "Doubted",
    "Fact",
    "Facts",
    "Failed",
    "FileSystem",
    "HostMpi",
    "Image",
    "ImageLabels",
    "Interconnect",
    "Known",
    "Layout",
    "Node",
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
    "Shifted",
    "Source",
    "StorageClass",
    "System",
    "Vendor",
    "microarchitectures",
    "mpi_family",
    "other_spellings",
    "own_names",
    "parameter",
    "parameters",
    "same_image",
    "same_mpi",
    "same_name",
    "same_parameter",
    "same_runtime",
    "same_text",
    "same_version",
]
