"""The use cases: load facts, call the core, store the answer. One code path for the command line and the HTTP service.

Start at :class:`modak.service.service.Service`.
"""

from modak.service.admission import LONGEST_REASON, Known
from modak.service.records import KEYS
from modak.service.service import Service, database, local_actor, open_service
from modak.text.documents import Json

__all__ = ["KEYS", "LONGEST_REASON", "Json", "Known", "Service", "database", "local_actor", "open_service"]
