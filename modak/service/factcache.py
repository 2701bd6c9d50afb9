"""The newest facts, cached in memory: prepared once for each version of the data."""

from __future__ import annotations

import gc
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Final

from modak.errors import Unavailable, nearest_of_many
from modak.facts import other_spellings
from modak.prepared import Prepared, prepared
from modak.store.store import Store

MOST: Final = 32
"""Most pairs of an application and a set of switches whose facts are kept."""
PATIENCE_S: Final = 2.0
"""Seconds that requests wait for new knowledge, from the first of them on; then the version before answers, which is complete in itself."""


Switches = tuple[tuple[str, ...], ...]
"""Names of switches that are left to the evidence, as :meth:`modak.store.Store.tried` takes them."""


@dataclass(frozen=True)
class _Knowledge:
    """Facts without evidence, and the version of the data at which they were changed last."""

    facts: Prepared
    changed: str


@dataclass
class FactCache:
    """The newest facts of a store. Changed knowledge is read and prepared by a thread of its own, which then replaces the old.

    Loading results changes no knowledge: nothing is read again for that, and no request waits.
    """

    store: Store
    most: int = MOST
    _knowledge: _Knowledge | None = None
    _known: OrderedDict[tuple[str, Switches], Prepared] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reading: threading.Thread | None = None
    _until: float = 0.0

    def ready(self, application: str | None, switches: Switches = ()) -> Prepared | None:
        """What :meth:`facts` returns, if it is in memory and the newest; otherwise ``None``."""
        held = self._knowledge
        known = self._known.get((application, switches)) if application is not None else held.facts if held else None
        return known if known is not None and known.version == self.store.version() else None

    def facts(self, application: str | None, switches: Switches = ()) -> Prepared:
        """The newest facts, with the models of an application (``None``: without models), and other applications' results for ``switches``.

        Raises :class:`modak.errors.Unavailable` where the database does not answer.
        """
        known = self.ready(application, switches)
        if known is not None:
            return known
        knowledge = self._newest_knowledge()
        return knowledge if application is None else self._about(application, switches, knowledge)

    def _newest_knowledge(self) -> Prepared:
        with self._lock:
            before = self._knowledge or self._read()
        version, changed = self.store.versions()
        if changed != before.changed:
            self._wait()
        elif version != before.facts.version:
            with self._lock:
                if self._knowledge is before:
                    self._knowledge = _Knowledge(before.facts.changed(version=version), changed)
        return (self._knowledge or before).facts

    def _wait(self) -> None:
        """Wait for the thread that reads changed knowledge (there is one at a time), for :data:`PATIENCE_S` at most."""
        with self._lock:
            if self._reading is None or not self._reading.is_alive():
                self._reading = threading.Thread(target=self._read_again, name="modak-facts", daemon=True)
                self._until = time.monotonic() + PATIENCE_S
                self._reading.start()
            reading, until = self._reading, self._until
        reading.join(max(0.0, until - time.monotonic()))

    def _read_again(self) -> None:
        with suppress(Unavailable):  # the version before goes on answering, and the next request tries again
            self._read()

    def _read(self) -> _Knowledge:
        """Read the newest knowledge and prepare its indexes. The garbage collector need not look at it again."""
        _, changed = self.store.versions()  # first: what is added before the facts are read makes them read once more, and is not missed
        facts = prepared(self.store.snapshot())
        facts.build_indexes()
        gc.freeze()
        self._knowledge = found = _Knowledge(facts, changed)
        return found

    def _about(self, application: str, switches: Switches, knowledge: Prepared) -> Prepared:
        called, similar_application = application, None
        version, models = self.store.models_of(called)
        if not models[called] and application not in (measured := self.store.applications()):
            called = other_spellings([application], measured).get(application, application)
            similar_application = None if called in measured else nearest_of_many(application, measured)
            version, models = self.store.models_of(called)
        tried = self.store.tried(*switches) if switches else ()
        facts = knowledge.changed(
            models=knowledge.with_own_names(models[called]),
            tried=knowledge.with_own_names(tried),
            doubted=knowledge.with_own_names(self.store.doubted(called)[called]),
            failed=knowledge.with_own_names(self.store.failed(called)),
            application=called,
            similar_application=similar_application,
        )
        after, _ = self.store.versions()
        if not version == after == knowledge.version:  # the data changed meanwhile: what is of several versions is for this once,
            return facts.changed(version=f"{after}+{token_hex(6)}")  # and no plan of one version has the name of a plan that rests on it
        with self._lock:
            self._known[application, switches] = facts
            while len(self._known) > self.most:
                self._known.popitem(last=False)
        return facts
