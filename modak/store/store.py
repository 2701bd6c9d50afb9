"""The store: one database and all operations on it. Each method is one transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from threading import Condition
from typing import Final

from sqlalchemy import Connection, Engine, Select, func, select

from modak.errors import Unavailable, UnknownName
from modak.facts import Accelerator, Added, DoubtedResults, Fact, Facts, FailedRuns, Image, Known, Processor, Result, Rule, System
from modak.grouping import grouped
from modak.ingest.table import Table
from modak.packaged import PRINCIPAL, Difference, differences, only_named
from modak.perfmodel.fitting.cells import Cell
from modak.perfmodel.fitting.curves import Curve
from modak.progress import Progress, silent
from modak.store import audit, catalogue, curves, loading, migrate, outcomes, results, staging, suspects, versions
from modak.store.access import Access, UsedToken, entry_names
from modak.store.audit import Actor
from modak.store.builds import Builds
from modak.store.engine import AT_ONCE, REVISION, address_shown, connect, existing, on_network, quick, reading, supported, writing
from modak.store.plans import Plans
from modak.store.results import MOST_WITH_PARAMETERS
from modak.store.schema import builds, instant, loads, models, series
from modak.store.spool import PlanSpool
from modak.store.values import (
    Export,
    FileReport,
    JudgementReport,
    LoadReport,
    Page,
    Place,
    RefreshReport,
    ReplacedResult,
    State,
    cursor_place,
    paged,
)
from modak.text.amounts import counted
from modak.text.numbering import Measured, Numbers, Selection

JUDGED_SHOWN: Final = 10
"""Most suspicious results that are named when a system is described."""


def open_store(url: str, *, fill: bool = True, make: bool = True) -> Store:
    """The store at a database address (``sqlite:///FILE`` or ``postgresql://…``).

    A missing or empty SQLite database is created and, with ``fill``, given the packaged knowledge: all of it or nothing;
    a second process that comes meanwhile waits. Without ``make`` the database has to be there. Raises
    :class:`modak.errors.Unavailable` where it cannot be reached, is not ours, or is of another version.
    """
    engine = connect(supported(url) if make else existing(url))
    try:
        with reading(engine) as connection:
            found = migrate.state(connection)
        created = str(Path(engine.url.database or "").resolve()) if make and found == "empty" and engine.dialect.name == "sqlite" else ""
        if created:
            engine.dispose()
            migrate.upgrade(url, fill=fill)
        else:
            migrate.refuse(found, address_shown(engine.url))
    except BaseException:
        engine.dispose()
        raise
    store = Store(engine, versions.VersionWatch(engine), quick(engine), PlanSpool(engine.url), created=created)
    for each in (store.engine, store.quick_engine):
        each.update_execution_options(**{REVISION: migrate.HEAD})
    return store


class Underway:
    """How many pieces of work are running, in any threads."""

    def __init__(self) -> None:
        self._count, self._changed = 0, Condition()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one more while the block runs."""
        with self._changed:
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def wait(self) -> None:
        """Wait until none is running."""
        with self._changed:
            self._changed.wait_for(lambda: not self._count)


@dataclass(frozen=True)
class Store:
    """An open database. Values go in and come out; :meth:`close` it, or use it with ``with``."""

    engine: Engine
    watch: versions.VersionWatch
    quick_engine: Engine
    """For plans, curves and notes of refusals, which wait neither for the disk nor long for another writer."""
    spool: PlanSpool
    """Plans that were made while a load holds the lock."""
    loads: Underway = field(default_factory=Underway)
    """The loads of this process that are running."""
    created: str = ""
    """The whole path of the database, if it was missing or empty when it was opened."""

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections, once the loads that are running have ended: their callers were told that they will."""
        self.loads.wait()
        self.watch.close()
        self.quick_engine.dispose()
        self.engine.dispose()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about the location of the database."""
        url = self.engine.url
        if url.drivername == "sqlite" and on_network(Path(url.database or "")):
            advice = "use it from one machine at a time, or set MODAK_DATABASE_URL to a PostgreSQL"
            return (f"{address_shown(url)} is on a network file system: {advice}",)
        return ()

    @property
    def access(self) -> Access:
        """Keys, the tokens of jobs, the audit trail."""
        return Access(self.engine, self.quick_engine, self.spool)

    def state(self) -> State:
        """Figures for monitoring, which are quick to read."""
        with reading(self.engine) as connection:

            def count(query: Select[int]) -> int:
                return connection.execute(query).scalar_one()

            every = select(func.count()).select_from(series)
            newest = connection.execute(select(func.max(loads.c.loaded_at))).scalar()
            by_state = select(builds.c.state, func.count()).group_by(builds.c.state)
            return State(
                series=count(every),
                stale_series=count(every.where(curves.BEHIND)),
                models=count(select(func.count()).select_from(models)),
                newest_load=None if newest is None else instant(newest).timestamp(),
                builds=dict(connection.execute(by_state).all()),
            )

    # --- what is known

    def version(self) -> str:
        """The version of the data: another text after every change of knowledge or results."""
        return self.watch.version()

    def ready(self) -> str:
        """The version of the data. Raises :class:`modak.errors.Unavailable` also where the tables are of another MODAK by now."""
        with reading(self.engine) as connection:
            migrate.refuse(migrate.state(connection), address_shown(self.engine.url))
            return versions.current(connection)

    def versions(self) -> tuple[str, str]:
        """The version of the data, and the version at the last change of knowledge, which loading results does not change."""
        with reading(self.engine) as connection:
            return versions.of_all(connection)

    def doubted(self, *applications: str) -> dict[str, tuple[DoubtedResults, ...]]:
        """The results of each of these applications that no model uses until they are confirmed."""
        with reading(self.engine) as connection:
            found = grouped(suspects.doubted(connection, applications), lambda one: one.series.application)
        return {application: tuple(found.get(application, ())) for application in applications}

    def failed(self, *applications: str) -> tuple[FailedRuns, ...]:
        """The failed runs of these applications."""
        with reading(self.engine) as connection:
            return results.failed(connection, applications)

    def snapshot(self) -> Facts:
        """All knowledge, without curves, in one consistent view."""
        with reading(self.engine) as connection:
            return _knowledge(connection)

    def add(
        self,
        values: Iterable[Known],
        actor: Actor,
        *,
        replace: bool = False,
        check: Callable[[Facts], Iterable[str]] | None = None,
    ) -> Added:
        """Store what is known, all of it or none. An equal value changes nothing. Results on the systems are judged again.

        ``check`` gets what is known at that moment, which no other writer changes meanwhile; what it raises ends the call, what it returns
        are further notes. Entries that no longer pass the checks of their kind are left out there: this call may be what mends them.
        Raises :class:`modak.errors.Conflict` where another value has the name (an image: the reference), unless ``replace``.
        """
        given = tuple(values)
        with writing(self.engine) as connection:
            notes = tuple(check(_knowledge(connection, sound=True))) if check else ()
            before = catalogue.read(connection, System, sound=True) if replace else ()
            if not catalogue.add(connection, given, actor.principal, replace=replace):
                return Added(changed=False, notes=notes)
            audit.note(connection, actor, "replace" if replace else "add", entry_names(given))
            versions.bump(connection)
            return Added(changed=True, notes=(*_reviewed(connection, given, before), *notes))

    def remove(self, kind: type[System | Image | Rule], name: str, actor: Actor) -> tuple[str, ...]:
        """Remove an entry, also one that no longer passes the checks of its kind. Results and plans that name it stay.

        Results on a system are judged again, without it: returns what should be known of that.
        Raises :class:`modak.errors.UnknownName` where none has the name (an image: the reference).
        """
        single = kind.__name__.lower()
        with writing(self.engine) as connection:
            removed = [one for one in catalogue.read(connection, System, sound=True) if one.name == name] if kind is System else ()
            if catalogue.remove(connection, kind, name):
                audit.note(connection, actor, audit.REMOVE, [f"{single} {name}"])
                versions.bump(connection)
                return _reviewed(connection, (), removed)
        with reading(self.engine) as connection:  # not while others wait to write: the search for a similar name may take seconds
            known = catalogue.keys(connection, kind)
        raise UnknownName(single, name, known, field="name")

    def differences(self, known: Iterable[Fact]) -> tuple[Difference, ...]:
        """Where the knowledge in this database differs from that of a newer MODAK."""
        with reading(self.engine) as connection:
            return differences(known, catalogue.held(connection), audit.removed(connection))

    def refresh(
        self,
        known: Iterable[Fact],
        tables: Iterable[Table],
        actor: Actor,
        *,
        only: Sequence[str] = (),
        replace: bool = False,
        dry_run: bool = False,
    ) -> RefreshReport:
        """Store what a newer MODAK knows, all of it or none. Entries that were changed or removed here stay so, unless ``replace``.

        New rows of results are loaded as by :meth:`load`; with ``only``, the names of some entries, no results are loaded. Results on
        the systems are judged again.
        Raises :class:`modak.errors.NotFound` for a name in which nothing differs.
        """
        with staging.staged(() if only else tables, self._loaded, silent) as checked, writing(self.engine) as connection:
            before = versions.current(connection)
            found = only_named(differences(known, catalogue.held(connection), audit.removed(connection)), only)
            taken = [one.packaged for one in found if one.packaged is not None and one.taken(replace=replace)]
            held = catalogue.read(connection, System, sound=True) if taken else ()
            catalogue.add(connection, taken, PRINCIPAL, replace=True)
            report = loading.load(connection, checked, PRINCIPAL, knowledge=bool(taken))
            notes = _reviewed(connection, taken, held)
            kept = bool(taken or report.new) and not dry_run
            if kept:
                audit.note(connection, actor, "refresh", [*entry_names(taken), *(_rows_of(file) for file in report.files if file.new)])
            else:
                connection.rollback()
        return RefreshReport(found, report if kept else dataclasses.replace(report, version=before, dry_run=dry_run), notes)

    # --- results

    def load(
        self,
        tables: Iterable[Table],
        actor: Actor,
        *,
        dry_run: bool = False,
        replace: bool = False,
        progress: Progress = silent,
        token: UsedToken | None = None,
    ) -> LoadReport:
        """Store the rows of all tables, or none. Rows that are there already are counted as duplicates and skipped.

        With ``replace``, rows replace those of the same run with another value; the replaced rows are kept as history.
        Files are read and checked before the database is locked. ``progress`` is told how far the load has come.
        With ``dry_run`` nothing is stored. A ``token`` is used up by a load that stores something.
        Raises :class:`modak.errors.DataError` with up to twenty faults ``FILE:LINE``.
        """
        skip = (lambda _: False) if replace else self._loaded
        with self.loads.one(), staging.staged(tables, skip, progress) as checked, writing(self.engine) as connection:
            before = versions.current(connection)
            report = loading.load(connection, checked, actor.principal, replace=replace, progress=progress)
            kept = bool(report.series_count) and not dry_run
            if kept:
                if token:
                    token.use(connection)
                replaced = [f"{counted(report.replaced, 'row')} replaced"] if report.replaced else []
                files = sorted(report.files, key=lambda file: not file.new)  # the end of a long list is cut off
                audit.note(connection, actor, "load results", [*map(_rows_of, files), *replaced])
            else:
                connection.rollback()
        return report if kept else dataclasses.replace(report, version=before, dry_run=dry_run)

    def times_loaded(self, file: str) -> int:
        """How many loads stored something of a file of this name."""
        with reading(self.engine) as connection:
            return connection.scalars(select(func.count()).select_from(loads).where(loads.c.file == file)).one()

    def _loaded(self, table: Table) -> bool:
        """Whether the same content was loaded before, so that it need not be read."""
        with reading(self.engine) as connection:
            return loading.loaded(connection, table) is not None

    def judge(self, judgement: suspects.Judgement, chosen: Selection, actor: Actor, why: str = "") -> JudgementReport:
        """Confirm, doubt or unmark the chosen results. Returns how many changed, and which others look right or wrong since.

        ``confirm``: models use them again; ``doubt`` (with the reason ``why``): no model uses them until they are confirmed; ``unmark``
        takes back either, so that loading judges them. Raises :class:`modak.errors.NotFound` for unknown numbers, an unknown file, or a
        period in which nothing was measured; then nothing is changed.
        """
        with writing(self.engine) as connection:
            loads = len(suspects.loads_of(connection, chosen)) if isinstance(chosen, str) else 0
            meant = suspects.meant(connection, chosen, judgement)
            if not meant.series:
                return JudgementReport(0, loads)
            named = f"file {chosen}" if isinstance(chosen, str) else str(chosen) if isinstance(chosen, Measured) else ""
            targets = [named] if isinstance(chosen, str | Measured) else [str(number) for number in sorted(chosen)]
            audit.note(connection, actor, f"{judgement} results", targets)
            number, _ = versions.bump(connection, knowledge=False)
            count, others = suspects.apply_judgement(connection, meant, number, why)
        doubted, freed = others.doubted, sorted(others.lifted)
        return JudgementReport(count, loads, tuple(doubted[: loading.SHOWN]), len(doubted), tuple(freed[: loading.SHOWN]), len(freed))

    def results(
        self, filters: Mapping[str, str] | None = None, cursor: str | None = None, limit: int = 100, *, doubted: bool = False
    ) -> Page[Result]:
        """A page of results; ``doubted``: only of those that no model uses until they are confirmed.

        ``filters`` are exact texts of columns (``application``, ``system``, ``metric``, ``params.NAME``, …).
        """
        with reading(self.engine) as connection:
            return results.page(connection, filters or {}, cursor, limit, doubted=doubted)

    def outcomes(self, filters: Mapping[str, str]) -> list[outcomes.Outcome]:
        """What became of the predictions of the newest jobs whose results match the filters, the newest first: at most
        :data:`modak.store.outcomes.MOST`."""
        with reading(self.engine) as connection:
            return outcomes.newest(connection, filters)

    def numbered(self, numbers: Numbers, cursor: str | None = None, limit: int = 100) -> Page[Result]:
        """A page of the results with these numbers, also those that were replaced since."""
        with reading(self.engine) as connection:
            return results.numbered(connection, numbers, cursor, limit)

    def replaced(self, filters: Mapping[str, str] | None = None, cursor: str | None = None, limit: int = 100) -> Page[ReplacedResult]:
        """A page of the results that were replaced, the last first."""
        with reading(self.engine) as connection:
            return results.replaced(connection, filters or {}, cursor, limit)

    def having_parameters(self, filters: Mapping[str, str], most: int = MOST_WITH_PARAMETERS) -> list[Cell]:
        """At most so many of the results that match the filters and tell parameters, by series and layout; suspect ones are left out."""
        with reading(self.engine) as connection:
            return results.having_parameters(connection, filters, most)

    def tried(self, compilers: Sequence[str], precisions: Sequence[str], builds: Sequence[str]) -> tuple[Result, ...]:
        """Results of all applications that were run with one of these compilers, precisions or builds, which show what switches do."""
        with reading(self.engine) as connection:
            return results.tried(connection, compilers, precisions, builds)

    def export_rows(self, filters: Mapping[str, str] | None = None) -> Export:
        """Results as rows of text in the columns of the results table, in base units; read while they are iterated."""
        with ExitStack() as stack:
            columns, rows = results.export(stack.enter_context(reading(self.engine)), filters or {})
            kept = stack.pop_all()
        return columns, _until_read(rows, kept)

    def described_systems(self) -> tuple[System, ...]:
        """The systems that are known; one that no longer passes the checks of its kind is left out."""
        with reading(self.engine) as connection:
            return catalogue.read(connection, System, sound=True)

    def applications(self) -> tuple[str, ...]:
        """Applications that have results, in alphabetical order."""
        with reading(self.engine) as connection:
            return tuple(connection.scalars(select(series.c.application).distinct().order_by(series.c.application)))

    # --- models

    def models(self, application: str | None = None, *, stored: bool = False) -> tuple[Curve, ...]:
        """Curves of one application, or of all, fitted where their results changed, and stored for the next time.

        With ``stored`` they wait for other writers, and what cannot be stored is an error: :class:`modak.errors.Unavailable`.
        """
        with reading(self.engine) as connection:
            found = curves.read(connection, None if application is None else [application])
        return self._newest(found, stored=stored)

    def models_of(self, *applications: str) -> tuple[str, dict[str, tuple[Curve, ...]]]:
        """The version of the data and the curves of each of these applications, in one consistent view; what has to be fitted is fitted at
        once."""
        with reading(self.engine) as connection:
            version = versions.current(connection)
            found = curves.read(connection, applications)
        known = grouped(self._newest(found), lambda curve: curve.series.application)
        return version, {application: tuple(known.get(application, ())) for application in applications}

    def model(self, name: str) -> Curve | None:
        """The curve of this name, fitted if its results changed; ``None``: there is none."""
        with reading(self.engine) as connection:
            found = curves.read_called(connection, name)
        return next((curve for curve in self._newest(found) if curve.name == name), None)

    def models_page(self, cursor: str | None = None, limit: int = 100) -> Page[Curve]:
        """A page of all curves, in the order of their series. Where results changed, only the curves of these series are fitted.

        Raises :class:`modak.errors.RequestError` for a wrong cursor or limit (1 to 1,000).
        """
        results.check_limit(limit)
        last = cursor_place(cursor)
        series_of_last, _ = last
        return paged((one for one in self._from(series_of_last, min(limit, AT_ONCE)) if one[0] > last), limit)

    def models_in_turn(self) -> Iterator[Curve]:
        """All curves, in the order of their series; only some of them are in memory at once."""
        return (curve for _, curve in self._from(0, AT_ONCE))

    def _from(self, first: int, most: int) -> Iterator[tuple[Place, Curve]]:
        """Curves with their places, from the series with the number ``first`` on; read and fitted ``most`` series at once."""
        while True:
            with reading(self.engine) as connection:
                read, numbers = curves.read_from(connection, first, most)
            for number, of_series in groupby(self._numbered(read), key=itemgetter(0)):
                if number not in numbers:  # of the same run as one of these
                    continue
                for count, (_, curve) in enumerate(of_series, start=1):
                    yield (number, count), curve
            if len(numbers) < most:  # a load that adds series without end is not followed
                return
            first = max(numbers) + 1

    def _newest(self, read: curves.Snapshot, *, stored: bool = False) -> tuple[Curve, ...]:
        """The curves, fitted where results changed."""
        return tuple(curve for _, curve in self._numbered(read, stored=stored))

    def _numbered(self, read: curves.Snapshot, *, stored: bool = False) -> tuple[curves.Numbered, ...]:
        """The curves with the numbers of their series. New ones are stored: in any case, or if that is possible at once."""
        found, fitted = curves.newest(read)
        if fitted:
            try:
                with writing(self.engine if stored else self.quick_engine, wait=stored) as connection:
                    curves.keep(connection, fitted)
            except Unavailable:
                if stored:
                    raise
        return found

    # --- plans and builds

    @property
    def plans(self) -> Plans:
        """Plans that were answered."""
        return Plans(self.engine, self.quick_engine, self.spool)

    @property
    def builds(self) -> Builds:
        """Builds of images."""
        return Builds(self.engine)


def _rows_of(file: FileReport) -> str:
    return f"{file.name} ({file.new} of {file.rows} rows)"


def _reviewed(connection: Connection, changed: Iterable[Fact], before: Iterable[System] = ()) -> tuple[str, ...]:
    """Judge the results on the systems among what was changed, and on those of ``before`` that are described otherwise now, or no more;
    lines for results that look wrong since, and for those that do no more."""
    systems = {value.name: value for value in changed if isinstance(value, System)}
    left = {system.name for system in catalogue.read(connection, System, sound=True)}
    were = [one for one in before if one.name in systems or one.name not in left]
    return tuple(_told(suspects.review_systems(connection, [*were, *systems.values()])))


def _told(reviewed: suspects.Reviewed) -> Iterator[str]:
    lines = reviewed.doubted
    yield from (f"suspicious from now on: {line}" for line in lines[:JUDGED_SHOWN])
    if len(lines) > JUDGED_SHOWN:
        yield f"suspicious from now on: {len(lines) - JUDGED_SHOWN} more ('modak results list --doubted' shows all)"
    if reviewed.twice:
        yield f"were there under another name of their system, too, and count once from now on: {counted(reviewed.twice, 'result')}"
    if reviewed.lifted:
        yield f"no longer suspicious, and used by the models: {counted(len(reviewed.lifted), 'result')}"


def _until_read(rows: Iterator[dict[str, str]], kept: ExitStack) -> Generator[dict[str, str]]:
    with kept:
        yield from rows


def _knowledge(connection: Connection, *, sound: bool = False) -> Facts:
    """All knowledge, without curves; ``sound`` as in :func:`modak.store.catalogue.read`."""
    return Facts(
        version=versions.current(connection),
        systems={each.name: each for each in catalogue.read(connection, System, sound=sound)},
        processors={each.name: each for each in catalogue.read(connection, Processor, sound=sound)},
        accelerators={each.name: each for each in catalogue.read(connection, Accelerator, sound=sound)},
        images=catalogue.read(connection, Image, sound=sound),
        rules=catalogue.read(connection, Rule, sound=sound),
    )
