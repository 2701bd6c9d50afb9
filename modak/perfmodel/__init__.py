"""Performance models: linear in their features, fitted to relative error, with an interval and a basis.

``fit`` turns results into curves (named coefficients, storable as JSON); ``predict`` answers for many configurations
in one vectorised call; ``predict_rows`` fills a result table. Costs are time-like: seconds, or the inverse of a
throughput.
"""

from modak.perfmodel.curves import Curve, fit
from modak.perfmodel.matching import Power, Question
from modak.perfmodel.predict import Predictions, predict
from modak.perfmodel.rows import describe, predict_rows

__all__ = ["Curve", "Power", "Predictions", "Question", "describe", "fit", "predict", "predict_rows"]
