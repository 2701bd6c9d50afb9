"""What may be stored: systems of known hardware and plug-ins, rules that can be written into a script, a reason in plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from modak.errors import DataError, Fault, RequestError, unknown
from modak.facts import Accelerator, Facts, Image, Processor, Rule, System
from modak.knowledge import unknown_variants
from modak.text.grammar import sound

Known = System | Processor | Accelerator | Image | Rule
LONGEST_REASON: Final = 300
"""Characters of the reason for which results are doubted."""


def refuse_unknown_hardware(values: Sequence[Known], facts: Facts) -> None:
    """Raise :class:`modak.errors.DataError` for systems whose processors or accelerators nobody describes."""
    processors = {*facts.processors, *(value.name for value in values if isinstance(value, Processor))}
    accelerators = {*facts.accelerators, *(value.name for value in values if isinstance(value, Accelerator))}
    partitions = [(value, partition) for value in values if isinstance(value, System) for partition in value.partitions]
    wanted = [(at, "processor", at[1].node.processor, processors) for at in partitions]
    wanted += [(at, "accelerator", at[1].node.accelerator, accelerators) for at in partitions if at[1].node.accelerator]
    faults = [
        Fault(
            f"{system.name}: partitions.{partition.name}.node.{what}",
            f"{unknown(what, name, known)}; another one comes along in a file of {what}s (modak systems add --{what}s FILE)",
        )
        for (system, partition), what, name, known in wanted
        if name not in known
    ]
    if faults:
        raise DataError(faults=faults)


def refuse_unknown_variants(values: Sequence[Known]) -> None:
    """Raise :class:`modak.errors.DataError` for systems that name plug-ins which are not there."""
    systems = [value for value in values if isinstance(value, System)]
    faults = [Fault(f"{system.name}: {field}", why) for system in systems for field, why in unknown_variants(system)]
    if faults:
        raise DataError(faults=faults)


def refuse_bad_rules(values: Sequence[Known]) -> None:
    """Raise :class:`modak.errors.DataError` for rules that could not be written into a script."""
    from modak.rules import check

    faults = [Fault(f"rules.{rule.name}", str(fault)) for rule in values if isinstance(rule, Rule) for fault in check(rule)]
    if faults:
        raise DataError(faults=faults)


def reason(why: str) -> str:
    """The reason without blanks around it. Raises :class:`modak.errors.RequestError` where it is none."""
    try:
        said = sound(why).strip()
    except ValueError as wrong:
        raise RequestError(str(wrong), field="why") from None
    if not 0 < len(said) <= LONGEST_REASON:
        raise RequestError(f"a reason of 1 to {LONGEST_REASON} characters", field="why")
    return said
