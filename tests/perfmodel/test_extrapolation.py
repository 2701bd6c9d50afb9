from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak.perfmodel import extrapolation

LOSSES = st.lists(st.floats(-5, 5), min_size=1, max_size=6).map(np.array)


@given(LOSSES, st.floats(0, 0.5))
def test_what_is_believed_lies_between_nothing_and_the_ceiling(losses: np.ndarray, steepest: float) -> None:
    """No gain above linear, and no loss beyond the worst doubling so far and a little, however many doublings are asked for."""
    believed = losses[:, None] - extrapolation.excess(losses[:, None], np.array([1.0, 3.0]), steepest, None)
    assert (believed >= -1e-9).all()
    assert (believed <= (steepest + extrapolation.CEILING) * np.array([1.0, 3.0]) + 1e-9).all()


@given(LOSSES)
def test_a_form_that_has_foretold_everything_is_believed_in_its_losses(losses: np.ndarray) -> None:
    """Where the best form was never wrong, only gains are doubted."""
    np.testing.assert_allclose(extrapolation.excess(losses[:, None], np.array([2.0]), 0.0, 0.0)[:, 0], np.minimum(losses, 0))


def test_doubt_grows_with_the_error_of_the_best_form() -> None:
    """The larger the validation error, the less a loss is believed that was never measured."""
    doubts = [extrapolation.excess(np.array([[1.0]]), np.array([1.0]), 0.1, error)[0, 0] for error in (0.001, 0.005, 0.05)]
    assert doubts == sorted(doubts)
    assert doubts[1] == pytest.approx(0.5 * (1.0 - 0.1 - extrapolation.CEILING))
