"""The request and response documents: frozen, strict models. Other spellings are accepted by :mod:`modak.normalise` only.

A request that passes :class:`Request` is canonical: durations are seconds, memory is bytes, commands are words, names
are those of plug-ins. ``None`` means "not given": the value is chosen, or left to the site.
"""

from modak.dsl.answer import Basis, Choice, Configuration, Costed, Notice, Plan, Prediction, Texts
from modak.dsl.application import Application, Build, StageIn, StageOut
from modak.dsl.document import Document
from modak.dsl.job import Event, JobOptions, Signal, SignalName, Target
from modak.dsl.optimisation import LEARNING, FrameworkOptions, Minimise, Objective, OptBuild, Optimisation, Switch
from modak.dsl.request import Request
from modak.dsl.tuning import Autotuning, Setting, Space, Steps, Value, Values
from modak.dsl.work import AUTO, GIVEN, Config, Data, Etl, PrintedMetric, Workload, variable_of, variables_of

__all__ = [
    "AUTO",
    "GIVEN",
    "LEARNING",
    "Application",
    "Autotuning",
    "Basis",
    "Build",
    "Choice",
    "Config",
    "Configuration",
    "Costed",
    "Data",
    "Document",
    "Etl",
    "Event",
    "FrameworkOptions",
    "JobOptions",
    "Minimise",
    "Notice",
    "Objective",
    "OptBuild",
    "Optimisation",
    "Plan",
    "Prediction",
    "PrintedMetric",
    "Request",
    "Setting",
    "Signal",
    "SignalName",
    "Space",
    "StageIn",
    "StageOut",
    "Steps",
    "Switch",
    "Target",
    "Texts",
    "Value",
    "Values",
    "Workload",
    "variable_of",
    "variables_of",
]
