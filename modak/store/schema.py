"""The tables. A change here needs a migration in `alembic/versions`; a test compares the two.

Times are microseconds since 1970 in UTC. Results are narrow rows of numbers: what repeats is a row of ``series`` or
``texts``, and an unknown number is -1, so that one unique index over plain columns keeps a row from being stored twice
(in SQL no two NULLs are equal).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Row,
    SmallInteger,
    String,
    Table,
    Text,
    and_,
    literal_column,
    or_,
)

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

Id: Final = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite numbers rows by itself only in a column of type INTEGER."""

meta: Final = Table(
    "meta",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("number", Integer, nullable=False, doc="counts the changes of the data"),
    Column("version", String(40), nullable=False, doc="the version of the data: changes with every change, and differs between databases"),
    Column("changed_at", BigInteger, nullable=False),
    Column("knowledge", String(40), nullable=False, server_default="0", doc="the version at the last change that was not of results alone"),
)


def _knowledge(name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("name", String(512), primary_key=True, doc="an image's reference; else the name"),
        Column("body", Text, nullable=False, doc="the value as JSON, see modak.facts"),
        Column("added_at", BigInteger, nullable=False),
        Column("added_by", String(200), nullable=False),
    )


systems: Final = _knowledge("systems")
processors: Final = _knowledge("processors")
accelerators: Final = _knowledge("accelerators")
images: Final = _knowledge("images")
rules: Final = _knowledge("rules")

loads: Final = Table(
    "loads",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("file", Text, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("format", String(64), nullable=False),
    Column("options", Text, nullable=False, doc="columns renamed and filled, as JSON"),
    Column("principal", String(200), nullable=False),
    Column("loaded_at", BigInteger, nullable=False),
    Column("tool_version", String(40), nullable=False),
    Column("rows", BigInteger, nullable=False, default=0),
    Column("new", BigInteger, nullable=False, default=0),
    Column("duplicates", BigInteger, nullable=False, default=0),
    Index("ix_loads_sha256", "sha256"),
)

series: Final = Table(
    "series",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True, doc="hash over all that tells series apart"),
    Column("application", String(200), nullable=False),
    Column("dataset", String(200)),
    Column("params", Text, nullable=False, doc="JSON object, keys sorted"),
    Column("framework", String(200)),
    Column("framework_version", String(200)),
    Column("compiler", String(200)),
    Column("image", String(200)),
    Column("precision", String(200)),
    Column("system", String(200)),
    Column("partition", String(200)),
    Column("mpi", String(200)),
    Column("mpi_from", String(16)),
    Column("hyperthreads", SmallInteger, doc="0, 1 or unknown"),
    Column("numa_mode", Integer),
    Column("runtime", String(200)),
    Column("metric", String(200), nullable=False),
    Column("unit", String(64), nullable=False),
    Column("changed", Integer, nullable=False, doc="meta.number at the last change of the series' results"),
    Column("fitted", Integer, doc="the value of `changed` that the stored models saw"),
    Column("fitted_by", String(40), doc="version of the tool that fitted them"),
    Column(
        "shifts",
        Text,
        doc="JSON: days, from 1970 on, since which runs take longer, or less: each with the ratio, its error, and whether all runs do",
    ),
    Index("ix_series_application", "application"),
    Index("ix_series_system", "system"),
)

texts: Final = Table(
    "texts",
    metadata,
    Column("id", Integer, primary_key=True, doc="0 is the empty text"),
    Column("text", Text, nullable=False, unique=True),
)

