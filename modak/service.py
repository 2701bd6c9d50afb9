"""The use cases: load facts, call the core, store the answer. One code path for the command line and the service.

Documents go in and come out as JSON values, so that a caller over HTTP sees what a caller in this process sees.
"""

from __future__ import annotations

import difflib
import getpass
import hashlib
import json
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from modak.cache import Cache
from modak.decision import Decision
from modak.dsl import Request, Texts
from modak.errors import DataError, Fault, ModakError, RequestError, Unavailable, UnknownName, unknown
from modak.facts import Accelerator, Facts, Image, Processor, Result, Rule, System, parameter
from modak.grammar import sound
from modak.knowledge import packaged_root, read_all, read_guide, unknown_variants
from modak.measured import agreeing
from modak.normalise import Normalised, normalise
from modak.numbering import Numbers, Selection
from modak.optimise import Settled, optimise, plan_of, recommend, settle
from modak.packaged import Difference, name_of
from modak.perfmodel import Curve
from modak.perfmodel.matching import same_name
from modak.perfmodel.predict import FAR_DOUBLINGS
from modak.perfmodel.unseen import need_others, numbers_of
from modak.prepared import Prepared
from modak.progress import Progress, silent
from modak.response import filled
from modak.scoring import node_gpus, node_kinds, node_power
from modak.settings import Settings
from modak.store import LoadReport, Page, Store, open_store
from modak.store.access import UsedToken
from modak.store.audit import Actor
from modak.store.newest import Newest, Switches
from modak.store.values import Item, Replaced
from modak.switching import left_open
from modak.target import Target, find_system
from modak.wishes import graph_compilers

if TYPE_CHECKING:
    from modak.ingest.reading import Incoming
    from modak.ingest.sources import Source
    from modak.ingest.table import Options, Point
    from modak.sizing.guide import Guide

Json = dict[str, Any]
Known = System | Processor | Accelerator | Image | Rule
MOST_RESULTS: Final = 50_000
"""Results of other applications that a prediction from parameters looks at."""
MOST_TOLD: Final = 32
"""Questions about applications that were never run on their target, whose answers from parameters are kept."""
REPORTED: Final = ("version", "rows", "new", "duplicates", "replaced", "series_count", "models", "suspicious_count", "dry_run")
GUIDE: Final = "sizing/primeflex.toml"
"""Below `benchmarks_db`: what a sizing needs beside the systems."""


LONGEST_REASON: Final = 300
"""Characters that say why results are doubted."""
SWITCHES: Final = ("compiler", "precision", "params.build")
"""Columns of results that tell how switches were set."""


