"""The use cases as one class. :mod:`modak.service.factfinder` finds the facts for a request, :mod:`modak.service.records` makes answers.

Documents go in and come out as JSON values, so that a caller over HTTP sees what a caller in this process sees.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from modak import admission
from modak.choosing.decision import result_ids_behind
from modak.choosing.problem import as_spelt
from modak.dsl import Notice, Request, Texts
from modak.errors import Fault, ModakError, RequestError, Unavailable, strictly
from modak.facts import Added, Fact, Facts, Known, Rule, own_names
from modak.knowledge import packaged_root, read_all, read_guide
from modak.normalise import Normalised, normalise
from modak.optimise import Solution, check, plan_of, recommend, solve
from modak.perfmodel import Curve
from modak.perfmodel.planning import LEAST
from modak.prepared import Prepared
from modak.previews import preview
from modak.progress import Progress, silent
from modak.response import filled
from modak.results.metrics import METRICS
from modak.service import curves, records, tables
from modak.service.factfinder import FactFinder
from modak.settings import Settings
from modak.store import Store, open_store
from modak.store.access import UsedToken
from modak.store.audit import Actor, local_actor
from modak.store.suspects import Judgement
from modak.store.values import Export, paged
from modak.text.documents import Json
from modak.text.numbering import Selection, spelt_out

if TYPE_CHECKING:
    from modak.ingest.reading import Incoming
    from modak.perfmodel.fitting.cells import Cell
    from modak.sizing.guide import Guide

Found = TypeVar("Found", bound=Prepared | None)
NO_FILTERS: Final[Mapping[str, str]] = {}
MOST_LINES: Final = 1000
GUIDE: Final = "sizing/primeflex.toml"
"""Below `benchmarks_db`: what a sizing needs beside the systems."""


@dataclass(frozen=True)
class Service:
    """The use cases on one open store. Every method may be called from several threads."""

    store: Store
    max_points: int = 10_000
    plan_days: int | None = None
    """Days for which plans are kept; ``None``: for good."""

    @cached_property
    def _guide(self) -> Guide:
        """What a sizing needs beside the systems; it comes with the package."""
        return read_guide(packaged_root() / GUIDE)

    @cached_property
    def _fact_finder(self) -> FactFinder:
        return FactFinder(self.store)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    # --- asking

    def optimise(self, document: Any, *, strict: bool = False, keep: bool = True) -> Json:
        """The request's own document, filled in; the plan is stored under its id unless ``keep`` is false.

        Raises :class:`~modak.errors.RequestError` for a wrong document (with ``strict``: also for any warning) and
        :class:`~modak.errors.Infeasible` if no configuration meets the constraints.
        """
        answered: Json = json.loads(self.optimised(document, strict=strict, keep=keep))
        return answered

    def optimised(self, document: Any, *, strict: bool = False, keep: bool = True, address: str = "") -> str:
        """The same as JSON text; with the ``address`` of the service, the texts have addresses, too."""
        with _asked(document, self.facts_for, strict=strict) as (read, facts):
            solution = _solved(read, facts, strict=strict)
            plan = plan_of(solution)
        response = filled(read.document, plan, solution.texts, address)
        if keep:
            self._keep(read, facts, solution, response)
        return response

    def solve(self, document: Any, *, strict: bool = False) -> Solution:
        """The texts for a request and the decision behind them, without the reasons; nothing is stored. Raises as :meth:`optimise` does."""
        with _asked(document, self.facts_for, strict=strict) as (read, facts):
            return _solved(read, facts, strict=strict)

    def solve_at_once(self, document: Any, *, strict: bool = False) -> Solution | None:
        """The same if all facts for it are in memory; otherwise ``None``."""
        with _asked(document, self._fact_finder.ready, strict=strict) as (read, facts):
            return None if facts is None else _solved(read, facts, strict=strict)

    def recommend(self, document: Any, *, strict: bool = False, closest: bool = False) -> Json:
        """``choices``, best first; ``decisions`` (the reasons for the first), ``advice``, ``warnings`` and ``least_work``.

        Raises :class:`~modak.errors.Infeasible` if nothing meets the constraints; with ``closest`` the closest configuration is returned
        instead, and ``missed`` says which constraint it misses.
        """
        with _asked(document, self.facts_for, strict=strict) as (read, facts):
            found = recommend(read.request, facts, closest=closest)
        warnings = _warnings(read, found.warnings, strict=strict)
        return {
            "choices": [choice.model_dump(mode="json", exclude_none=True) for choice in found.choices],
            "decisions": list(found.decisions),
            "advice": list(found.advice),
            "warnings": [warning.model_dump() for warning in warnings],
            **({} if found.least_work is None else {"least_work": found.least_work}),
            **({"missed": found.missed} if found.missed else {}),
        }

    def validate(self, document: Any, *, strict: bool = False) -> Json:
        """``valid``, and the ``warnings`` of reading the request and of its target; no configuration is chosen.

        Raises :class:`~modak.errors.RequestError` for a wrong document (with ``strict``: also for any warning).
        """
        with _asked(document, self.facts_for, strict=strict) as (read, facts):
            found = check(read.request, facts)
        return {"valid": True, "warnings": [warning.model_dump() for warning in _warnings(read, found, strict=strict)]}

    def predict(self, content: bytes, name: str, *, level: float = 0.9, go_on: Callable[[], None] = lambda: None) -> Json:
        """The rows of a result table without values, each with its prediction, under ``rows``; and ``warnings``.

        ``name`` is what faults call the table; ``go_on`` is called between the predictions, and ends them if it raises. Raises
        :class:`~modak.errors.DataError` with faults ``name:LINE``.
        """
        return tables.predictions(self.store, self.facts(), content, name, most=self.max_points, level=level, go_on=go_on)

    def calibration(self, content: bytes, name: str, *, number: int) -> Json:
        """The ``number`` rows of a result table without values to measure first (in each configuration), and ``notes``.

        Raises as :meth:`predict` does, and :class:`~modak.errors.DataError` if no row can be told from others.
        """
        return tables.calibration(self.store, self.facts(), content, name, most=self.max_points, number=number)

    def size(self, document: Any, *, strict: bool = False) -> Json:
        """How much hardware the request's goal needs: :class:`modak.sizing.answer.Sizing`, and the ``warnings`` of reading the request.

        Raises :class:`~modak.errors.RequestError` without a deadline, :class:`~modak.errors.UnknownName` for an unknown target.
        """
        from modak.sizing.size import size

        with _asked(document, partial(self.facts_for, everywhere=True), strict=strict) as (read, facts):
            found = size(read.request, facts, self._guide)
        warnings = _warnings(read, found.warnings, strict=strict)
        return found.model_copy(update={"warnings": warnings}).model_dump(mode="json", exclude_none=True)

    def earlier(self, request: Request) -> list[Cell]:
        """Results of the request's application that tell parameters, up to a bound."""
        return self.store.having_parameters({"application": request.workload_name}) if request.workload_name else []

    # --- what is kept

    def plan(self, plan_id: str) -> Json:
        """The document that was answered with this plan. Raises :class:`~modak.errors.NotFound`."""
        return dict(self.store.plans.get(plan_id).response)

    def texts(self, plan_id: str) -> Texts:
        """The texts of a plan: script, build job, recipe. Raises :class:`~modak.errors.NotFound`."""
        return self.store.plans.get(plan_id).texts

    def results(self, filters: Mapping[str, str], *, limit: int = 100, cursor: str | None = None, doubted: bool = False) -> Json:
        """A page of results (or doubted ones) in the columns of the results table: ``items``, and ``next`` where there are more."""
        return records.page(self.store.results(filters, cursor, limit, doubted=doubted), records.record)

    def used_by(self, plan_id: str, *, limit: int = 100, cursor: str | None = None) -> Json:
        """A page of the results that a plan's prediction is based on, also those that were replaced since.

        Raises :class:`~modak.errors.NotFound`.
        """
        return records.page(self.store.numbered(self.store.plans.get(plan_id).result_ids, cursor, limit), records.record)

    def behind_curve(self, application: str, model_id: str, cursor: str | None = None) -> Json:
        """A page of the results that a curve of an application is fitted to. Raises :class:`~modak.errors.NotFound`."""
        curve = self.store.model(model_id)
        if curve is None or curve.series.application != application:
            raise records.no_model(model_id, "id")
        return records.page(self.store.numbered(curve.result_ids, cursor), records.record)

    def replaced(self, filters: Mapping[str, str], *, limit: int = 100, cursor: str | None = None) -> Json:
        """A page of the results that were replaced, the last first: when, by whom and from which file."""
        return records.page(self.store.replaced(filters, cursor, limit), records.replaced)

    def outcomes(self, application: str | None = None, system: str | None = None, *, limit: int = 100) -> Json:
        """Predicted times of plans beside those of their jobs, the newest first: at most so many ``items``, and figures of all, see
        :func:`modak.service.records.outcomes`."""
        wanted = {"application": application, "system": system}
        found = self.store.outcomes({name: text for name, text in wanted.items() if text is not None})
        return records.outcomes(found, limit)

    def compare(
        self, column: str, values: Sequence[str] = (), filters: Mapping[str, str] = NO_FILTERS, *, go_on: Callable[[], None] = lambda: None
    ) -> Json:
        """``pairs`` of results that match the filters and differ in the ``column`` only, each value with the first of ``values``, and how
        they differ: :class:`modak.results.comparison.ComparedPair`. With the column ``measured_at`` one value parts them: a date or an
        instant; without one the answer has ``shifts``, the days since which runs take longer, or less.

        ``go_on`` is called between pages of results, and ends the comparison if it raises. Raises :class:`~modak.errors.RequestError` for
        a column or a value that cannot be compared, :class:`~modak.errors.NotFound` and :class:`~modak.errors.DataError` without results.
        """
        from modak.service.comparisons import comparison

        systems = self.facts().systems.values()

        def rows() -> Iterator[Json]:
            cursor: str | None = None
            while True:
                go_on()
                page = self.results(filters, limit=1000, cursor=cursor)
                yield from page["items"]
                cursor = page.get("next")
                if cursor is None:
                    return

        def names_in(column: str) -> Collection[str]:
            if column == "application":
                return self.store.applications()
            if column == "system":
                return [name for system in systems for name in (system.name, *system.aliases)]
            return METRICS if column == "metric" else ()

        return comparison(rows(), column, values, filters, own_names(systems), names_in)

    def export(self, filters: Mapping[str, str]) -> Export:
        """All results that match the filters: the columns, and rows of text."""
        return self.store.export_rows(filters)

    def listing(self, kind: str, application: str | None = None) -> list[Json]:
        """Every item of ``systems``, ``images``, ``rules`` or ``models``; of models only those of an application, if one is given."""
        if kind == "models":
            return [records.model(curve) for curve in self.store.models(application)]
        return [records.known(item) for item in self._known(kind)]

    def listing_page(self, kind: str, *, limit: int = 100, cursor: str = "") -> Json:
        """A page of ``systems``, ``images`` or ``rules``, sorted by their keys, or of ``models``, which are fitted where results changed:
        ``items``, and ``next`` where there are more."""
        if kind == "models":
            return records.page(self.store.models_page(cursor, limit), records.model)
        key: Callable[[Fact], str] = attrgetter(records.KEYS[kind])
        rest = sorted((item for item in self._known(kind) if key(item) > cursor), key=key)
        return records.page(paged((((key(item),), item) for item in rest), limit), records.known)

    def item(self, kind: str, name: str) -> Json:
        """One of them: a system or rule by its name, an image by its reference, a model by its id.

        Raises :class:`~modak.errors.UnknownName`, or :class:`~modak.errors.NotFound` for a model.
        """
        if kind != "models":
            return records.item_called(name, self.listing(kind), records.KEYS[kind], kind.removesuffix("s"))
        curve = self.store.model(name)
        if curve is None:
            raise records.no_model(name, "name")
        return records.model(curve)

    def curves(self, application: str | None = None) -> dict[str, Curve]:
        """The fitted curves of one application, or of all, by their ids."""
        return {curve.name: curve for curve in self.store.models(application)}

    def evaluate(
        self,
        *,
        holdout: str = "largest:2",
        application: str | None = None,
        system: str | None = None,
        level: float = 0.9,
        go_on: Callable[[], None] = lambda: None,
    ) -> Json:
        """Cross-validation of the curves of an application on a system, or of all:
        :class:`modak.perfmodel.validation.holdout.HoldoutReport`, and ``notes``.

        ``go_on`` is called between the predictions, and ends them if it raises. Raises :class:`~modak.errors.RequestError` for an unknown
        ``holdout``, and :class:`~modak.errors.NotFound` if nothing can be hidden or there are no such curves.
        """
        return curves.accuracy(self.store, self.facts(), holdout, application, system, level, go_on)

    def lines(
        self,
        models: Sequence[str] = (),
        application: str | None = None,
        system: str | None = None,
        *,
        level: float = 0.9,
        most: int = MOST_LINES,
    ) -> Json:
        """At most so many ``lines`` of one picture, its ``title``, how many ``curves`` it would have in all, and ``notes`` on what is left
        out: of the models with these ids, or of those of an application on a system.

        Raises :class:`~modak.errors.NotFound` if there are none.
        """
        return curves.lines(self.store, self.facts(), models, application, system, level, most)

    def chosen(self, curves: Mapping[str, Curve], model_id: str = "", used_by: str = "") -> Mapping[str, Curve]:
        """Of curves by their ids: all, or that with an id, or those that share results with the prediction of a plan.

        Raises :class:`~modak.errors.NotFound` for an id that none of them has, and for an unknown plan.
        """
        if model_id:
            if model_id not in curves:
                raise records.no_model(model_id, "id")
            return {model_id: curves[model_id]}
        if used_by:
            used = set(spelt_out(self.store.plans.get(used_by).result_ids))
            return {name: curve for name, curve in curves.items() if not used.isdisjoint(spelt_out(curve.result_ids))}
        return curves

    def next_runs(
        self,
        document: Any,
        *,
        most: int = 5,
        budget: float | None = None,
        gain: float = LEAST,
        scripts: bool = False,
        strict: bool = False,
        go_on: Callable[[], None] = lambda: None,
    ) -> Json:
        """The ``runs`` that are worth measuring next for the decision of a request, and what is ``likely`` to be the right choice.

        ``gain``: the smallest part of today's interval that a run has to narrow.

        Intervals are factors: from ``value / interval`` to ``value * interval``. With ``scripts`` each run has its ``texts``.
        ``go_on`` is called between the candidates, and ends the work if it raises. Raises as :meth:`optimise` does.
        """
        from modak.nextruns import next_runs
        from modak.onerun import measurement

        with _asked(document, self.facts_for, strict=strict) as (read, facts):
            found = next_runs(read.request, facts, most, budget, gain, go_on)
        warnings = _warnings(read, found.warnings, strict=strict)
        answer = found.as_json() | {"warnings": [warning.model_dump() for warning in warnings]}
        if scripts:
            for run, proposal in zip(answer["runs"], found.proposals, strict=True):
                run["texts"] = asdict(measurement(read.request, facts, found.decision, proposal.index).texts)
        return answer

    # --- what changes the data; never over HTTP without a token

    def load(
        self,
        found: Incoming,
        actor: Actor | None = None,
        *,
        dry_run: bool = False,
        replace: bool = False,
        progress: Progress = silent,
        token: UsedToken | None = None,
    ) -> Json:
        """Load the tables in the actor's name: all rows or none. Returns what changed, as JSON.

        ``replace``: a row replaces those of the same run with another value. ``progress`` is told the part that is done and the rows so
        far. A job's ``token`` is used up, if there is one. Raises :class:`~modak.errors.DataError` with faults ``FILE:LINE``.
        """
        by = actor or local_actor()
        report = self.store.load(found.tables, by, dry_run=dry_run, replace=replace, progress=progress, token=token)
        return records.report(report, found.notes)

    def allow_result(self, plan_id: str, actor: Actor) -> Json:
        """A ``token`` with which one result of the plan can be sent in the actor's name, and when it ``expires_at``.

        Raises :class:`~modak.errors.NotFound` for a plan that is not there.
        """
        from modak.auth import tokens

        token = tokens.new(tokens.JOB)
        until = self.store.access.allow_result(tokens.digest(token), plan_id, actor)
        return {"token": token, "expires_at": until.isoformat()}

    def take_result(self, plan_id: str, document: Any, actor: Actor, token: UsedToken | None = None) -> Json:
        """Load what a job of the plan reports; returns what changed, as :meth:`load` does. A run that failed leaves the token for another.

        Raises :class:`~modak.errors.RequestError` for a report that the plan's script cannot have written.
        """
        from modak.ingest.reading import Incoming, table
        from modak.ingest.sources import from_bytes
        from modak.ingest.table import Options
        from modak.results.reported import MOST_FAILED, has_failed, results_of

        name, why = f"plan {plan_id}", ""
        if not results_of(document, plan_id, self.texts(plan_id).job_script):
            why = "the run failed or measured nothing"
        elif has_failed(document) and self.store.times_loaded(name) >= MOST_FAILED:
            why = f"the run failed, and {MOST_FAILED} runs of this plan are known"
        if why:
            return {"rows": 0, "new": 0, "duplicates": 0, "notes": [f"{why}: nothing was stored"]}
        sent = from_bytes(json.dumps(document, ensure_ascii=False).encode(), name)
        found = Incoming((table(sent, Options(format="modak_result")),))
        return self.load(found, actor, token=None if has_failed(document) else token)

    def audit(self, cursor: str, limit: int) -> Json:
        """A page of who changed what, the newest first: ``items``, and ``next`` where there are more."""
        return records.page(self.store.access.audit(cursor, limit), records.entry)

    def judge(self, judgement: Judgement, chosen: Selection, why: str = "", actor: Actor | None = None) -> Json:
        """Confirm, doubt or unmark the chosen results. Returns how many changed, and which others look right or wrong since.

        The number is called ``confirmed``, ``doubted`` or ``unmarked``.

        Raises :class:`~modak.errors.RequestError` for a doubt with an empty or too long reason.
        """
        reason = admission.reason(why) if judgement == "doubt" else ""
        return records.judged(f"{judgement}ed", self.store.judge(judgement, chosen, actor or local_actor(), reason))

    def add(self, values: Sequence[Known], *, replace: bool = False, actor: Actor | None = None) -> Added:
        """Add entries: all or none. Without an actor it is the user of this process.

        Raises :class:`~modak.errors.Conflict` for a taken name, :class:`~modak.errors.DataError` for a system of unknown hardware.
        """
        admission.refuse_unknown_variants(values)
        admission.refuse_bad_rules(values)
        check = partial(admission.fits, values) if admission.has_to_fit(values) else None
        added = self.store.add(values, actor or local_actor(), replace=replace, check=check)
        strange = admission.strange_names(values, self.store.described_systems()) if admission.names_a_place(values) else ()
        return Added(added.changed, (*added.notes, *strange, *admission.strange_processors(values)))

    def remove(self, kind: str, name: str, actor: Actor | None = None) -> tuple[str, ...]:
        """Remove one of ``systems``, ``images`` or ``rules``. Results and plans that name it stay. Returns what should be known of those.

        Raises :class:`~modak.errors.UnknownName`.
        """
        return self.store.remove(admission.REMOVABLE[kind], name, actor or local_actor())

    def refresh(self, names: Sequence[str] = (), *, replace: bool = False, dry_run: bool = False) -> Json:
        """Store what this MODAK knows and the database does not: all or none. What was changed or removed here stays, unless ``replace``.

        ``differences``: ``kind``, ``name``, ``standing``, whether it is ``taken`` in, what the database has instead (``held``: its name),
        ``by`` whom and ``at`` what time, and a unified ``diff``; ``load``: what became of the results;
        ``notes``: which results look wrong, or no more, beside the new descriptions of their systems.
        Raises :class:`~modak.errors.NotFound` for a name in which nothing differs.
        """
        from modak.ingest.reading import tables

        found = read_all(packaged_root())
        rows = tables(found.result_files).tables if found.result_files else ()
        report = self.store.refresh(found.entries, rows, local_actor(), only=names, replace=replace, dry_run=dry_run)
        differing = [records.difference(one, replace=replace) for one in report.differences]
        return {"differences": differing, "load": records.report(report.load, ()), "notes": list(report.notes)}

    def preview(self, rules: Sequence[Rule], *, last: int = 20) -> Json:
        """What the rules would change in the scripts of the last stored requests: ``plans``, the newest first; nothing is stored.

        Each has its ``id``, its ``diff`` (unified; empty: the same script) and, where it can no longer be answered, an ``error``.
        """
        return {"plans": [preview(plan.id, plan.request, rules, self.facts_for) for plan in self.store.plans.newest(last)]}

    def fit(self, application: str | None = None) -> int:
        """Fit the series that have changed; returns the number of models of the application, or of all, once they are stored."""
        return len(self.store.models(application, stored=True))

    # --- within

    def facts(self, application: str | None = None) -> Prepared:
        """What is known, with the models of one application: the newest version of the data, from memory where it is there."""
        return self._fact_finder.facts(application)

    def facts_for(self, request: Request, *, everywhere: bool = False) -> Prepared:
        """What is known for a request: see :meth:`modak.service.factfinder.FactFinder.facts_for`."""
        return self._fact_finder.facts_for(request, everywhere=everywhere)

    def _known(self, kind: str) -> Sequence[Fact]:
        """Every one of ``systems``, ``images`` or ``rules``."""
        facts = self.facts()
        return {"systems": tuple(facts.systems.values()), "images": facts.images, "rules": facts.rules}[kind]

    def _keep(self, read: Normalised, facts: Facts, solution: Solution, response: str) -> None:
        expires = None if self.plan_days is None else datetime.now(UTC) + timedelta(days=self.plan_days)
        self.store.plans.save(
            solution.job.spec.plan_id,
            read.document,
            response,
            solution.texts,
            data_version=facts.version,
            application=read.request.workload_name,
            expires_at=expires,
            result_ids=result_ids_behind(solution.decision),
        )


