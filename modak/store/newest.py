"""The newest facts, kept in memory: prepared once for a version of the data, whatever asks for them."""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from modak.prepared import Prepared, prepared
from modak.store.store import Store

MOST: Final = 32
"""Applications whose models are kept, each for every set of switches that was asked about."""
PATIENCE_S: Final = 2.0
"""How long a request waits for a new version of the data; then it is answered from the one before, which is complete, too."""


Switches = tuple[tuple[str, ...], ...]
"""Names of switches that are left to the evidence, as :meth:`modak.store.Store.tried` takes them."""


@dataclass
class Newest:
    """Facts of a store. A new version is read and prepared by a thread of its own, then takes the old one's place."""

    store: Store
    _knowledge: Prepared | None = None
    _known: OrderedDict[tuple[str, Switches], Prepared] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reading: threading.Thread | None = None

    def ready(self, application: str | None, switches: Switches = ()) -> Prepared | None:
        """What :meth:`facts` answers, if it is in memory and the newest."""
        known = self._knowledge if application is None else self._known.get((application, switches))
        return known if known is not None and known.version == self.store.version() else None

    def facts(self, application: str | None, switches: Switches = ()) -> Prepared:
        """What is known, with the models of an application (of none: without), and what other applications tell of ``switches``.

        Raises :class:`modak.errors.Unavailable` where the database does not answer.
        """
        known = self.ready(application, switches)
        if known is not None:
            return known
        knowledge = self._newest_knowledge()
        return knowledge if application is None else self._about(application, switches, knowledge)

    def _newest_knowledge(self) -> Prepared:
        before = self._knowledge
        if before is None:
            with self._lock:
                return self._knowledge or self._read()
        if before.version != self.store.version():
            self._in_background().join(PATIENCE_S)
        return self._knowledge or before

    def _in_background(self) -> threading.Thread:
        """The thread that reads the new version: one at a time."""
        with self._lock:
            if self._reading is None or not self._reading.is_alive():
                self._reading = threading.Thread(target=self._read, name="modak-facts", daemon=True)
                self._reading.start()
            return self._reading

    def _read(self) -> Prepared:
        """The newest knowledge with its indexes; then the garbage collector need not look at it again."""
        facts = prepared(self.store.snapshot())
        facts.with_evidence(())
        gc.freeze()
        self._knowledge = facts
        return facts

    def _about(self, application: str, switches: Switches, knowledge: Prepared) -> Prepared:
        version, models = self.store.fitted(application)
        facts = knowledge.with_evidence(models, self.store.tried(*switches) if switches else ())
        if version != knowledge.version:  # the data changed meanwhile: models of today with knowledge of yesterday are for this once
            return facts
        with self._lock:
            self._known[application, switches] = facts
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        return facts