@dataclass(frozen=True)
class Service:
    """The use cases on one open store. Every method may be called from several threads."""

    store: Store
    max_points: int = 10_000
    plan_days: int | None = None
    """Days for which plans are kept; ``None``: for good."""

    @cached_property
    def _told(self) -> Cache[Hashable, Prepared]:
        """Facts with what parameters tell, by the data and the question."""
        return Cache(MOST_TOLD)

    @cached_property
    def _guide(self) -> Guide:
        """What a sizing needs beside the systems; it comes with the package."""
        return read_guide(packaged_root() / GUIDE)

    @cached_property
    def newest(self) -> Newest:
        """The newest facts, in memory."""
        return Newest(self.store)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    # --- asking

    def optimise(self, document: Any, *, strict: bool = False, keep: bool = True) -> Json:
        """The request's own document, filled in; the plan is kept under its id unless ``keep`` is false.

        Raises :class:`~modak.errors.RequestError` for a document that is wrong (with ``strict``: that gives any warning) and
        :class:`~modak.errors.Infeasible` where no configuration meets the constraints.
        """
        answered: Json = json.loads(self.optimised(document, strict=strict, keep=keep))
        return answered

    def optimised(self, document: Any, *, strict: bool = False, keep: bool = True, address: str = "") -> str:
        """The same as JSON; with the ``address`` that the service is reached at, the texts have addresses, too."""
        read, facts = self._read(document, strict=strict)
        settled = _settled(read, facts, strict=strict)
        plan = plan_of(settled)
        response = filled(read.document, plan, settled.texts, address)
        if keep:
            self._keep(read, facts, settled, response)
        return response

    def settle(self, document: Any, *, strict: bool = False) -> Settled:
        """The texts for a request and what they rest on, without the reasons; nothing is kept. Raises as :meth:`optimise` does."""
        return _settled(*self._read(document, strict=strict), strict=strict)

    def settle_at_once(self, document: Any, *, strict: bool = False) -> Settled | None:
        """The same from what is in memory; ``None``: facts have to be read first, or told from parameters."""
        read = normalise(document, strict=strict)
        facts = self.newest.ready(read.request.workload_name, _left(read.request))
        return None if facts is None or _untried(read.request, facts) else _settled(read, facts, strict=strict)

    def recommend(self, document: Any, *, strict: bool = False, closest: bool = False) -> Json:
        """``choices``, best first, why, ``advice``, and the ``warnings`` of reading the request.

        Where nothing meets the constraints :class:`~modak.errors.Infeasible` is raised; with ``closest`` the one choice is what comes
        closest, and ``missed`` says what stands in the way.
        """
        read = normalise(document, strict=strict)
        found = recommend(read.request, self.facts_for(read.request), closest=closest)
        warnings = dict.fromkeys((*read.warnings, *found.warnings))
        _refuse_warnings(tuple(warnings) if strict else ())
        return {
            "choices": [choice.model_dump(mode="json", exclude_none=True) for choice in found.choices],
            "decisions": list(found.decisions),
            "advice": list(found.advice),
            "warnings": [warning.model_dump() for warning in warnings],
        } | ({"missed": found.missed} if found.missed else {})

    def predict(self, content: bytes, name: str, *, level: float = 0.9) -> Json:
        """The rows of a result table without values, each with its prediction, under ``rows``; and ``warnings``.

        ``name`` is what faults call the table. Raises :class:`~modak.errors.DataError` with faults ``name:LINE``.
        """
        from modak.ingest.reading import points
        from modak.ingest.sources import from_bytes
        from modak.perfmodel.rows import ADDED, gpus_meant, improve_rows, of_several, predict_rows

        asked = points(from_bytes(content, name), self.max_points)
        curves = {application: self.store.models(application) for application in sorted({point.series.application for point in asked})}
        questions = [_flat(point.series.model_dump() | {"unit": point.unit}) | point.layout.model_dump() for point in asked]
        there = node_gpus(self.facts())
        gpus = [gpus_meant(one, curves[one["application"]], there(one["system"], one["partition"])) for one in questions]
        questions = [{**one, "gpus_per_node": count} if count else one for one, count in zip(questions, gpus, strict=True)]
        answered = predict_rows(questions, curves, level, node_power(self.facts()), graph_compilers(), node_kinds(self.facts()))
        answered = improve_rows(questions, answered, self._results_with_parameters(questions, answered), level, graph_compilers())
        rows = [{**_cells(point), **{name: row[name] for name in ADDED}} for point, row in zip(asked, answered, strict=True)]
        warnings = [*_weak(rows), *_of_several(of_several(questions, curves), len(rows)), *_of_gpus(gpus)]
        return {"rows": rows, "level": level, "warnings": warnings}

    def _results_with_parameters(self, questions: Sequence[Mapping[str, Any]], answered: Sequence[Mapping[str, Any]]) -> list[Result]:
        """Results, of any application, of the metrics of weakly answered rows that tell numeric parameters; up to a bound."""
        from modak.perfmodel.rows import WEAK

        told = [
            row for row, answer in zip(questions, answered, strict=True)
            if answer["basis"] in WEAK and any(name.startswith("params.") for name, value in row.items() if value not in (None, ""))
        ]  # fmt: skip
        metrics = sorted({str(row["metric"]) for row in told if row.get("metric")})
        return [result for metric in metrics for result in self._having_params({"metric": metric})][:MOST_RESULTS]

    def _having_params(self, filters: Mapping[str, str]) -> list[Result]:
        """Results that tell parameters, as far as the filters let them; up to a bound."""
        found: list[Result] = []
        cursor: str | None = None
        while len(found) < MOST_RESULTS:
            page = self.store.results(filters, cursor, 1000)
            found += [result for result in page.items if result.series.params]
            cursor = page.next
            if not cursor:
                break
        return found

    def size(self, document: Any, *, strict: bool = False) -> Json:
        """How much hardware the request's goal needs: :class:`modak.sizing.answer.Sizing`, and the ``warnings`` of reading the request.

        Raises :class:`~modak.errors.RequestError` without a deadline, :class:`~modak.errors.UnknownName` for an unknown target.
        """
        from modak.sizing.size import size

        read = normalise(document, strict=strict)
        found = size(read.request, self.facts_for(read.request, everywhere=True), self._guide)
        warnings = tuple(dict.fromkeys((*read.warnings, *found.warnings)))
        _refuse_warnings(warnings if strict else ())
        return found.model_copy(update={"warnings": warnings}).model_dump(mode="json", exclude_none=True)

    def earlier(self, request: Request) -> list[Result]:
        """Results of the request's application that tell parameters, up to a bound."""
        return self._having_params({"application": request.workload_name}) if request.workload_name else []

    # --- what is kept

    def plan(self, plan_id: str) -> Json:
        """The document that was answered with this plan. Raises :class:`~modak.errors.NotFound`."""
        return dict(self.store.plan(plan_id).response)

    def texts(self, plan_id: str) -> Texts:
        """The files of a plan, likewise."""
        return self.store.plan(plan_id).texts

    def results(self, filters: Mapping[str, str], *, limit: int = 100, cursor: str | None = None) -> Json:
        """A page of results in the columns of the results table: ``items``, and ``next`` where there are more."""
        return _page(self.store.results(filters, cursor, limit), _record)

    def used_by(self, plan_id: str, *, limit: int = 100, cursor: str | None = None) -> Json:
        """A page of the results that a plan's prediction rests on, also those that were replaced since.

        Raises :class:`~modak.errors.NotFound`.
        """
        return _page(self.store.numbered(self.store.plan(plan_id).result_ids, cursor, limit), _record)

    def replaced(self, filters: Mapping[str, str], *, limit: int = 100, cursor: str | None = None) -> Json:
        """A page of the results whose place others took, the last first: when, by whom and from which file."""
        return _page(self.store.replaced(filters, cursor, limit), _replaced)

    def export(self, filters: Mapping[str, str]) -> tuple[tuple[str, ...], Iterator[dict[str, str]]]:
        """All results that the filters leave: the columns, and rows of text."""
        export = self.store.export_rows(filters)
        return export.columns, export.rows

    def listing(self, kind: str) -> list[Json]:
        """Every item of ``systems``, ``images``, ``rules`` or ``models``."""
        if kind == "models":
            return [_model(identity, curve) for identity, curve in self.curves().items()]
        facts = self.facts()
        items = {"systems": tuple(facts.systems.values()), "images": facts.images, "rules": facts.rules}[kind]
        return [item.model_dump(mode="json", exclude_unset=True) for item in items]

    def curves(self, application: str | None = None) -> dict[str, Curve]:
        """The fitted curves of one application, or of all, by their ids."""
        return {_identity(curve): curve for curve in self.store.models(application)}

    def next_runs(self, document: Any, *, most: int = 5, budget: float | None = None, scripts: bool = False, strict: bool = False) -> Json:
        """The ``runs`` that are worth measuring next for the decision of a request, and what is ``likely`` to be the right choice.

        Intervals are factors: from ``value / interval`` to ``value * interval``. With ``scripts`` each run has its ``texts``.
        Raises as :meth:`optimise` does.
        """
        from modak.nextruns import as_json, measurement, next_runs

        read = normalise(document, strict=strict)
        facts = self.facts_for(read.request)
        found = next_runs(read.request, facts, most, budget)
        warnings = tuple(dict.fromkeys((*read.warnings, *found.warnings)))
        _refuse_warnings(warnings if strict else ())
        answer = as_json(found) | {"warnings": [warning.model_dump() for warning in warnings]}
        if scripts:
            for run, proposal in zip(answer["runs"], found.proposals, strict=True):
                run["texts"] = asdict(measurement(read.request, facts, found, proposal).texts)
        return answer

    # --- what changes the data; never over HTTP without a token

    def load(self, found: Incoming, *, dry_run: bool = False, replace: bool = False, progress: Progress = silent) -> Json:
        """Load what was found: all rows or none. What changed, as JSON.

        ``replace``: a row replaces those of the same run with another value. ``progress`` is told the part that is
        done and the rows so far. Raises :class:`~modak.errors.DataError` with faults ``FILE:LINE``.
        """
        report = self.store.load(found.tables, principal(), dry_run=dry_run, replace=replace, progress=progress)
        return _report(report, found.notes)

    def load_tables(
        self,
        sources: Sequence[Source],
        options: Options,
        actor: Actor,
        *,
        dry_run: bool = False,
        replace: bool = False,
        token: UsedToken | None = None,
    ) -> Json:
        """Load tables that are at hand, in the actor's name, with a job's ``token`` where it has one; otherwise as :meth:`load`."""
        from modak.ingest.reading import table

        tables = [table(source, options) for source in sources]
        report = self.store.load(tables, actor.principal, dry_run=dry_run, replace=replace, request_id=actor.request_id, token=token)
        return _report(report, ())

    def allow_result(self, plan_id: str, actor: Actor) -> Json:
        """A ``token`` with which one result of the plan can be sent in the actor's name, and when it ``expires_at``.

        Raises :class:`~modak.errors.NotFound` for a plan that is not there.
        """
        from modak.auth import tokens

        token = tokens.new(tokens.JOB)
        until = self.store.access.allow_result(tokens.digest(token), plan_id, actor)
        return {"token": token, "expires_at": until.isoformat()}

    def take_result(self, plan_id: str, document: Any, actor: Actor, token: UsedToken | None = None) -> Json:
        """Load what a job of the plan reports; what changed, as :meth:`load` says it.

        Raises :class:`~modak.errors.RequestError` for a report that the plan's script cannot have written.
        """
        from modak.ingest.sources import from_bytes
        from modak.ingest.table import Options
        from modak.returned import results_of

        if not results_of(document, plan_id, self.texts(plan_id).job_script):
            return {"rows": 0, "new": 0, "duplicates": 0, "notes": ["the run failed or measured nothing: nothing was stored"]}
        content = json.dumps(document, ensure_ascii=False).encode()
        return self.load_tables([from_bytes(content, f"plan {plan_id}")], Options(format="modak_result"), actor, token=token)

    def audit(self, cursor: str, limit: int) -> Json:
        """A page of who changed what, the newest first: ``items``, and ``next`` where there are more."""
        entries, following = self.store.access.audit(cursor, limit)
        return {"items": [{**asdict(entry), "at": entry.at.isoformat()} for entry in entries]} | ({"next": following} if following else {})

    def confirm(self, chosen: Selection, actor: Actor | None = None) -> int:
        """Let models rest on results that were doubted; how many of them were."""
        by = actor or Actor(principal())
        return self.store.confirm(chosen, by.principal, request_id=by.request_id)

    def doubt(self, chosen: Selection, why: str, actor: Actor | None = None) -> int:
        """Exclude these results from the models until they are confirmed; returns how many had not been doubted before.

        Raises :class:`~modak.errors.RequestError` for a reason that is none.
        """
        by = actor or Actor(principal())
        return self.store.doubt(chosen, _reason(why), by.principal, request_id=by.request_id)

    def add(self, values: Sequence[Known], *, replace: bool = False, actor: Actor | None = None) -> bool:
        """Add what is known: all or none; whether anything changed. Without an actor it is the user of this process.

        Raises :class:`~modak.errors.Conflict` for a taken name, :class:`~modak.errors.DataError` for a system of unknown hardware.
        """
        _refuse_unknown_hardware(values, self.facts())
        _refuse_unknown_variants(values)
        _refuse_bad_rules(values)
        before, by = self.store.version(), actor or Actor(principal())
        return self.store.add(values, by.principal, replace=replace, request_id=by.request_id) != before

    def refresh(self, names: Sequence[str] = (), *, replace: bool = False, dry_run: bool = False) -> Json:
        """Take in what this MODAK brings along and the database has not: all or none. What was changed here stays, unless ``replace``.

        ``differences``: ``kind``, ``name``, ``standing``, whether it is ``taken`` in, what the database has instead (``held``: its name),
        ``by`` whom and ``at`` what time, and a unified ``diff``; ``load``: what became of the results.
        Raises :class:`~modak.errors.UnknownName` for a name in which nothing differs.
        """
        from modak.ingest.reading import tables

        found = read_all(packaged_root())
        rows = tables(found.result_files).tables if found.result_files else ()
        told = self.store.refresh(found.entries, rows, Actor(principal()), only=names, replace=replace, dry_run=dry_run)
        differing = [
            {
                "kind": one.kind,
                "name": one.name,
                "standing": one.standing,
                "taken": one.taken(replace=replace),
                "held": name_of(one.held.value) if one.held else None,
                "by": one.held.by if one.held else None,
                "at": one.held.at.isoformat() if one.held else None,
                "diff": _diff(one),
            }
            for one in told.differences
        ]
        return {"differences": differing, "load": _report(told.load, ())}

    def preview(self, rules: Sequence[Rule], *, last: int = 20) -> Json:
        """What adding the rules changes in the scripts of the last stored requests: ``plans``, the newest first; nothing is stored.

        Each has its ``id``, its ``diff`` (unified; empty: the same script) and, where it can no longer be answered, an ``error``.
        """
        return {"plans": [self._previewed(plan.id, plan.request, rules) for plan in self.store.last_plans(last)]}

    def fit(self, application: str | None = None) -> int:
        """Fit what changed; the number of models of the application, or of all."""
        return len(self.store.models(application))

    # --- within

    def facts(self, application: str | None = None) -> Prepared:
        """What is known, with the models of one application: the newest version of the data, from memory where it is there."""
        return self.newest.facts(application)

    def facts_for(self, request: Request, *, everywhere: bool = False) -> Prepared:
        """What is known for a request: with what other applications tell of the switches that it leaves to the evidence, and with what its
        parameters tell of its target (``everywhere``: of every known system where it names none), where the application was never run.
        """
        left = _left(request)
        facts = self.newest.facts(request.workload_name, left)
        places = _untried(request, facts, everywhere=everywhere)
        if not places:
            return facts
        said = tuple(sorted((name, parameter(value)) for name, value in request.optimisation.workload.params.items()))
        key = (facts.version, request.workload_name, places, left, said, request.optimisation.workload.batch_size)
        return self._told.get(key, lambda: self._with_parameters(request, facts, places))

    def _read(self, document: Any, *, strict: bool) -> tuple[Normalised, Prepared]:
        """The request in a document, and the facts for it."""
        read = normalise(document, strict=strict)
        return read, self.facts_for(read.request)

    def _with_parameters(self, request: Request, facts: Prepared, places: Sequence[frozenset[str]]) -> Prepared:
        """The facts with what the parameters of an application tell that was never run in these places, each by its names.

        Each place is told from its own results; where some configuration has too few of them, from all results of their metrics.
        """
        from modak.perfmodel.told import told_curves

        work = request.optimisation.workload
        tell = partial(told_curves, str(request.workload_name), work.params, batch=work.batch_size)
        here = {names: self._having_params_on(names) for names in places}
        left = [names for names in places if need_others(here[names])]
        told = [tell(names, results) for names, results in here.items() if names not in left]
        metrics = sorted({result.series.metric for names in left for result in here[names]})
        results = [result for metric in metrics for result in self._having_params({"metric": metric})]
        found = (*chain.from_iterable(told), *tell(frozenset().union(*left), results))
        return facts.with_evidence((*facts.models, *found), facts.tried) if found else facts

    def _having_params_on(self, names: frozenset[str]) -> list[Result]:
        spelled = sorted({spelling for name in names for spelling in (name, name.replace("-", "_"))})
        return [result for name in spelled for result in self._having_params({"system": name})]

    def _previewed(self, plan_id: str, request: Mapping[str, Any], rules: Sequence[Rule]) -> Json:
        """Today's answer to a request without and with the rules; one of a name that is there takes that one's place."""
        names = {rule.name for rule in rules}
        try:
            read = normalise(request)
            facts = self.facts_for(read.request)
            then = replace(facts, rules=(*(rule for rule in facts.rules if rule.name not in names), *rules))
            before, after = (_scripts(optimise(read.request, known, read.warnings).texts) for known in (facts, then))
        except ModakError as error:
            return {"id": plan_id, "diff": "", "error": str(error)}
        lines = difflib.unified_diff(before, after, f"{plan_id} as it is", f"{plan_id} with the rules")
        return {"id": plan_id, "diff": "".join(lines)}

    def _keep(self, read: Normalised, facts: Facts, settled: Settled, response: str) -> None:
        expires = None if self.plan_days is None else datetime.now(UTC) + timedelta(days=self.plan_days)
        self.store.save_plan(
            settled.plan_id,
            read.document,
            response,
            settled.texts,
            data_version=facts.version,
            application=read.request.workload_name,
            expires_at=expires,
            result_ids=_behind(settled.decision, facts.models),
        )