def open_service(settings: Settings, *, plan_days: int | None = None, make: bool = True) -> Service:
    """The use cases on the database of the settings; with ``make``, a missing SQLite database is created and filled.

    Raises :class:`~modak.errors.Unavailable` where the database cannot be used.
    """
    return Service(open_store(database(settings), make=make), settings.max_points, plan_days)


def database(settings: Settings) -> str:
    """The address of the database. Raises :class:`~modak.errors.Unavailable` where the environment gives no default."""
    if not settings.database_url:
        raise Unavailable(
            "HOME is not set, so there is no default; give an address, for instance sqlite:///modak.db", field="MODAK_DATABASE_URL"
        )
    return settings.database_url


@contextmanager
def _asked(document: Any, facts_for: Callable[[Request], Found], *, strict: bool) -> Iterator[tuple[Normalised, Found]]:
    """The request in a document, with names as results spell them, and the facts for it. If it is refused in the block, the error has the
    warnings of reading it.
    """
    read = normalise(document, strict=strict)
    try:
        facts = facts_for(read.request)
        if facts is not None:
            request, notices = as_spelt(read.request, facts)
            read = replace(read, request=request, warnings=(*read.warnings, *notices))
        yield read, facts
    except ModakError as error:
        error.warnings = tuple(Fault(notice.field, notice.message) for notice in read.warnings)
        raise


def _solved(read: Normalised, facts: Prepared, *, strict: bool) -> Solution:
    solution = solve(read.request, facts, read.warnings)
    _warnings(read, solution.warnings, strict=strict)
    return solution


def _warnings(read: Normalised, found: Sequence[Notice], *, strict: bool) -> tuple[Notice, ...]:
    """The warnings of reading a request, and those ``found`` on the way to its answer. With ``strict`` any of them is an error."""
    warnings = tuple(dict.fromkeys((*read.warnings, *found)))
    if strict and warnings:
        raise RequestError(faults=strictly(Fault(warning.field, warning.message) for warning in warnings))
    return warnings
