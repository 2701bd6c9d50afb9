"""Google Benchmark: JSON of ``--benchmark_format=json`` or ``--benchmark_out``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from modak.ingest.formats import documents
from modak.ingest.formats.documents import LocatedObject, RowCollector, count, member, objects, shortened, text
from modak.ingest.sources import Source
from modak.ingest.table import Raw
from modak.text.amounts import join_names

OPTIONS: Final = ("min_time", "min_warmup_time", "iterations", "repeats", "threads", "manual_time", "real_time", "process_time")
"""What the library itself adds to a benchmark's name."""

_KEYS: Final = frozenset(
    (
        *("name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index", "threads"),
        *("iterations", "real_time", "cpu_time", "time_unit", "items_per_second", "bytes_per_second", "label"),
        *("aggregate_name", "aggregate_unit"),
        *("error_occurred", "error_message", "skipped", "skip_message"),
        *("allocs_per_iter", "max_bytes_used", "total_allocated_bytes", "net_heap_growth"),
    )
)
"""What the library itself writes of a benchmark; all else are counters of its author."""
_SHOWN: Final = 8
_AGGREGATE: Final = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")


class GoogleBenchmark:
    """Results of a benchmark program."""

    name = "google_benchmark"

    def recognises(self, head: bytes, name: str) -> bool:
        """By the machine's description before the benchmarks."""
        return (
            documents.has_keys(head, ("context",))
            and re.search(rb'"(executable|num_cpus|mhz_per_cpu|library_build_type)"\s*:', head) is not None
        )

    def read(self, source: Source) -> Iterator[Raw]:
        """A row for each repetition's time, and for the rates that it counted. Aggregates are made from these; where only they were written
        (``--benchmark_report_aggregates_only``), the median stands for all repetitions."""
        document, found = documents.document(source)
        context = member(document, "context", dict)
        counters: dict[str, None] = {}
        benchmarks = objects(document, "benchmarks")
        repeated = {text(one.get("run_name")) for one in benchmarks if not _is_aggregate(one)}
        for one in benchmarks:
            if _is_aggregate(one) and (one.get("aggregate_name") != "median" or text(one.get("run_name")) in repeated):
                continue
            if one.get("error_occurred") is True or one.get("skipped") is True:
                message = text(one.get("error_message")) or text(one.get("skip_message")) or ""
                found.leave(one.line, f"benchmark {text(one.get('name'))!r} failed ({message[:80]})")
            else:
                _rows(one, context, found)
                counters |= dict.fromkeys(name for name in one if name not in _KEYS)
        if counters:
            shown = join_names([repr(name[:80]) for name in counters], _SHOWN)
            found.left.append(f": counters of the benchmarks' own ({shown}), whose units are not known; left out")
        yield from found.rows()


def _is_aggregate(one: LocatedObject) -> bool:
    """Whether it is made from repetitions; before 1.5 only the ending of its name said so."""
    kind = one.get("run_type") or ("aggregate" if _AGGREGATE.search(text(one.get("name")) or "") else "iteration")
    return kind == "aggregate" or "aggregate_name" in one


def _rows(one: LocatedObject, context: Mapping[str, Any], found: RowCollector) -> None:
    date = text(context.get("date")) or ""
    cells = {
        "nodes": "1",
        "ranks_per_node": "1",
        **_named(text(one.get("run_name")) or text(one.get("name")) or ""),
        "system": text(context.get("host_name")),
        "threads_per_rank": text(one.get("threads")),
        "repeat": text(one.get("repetition_index")),
        "measured_at": date if documents.has_offset(date) else None,
        "source": text(context.get("executable")),
    }
    found.row(one.line, **cells, metric="real_time", value=text(one.get("real_time")), unit=text(one.get("time_unit")) or "ns")
    for key, metric, unit in (("items_per_second", "items_per_second", "items/s"), ("bytes_per_second", "bandwidth", "B/s")):
        if rate := text(one.get(key)):
            found.row(one.line, **cells, metric=metric, value=_by_real_time(rate, one), unit=unit)


def _by_real_time(rate: str, one: LocatedObject) -> str:
    """A rate per second of real time. The library divides by the CPU time of all threads, unless a benchmark asks for another one: a second
    thread that does as much again would not show, and what waits would be fast."""
    if not {"real_time", "manual_time"}.isdisjoint((text(one.get("run_name")) or text(one.get("name")) or "").split("/")):
        return rate
    try:
        cpu, real = (float(text(one.get(time)) or "") for time in ("cpu_time", "real_time"))
        return repr(float(rate) * cpu / real)
    except (ValueError, ZeroDivisionError):
        return rate


def _named(name: str) -> dict[str, str]:
    """``fill/1000/n:3/threads:2``: the benchmark, its arguments by place or name, and the library's own additions."""
    first, *rest = name.split("/")
    values: dict[str, str] = {}
    label = [first]
    for place, part in enumerate(rest, 1):
        argument, colon, value = part.rpartition(":")
        if (argument or part) in OPTIONS:
            continue
        if colon:
            values[argument] = value
        elif count(part) is not None or part.lstrip("-").isdigit():
            values[f"arg{place}"] = part
        else:
            label.append(part)
    return {"application": shortened("/".join(label)), **documents.parameters(values)}