def open_service(settings: Settings, *, plan_days: int | None = None) -> Service:
    """The use cases on the database of the settings; a missing SQLite database is created and filled.

    Raises :class:`~modak.errors.Unavailable` where the database cannot be used.
    """
    return Service(open_store(database(settings)), settings.max_points, plan_days)


def database(settings: Settings) -> str:
    """The address of the database. Raises :class:`~modak.errors.Unavailable` where the environment gives no default."""
    if not settings.database_url:
        raise Unavailable(
            "HOME is not set, so there is no default; give an address, for instance sqlite:///modak.db", field="MODAK_DATABASE_URL"
        )
    return settings.database_url


def item_called(name: str, items: Sequence[Json], key: str, what: str) -> Json:
    """The item whose ``key`` is the name, or, as requests may write it, differs in underscores and case alone or is an alias.

    Raises :class:`~modak.errors.UnknownName`.
    """
    by_name = {item[key]: item for item in items}
    alike = {same_name(other): item for item in items for other in (*item.get("aliases", ()), item[key])}
    found = by_name.get(name) or alike.get(same_name(name))
    if found is None:
        raise UnknownName(what, name, by_name)
    return found


def _diff(one: Difference) -> str:
    """What the package says otherwise than the database, line by line; empty where one of them says nothing."""
    if one.packaged is None or one.held is None or one.standing == "name taken":
        return ""
    bodies = [value.model_dump(mode="json", exclude_unset=True) for value in (one.held.value, one.packaged)]
    before, after = (json.dumps(body, indent=2, ensure_ascii=False, sort_keys=True).splitlines() for body in bodies)
    named = f"{one.kind} {one.name}"
    return "\n".join(difflib.unified_diff(before, after, f"{named} in the database", f"{named} of this MODAK", lineterm=""))


