"""How long a run takes, and how sure that is: models that are fitted to measured results, with prediction intervals.

``fit`` turns results into curves (coefficients, storable as JSON); ``predict`` predicts many sizes in one vectorised call;
``predict_rows`` completes a table without values. Costs are times in seconds, or the inverse of a throughput.
"""

from modak.perfmodel.completion import predict_rows
from modak.perfmodel.curves import Curve, fit
from modak.perfmodel.devices import NodePower, Power, Used
from modak.perfmodel.predict import Predictor, portions, predict
from modak.perfmodel.predictions import Portion, Predictions
from modak.perfmodel.questions import Question
from modak.perfmodel.wording import describe

__all__ = [
    "Curve",
    "NodePower",
    "Portion",
    "Power",
    "Predictions",
    "Predictor",
    "Question",
    "Used",
    "describe",
    "fit",
    "portions",
    "predict",
    "predict_rows",
]
