"""What should be known of a file beside its rows: what its headings and the options of its load say, and what they leave unsaid."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Final

from modak.ingest.columns import AGAIN, canonical, is_known
from modak.ingest.headings import folded, no_measurement, unit_in
from modak.ingest.options import leaves_out, renamed_columns
from modak.ingest.table import MOST_FAULTS, Batch, Cells, Options, Raw
from modak.ingest.values import quoted
from modak.results.units import known_unit, per_part_rate
from modak.text.amounts import join_names

_WEAK: Final = re.compile(r"(^|[^a-z])weak(?=scal|[^a-z]|$)", re.IGNORECASE)
_STRONG: Final = re.compile(r"strong", re.IGNORECASE)
_WEAK_HEADING: Final = re.compile(r"(^|[^a-z])weak.{0,10}(scal|eff|speed)", re.IGNORECASE)
"""Other headings are of other things: ``weak_labels``."""


class FileNotes:
    """What is noticed of a file while its parts are read."""

    def __init__(self, name: str, options: Options) -> None:
        self._name, self._options = name, options
        self.rows = self.without = self.notes = 0
        """Rows with and without a value, and notes of the format."""
        self._unfilled = set(options.fill)
        """Columns of options that filled no cell so far."""
        self._of_columns: tuple[str, ...] = ()
        self._weak = ""

    def part(self, raw: Raw, batch: Batch) -> None:
        """Notice what a part, and its rows that have a value, tell."""
        self.rows += len(batch)
        self.notes += len(raw.notes)
        self.without += len(raw.lines) - len(batch)
        if raw.columns and (self._unfilled or self._options.rename):
            columns = renamed_columns(raw, self._name, self._options)
            told = (_unit_left_behind(columns, self._options), _no_measurement(columns, self._options), _left_out(raw, self._options))
            self._of_columns = tuple(chain(*told))
            self._unfilled = {name for name in self._unfilled if name in columns and all(map(str.strip, columns[name].texts))}
        if len(batch) and not self._weak:
            self._weak = _weak(self._name, raw, batch)

    def remarks(self) -> Iterator[str]:
        """What should be known of the file."""
        yield from self._of_columns
        yield from (f"--set {column}=… fills nothing: no cell of the column is empty" for column in sorted(self._unfilled))
        if self._weak:
            yield self._weak


def _unit_left_behind(columns: Container[str], options: Options) -> Iterator[str]:
    """A note for a heading that seems to name a unit and becomes ``value``, where nothing else gives one."""
    if "unit" in columns or "unit" in options.fill:
        return
    for old, new in options.rename.items():
        unit = unit_in(old) if new == "value" else None
        known = known_unit(unit) if unit else None
        if unit and not (known and known.factor == 1):
            way = f"if {quoted(unit)} is its unit, give it ('--set unit=…', and '--replace' for rows that are stored)"
            yield f"column {quoted(old)} is loaded without a unit, so it counts in the base unit of its metric (times in s): {way}"


def _no_measurement(columns: Mapping[str, Cells], options: Options) -> Iterator[str]:
    """A note for a heading of a ratio, or of a rate of one part of the machine, that becomes ``value`` of another metric."""
    units = (*(columns["unit"].texts if "unit" in columns else ()), options.fill.get("unit", ""))
    for old in (old for old, new in options.rename.items() if new == "value"):
        why = no_measurement(old)
        if why and not any(map(per_part_rate, units)) and options.fill.get("metric") not in ("speedup", "efficiency"):
            way = "load what the whole run was measured at, and take these rows out ('modak results doubt')"
            yield f"column {quoted(old)} is {why}, but counts as {options.fill.get('metric', 'the metric')} of the run: {way}"


def _left_out(raw: Raw, options: Options) -> Iterator[str]:
    """A note on the columns that ``*`` leaves out."""
    if leaves_out(raw, options):
        named = {folded(old) for old in options.rename}
        dropped = [quoted(name) for name in raw.columns if folded(name) not in named and not is_known(canonical(name))]
        yield f"left out: {join_names(dropped, MOST_FAULTS)}" if dropped else "--map '*=' leaves nothing out: every column is known"


def _weak(name: str, raw: Raw, batch: Batch) -> str:
    """A note for times that something calls those of weak scaling, and ``params.scaling`` does not: they count as those of one problem on
    more and more nodes."""
    times = any(key.unit == "s" and "scaling" not in key.params for key in batch.series)
    alone = [cells.texts[0] for cells in raw.columns.values() if len(cells.texts) == 1]
    headings = [heading for heading in raw.columns if _WEAK_HEADING.search(heading)]
    named = next((text for text in (Path(name).name, *headings, *alone) if _WEAK.search(text) and not _STRONG.search(text)), None)
    if not times or named is None:
        return ""
    way = f"{AGAIN} '--set params.scaling=weak'"
    return f"{quoted(named)} mentions weak scaling, but the times count as those of one problem; if it grows with the nodes or ranks, {way}"