def principal() -> str:
    """Who changes the data, for the record: the user of this process."""
    try:
        return f"local:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user need not have a name
        return f"local:{os.getuid()}"


def _settled(read: Normalised, facts: Prepared, *, strict: bool) -> Settled:
    settled = settle(read.request, facts, read.warnings)
    _refuse_warnings(settled.warnings if strict else ())
    return settled


def _left(request: Request) -> Switches:
    """The switches that a request leaves to the evidence, as the store takes them; ``()``: none."""
    left = left_open(request)
    return tuple(tuple(each.on for each in left if each.column == column) for column in SWITCHES) if left else ()


def _untried(request: Request, facts: Facts, *, everywhere: bool = False) -> tuple[frozenset[str], ...]:
    """The target (``everywhere``: each known system where none is named), by its names, if nothing was run there that agrees with the
    request, and it says numbers that may tell how it would do.
    """
    if not numbers_of(request.optimisation.workload.params):
        return ()
    name = request.target.name
    asked = (name,) if name else tuple(facts.systems) if everywhere else ()
    places = (Target(name=one, system=find_system(one, facts)).names for one in asked)
    run = {same_name(curve.series.system) for curve in agreeing(facts.models, request)}
    return tuple(names for names in places if names.isdisjoint(run))


def _behind(decision: Decision, models: Sequence[Curve]) -> Numbers:
    """The results of the curves that the choice rests on: its own, and those that had a say."""
    if not decision.evidence.known:
        return ()
    found = decision.evidence.predictions[int(decision.scored.shape[decision.best])]
    alone = decision.scored.basis[decision.best] in ("measured", "interpolated")
    heard = set() if alone else set(found.others)
    curves = [found.curve, *(curve for curve in models if heard and curve.measured in heard)]
    return tuple(dict.fromkeys(numbers for curve in curves if curve for numbers in curve.result_ids))


