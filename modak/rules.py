"""Rules: which ones hold for a job, and what they add to its script.

A rule holds if every key of its condition matches the situation. An unknown property of a situation matches no condition, so that a
rule for one site, application or version is not applied to another. If two rules set the same variable, the stronger one wins: the
higher priority, then the one with more conditions, then the name that sorts first. A decision reports the one that lost.

A rulebook is an index: each rule stands under its rarest condition, so that only few rules are compared with a situation.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final

from packaging.version import InvalidVersion, Version

from modak.cache import Cache
from modak.errors import Fault, RequestError
from modak.facts import Condition, Rule, canonical_runtime
from modak.jobs.spec import RuleText, rivals
from modak.script.checker import is_directive
from modak.script.parts import allowed
from modak.script.shelltext import rule_fault
from modak.text.grammar import sound, version_range
from modak.text.words import Word, parse


@dataclass(frozen=True)
class Situation:
    """The properties of a job and its target that conditions of rules refer to. ``None`` or empty: unknown, or not applicable."""

    application: str | None = None
    application_version: str | None = None
    app_type: str | None = None
    framework: str | None = None
    """The framework of the image."""
    front_end: str | None = None
    """The framework that the request names, which may run on another one: Keras on TensorFlow."""
    framework_version: str | None = None
    """The version inside the image."""
    compilers: tuple[str, ...] = ()
    """Graph compilers that are on."""
    distribution: str | None = None
    system: str | None = None
    system_aliases: tuple[str, ...] = ()
    partition: str | None = None
    scheduler: str | None = None
    launcher: str | None = None
    runtime: str | None = None
    processor_vendor: str | None = None
    accelerator: str | None = None
    """``nvidia``, ``amd``, ``intel`` or ``none``."""
    interconnect: str | None = None
    mpi: str | None = None
    mpi_from: str | None = None
    mpi_version: str | None = None
    storage_class: str | None = None
    multi_node: bool | None = None
    threaded: bool | None = None


@dataclass(frozen=True)
class Applied:
    """What the rules that hold add, and the decisions that say so."""

    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    modules: tuple[str, ...] = ()
    launcher_options: tuple[Word, ...] = ()
    texts: tuple[RuleText, ...] = ()
    """Shell texts, the strongest rule's last, so that its settings remain."""
    names: tuple[str, ...] = ()
    """Names of the rules that hold, the strongest first."""
    held: tuple[Rule, ...] = ()
    """The rules that hold, the strongest first."""
    decisions: tuple[str, ...] = ()

    @cached_property
    def use_storage(self) -> bool:
        """Whether a text uses the path of the preferred storage."""
        return any(name in text.script for text in self.texts for name in ("MODAK_STORAGE", "preferred_storage_location"))


@dataclass(frozen=True)
class Rulebook:
    """An index of rules by the names in their conditions."""

    strongest_first: tuple[Rule, ...] = ()
    wants: tuple[Mapping[str, frozenset[str]], ...] = ()
    """The names in each rule's condition, folded, by key."""
    places: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    """Positions of the rules by key and name. Each rule stands under the names of one key; rules without names under :data:`_ANYWHERE`."""
    cache: Cache = field(default_factory=lambda: Cache(256), compare=False)


_ANYWHERE: Final = ("", "")


def rulebook(rules: Iterable[Rule]) -> Rulebook:
    """The rules, each under the rarest of its conditions; their order does not matter."""
    ordered = tuple(sorted(rules, key=_strength))
    wants = tuple(_wanted(rule.when) for rule in ordered)
    often = Counter((key, name) for wanted in wants for key, names in wanted.items() for name in names)
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, wanted in enumerate(wants):
        rarest = min(wanted, key=lambda key: sum(often[key, name] for name in wanted[key]), default=None)
        for place in [(rarest, name) for name in wanted[rarest]] if rarest else [_ANYWHERE]:
            places[place].append(at)
    return Rulebook(ordered, wants, {place: tuple(found) for place, found in places.items()})