results: Final = Table(
    "results",
    metadata,
    Column("id", Id, primary_key=True),
    Column("series_id", Integer, ForeignKey("series.id"), nullable=False),
    Column("load_id", Integer, ForeignKey("loads.id"), nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("ranks_per_node", Integer, nullable=False),
    Column("threads_per_rank", Integer, nullable=False),
    Column("gpus_per_node", Integer, nullable=False),
    Column("batch_size", Integer, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("measured_at", BigInteger, nullable=False),
    Column("value", Double, nullable=False, doc="in the series' unit"),
    Column("source_id", Integer, ForeignKey("texts.id"), nullable=False),
    Column("suspect_id", Integer, ForeignKey("texts.id"), nullable=False, doc="why its file keeps the row out of fits; 0: it does not"),
    Column("doubt_id", Integer, nullable=False, server_default="0", doc="why loading or somebody doubts it; 0: nobody does (any more)"),
    Column("by_hand", SmallInteger, nullable=False, server_default="0", doc="1: somebody doubted or confirmed it, and loading does not"),
    Column("replaced_by", Integer, nullable=False, server_default="0", doc="the load whose row took its place; 0: it stands"),
    CheckConstraint("value > 0 AND value < 1e300", name="value"),
)
ONCE: Final = tuple(results.c[name] for name in (
    "series_id", "nodes", "ranks_per_node", "threads_per_rank", "gpus_per_node", "batch_size",
    "repeat", "measured_at", "value", "source_id", "suspect_id",
))  # fmt: skip
"""What makes two rows duplicates."""
SAME_RUN: Final = tuple(column for column in ONCE if column.name not in ("value", "suspect_id"))
"""What two rows of one run have in common: a corrected row replaces those that agree with it in this."""
Index("uq_results_once", *ONCE, unique=True)
Index("ix_results_series_id", results.c.series_id, results.c.id)
REPLACED: Final = results.c.replaced_by != literal_column("0")  # no parameter: databases find by this that the index will do
"""Rows whose place another took: few, so their index holds no others."""
Index("ix_results_replaced_by", results.c.replaced_by, results.c.id, sqlite_where=REPLACED, postgresql_where=REPLACED)
DOUBTED: Final = results.c.doubt_id != literal_column("0")
"""Rows that loading or somebody doubts: few, too."""
Index("ix_results_doubted", results.c.series_id, results.c.id, sqlite_where=DOUBTED, postgresql_where=DOUBTED)
STANDING: Final = and_(results.c.replaced_by == 0, results.c.suspect_id == 0, results.c.doubt_id == 0)
"""Rows that models may rest on."""
JUDGED: Final = and_(results.c.replaced_by == 0, results.c.suspect_id == 0, or_(results.c.doubt_id == 0, results.c.by_hand == 0))
"""Rows that loading judges: all but those that their file or somebody doubts."""
LEFT_OUT: Final = and_(results.c.replaced_by == 0, results.c.suspect_id == 0, DOUBTED)
"""Rows that they would rest on if loading or somebody did not doubt them."""

models: Final = Table(
    "models",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("series_id", Integer, ForeignKey("series.id"), nullable=False),
    Column("application", String(200), nullable=False),
    Column("body", Text, nullable=False, doc="modak.perfmodel.Curve as JSON"),
    Column("name", String(12), nullable=False, doc="the id by which the curve is known"),
    Index("ix_models_application", "application"),
    Index("ix_models_name", "name"),
    Index("ix_models_series_id", "series_id"),
)

plans: Final = Table(
    "plans",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("application", String(200)),
    Column("data_version", String(40), nullable=False),
    Column("request", Text, nullable=False),
    Column("response", Text, nullable=False),
    Column("job_script", Text, nullable=False),
    Column("build_script", Text, nullable=False),
    Column("definition", Text, nullable=False),
    Column("definition_name", String(200), nullable=False),
    Column("result_ids", Text, nullable=False, server_default="[]", doc="the results that the prediction rests on, as JSON"),
    Index("ix_plans_expires_at", "expires_at"),
)

api_keys: Final = Table(
    "api_keys",
    metadata,
    Column("id", String(16), primary_key=True, doc="what people call the key by; no secret"),
    Column("hash", String(64), nullable=False, unique=True, doc="SHA-256 of the key, which is kept nowhere"),
    Column("name", String(200), nullable=False, doc="what it is for"),
    Column("principal", String(200), nullable=False, doc="whom its writes are attributed to"),
    Column("scopes", String(100), nullable=False, doc="words, separated by blanks"),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", String(200), nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
)

audit: Final = Table(
    "audit",
    metadata,
    Column("id", Id, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("principal", String(200), nullable=False),
    Column("request_id", String(64), nullable=False, doc="empty for what the command line did"),
    Column("action", String(64), nullable=False),
    Column("target", Text, nullable=False),
    Column("outcome", String(64), nullable=False, doc="done, or why not"),
)

result_tokens: Final = Table(
    "result_tokens",
    metadata,
    Column("hash", String(64), primary_key=True, doc="SHA-256 of the token, which is kept nowhere"),
    Column("plan_id", String(64), ForeignKey("plans.id", ondelete="CASCADE"), nullable=False),
    Column("principal", String(200), nullable=False, doc="in whose name the result is loaded"),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    Index("ix_result_tokens_plan_id", "plan_id"),
)

builds: Final = Table(
    "builds",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("key", String(64), nullable=False, doc="hash over what is built and with which tool: builds with one key are one"),
    Column("state", String(16), nullable=False, doc="queued, running, done, failed or cancelled"),
    Column("order", Text, nullable=False, doc="modak.builds.order.Order as JSON"),
    Column("requested_by", String(200), nullable=False),
    Column("requested_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    Column("attempts", Integer, nullable=False, default=0),
    Column("cancel", SmallInteger, nullable=False, default=0, doc="1: somebody wants it to stop"),
    Column("builder", Text, nullable=False, default="", doc="who works on it, as JSON: host, process, process group"),
    Column("beat_at", BigInteger, nullable=False, default=0, doc="when its builder was last seen alive"),
    Column("step", Text, nullable=False, default=""),
    Column("message", Text, nullable=False, default="", doc="why it failed"),
    Column("log", Text, nullable=False, default=""),
    Column("result", Text, nullable=False, default="{}", doc="the image, its files and what running it showed, as JSON"),
    Index("ix_builds_key_state", "key", "state"),
    Index("ix_builds_state_requested_at", "state", "requested_at"),
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    """This moment in UTC."""
    return datetime.now(UTC)


def stored(instant: datetime) -> int:
    """An instant (with an offset) as a number."""
    return (instant - _EPOCH) // timedelta(microseconds=1)


def instant(number: int) -> datetime:
    """A stored number as an instant in UTC."""
    return _EPOCH + timedelta(microseconds=number)


def with_instants(row: Row[Any]) -> dict[str, Any]:
    """The values of a row by column, those of its times (``at``, ``…_at``) as instants."""
    times = {name for name in row._fields if name == "at" or name.endswith("_at")}
    return {name: instant(value) if name in times and value is not None else value for name, value in row._mapping.items()}
