"""What a tuner may change, and what was set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from modak.dsl.document import MOST_SET, Amount, CellText, Document
from modak.text.grammar import Name, OptionName, SettableName, SoundText

Value = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | Annotated[float, Field(strict=True, allow_inf_nan=False)] | CellText
"""What a parameter may be set to."""


class Steps(Document):
    """Values from ``low`` to ``high``, each ``step`` more than, or ``factor`` times, the one before."""

    low: Annotated[float, Field(strict=True, allow_inf_nan=False)]
    """The first value."""
    high: Annotated[float, Field(strict=True, allow_inf_nan=False)]
    """The last value."""
    step: Annotated[Amount, Field(strict=True)] | None = None
    """Difference between a value and the one before."""
    factor: Annotated[float, Field(strict=True, gt=1, le=1e6, allow_inf_nan=False)] | None = None
    """Ratio of a value to the one before."""


Values = Annotated[tuple[Value, ...], Field(min_length=1, max_length=1000)] | Steps
"""The first value is the default, where the job's own is not among them."""


class Space(Document):
    """What a tuner may change: variables of the environment, options of the command, counts of the layout."""

    environment: Mapping[SettableName, Values] = {}
    """Values of variables, by name."""
    options: Mapping[OptionName, Values] = {}
    """Values of options of the command, by name."""
    layout: Mapping[Literal["node_count", "process_count_per_node", "threads"], Values] = {}
    """Values of counts, by name."""


class Setting(Document):
    """Values with which the job runs: exported variables, and options after the command."""

    environment: Annotated[Mapping[SettableName, Value], Field(max_length=MOST_SET)] = {}
    """A value for each variable."""
    options: Annotated[Mapping[OptionName, Value], Field(max_length=MOST_SET)] = {}
    """A value for each option."""


class Autotuning(Document):
    """What a tuner may change, and its budget; ``input`` is the tuner's own input text."""

    tuner: Name | None = None
    """Name of the tuner: ``cresta``, ``autotune``."""
    input: Annotated[SoundText, Field(max_length=20_000)] | None = None
    """The tuner's own input text."""
    space: Space | None = None
    setting: Setting = Setting()
    trials: Annotated[int, Field(ge=1, le=10_000, strict=True)] | None = None
    """Maximum number of trials."""
    budget_node_hours: Amount | None = None
    """Maximum node-hours of all trials together."""