def apply(rules: Rulebook, situation: Situation) -> Applied:
    """What the rules that hold add to a job."""
    known = _known(situation)
    places = [_ANYWHERE, *((key, name) for key, names in known.items() for name in names)]
    maybe = sorted({at for place in places for at in rules.places.get(place, ())})
    hold = tuple(at for at in maybe if _holds(rules.wants[at], rules.strongest_first[at].when, known, situation))
    return rules.cache.get(hold, lambda: _applied([rules.strongest_first[at] for at in hold]))


def _applied(strongest_first: Sequence[Rule]) -> Applied:
    """What rules that hold add, together."""
    set_by, lost = _settled(strongest_first)
    return Applied(
        environment=MappingProxyType({name: rule.environment[name] for name, rule in sorted(set_by.items())}),
        modules=tuple(dict.fromkeys(module for rule in strongest_first for module in rule.modules)),
        launcher_options=tuple(word for rule in reversed(strongest_first) for word in _option_words(rule)),
        texts=tuple(RuleText(rule.name, rule.stage, rule.script) for rule in reversed(strongest_first) if rule.script),
        names=tuple(rule.name for rule in strongest_first),
        held=tuple(strongest_first),
        decisions=(*(line for rule in strongest_first if (line := _line(rule, set_by))), *lost),
    )


def _option_words(rule: Rule) -> tuple[Word, ...]:
    """A rule's options for the launcher as words; the rule may expand any variable."""
    text = " ".join(rule.launcher_options)
    return parse(text, field=f"rules.{rule.name}.launcher_options", names=re.findall(r"\$\{([A-Za-z0-9_]+)\}", text))


def _holds(wanted: Mapping[str, frozenset[str]], when: Condition, known: Mapping[str, frozenset[str]], situation: Situation) -> bool:
    """Whether every given key of a condition matches; ``wanted`` and ``known`` are the names in condition and situation, folded."""
    return (
        all(not names.isdisjoint(known[key]) for key, names in wanted.items())
        and all(_in(getattr(when, key), getattr(situation, key)) for key in VERSIONS)
        and all(getattr(when, key) in (None, getattr(situation, key)) for key in FLAGS)
    )


NAMES: Final = tuple(name for name, key in Condition.model_fields.items() if key.default == ())
"""Keys of a condition that are lists of names."""
VERSIONS: Final = tuple(name for name in Condition.model_fields if name.endswith("_version"))
"""Those that are ranges of versions."""
FLAGS: Final = tuple(name for name in Condition.model_fields if name not in (*NAMES, *VERSIONS))
"""Those that are true or false."""


def _wanted(when: Condition) -> Mapping[str, frozenset[str]]:
    """The names in a condition, folded, by key."""
    return {key: frozenset(map(_folded, names)) for key in NAMES if (names := getattr(when, key))}


def _known(situation: Situation) -> Mapping[str, frozenset[str]]:
    """The names in a situation, folded, by key of a condition; several for compilers, a framework on another, a system with aliases."""
    several = {
        "compiler": situation.compilers,
        "framework": (situation.framework, situation.front_end),
        "system": (situation.system, *situation.system_aliases) if situation.system else (),
    }
    return {key: frozenset(_folded(name) for name in several.get(key) or (getattr(situation, key, None),) if name) for key in NAMES}


NO_APPLICATION_VERSION: Final = "no request states the version of its application: the rule would never hold"


def rule_faults(rule: Rule) -> tuple[Fault, ...]:
    """Faults of a rule that its schema does not find: variables that scripts may not set, text that is not bash, a condition that never
    holds, no effect."""
    found = [*_bad_variables(rule.environment)]
    if rule.script and (wrong := rule_fault(rule.script)):
        found.append(Fault("script", wrong))
    if rule.when.application_version:
        found.append(Fault("when.application_version", NO_APPLICATION_VERSION))
    if not (rule.environment or rule.modules or rule.launcher_options or (rule.script or "").strip() or rule.advice):
        found.append(Fault("", "the rule adds nothing: give environment, modules, launcher_options, script or advice"))
    return tuple(found)


