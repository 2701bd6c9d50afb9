"""What is known and what was answered, kept in SQLite or PostgreSQL. Values of :mod:`modak.facts` go in and come out; rows never leave.

Start at :class:`modak.store.store.Store`.
"""

from modak.store.engine import supported
from modak.store.migrate import upgrade
from modak.store.store import Store, open_store
from modak.store.values import FileReport, LoadReport, Page, StoredPlan

__all__ = ["FileReport", "LoadReport", "Page", "Store", "StoredPlan", "open_store", "supported", "upgrade"]
