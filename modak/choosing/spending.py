"""What a node-hour takes: each is an objective, and a figure of every choice where the system's file tells it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from modak.target import Target
from modak.text.choices import AMOUNTS


class Spending(NamedTuple):
    """What an objective counts."""

    figure: str
    """What the system's file has to give, for a warning."""
    per_node_hour: Callable[[Target], float | None]
    """``None``: not recorded."""


def _kilowatts(target: Target) -> float | None:
    return target.node.power_w / 1000 if target.node and target.node.power_w else None


def _price(target: Target) -> float | None:
    return target.partition.price_per_node_hour if target.partition else None


SPENDINGS: Final[Mapping[str, Spending]] = {
    "energy": Spending("the power of a node", _kilowatts),
    "cost": Spending("the price per node-hour", _price),
}
"""By objective. On one partition all of them have the order of node-hours."""


def rates(target: Target) -> Mapping[str, float]:
    """What a node-hour takes, by objective, where it is recorded."""
    found = ((name, one.per_node_hour(target)) for name, one in SPENDINGS.items())
    return {name: rate for name, rate in found if rate is not None}


def spent(node_hours: float | None, rates: Mapping[str, float]) -> dict[str, Any]:
    """What these take, as fields of a choice."""
    return {} if node_hours is None else {AMOUNTS[name][0]: node_hours * rate for name, rate in rates.items()}
