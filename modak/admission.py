"""Checks before something is stored: names and hardware of systems, plug-ins, rules, the reason of a doubt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from modak import plugins
from modak.errors import AlreadyThere, DataError, Fault, RequestError, did_you_mean, unknown
from modak.facts import (
    ARCHITECTURES,
    Accelerator,
    Facts,
    Image,
    Known,
    Node,
    Processor,
    Rule,
    System,
    canonical_name,
    canonical_runtime,
    microarchitectures,
)
from modak.text.faults import join
from modak.text.grammar import sound

REMOVABLE: Final[Mapping[str, type[System | Image | Rule]]] = {"systems": System, "images": Image, "rules": Rule}
_PLUGINS: Final[Mapping[str, str]] = {"scheduler": "schedulers", "launcher": "launchers", "runtime": "runtimes"}
"""Conditions of rules on plug-ins, and their kind."""
MOST_STRANGE: Final = 20
"""Most notes on names in conditions, and on those of processors."""
RENAMED: Final = "to rename that one, remove it first: its results stay, and are of the system with that name or alias"
LONGEST_REASON: Final = 300
"""Characters of the reason for which results are doubted."""


def has_to_fit(values: Sequence[Known]) -> bool:
    """Whether any of them may contradict what is known: systems, and images with a name. Others need not wait until all of it is read."""
    return any(isinstance(value, System) or (isinstance(value, Image) and value.opt_dsl_code) for value in values)


def fits(values: Sequence[Known], facts: Facts) -> Iterable[str]:
    """Notes on what is odd beside what is known when the values are stored. Raises for names that are taken, and for unknown hardware."""
    refuse_taken_names(values, facts)
    refuse_taken_codes(values, facts)
    refuse_unknown_hardware(values, facts)
    return *odd_cores(values, facts), *other_nodes(values, facts)


def refuse_unknown_hardware(values: Sequence[Known], facts: Facts) -> None:
    """Raise :class:`modak.errors.DataError` for systems with processors or accelerators that are not described anywhere."""
    processors = {*facts.processors, *(value.name for value in values if isinstance(value, Processor))}
    accelerators = {*facts.accelerators, *(value.name for value in values if isinstance(value, Accelerator))}
    faults = _of_systems(values, lambda system: unknown_hardware(system, processors, accelerators))
    way = "add a new one with the system, in {0}s beside systems ('modak systems add --{0}s FILE'; 'modak schema {0}' describes it)"
    DataError.raise_for(Fault(one.field, f"{one.message}; {way.format(one.field.rpartition('.')[2])}") for one in faults)


def refuse_taken_names(values: Sequence[Known], facts: Facts) -> None:
    """Raise :class:`modak.errors.AlreadyThere` for a system with a name or alias of another one: requests could not tell them apart.

    A system keeps the names that it has already, so that databases from before this check can still be mended.
    """
    given = {value.name: value for value in values if isinstance(value, System)}
    owners = {name: system.name for system in facts.systems.values() if system.name not in given for name in system.folded_names}
    for system in given.values():
        before = facts.systems.get(system.name)
        kept = before.folded_names if before else ()
        for name in system.folded_names:
            owner = owners.setdefault(name, system.name)
            if owner != system.name and name not in kept:
                field = join("systems", system.name, "name" if name == canonical_name(system.name) else "aliases")
                raise AlreadyThere(
                    f"{name!r} is a name of the system {owner!r}; every system needs names of its own; {RENAMED}", field=field
                )


def refuse_taken_codes(values: Sequence[Known], facts: Facts) -> None:
    """Raise :class:`modak.errors.AlreadyThere` for an image with the ``opt_dsl_code`` of another one."""
    given = {value.reference: value.opt_dsl_code for value in values if isinstance(value, Image)}
    owners = {image.opt_dsl_code: image.reference for image in facts.images if image.reference not in given}
    for reference, code in given.items():
        owner = owners.setdefault(code, reference)
        if code and owner != reference:
            field = join("images", reference, "opt_dsl_code")
            raise AlreadyThere(f"{code!r} is the name of {owner}; every image needs a name of its own", field=field)


def refuse_unknown_variants(values: Sequence[Known]) -> None:
    """Raise :class:`modak.errors.DataError` for systems that name plug-ins which are not installed."""
    DataError.raise_for(_of_systems(values, unknown_variants))


def refuse_bad_rules(values: Sequence[Known]) -> None:
    """Raise :class:`modak.errors.DataError` for rules that could not be written into a script."""
    from modak.rules import rule_faults

    rules = (value for value in values if isinstance(value, Rule))
    DataError.raise_for(Fault(join("rules", rule.name, fault.field), fault.message) for rule in rules for fault in rule_faults(rule))


def names_a_place(values: Sequence[Known]) -> bool:
    """Whether any of them is a rule for some systems, partitions or plug-ins."""
    return any(isinstance(value, Rule) and any(getattr(value.when, key) for key in ("system", "partition", *_PLUGINS)) for value in values)


def strange_names(values: Sequence[Known], systems: Iterable[System]) -> tuple[str, ...]:
    """A note for each name in the condition of a rule that nothing known has. It is no fault: a system may be described later."""
    known = tuple(systems)
    found = [note for value in values if isinstance(value, Rule) for note in _strange(value, known)]
    return _first(found, "names in conditions of rules")


def _first(notes: Sequence[str], what: str) -> tuple[str, ...]:
    """The first :data:`MOST_STRANGE` notes, and how many more there are, of what."""
    more = [f"{len(notes) - MOST_STRANGE} more {what} are not known"] if len(notes) > MOST_STRANGE else []
    return (*notes[:MOST_STRANGE], *more)


def _strange(rule: Rule, systems: Sequence[System]) -> Iterator[str]:
    meant = [one for one in systems if not {*map(canonical_name, rule.when.system)}.isdisjoint(one.folded_names)]
    places = meant if rule.when.system else systems
    known = {
        "system": [name for one in systems for name in (one.name, *one.aliases)],
        "partition": [part.name for one in places for part in one.partitions],
        **{key: plugins.names(kind) for key, kind in _PLUGINS.items()},
    }
    if not known["partition"]:
        del known["partition"]
    for key, names in known.items():
        folded = {canonical_runtime(canonical_name(name)) for name in names}
        for name in getattr(rule.when, key):
            if canonical_runtime(canonical_name(name)) not in folded:
                hint = did_you_mean(name, names, "; until there is one, the name matches nothing")
                yield f"rule {rule.name}: no {key} {name!r} is known{hint}"


def strange_processors(values: Sequence[Known]) -> tuple[str, ...]:
    """A note for each name of a microarchitecture or architecture that is not known: it is the same as no other. It is no fault, because a
    processor may be newer than archspec."""
    images = [value for value in values if isinstance(value, Image)]
    targets = {one.labels.microarchitecture: f"image {one.reference}" for one in images if one.labels.microarchitecture}
    targets |= {one.microarchitecture: f"processor {one.name}" for one in values if isinstance(one, Processor)}
    kinds = {one.labels.architecture: f"image {one.reference}" for one in images}
    found = [*_unheard_of("microarchitecture", targets, microarchitectures()), *_unheard_of("architecture", kinds, ARCHITECTURES.values())]
    return _first(found, "names of processors")


def _unheard_of(what: str, owners: Mapping[str, str], known: Collection[str]) -> Iterator[str]:
    for name, owner in owners.items():
        if name not in known:
            yield f"{owner}: no {what} {name!r} is known{did_you_mean(name, known, '; only the same name matches it')}"


def odd_cores(values: Sequence[Known], facts: Facts) -> Iterator[str]:
    """A note for each partition whose nodes have the cores of one of their processors, or more than all of these have, for instance with
    hyper-threads. It is no fault: what the processor's entry says may be wrong, or a socket be empty."""
    processors = {**facts.processors, **{value.name: value for value in values if isinstance(value, Processor)}}
    for system in (value for value in values if isinstance(value, System)):
        for node, place in ((partition.node, partition.name) for partition in system.partitions):
            each = known.cores if (known := processors.get(node.processor)) else None
            if each and (node.cores > node.sockets * each or (node.sockets > 1 and node.cores == each)):
                have = f"{node.cores} cores, but {node.sockets} x {node.processor} have {node.sockets * each}"
                yield f"{system.name}: partition {place}: {have}; 'cores' counts the physical cores of a whole node"


