"""Extra-P's answers to questions on standard input, for ``model_quality.py``.

Runs in an environment of its own (``extrap`` wants an older NumPy than MODAK): a JSON list of ``[sizes, costs, asked]`` in, a JSON
list of lists of costs out. Default search space with negative exponents allowed, as its manual says for strong scaling.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings


def main() -> None:
    """Answer every question with the single-parameter model that Extra-P selects."""
    from extrap.entities.callpath import Callpath
    from extrap.entities.coordinate import Coordinate
    from extrap.entities.measurement import Measurement
    from extrap.entities.metric import Metric
    from extrap.modelers.single_parameter.basic import SingleParameterModeler

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    answers = []
    for sizes, costs, asked in json.load(sys.stdin):
        modeler = SingleParameterModeler()
        modeler.allow_negative_exponents = True
        modeler.hypotheses_building_blocks = modeler.create_default_building_blocks(True, True)
        points = [Measurement(Coordinate(p), Callpath("main"), Metric("time"), [y]) for p, y in zip(sizes, costs, strict=True)]
        function = modeler.create_model(points).hypothesis.function
        answers.append([float(function.evaluate(p)) for p in asked])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