def _refuse_unknown_hardware(values: Sequence[Known], facts: Facts) -> None:
    processors = {*facts.processors, *(value.name for value in values if isinstance(value, Processor))}
    accelerators = {*facts.accelerators, *(value.name for value in values if isinstance(value, Accelerator))}
    partitions = [(value, partition) for value in values if isinstance(value, System) for partition in value.partitions]
    wanted = [(at, "processor", at[1].node.processor, processors) for at in partitions]
    wanted += [(at, "accelerator", at[1].node.accelerator, accelerators) for at in partitions if at[1].node.accelerator]
    faults = [
        Fault(
            f"{system.name}: partitions.{partition.name}.node.{what}",
            f"{unknown(what, name, known)}; another one comes along in a file of {what}s (modak systems add --{what}s FILE)",
        )
        for (system, partition), what, name, known in wanted
        if name not in known
    ]
    if faults:
        raise DataError(faults=faults)


def _refuse_unknown_variants(values: Sequence[Known]) -> None:
    systems = [value for value in values if isinstance(value, System)]
    faults = [Fault(f"{system.name}: {field}", why) for system in systems for field, why in unknown_variants(system)]
    if faults:
        raise DataError(faults=faults)


def _refuse_bad_rules(values: Sequence[Known]) -> None:
    from modak.rules import check

    faults = [Fault(f"rules.{rule.name}", str(fault)) for rule in values if isinstance(rule, Rule) for fault in check(rule)]
    if faults:
        raise DataError(faults=faults)


