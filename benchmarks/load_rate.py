"""Speed of loading results, compared with a raw loop into one flat table with the same indexes; time of the queries of `optimise`.

    python -m benchmarks.load_rate [--rows 100000 1000000] [--url postgresql://USER@HOST/NAME] [--keep DIR]

The raw loop is `csv.reader` and `sqlite3.executemany` (PostgreSQL: `COPY … FROM STDIN` of the file's bytes) into one flat table with
an index on application, on system, on application with nodes, and the unique one over all columns that prevents duplicates. Times
are elapsed times and processor times; compare the latter on a machine that is also used otherwise. All results in the PostgreSQL
database are deleted first: name one that is used for this only.
"""

from __future__ import annotations

import argparse
import csv
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.output import say

APPLICATIONS, SYSTEMS, STARTS = 20, 5, 1_700_000_000
COLUMNS = (
    "application", "dataset", "framework", "framework_version", "compiler", "system", "partition", "nodes", "ranks_per_node",
    "threads_per_rank", "gpus_per_node", "batch_size", "metric", "value", "unit", "repeat", "measured_at",
)  # fmt: skip
REAL = {"value"}
WHOLE = {"nodes", "ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size", "repeat"}


def main() -> None:
    """Write the files, load them both ways, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--url", help="a PostgreSQL database for this alone")
    parser.add_argument("--keep", type=Path, help="where the files are written; default: a folder that is removed")
    wish = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="modak-load-rate-") as folder:
        kept = wish.keep or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        for rows in wish.rows:
            file = written(kept / f"{rows}.csv", rows)
            on_sqlite(file, rows, kept)
            if wish.url:
                on_postgresql(file, rows, wish.url)


def written(path: Path, rows: int) -> Path:
    """A table of so many rows: 300 series, five repeats, times in order."""
    chance = random.Random(1)  # noqa: S311 - data, not secrets
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for number in range(rows):
            application, system = number % APPLICATIONS, number // APPLICATIONS % SYSTEMS
            nodes = 2 ** (number // (APPLICATIONS * SYSTEMS) % 10)
            value = (50 + application) * (0.02 + 0.98 / nodes) * chance.uniform(0.95, 1.05)
            instant = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(STARTS + number * 60 % 60_000_000))
            who = (f"application-{application}", "standard", "tensorflow", f"2.{number % 3}", "xla", f"system-{system}", "main")
            writer.writerow((*who, nodes, 4, 12, 0, 64, "epoch_time", f"{value:.6f}", "s", number % 5, instant))
    return path


def on_sqlite(file: Path, rows: int, folder: Path) -> None:
    """Both ways on SQLite, and the queries on what was loaded."""
    raw = measured(lambda: raw_sqlite(file, fresh(folder / "raw.db")))
    url = f"sqlite:///{fresh(folder / 'modak.db')}"
    report("SQLite", rows, raw, loaded(file, url))
    queries(url)


def on_postgresql(file: Path, rows: int, url: str) -> None:
    """Both ways on PostgreSQL; the server's own processor time is not counted, so compare the wall."""
    from sqlalchemy import text

    from modak.store import open_store, upgrade
    from modak.store.engine import writing

    upgrade(url, fill=False)
    with open_store(url, fill=False) as store, writing(store.engine) as connection:
        connection.execute(text("TRUNCATE results, models, series, loads RESTART IDENTITY CASCADE"))
    raw = measured(lambda: raw_postgresql(file, url))
    report("PostgreSQL", rows, raw, loaded(file, url))
    queries(url)


def fresh(path: Path) -> Path:
    """A database's path where there is none."""
    for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        each.unlink(missing_ok=True)
    return path


def declared(real: str) -> str:
    """The flat table's columns."""
    return ", ".join(f"{name} {real if name in REAL else 'INTEGER' if name in WHOLE else 'TEXT'}" for name in COLUMNS)


def indexes() -> Iterator[str]:
    """What the narrow table has, on the flat one."""
    yield "CREATE INDEX flat_application ON flat (application)"
    yield "CREATE INDEX flat_system ON flat (system)"
    yield "CREATE INDEX flat_nodes ON flat (application, nodes)"
    yield f"CREATE UNIQUE INDEX flat_once ON flat ({', '.join(COLUMNS)})"


def raw_sqlite(file: Path, path: Path) -> None:
    """The raw loop; the same pragmas as MODAK's."""
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;")
    connection.execute(f"CREATE TABLE flat ({declared('REAL')})")
    for statement in indexes():
        connection.execute(statement)
    with file.open(newline="") as stream, connection:
        rows = csv.reader(stream)
        next(rows)
        connection.executemany(f"INSERT OR IGNORE INTO flat VALUES ({', '.join('?' * len(COLUMNS))})", rows)  # noqa: S608
    connection.close()


def raw_postgresql(file: Path, url: str) -> None:
    """`COPY` of the file's bytes."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS flat")
        cursor.execute(f"CREATE TABLE flat ({declared('DOUBLE PRECISION')})".encode())
        for statement in indexes():
            cursor.execute(statement.encode())
        with cursor.copy("COPY flat FROM STDIN (FORMAT csv, HEADER)") as copy, file.open("rb") as stream:
            while block := stream.read(1 << 20):
                copy.write(block)


def measured(act: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the wall and of this process."""
    wall, own = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - wall, time.process_time() - own


def loaded(file: Path, url: str) -> tuple[float, float, float]:
    """MODAK's load of the file in a process of its own: seconds of wall and processor, and the most memory in MB."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        return alone.submit(_loaded_here, file, url).result()


def _loaded_here(file: Path, url: str) -> tuple[float, float, float]:
    import pandas  # noqa: F401 - loading imports it, and that is not measured

    from modak.ingest.reading import tables
    from modak.store import open_store
    from modak.store.audit import Actor

    def load() -> None:
        told = store.load(tables([file]).tables, Actor("benchmark"))
        if told.new != told.rows:
            raise SystemExit(f"{file}: {told.new} of {told.rows} rows are new")

    with open_store(url, fill=False) as store:
        took = measured(load)
    return *took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(kind: str, rows: int, raw: tuple[float, float], own: tuple[float, float, float]) -> None:
    """One line."""
    say(
        f"{kind} {rows} rows: raw {raw[0]:.2f} s ({raw[1]:.2f} s of processor, {rows / raw[0]:.0f} rows/s), "
        f"load {own[0]:.2f} s ({own[1]:.2f}, {rows / own[0]:.0f} rows/s): {raw[0] / own[0]:.2f} of the raw speed "
        f"({raw[1] / own[1]:.2f} by processor), {own[2]:.0f} MB"
    )


def queries(url: str) -> None:
    """What `optimise` asks the store for, once the models are fitted: the facts of one application."""
    from modak.store import open_store

    with open_store(url, fill=False) as store:
        first = measured(lambda: (store.snapshot(), store.models("application-1")))[0]
        again = min(measured(lambda: (store.snapshot(), store.models("application-1")))[0] for _ in range(5))
        page = min(measured(lambda: store.results({"application": "application-1"}))[0] for _ in range(5))
    after = f"{again * 1000:.1f} ms afterwards; a page of results {page * 1000:.1f} ms"
    say(f"  facts of one application: {first:.2f} s with the fit, {after}")


if __name__ == "__main__":
    main()
