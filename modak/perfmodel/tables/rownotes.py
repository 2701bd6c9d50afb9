"""What is said beside the rows of a table: on what their predictions rest, what was assumed, what to measure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from modak.dsl import Notice
from modak.errors import nearest_of_many, spelt_otherwise
from modak.facts import canonical_name
from modak.perfmodel.predict import FAR_DOUBLINGS
from modak.perfmodel.unmeasured.unseen import FEW
from modak.results.metrics import METRICS

if TYPE_CHECKING:
    from modak.perfmodel.unmeasured.unseen import CalibrationRuns

NO_CALIBRATION: Final = (
    "no run of these would predict the others: that takes results of five or more of these applications in another configuration, with "
    "the same metric and numeric parameters (params.gmacs, params.macts, …); if it has results of forty others, run five of those instead"
)
ALL_MEASURED: Final = (
    "what was measured elsewhere of these rows was measured on their system, too: no run is left to choose; see 'modak predict'"
)

MOST_COMPARED: Final = 5
"""Unknown names in each column of a table that are compared with the known ones, from the first row on."""


def open_column_warnings(counts: Mapping[str, int], rows: int) -> list[Notice]:
    """A warning for each column that so many of the rows leave open although there are results of several data sets, or values."""
    what = "name none, and there are results of several: the column model says of which one each answer is"
    return [Notice(field=name, message=f"{count} of {rows} rows {what}") for name, count in counts.items()]


def only_doubted_warning(count: int, rows: int) -> list[Notice]:
    """A warning if ``count`` rows have only doubted results of exactly their run."""
    message = f"{count} of {rows} rows have only doubted results of exactly their run, which are left out: 'modak results list --doubted'"
    return [Notice(field="basis", message=message)] if count else []


def counted_gpus(counted: Sequence[int | None]) -> list[Notice]:
    """A warning for rows that give nodes but no GPUs, while results are over GPUs: how many GPUs were assumed."""
    rows = sum(count is not None for count in counted)
    numbers = ", ".join(map(str, sorted({count for count in counted if count})))
    each = f"all that a node has are counted ({numbers}); on unknown systems, the most of their results, or 1"
    message = f"{rows} of {len(counted)} rows name none, and results are over GPUs: {each}"
    return [Notice(field="gpus_per_node", message=message)] if rows else []


def counted_ranks(count: int, rows: int) -> list[Notice]:
    """A warning if ``count`` rows give no ranks, while results are over ranks."""
    message = f"{count} of {rows} rows name none, and results are over ranks: one on each node is counted"
    return [Notice(field="ranks_per_node", message=message)] if count else []


def calibrated_by_few(found: Sequence[CalibrationRuns], rows: int) -> list[Notice]:
    """Warnings of rows whose predictions a few runs on their system would improve: some of the table, or of other applications."""
    known = sum(one.comparable for one in found if one.places)
    beside, others = (sum(one.others for one in found if bool(one.places) is chosen) for chosen in (True, False))
    rest = f"the rest and of {beside} rows of applications that nobody measured" if beside else "the rest"
    what = f"known on other systems, where {FEW} runs or more of some of them would improve the predictions of {rest}"
    messages = [f"{known} of {rows} rows are of applications that are {what}: 'modak results calibration' chooses these"] if known else []
    if others:
        how = f"{FEW} runs or more on their system of applications that were measured elsewhere would improve their predictions"
        messages.append(f"{others} of {rows} rows are of applications that nobody measured: {how} ('modak results calibration')")
    return [Notice(field="basis", message=message) for message in messages]


def weak_bases(rows: Sequence[Mapping[str, Any]]) -> list[Notice]:
    """One warning for each weak basis among the rows, and one for those far beyond what was measured."""
    means = {
        "transferred": "from results of similar runs",
        "heuristic": "from too few sizes to know how the program scales",
        "none": "without a prediction: no results of that application can be used",
    }
    unlike = [row["metric"] for row in rows if row["basis"] == "none" and _untold(row.get("metric"))]
    counts = {basis: sum(row["basis"] == basis for row in rows) for basis in means}
    counts["none"] -= len(unlike)
    counts["heuristic"] -= (refuted := sum(row.get("refuted", False) for row in rows))
    far = sum((row["extrapolation"] or 0.0) > FAR_DOUBLINGS for row in rows)
    guesses = f"{far} of {len(rows)} rows more than {FAR_DOUBLINGS:g} doublings beyond what is measured: guesses; measure in between first"
    longer = f"{refuted} of {len(rows)} rows take longer than predicted, because runs were stopped: how much longer is a guess (heuristic)"
    failed = sum(bool(row.get("failed") and row["model"]) for row in rows)
    ended = f"{failed} of {len(rows)} rows are of configurations whose runs failed: see column model"
    only = f"{len(unlike)} of {len(rows)} rows are of {', '.join(sorted(set(unlike)))}: only times and rates of work are predicted (none)"
    return [
        *([Notice(field="metric", message=only)] if unlike else []),
        *(Notice(field="basis", message=f"{n} of {len(rows)} rows {means[basis]} ({basis})") for basis, n in counts.items() if n),
        *([Notice(field="basis", message=longer)] if refuted else []),
        *([Notice(field="extrapolation", message=guesses)] if far else []),
        *([Notice(field="model", message=ended)] if failed else []),
    ]


def spelling_warnings(column: str, others: Collection[tuple[str, str]]) -> list[Notice]:
    """A warning for each text of a column that stands for another spelling, with that, as results have it."""
    return [Notice(field=column, message=spelt_otherwise(name, other)) for name, other in islice(sorted(others), MOST_COMPARED)]


def misspelling_warnings(rows: Sequence[Mapping[str, Any]], measured: Collection[str], systems: Collection[str]) -> list[Notice]:
    """Warnings of names that are perhaps misspelt: of an application without prediction that is like a ``measured`` one, and of a system
    that is none of the ``systems``, described or of models of these applications, and like one of them."""
    called, names = set(map(canonical_name, systems)), frozenset(measured)
    unmeasured = (row["application"] for row in rows if row["basis"] == "none" and row["application"] not in names)
    elsewhere = (row["system"] for row in rows if row.get("system") and canonical_name(row["system"]) not in called)
    return [
        *_meant("application", "no results of", unmeasured, measured),
        *_meant("system", "no description, and no models of these applications, of", elsewhere, systems),
    ]


def _meant(column: str, lacking: str, names: Iterable[str], known: Collection[str]) -> Iterator[Notice]:
    for name in islice(dict.fromkeys(names), MOST_COMPARED):
        if other := nearest_of_many(name, known):
            yield Notice(field=column, message=f"{lacking} {name!r}; did you mean {other!r}?")


def _untold(metric: str | None) -> bool:
    known = METRICS.get(metric or "")
    return known is not None and not known.tells_cost


def calibration_notes(found: Sequence[CalibrationRuns], rows: int) -> list[str]:
    """What to do with the rows to measure, what is too few, and what no other row tells."""
    chosen, alone = sum(len(one.places) for one in found), rows - sum(one.comparable for one in found)
    fewest = min(len(one.places) + one.measured for one in found if one.places)
    notes = [
        f"{chosen} of {rows} rows, in the order in which to measure them: write what you measure into 'value' and load the file with "
        "'modak load'; then 'modak predict' predicts the others"
    ]
    if fewest < FEW:
        notes.append(f"nothing is predicted from fewer than {FEW} runs")
    if alone:
        what = "are of applications that were not measured elsewhere with these parameters"
        notes.append(f"{alone} of {rows} rows {what}: they are predicted less well, from their parameters")
    return notes