def _scripts(texts: Texts) -> list[str]:
    """The lines of the job script and of the build script."""
    return [*texts.job_script.splitlines(keepends=True), *texts.build_script.splitlines(keepends=True)]


def _refuse_warnings(warnings: Sequence[Any]) -> None:
    if warnings:
        raise RequestError(faults=[Fault(warning.field, warning.message) for warning in warnings])


def _report(report: LoadReport, notes: Sequence[str]) -> Json:
    files = [
        {"name": file.name, "format": file.format, "sha256": file.sha256, "rows": file.rows, "new": file.new, "duplicates": file.duplicates}
        | ({"already_loaded": file.already.isoformat()} if file.already else {})
        for file in report.files
    ]
    counts = {name: getattr(report, name) for name in REPORTED}
    lists = {"series": report.series, "suspicious": report.suspicious, "notes": (*report.notes, *notes)}
    return {**counts, **{name: list(lines) for name, lines in lists.items()}, "files": files}


def _flat(series: Mapping[str, Any]) -> Json:
    """A series under the columns of the results table: ``params.NAME`` for each parameter."""
    rest = {name: value for name, value in series.items() if name != "params"}
    return rest | {f"params.{name}": value for name, value in series.get("params", {}).items()}


def _reason(why: str) -> str:
    try:
        said = sound(why).strip()
    except ValueError as wrong:
        raise RequestError(str(wrong), field="why") from None
    if not 0 < len(said) <= LONGEST_REASON:
        raise RequestError(f"a reason of 1 to {LONGEST_REASON} characters", field="why")
    return said


