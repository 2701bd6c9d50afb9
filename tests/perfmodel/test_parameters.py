from __future__ import annotations

import numpy as np
import pytest

from modak.perfmodel.unmeasured.parameters import LEVEL, MOST, NOISE, TRANSFER_LENGTH, features, fit, most_telling, predict, transfer


def networks(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up networks: operations, activations, parameters, image, batch."""
    chance = np.random.default_rng(seed)
    operations = np.exp(chance.uniform(-1, 4, count))
    return {
        "operations": operations,
        "activations": operations * np.exp(chance.normal(0.5, 0.6, count)),
        "parameters": np.exp(chance.uniform(1, 5, count)),
        "image": chance.choice([160.0, 224.0, 288.0], count),
        "batch": chance.choice([64.0, 256.0], count),
    }


def log_throughput(columns: dict[str, np.ndarray], flops: float = 1000.0, bandwidth: float = 300.0) -> np.ndarray:
    """Samples a second of a device that overlaps nothing: arithmetic and memory in turn."""
    return -np.log(columns["operations"] / flops + columns["activations"] / bandwidth)


def test_unseen_networks_on_a_known_device_are_foretold() -> None:
    """Throughputs that follow from operations and activations are predicted within a few percent, far closer than constant efficiency."""
    seen, unseen = networks(300), networks(100, seed=1)
    guess = predict(fit(seen, log_throughput(seen)), unseen)
    error = np.abs(guess.log_throughput - log_throughput(unseen))
    constant = np.median(log_throughput(seen) + np.log(seen["operations"])) - np.log(unseen["operations"])
    assert np.median(error) < 0.05
    assert np.median(error) < 0.2 * np.median(np.abs(constant - log_throughput(unseen)))


def test_a_prediction_does_not_depend_on_the_unit() -> None:
    """Throughputs per minute are sixty times those per second."""
    seen, unseen = networks(60), networks(20, seed=1)
    second, minute = (predict(fit(seen, log_throughput(seen) + unit), unseen).log_throughput for unit in (0.0, np.log(60)))
    assert minute == pytest.approx(second + np.log(60), abs=1e-9)


def test_interval_covers_and_widens_far_from_all_that_was_measured() -> None:
    """Intervals hold most unseen networks, and are wider for one unlike all others."""
    seen, unseen = networks(300), networks(200, seed=2)
    chance = np.random.default_rng(3)
    model = fit(seen, log_throughput(seen) + chance.normal(0, 0.1, 300))
    guess = predict(model, unseen)
    held = np.abs(guess.log_throughput - log_throughput(unseen) - chance.normal(0, 0.1, 200)) <= guess.half_width
    assert held.mean() > 0.85
    strange = {name: values[:1] * (1e4 if name == "parameters" else 1.0) for name, values in unseen.items()}
    assert predict(model, strange).half_width[0] > guess.half_width.max()


def test_extensive_columns_count_for_each_operation() -> None:
    """Ten times the operations with ten times the activations is a change of one feature."""
    columns = networks(1)
    more = {**columns, "operations": columns["operations"] * 10, "activations": columns["activations"] * 10}
    change = features(more) - features(columns)
    assert change[0, 0] == pytest.approx(np.log(10), abs=0.05)
    assert change[0, 1] == pytest.approx(0, abs=0.05)


def test_a_new_device_is_learnt_from_twenty_runs() -> None:
    """Twenty runs on a new device, and what two others have measured, foretell the rest better than a constant ratio."""
    columns = networks(400)
    elsewhere = np.column_stack([log_throughput(columns, 1000, 300), log_throughput(columns, 4000, 500)])
    elsewhere[::7, 0] = np.nan
    new = log_throughput(columns, 3000, 4000) + np.random.default_rng(4).normal(0, 0.03, 400)
    shown = np.random.default_rng(5).permutation(400)[:20]
    rest = np.setdiff1d(np.arange(400), shown)
    guess = transfer(elsewhere, columns, shown, new[shown])
    ratio = np.nanmedian(new[shown] - elsewhere[shown, 1])
    assert np.median(np.abs(guess.log_throughput - new)[rest]) < 0.6 * np.median(np.abs(elsewhere[:, 1] + ratio - new)[rest])


def test_a_new_device_takes_its_times_from_others_and_from_the_work() -> None:
    """A device that waits for memory as another does, and for arithmetic more, is met within a few percent after twenty runs."""
    columns = networks(400)
    chance = np.random.default_rng(6)
    waits = np.exp(chance.normal(0, 0.5, 400)) * columns["activations"] / 300
    elsewhere = -np.log(np.column_stack([waits + columns["operations"] / 4000, waits / 3 + columns["operations"] / 9000]))
    new = -np.log(waits + columns["operations"] / 300)
    guess = transfer(elsewhere, columns, np.arange(20), new[:20])
    assert np.median(np.abs(guess.log_throughput - new)[20:]) < 0.02


def test_one_bad_calibration_run_does_not_spoil_the_rest() -> None:
    """A unit slip in one of twenty runs moves the median error by little."""
    columns = networks(200)
    elsewhere = np.column_stack([log_throughput(columns), log_throughput(columns, 4000, 500)])
    new = log_throughput(columns, 9000, 2500)
    shown = np.arange(20)
    spoilt = new[shown].copy()
    spoilt[3] += np.log(1000)
    guess = transfer(elsewhere, columns, shown, spoilt)
    assert np.median(np.abs(guess.log_throughput - new)[20:]) < 0.3


@pytest.mark.parametrize("runs", [5, 10, 20])
def test_intervals_hold_as_much_after_few_calibration_runs_as_after_many(runs: int) -> None:
    """About nine tenths of noisy throughputs, over forty devices: five runs show less of what can go wrong than twenty."""
    held = []
    for seed in range(40):
        columns = networks(100, seed)
        elsewhere = np.column_stack([log_throughput(columns), log_throughput(columns, 4000, 500)])
        new = log_throughput(columns, 9000, 2500) + np.random.default_rng(seed).normal(0, 0.1, 100)
        guess = transfer(elsewhere, columns, np.arange(runs), new[:runs])
        held.append((np.abs(guess.log_throughput - new) <= guess.half_width)[runs:])
    assert np.mean(held) == pytest.approx(0.9, abs=0.05)


def shared(count: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Networks, their log throughputs on two known devices, and on a new one that has a large network in thirty run slowly."""
    columns = networks(count, seed)
    elsewhere = np.column_stack([log_throughput(columns), log_throughput(columns, 4000, 500)])
    new = log_throughput(columns, 9000, 2500) - np.where(columns["parameters"] > 130, 0.5, 0.0)
    return columns, elsewhere, new + np.random.default_rng(seed).normal(0, 0.03, count)


def test_the_most_telling_runs_tell_more_than_random_ones() -> None:
    """The median error of the networks of ten devices after eight runs of either."""
    errors = np.zeros((10, 2))
    for seed in range(10):
        columns, elsewhere, new = shared(150, seed)
        chosen = np.array(most_telling(elsewhere, columns, np.zeros(150, dtype=bool), 8))
        for way, shown in enumerate((chosen, np.random.default_rng(seed).permutation(150)[:8])):
            errors[seed, way] = np.median(np.abs(transfer(elsewhere, columns, shown, new[shown]).log_throughput - new))
    assert errors[:, 0].mean() < 0.9 * errors[:, 1].mean()


def test_the_first_run_is_of_the_commonest_kind_and_the_second_of_another() -> None:
    """Of twelve alike networks and four others, one of the twelve, then one of the four: not a second one of the same."""
    columns = {"operations": np.array([1.0] * 12 + [100.0] * 4), "parameters": np.array([5.0] * 12 + [60.0] * 4)}
    first, second = most_telling(-np.log(columns["operations"])[:, None], columns, np.zeros(16, dtype=bool), 2)
    assert first < 12 <= second


def test_what_was_measured_is_not_measured_again_and_tells() -> None:
    """With one of the twelve known, the first run is one of the four; all are proposed in the end, each once."""
    columns = {"operations": np.array([1.0] * 12 + [100.0] * 4), "parameters": np.array([5.0] * 12 + [60.0] * 4)}
    measured = np.arange(16) == 3
    order = most_telling(-np.log(columns["operations"])[:, None], columns, measured, 99)
    assert order[0] >= 12
    assert sorted(order) == [place for place in range(16) if place != 3]


def test_each_run_is_the_one_after_which_least_is_left() -> None:
    """The variance of all networks, from the covariance and the whole set of runs, for each that might come next."""
    columns = {"operations": np.exp(np.random.default_rng(7).uniform(-1, 4, 30))}
    at = features(columns)[:, 0]
    covariance = np.exp(-np.abs(at[:, None] - at) / at.std() / TRANSFER_LENGTH) + LEVEL

    def left(runs: list[int]) -> float:
        seen = covariance[np.ix_(runs, runs)] + NOISE * np.eye(len(runs))
        return float(np.trace(covariance - covariance[:, runs] @ np.linalg.solve(seen, covariance[runs])))

    chosen: list[int] = []
    for _ in range(4):
        chosen.append(min(set(range(30)) - set(chosen), key=lambda run: left([*chosen, run])))
    assert most_telling(-at[:, None], columns, np.zeros(30, dtype=bool), 4) == tuple(chosen)
    assert most_telling(-at[:, None], columns, np.isin(np.arange(30), chosen[:3]), 1) == tuple(chosen[3:])


def test_what_is_left_is_proposed_however_much_was_measured() -> None:
    """Three of twice as many networks as are compared."""
    columns = {"operations": np.exp(np.linspace(-1, 4, 2 * MOST))}
    measured = ~np.isin(np.arange(2 * MOST), [700, 701, 702])
    assert sorted(most_telling(-np.log(columns["operations"])[:, None], columns, measured, 9)) == [700, 701, 702]


def test_of_very_many_networks_the_middle_one_comes_first() -> None:
    """In whatever order their rows are."""
    columns = {"operations": np.exp(np.random.default_rng(8).uniform(-1, 1, MOST + 200))}
    (first,) = most_telling(-np.log(columns["operations"])[:, None], columns, np.zeros(MOST + 200, dtype=bool), 1)
    assert (columns["operations"] < columns["operations"][first]).mean() == pytest.approx(0.5, abs=0.05)
