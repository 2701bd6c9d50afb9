"""The database (SQLite or PostgreSQL) of facts, results, models and plans. It takes and returns values of :mod:`modak.facts`, never rows.

Start at :class:`modak.store.store.Store`.
"""

from modak.store.engine import supported
from modak.store.migrate import upgrade
from modak.store.store import Store, open_store
from modak.store.upkeep import backup, check
from modak.store.values import FileReport, LoadReport, Page, StoredPlan

__all__ = ["FileReport", "LoadReport", "Page", "Store", "StoredPlan", "backup", "check", "open_store", "supported", "upgrade"]
