"""Makes the samples of MLPerf's log: two small training runs, of which the second is given up. `pip install mlperf-logging numpy`."""

import sys
from pathlib import Path

import numpy as np
from mlperf_logging import mllog
from mlperf_logging.mllog import constants


def main(log: str) -> None:
    """Fit a line by gradient descent, twice."""
    mllog.config(filename=log, root_dir=str(Path(__file__).parent))
    logger = mllog.get_mllogger()
    told = {"submission_benchmark": "line", "submission_platform": "testbed", "number_of_nodes": 1, "global_batch_size": 64}
    for key, value in told.items():
        logger.event(key=key, value=value)
    for rate in (0.1, 5.0):
        logger.start(key=constants.RUN_START)
        good = train(rate) < 0.1
        logger.event(key=constants.EVAL_ACCURACY, value=float(good), metadata={"epoch_num": 1})
        logger.end(key=constants.RUN_STOP, metadata={"status": constants.SUCCESS if good else constants.ABORTED})


def train(rate: float) -> float:
    """The error of the slope after 200 steps."""
    chance, slope = np.random.default_rng(1), 0.0
    for _ in range(200):
        x = chance.standard_normal(64)
        slope -= rate * float(np.mean((slope - 3.0) * x * x))
    return abs(slope - 3.0)


if __name__ == "__main__":
    main(sys.argv[1])