def other_nodes(values: Sequence[Known], facts: Facts) -> Iterator[str]:
    """A note for each partition that is described no longer, or has nodes of another kind: what this means for the results from before."""
    for system in (value for value in values if isinstance(value, System) and value.name in facts.systems):
        described = {partition.name: partition.node for partition in system.partitions}
        for name, had in ((partition.name, partition.node) for partition in facts.systems[system.name].partitions):
            node = described.get(name)
            if node is None:
                means = "is gone: on which nodes its results were measured is not known now; with 'only_if_named' it can stay"
            elif (old := _kind_of(had)) != (new := _kind_of(node)):
                means = f"had {old}, and has {new}: results from before count as measured on these; describe other nodes under another name"
            else:
                continue
            yield f"{system.name}: partition {name} {means}"


def _kind_of(node: Node) -> str:
    """The hardware of nodes, in words."""
    return " and ".join(filter(None, (node.processor, node.accelerator)))


def _of_systems(values: Sequence[Known], faults: Callable[[System], Iterable[Fault]]) -> Iterator[Fault]:
    """The faults of each system, with their places in a document that has its name."""
    for system in (value for value in values if isinstance(value, System)):
        yield from (Fault(join("systems", system.name, fault.field), fault.message) for fault in faults(system))


def unknown_variants(system: System) -> Iterator[Fault]:
    """Fields that name a scheduler, launcher or runtime which neither MODAK nor another installed package offers, and what is known."""
    named = [("schedulers", "scheduler", system.scheduler), ("launchers", "launcher", system.launcher)]
    named += [("runtimes", "runtimes", policy.name) for policy in system.runtimes]
    for kind, field, name in named:
        known = plugins.names(kind)
        if name and name not in known:
            yield Fault(field, unknown(plugins.TITLES[kind], name, known))


def unknown_hardware(system: System, processors: Collection[str], accelerators: Collection[str]) -> Iterator[Fault]:
    """Nodes whose processor or accelerator is none of these names."""
    for partition in system.partitions:
        node, at = partition.node, f"partitions.{partition.name}.node"
        if node.processor not in processors:
            yield Fault(f"{at}.processor", unknown("processor", node.processor, processors))
        if node.accelerator and node.accelerator not in accelerators:
            yield Fault(f"{at}.accelerator", unknown("accelerator", node.accelerator, accelerators))


def reason(why: str) -> str:
    """A reason without blanks around it. Raises :class:`modak.errors.RequestError` if it is empty, too long or cannot be printed."""
    try:
        said = sound(why).strip()
    except ValueError as error:
        raise RequestError(str(error), field="why") from None
    if not 0 < len(said) <= LONGEST_REASON:
        raise RequestError(f"allowed: a reason of 1 to {LONGEST_REASON} characters", field="why")
    return said