def _page(page: Page[Item], shown: Callable[[Item], Json]) -> Json:
    return {"items": [shown(item) for item in page.items]} | ({"next": page.next} if page.next else {})


def _replaced(item: Replaced) -> Json:
    return {**_record(item.result), "replaced_at": item.at.isoformat(), "replaced_by": item.principal, "replaced_from": item.file}


def _record(result: Result) -> Json:
    """A result in the columns of the results table; what is unknown is left out."""
    dumped = result.model_dump(mode="json", exclude_none=True, exclude={"series", "layout"})
    series, layout = (part.model_dump(mode="json", exclude_none=True) for part in (result.series, result.layout))
    return {**_flat(series), **layout, **dumped}


def _model(identity: str, curve: Curve) -> Json:
    dumped = curve.model_dump(mode="json", exclude_none=True)
    return {"id": identity, "application": curve.series.application, **dumped, "results_used": curve.results_used}


def _identity(curve: Curve) -> str:
    key = f"{curve.series.model_dump_json()}{curve.layout.model_dump_json()}{curve.scale}"
    return hashlib.sha256(key.encode()).hexdigest()[:12]


def _of_several(count: int, rows: int) -> list[Json]:
    """A warning for rows that leave open which of several data sets they mean."""
    message = f"{count} of {rows} rows name none, and there are results of several: the column model says of which one each answer is"
    return [{"field": "dataset", "message": message}] if count else []


