"""The use cases: load facts, call the core, store the answer. One code path for the command line and the HTTP service.

Start at :class:`modak.service.service.Service`.
"""

from modak.service.records import KEYS
from modak.service.service import Service, database, open_service

__all__ = ["KEYS", "Service", "database", "open_service"]
