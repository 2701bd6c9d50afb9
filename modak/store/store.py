"""The store: one database and all operations on it. Each method is one transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from modak.dsl import Texts
from modak.errors import Unavailable
from modak.facts import Accelerator, Fact, Facts, Image, Processor, Result, Rule, System
from modak.ingest.table import Table
from modak.packaged import PRINCIPAL, Difference, chosen, differences
from modak.perfmodel.curves import Curve
from modak.progress import Progress, silent
from modak.store import audit, catalogue, curves, loading, migrate, plans, results, staging, suspects, tried, upkeep, versions
from modak.store.access import Access, UsedToken, names
from modak.store.audit import Actor
from modak.store.builds import Builds
from modak.store.engine import connect, on_network, quick, reading, shown, supported, translated, writing
from modak.store.schema import series
from modak.store.spool import PlanSpool
from modak.store.state import State, state
from modak.store.underway import Underway
from modak.store.values import Export, LoadReport, Page, Refreshed, Replaced, StoredPlan
from modak.text.numbering import Numbers, Selection


def open_store(url: str, *, fill: bool = True) -> Store:
    """The store at a database address (``sqlite:///FILE`` or ``postgresql://…``).

    A missing or empty SQLite database is created and, with ``fill``, given the packaged knowledge: all of it or nothing;
    a second process that comes meanwhile waits. Raises :class:`modak.errors.Unavailable` where the database cannot be
    reached, is not ours, or is of another version.
    """
    engine = connect(supported(url))
    try:
        with reading(engine) as connection:
            found = migrate.state(connection)
        if found == "empty" and engine.dialect.name == "sqlite":
            engine.dispose()
            migrate.upgrade(url, fill=fill)
        else:
            migrate.refuse(found, shown(engine.url))
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, versions.VersionWatch(engine), quick(engine), PlanSpool(engine.url))


@dataclass(frozen=True)
class Store:
    """An open database. Values go in and come out; :meth:`close` it, or use it with ``with``."""

    engine: Engine
    watch: versions.VersionWatch
    plans_engine: Engine
    """For plans, curves and notes of refusals: a commit that waits for the disk costs more than the plan itself."""
    spool: PlanSpool
    """Plans that were made while a load holds the lock."""
    loads: Underway = field(default_factory=Underway)
    """Those of this process that run."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all connections, when the loads that run have ended: a service that stops has told their callers so."""
        self.loads.wait()
        self.watch.close()
        self.plans_engine.dispose()
        self.engine.dispose()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about the location of the database."""
        url = self.engine.url
        if url.drivername == "sqlite" and on_network(Path(url.database or "")):
            advice = "use it from one machine at a time, or set MODAK_DATABASE_URL to a PostgreSQL"
            return (f"{shown(url)} is on a network file system: {advice}",)
        return ()

    @property
    def access(self) -> Access:
        """Keys, the tokens of jobs, the audit trail."""
        return Access(self.engine, self.plans_engine, self.spool)

    def state(self) -> State:
        """Counts and times for monitoring."""
        with reading(self.engine) as connection:
            return state(connection)

    # --- what is known

    def version(self) -> str:
        """The version of the data: another text after every change of knowledge or results."""
        with translated(self.engine):
            return self.watch.version()

    def versions(self) -> tuple[str, str]:
        """The version of the data, and the one at the last change of what is known: results that are loaded leave that as it is."""
        with reading(self.engine) as connection:
            return versions.of_all(connection)

    def fitted(self, application: str) -> tuple[str, tuple[Curve, ...]]:
        """The version of the data and the curves of one application, in one consistent view; fitted now where results changed."""
        with reading(self.engine) as connection:
            version = versions.current(connection)
            found = curves.read(connection, application)
        return version, self._newest(found)

    def snapshot(self, application: str | None = None) -> Facts:
        """All knowledge, and the curves of ``application``, in one consistent view.

        Series that changed since they were fitted are fitted now, and the curves stored for the next time.
        """
        with reading(self.engine) as connection:
            found = curves.read(connection, application) if application is not None else None
            facts = Facts(
                version=versions.current(connection),
                systems={each.name: each for each in catalogue.read(connection, System)},
                processors={each.name: each for each in catalogue.read(connection, Processor)},
                accelerators={each.name: each for each in catalogue.read(connection, Accelerator)},
                images=catalogue.read(connection, Image),
                rules=catalogue.read(connection, Rule),
            )
        return dataclasses.replace(facts, models=self._newest(found)) if found else facts

    def add(
        self,
        values: Iterable[System | Processor | Accelerator | Image | Rule],
        principal: str,
        *,
        replace: bool = False,
        request_id: str = "",
    ) -> str:
        """Store what is known, all of it or none; returns the version of the data. An equal value changes nothing.

        Raises :class:`modak.errors.Conflict` where another value has the name (an image: the reference), unless ``replace``.
        """
        with writing(self.engine) as connection:
            given = tuple(values)
            if not catalogue.add(connection, given, principal, replace=replace):
                return versions.current(connection)
            audit.note(connection, Actor(principal, request_id), "replace" if replace else "add", names(given))
            return versions.bump(connection)[1]

    def differences(self, known: Iterable[Fact]) -> tuple[Difference, ...]:
        """Where what is known here differs from what a newer MODAK brings along."""
        with reading(self.engine) as connection:
            return differences(known, catalogue.held(connection))

    def refresh(
        self,
        known: Iterable[Fact],
        tables: Iterable[Table],
        actor: Actor,
        *,
        only: Sequence[str] = (),
        replace: bool = False,
        dry_run: bool = False,
    ) -> Refreshed:
        """Take in what a newer MODAK brings along, and leave what was changed here, unless ``replace``; all of it or none.

        Of results the rows that are new, as :meth:`load` would; none where entries are chosen by name, ``only`` these.
        Raises :class:`modak.errors.UnknownName` for a name in which nothing differs.
        """
        with staging.staged(() if only else tables, self._loaded, silent) as checked, writing(self.engine) as connection:
            before = versions.current(connection)
            found = chosen(differences(known, catalogue.held(connection)), only)
            taken = [one.packaged for one in found if one.packaged is not None and one.taken(replace=replace)]
            catalogue.add(connection, taken, PRINCIPAL, replace=True)
            report = loading.load(connection, checked, PRINCIPAL, knowledge=bool(taken))
            if (taken or report.new) and not dry_run:
                told = [f"{file.name} ({file.new} of {file.rows} rows)" for file in report.files if file.new]
                audit.note(connection, actor, "refresh", [*names(taken), *told])
                return Refreshed(found, report)
            connection.rollback()
        return Refreshed(found, dataclasses.replace(report, version=before, dry_run=dry_run))

    # --- results

    def load(
        self,
        tables: Iterable[Table],
        principal: str,
        *,
        dry_run: bool = False,
        replace: bool = False,
        progress: Progress = silent,
        request_id: str = "",
        token: UsedToken | None = None,
    ) -> LoadReport:
        """Store the rows of all tables, or none. A row that is there already is left out and counted.

        With ``replace`` rows take the place of those that tell of the same run with another value, which stay as history.
        Files are read and checked before the database is locked. ``progress`` is told how far the load has come.
        Raises :class:`modak.errors.DataError` with up to twenty faults ``FILE:LINE``. With ``dry_run`` nothing is stored.
        A ``token`` is used up by a load that stores something.
        """
        with (
            self.loads.one(),
            staging.staged(tables, self._loaded if not replace else lambda _: False, progress) as checked,
            writing(self.engine) as connection,
        ):
            before = versions.current(connection)
            report = loading.load(connection, checked, principal, replace=replace, progress=progress)
            if (report.new or report.replaced) and not dry_run:
                if token:
                    token.use(connection)
                told = [f"{file.name} ({file.new} of {file.rows} rows)" for file in report.files]
                audit.note(connection, Actor(principal, request_id), "load results", told)
                return report
            connection.rollback()
        return dataclasses.replace(report, version=before, dry_run=dry_run)

    def _loaded(self, table: Table) -> bool:
        with reading(self.engine) as connection:
            return loading.loaded(connection, table) is not None

    def confirm(self, chosen: Selection, principal: str, *, request_id: str = "") -> int:
        """Let models rest on results that were doubted; how many of them were.

        Raises :class:`modak.errors.NotFound` for numbers or a file that are not there, as :meth:`doubt` does; then nothing is changed.
        """
        return self._settle_doubt(chosen, None, Actor(principal, request_id))

    def doubt(self, chosen: Selection, why: str, principal: str, *, request_id: str = "") -> int:
        """Exclude these results from the models until they are confirmed; returns how many had not been doubted before."""
        return self._settle_doubt(chosen, why, Actor(principal, request_id))

    def _settle_doubt(self, chosen: Selection, why: str | None, actor: Actor) -> int:
        with writing(self.engine) as connection:
            count = suspects.settle(connection, chosen, why, lambda: versions.bump(connection, knowledge=False)[0])
            if count:
                targets = [f"file {chosen}"] if isinstance(chosen, str) else [str(number) for number in sorted(chosen)]
                audit.note(connection, actor, "doubt results" if why else "confirm results", targets)
            return count

    def results(self, filters: Mapping[str, str] | None = None, cursor: str | None = None, limit: int = 100) -> Page[Result]:
        """A page of results. ``filters`` are exact texts of columns (``application``, ``system``, ``metric``, ``params.NAME``, …)."""
        with reading(self.engine) as connection:
            return results.page(connection, filters or {}, cursor, limit)

    def numbered(self, numbers: Numbers, cursor: str | None = None, limit: int = 100) -> Page[Result]:
        """A page of the results with these numbers, also those that were replaced since."""
        with reading(self.engine) as connection:
            return results.numbered(connection, numbers, cursor, limit)

    def replaced(self, filters: Mapping[str, str] | None = None, cursor: str | None = None, limit: int = 100) -> Page[Replaced]:
        """A page of the results whose place others took, the last first."""
        with reading(self.engine) as connection:
            return results.replaced(connection, filters or {}, cursor, limit)

    def results_of(self, application: str) -> tuple[Result, ...]:
        """All results of one application."""
        with reading(self.engine) as connection:
            return results.of_application(connection, application)

    def tried(self, compilers: Sequence[str], precisions: Sequence[str], builds: Sequence[str]) -> tuple[Result, ...]:
        """Results of all applications that were run with one of these: what is known of switches."""
        with reading(self.engine) as connection:
            return tried.tried(connection, compilers, precisions, builds)

    def export_rows(self, filters: Mapping[str, str] | None = None) -> Export:
        """Results as rows of text in the columns of the results table, in base units; read while they are iterated."""
        with ExitStack() as stack:
            export = results.export(stack.enter_context(reading(self.engine)), filters or {})
            kept = stack.pop_all()
        return Export(export.columns, _until_read(export, kept))

    def applications(self) -> tuple[str, ...]:
        """Applications that have results, by name."""
        with reading(self.engine) as connection:
            return tuple(connection.execute(select(series.c.application).distinct().order_by(series.c.application)).scalars())

    def systems(self) -> tuple[str, ...]:
        """Systems that have results, as these write them."""
        with reading(self.engine) as connection:
            return tuple(connection.execute(select(series.c.system).distinct().where(series.c.system.is_not(None))).scalars())

    # --- models

    def models(self, application: str | None = None) -> tuple[Curve, ...]:
        """Curves of one application, or of all, fitted where their results changed."""
        with reading(self.engine) as connection:
            found = curves.read(connection, application)
        return self._newest(found)

    def _newest(self, read: curves.Found) -> tuple[Curve, ...]:
        """Fit what is behind, and keep it for the next time."""
        found, fitted = curves.newest(read)
        self._keep(fitted)
        return found

    def _keep(self, fitted: tuple[curves.Fitted, ...]) -> None:
        """Store new curves. The answer does not hang on it: a database that cannot be written fits again the next time."""
        if not fitted:
            return
        try:
            with writing(self.plans_engine, wait=False) as connection:
                curves.keep(connection, fitted)
        except Unavailable:
            return

    # --- plans

    def save_plan(
        self,
        plan_id: str,
        request: Mapping[str, Any],
        response: str,
        texts: Texts,
        *,
        data_version: str,
        application: str | None = None,
        expires_at: datetime | None = None,
        result_ids: Numbers = (),
    ) -> None:
        """Keep a plan; ``request`` is a JSON object, ``response`` the text of one, ``result_ids`` the results behind its prediction."""
        row = plans.as_row(
            plan_id,
            request,
            response,
            texts,
            data_version=data_version,
            application=application,
            expires_at=expires_at,
            result_ids=result_ids,
        )
        self.spool.store_or_spool(row, lambda: self._store_plan(row))

    def _store_plan(self, row: Mapping[str, Any]) -> None:
        with writing(self.plans_engine, shared=True) as connection:
            taken = self.spool.flush(connection)
            plans.save(connection, row)
        self.spool.remove(taken)

    def plan(self, plan_id: str) -> StoredPlan:
        """A plan. Raises :class:`modak.errors.NotFound`."""
        if waiting := self.spool.find(plan_id):
            return plans.plan_of(waiting)
        with reading(self.engine) as connection:
            return plans.read(connection, plan_id)

    def last_plans(self, limit: int) -> tuple[StoredPlan, ...]:
        """The newest plans, the newest first, those that have expired left out."""
        waiting = {row["id"]: plans.plan_of(row) for row in self.spool.every()}
        with reading(self.engine) as connection:
            found = {plan.id: plan for plan in plans.newest(connection, limit)} | waiting
        return tuple(sorted(found.values(), key=lambda plan: (-plan.created_at.timestamp(), plan.id))[:limit])

    def script(self, plan_id: str) -> str:
        """A plan's job script. Raises :class:`modak.errors.NotFound`."""
        return self.plan(plan_id).texts.job_script

    # --- builds

    @property
    def builds(self) -> Builds:
        """Builds of images."""
        return Builds(self.engine)

    # --- upkeep

    def backup(self, path: Path) -> None:
        """A consistent copy of an SQLite database, while it is in use: whole, or none; with the same rights.

        Raises :class:`modak.errors.Conflict` for a file that exists.
        """
        upkeep.backup(self.engine, path)

    def check(self) -> tuple[str, ...]:
        """What is damaged in an SQLite database; nothing where all is well."""
        return upkeep.check(self.engine)


def _until_read(export: Export, kept: ExitStack) -> Any:
    with kept:
        yield from export.rows