def _of_gpus(counted: Sequence[int | None]) -> list[Json]:
    """A warning for rows that name nodes and no GPUs, where results are over GPUs: how many were counted."""
    rows = sum(count is not None for count in counted)
    numbers = ", ".join(map(str, sorted({count for count in counted if count})))
    each = f"all that a node has are counted ({numbers}; 1 where that is unknown)"
    message = f"{rows} of {len(counted)} rows name none, and results are over GPUs: {each}"
    return [{"field": "gpus_per_node", "message": message}] if rows else []


def _cells(point: Point) -> Json:
    """The cells that a row came with: counts and switches as what they mean, nothing where they are empty."""
    meant = point.layout.model_dump() | {name: getattr(point.series, name) for name in ("hyperthreads", "numa_mode")}
    return {name: meant.get(name, text or None) for name, text in point.cells.items()}


def _weak(rows: Sequence[Mapping[str, Any]]) -> list[Json]:
    """One warning for each weak basis among the rows, and one for those far beyond what was measured."""
    means = {
        "transferred": "from results of relatives alone",
        "heuristic": "from too few sizes to know how the program scales",
        "none": "without a prediction: no results of that application can be used",
    }
    counts = {basis: sum(row["basis"] == basis for row in rows) for basis in means}
    far = sum((row["extrapolation"] or 0.0) > FAR_DOUBLINGS for row in rows)
    guesses = f"{far} of {len(rows)} rows more than {FAR_DOUBLINGS:g} doublings beyond what is measured: guesses; measure in between first"
    return [
        {"field": "basis", "message": f"{count} of {len(rows)} rows {means[basis]} ({basis})"} for basis, count in counts.items() if count
    ] + ([{"field": "extrapolation", "message": guesses}] if far else [])
