"""How long a run takes, and how sure that is: models that are fitted to measured results, with prediction intervals.

Costs are times in seconds, or the inverse of a throughput. A table of results becomes predictions in four steps; read the code in their
order. ``docs/architecture.md`` says what the other modules are for.

1. :func:`~modak.perfmodel.fitting.curves.fit`: results of one series and layout are a cell (``cells``, of series that ``merging`` joins),
   cells in which one count varies are a curve (``cellgroups``) of median costs over sizes (``curves``). To each curve all functions of a
   library (``forms``) are fitted, and weighed by how well each foretold sizes that were hidden from it (``scaling``). Curves are stored.
2. :class:`~modak.perfmodel.predict.Predictor`: in what does each curve differ from the question (``questions``), which spread of log cost
   does that add (``dissimilarity``), and which curve is nearest (``matching``)?
3. :class:`~modak.perfmodel.nearest.NearestAnswer`: the measured cost at a measured size, else the forecast of that curve (``forecasts``, by
   ``scaling``, and with its relatives by ``pooling``), times the ratio of workers or hardware (``ratios``). The interval is what such
   forecasts were off by (``intervals``), with the spread of step 2 in quadrature. The basis says which of these it was. For a layout that
   nobody ran, other layouts tell (``peers``), for a problem size that nobody ran, other problem sizes do, if they are surer (``problems``).
4. :func:`~modak.perfmodel.tables.completion.predict_rows`: a table without values is completed, each row as a question (``rows``).
"""

from modak.perfmodel.fitting.curves import Curve, fit
from modak.perfmodel.matching.devices import NodePower, NodeUse, Power
from modak.perfmodel.matching.questions import Question
from modak.perfmodel.predict import Predictor, portions, predict
from modak.perfmodel.predictions import Portion, Predictions
from modak.perfmodel.tables.completion import predict_rows
from modak.perfmodel.wording import describe

__all__ = [
    "Curve",
    "NodePower",
    "NodeUse",
    "Portion",
    "Power",
    "Predictions",
    "Predictor",
    "Question",
    "describe",
    "fit",
    "portions",
    "predict",
    "predict_rows",
]
