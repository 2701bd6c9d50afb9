"""The forms are fitted as documented, and predict the same after they were stored."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from modak.perfmodel.fitting import forms
from modak.perfmodel.fitting.forms import FORMS, NonNegative
from modak.perfmodel.fitting.scaling import Series, fit_many

SIZES = (1.0, 2.0, 4.0, 8.0, 16.0)


def test_batched_nonnegative_fit_is_exact() -> None:
    """The batched enumeration of subsets gives SciPy's non-negative least squares, form by form."""
    chance = np.random.default_rng(3)
    p = np.tile(np.array([1.0, 2, 3, 5, 8, 13]), (40, 1))
    y = np.exp(chance.normal(0, 0.4, p.shape)) / p**0.6
    for form in (one for one in FORMS if isinstance(one, NonNegative)):
        ours = form.fit(p, y, np.ones_like(p))
        for row in range(len(p)):
            ratio = p[row] / 13
            root = np.sqrt(np.exp(form.recency * np.log2(ratio)))
            design = np.column_stack([ratio**e for e in form.exponents]) / y[row][:, None]
            residual = np.linalg.norm(root * (design @ ours[row] - 1))
            assert (ours[row] >= 0).all()
            assert residual == pytest.approx(nnls(design * root[:, None], root)[1], rel=1e-4)


def test_stored_forms_answer_as_fitted_ones() -> None:
    """A stored mixture, which is of one series, gives form by form what the fit gives among its folds."""
    series = Series(SIZES, (9.0, 5.2, 3.1, 2.0, 1.6))
    mixture = fit_many([series])[0]
    asked, knots = np.array([0.5, 3.0, 16.0, 100.0]), np.array([SIZES])
    one = forms.log_costs(mixture.coefficients, forms.terms(asked, knots[0], np.ones(len(SIZES))))
    of_folds = forms.terms(asked[None, :], knots, np.ones_like(knots))
    for form, fit, row in zip(FORMS, mixture.coefficients, one, strict=True):
        np.testing.assert_allclose(row, form.log_cost(np.array([fit]), of_folds)[0], rtol=1e-8, atol=1e-8)