def needs_scratch(rule: Rule) -> bool:
    """Whether its text reads ``MODAK_SCRATCH`` without a default, as if every job had a directory of its own."""
    return bool(re.search(r"\$\{?MODAK_SCRATCH\b(?!:?[-=+])", rule.script or ""))


def _strength(rule: Rule) -> tuple[int, int, str]:
    """Sorts the strongest rule first."""
    return (-rule.priority, -_conditions(rule.when), rule.name)


def _conditions(when: Condition) -> int:
    """How many keys a condition gives."""
    return sum(getattr(when, name) not in (None, ()) for name in type(when).model_fields)


def _settled(strongest_first: Iterable[Rule]) -> tuple[Mapping[str, Rule], tuple[str, ...]]:
    """The rule that sets each variable, and a line for each rule whose value is not used."""
    set_by: dict[str, Rule] = {}
    lost: list[str] = []
    for rule in strongest_first:
        for name, value in sorted(rule.environment.items()):
            rival = next((other for other in (name, *rivals(name)) if other in set_by and set_by[other] is not rule), None)
            if rival is None:
                set_by[name] = rule
            elif rival != name:
                lost.append(f"rule {rule.name}: {name} is not set, because {rival} of rule {set_by[rival].name} binds threads already")
            elif set_by[name].environment[name] != value:
                winner = set_by[name]
                stronger = f"rule {winner.name} sets {winner.environment[name]} ({_why(winner, rule)})"
                lost.append(f"rule {rule.name}: {name}={value} is not set, because {stronger}")
    return set_by, tuple(lost)


def _why(winner: Rule, loser: Rule) -> str:
    if winner.priority != loser.priority:
        return f"priority {winner.priority} over {loser.priority}"
    ours, theirs = _conditions(winner.when), _conditions(loser.when)
    return f"{ours} conditions over {theirs}" if ours != theirs else "first in the alphabet"


def _line(rule: Rule, set_by: Mapping[str, Rule]) -> str:
    """What a rule adds; empty for one that only has advice."""
    exported = [f"{name}={value}" for name, value in sorted(rule.environment.items()) if set_by.get(name) is rule]
    added = [f"sets {', '.join(exported)}" if exported else "", f"loads {', '.join(rule.modules)}" if rule.modules else ""]
    added.append(f"gives the launcher {' '.join(rule.launcher_options)}" if rule.launcher_options else "")
    added.append(f"adds its text to the stage {rule.stage!r}" if rule.script else "")
    said = ", ".join(part for part in added if part)
    return f"rule {rule.name}: {said} ({rule.title})" if said else ""


@lru_cache(maxsize=1024)
def _folded(name: str) -> str:
    return canonical_runtime(name.lower().replace("_", "-"))


def _in(versions: str | None, actual: str | None) -> bool:
    return versions is None or (actual is not None and _contains(versions, actual))


@lru_cache(maxsize=1024)
def _contains(versions: str, actual: str) -> bool:
    try:
        return version_range(versions).contains(Version(actual))
    except InvalidVersion:
        return False


def _bad_variables(environment: Mapping[str, str]) -> Iterable[Fault]:
    for name, value in sorted(environment.items()):
        try:
            allowed(name)
            sound(value)
            if any(map(is_directive, value.split("\n")[1:])):
                raise ValueError("a line of it reads as an option for a scheduler")
        except (RequestError, ValueError) as error:
            message = error.faults[0].message if isinstance(error, RequestError) else str(error)
            yield Fault(f"environment.{name}", message)
        clash = [other for other in rivals(name) if other in environment and name < other]
        if clash:
            yield Fault(f"environment.{name}", f"cannot be combined with {', '.join(clash)}: both bind threads")
