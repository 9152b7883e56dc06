"""Measures are what a plain loop over the arms pulled finds."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.league.environments import DriftingArms, SleepingArms
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

import mogro
from mogro.environments import FixedArms
from mogro.simulation import Trace, join, measures, simulate

RNG = np.random.default_rng(0)
FIXED = [FixedArms.sample(3, 8, 2, noise=0.1, rng=RNG) for _ in range(2)]
DRIFTING = [DriftingArms.sample(3, 8, 2, places=3, every=15, noise=0.1, rng=RNG) for _ in range(2)]
SLEEPING = [SleepingArms.sample(3, 8, 2, awake=4, noise=0.1, rng=RNG) for _ in range(2)]
ALWAYS: dict[str, Any] = {
    "scalarised": measures.ScalarizedRegret((0.7, 0.3)),
    "violation": measures.ConstraintViolation((0.5, -np.inf)),
    "variance": measures.variance_over_users,
}
STAYING: dict[str, Any] = {
    "hypervolume": measures.HypervolumeRegret((-1.0, -1.0)),
    "Gini": measures.GiniRegret((2.0, 1.0)),
}


def play(worlds: Any, which: Any, **options: Any) -> Trace:
    given_: dict[str, Any] = {"rounds": 40, "repeats": 3, "seed": 1, "checkpoints": [1, 17]}
    return simulate(mogro.EpsilonGreedy, worlds, measures=which, **(given_ | options))


@pytest.mark.parametrize("worlds", [FIXED, DRIFTING, SLEEPING], ids=["fixed", "drift", "sleep"])
def test_sums_over_rounds_are_those_of_a_plain_loop(worlds: Any) -> None:
    met: list[tuple[Any, Any]] = []

    def spy(means: Any, chosen: Any) -> Any:
        met.append((means, chosen))
        return np.zeros(chosen.shape[:-1])

    trace = play(worlds, ALWAYS | {"spy": spy})
    assert trace.measures == (*ALWAYS, "spy")
    for i, r in np.ndindex(2, 3):
        chosen, best = [], []
        for t in range(40):
            arm = int(trace.arms[t, i, r])
            if worlds is FIXED:
                means = FIXED[i].means
            elif worlds is DRIFTING:
                means = DRIFTING[i].means(DRIFTING[i].features, step=t)
            else:
                break
            chosen.append(means[arm])
            best.append((means @ [0.7, 0.3]).max())
        for row, stop in enumerate([1, 17, 40] if chosen else []):
            got = np.array(chosen[:stop])
            regret = sum(best[:stop]) - (got @ [0.7, 0.3]).sum()
            lack = np.maximum(0.5 - got[:, 0], 0).sum()
            expected = [regret, lack, got.mean(axis=0).var()]
            np.testing.assert_allclose(trace.measured[row, i, r, :3], expected, atol=1e-12)
    means, chosen_means = met[-1]
    assert means.shape[-1] == chosen_means.shape[-1] == 2
    assert (np.abs(means - chosen_means[..., None, :]).max(-1).min(-1) == 0).all()


def test_where_means_stay_more_can_be_measured() -> None:
    trace = play(FIXED, STAYING)
    pulls = trace.pulls()
    for c, i, r in np.ndindex(3, 2, 3):
        means, counts = FIXED[i].means, pulls[c, i, r]
        front = [
            mogro.pareto.hypervolume(m, reference=[-1, -1]) for m in (means, means[counts > 0])
        ]
        assert trace.column("hypervolume")[c, i, r] == pytest.approx(front[0] - front[1])
        average = counts @ means / counts.sum()
        lack = STAYING["Gini"].best(means) - (2 * average.min() + average.max())
        assert trace.column("Gini")[c, i, r] == pytest.approx(lack)


@examples(60)
@given(
    arms=st.integers(1, 6),
    objectives=st.integers(1, 4),
    seed=st.integers(0, 10_000),
)
def test_no_mixture_has_more_welfare_than_the_best(arms: int, objectives: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(arms, objectives)).round(1)
    gini = measures.GiniRegret(tuple(np.sort(rng.random(objectives))[::-1]))
    best = gini.best(means)
    mixtures = rng.dirichlet(np.full(arms, 0.3), 200)
    assert (gini.welfare(mixtures @ means) <= best + 1e-9).all()
    assert best >= gini.welfare(means).max() - 1e-9
    if arms == 2:
        shares = np.linspace(0, 1, 2001)[:, None]
        among = gini.welfare(shares * means[0] + (1 - shares) * means[1]).max()
        assert best - among <= 1e-3 * (1 + np.abs(means).max())


def test_pure_arms_that_are_best_have_no_scalarised_regret() -> None:
    class Best:
        def __init__(self, dim: int, objectives: int) -> None: ...

        def select(self, features: Any, *, rng: Any) -> int:
            return int((features @ FIXED[0].theta.T @ [0.7, 0.3]).argmax())

        def update(self, features: Any, reward: Any) -> None: ...

    which: dict[str, Any] = {
        "r": measures.ScalarizedRegret((0.7, 0.3)),
        "hv": measures.HypervolumeRegret((-5, -5)),
    }
    trace = simulate(Best, FIXED[0], rounds=10, measures=which)
    assert (trace.column("r") == 0).all()
    assert (trace.column("hv") > 0).all()


@pytest.mark.parametrize("name", STAYING)
@pytest.mark.parametrize("worlds", [DRIFTING, SLEEPING], ids=["drift", "sleep"])
def test_what_needs_means_that_stay_is_refused_where_they_change(worlds: Any, name: str) -> None:
    for rounds in (1, 20):
        with pytest.raises(ValueError, match=rf"measures: .* means change, got '{name}'"):
            play(worlds, {name: STAYING[name]}, rounds=rounds, checkpoints=None)


def test_measures_survive_saving_and_joining(tmp_path: Path) -> None:
    which = ALWAYS | {"hypervolume": STAYING["hypervolume"]}
    whole = play(FIXED, which)
    parts = [play(FIXED[i], which, start=(i, 0)) for i in range(2)]
    np.testing.assert_allclose(join(parts).measured, whole.measured, rtol=1e-13)
    whole.save(tmp_path / "trace.trace")
    again = Trace.load(tmp_path / "trace.trace")
    assert again.measures == whole.measures
    assert np.array_equal(again.measured, whole.measured)
    with pytest.raises(ValueError, match="traces: expected equal"):
        join([whole, play(FIXED, ALWAYS)])


def wrong_shape(chosen: Any) -> Any:
    return chosen


def unknown(rewards: Any) -> Any:
    return rewards


def both(chosen: Any, pulls: Any) -> Any:
    return chosen


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ([wrong_shape], r"measures: expected 'wrong_shape' to return numbers in the shape"),
        ([unknown], r"measures: expected 'unknown' to have parameters among .* got \['rewards'\]"),
        ([both], "measures: expected 'both' to have parameters among"),
        ([1], "measures: expected functions, got 1"),
        (both, "measures: expected a list or dict of functions"),
        ([measures.GiniRegret((1.0, 0.5, 0.2))], "values: expected shape"),
        ([wrong_shape, wrong_shape], "measures: expected different names"),
        ({"pareto_regret": wrong_shape}, "measures: expected different names other than"),
        ([measures.ScalarizedRegret((1.0,))], "weights: expected shape"),
        ([measures.ConstraintViolation((1.0,))], "at_least: expected a value for each of 2"),
    ],
)
def test_measures_that_are_none_are_refused(which: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play(FIXED, which)


@pytest.mark.parametrize("weights", [(1.0, 2.0), (-1.0, -2.0), (np.nan,)])
def test_gini_weights_fall(weights: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="weights: expected"):
        measures.GiniRegret(weights)


def test_columns_are_known_by_name() -> None:
    trace = play(FIXED, [measures.variance_over_users])
    assert np.array_equal(trace.column("effective_regret"), trace.effective_regret)
    with pytest.raises(ValueError, match=r"name: expected one of .*variance_over_users.*, got 'x'"):
        trace.column("x")


def above(reward: Any, means: Any, chosen: Any, *, by: float) -> Any:
    """Whether a round paid more than could be expected of any arm."""
    assert chosen.shape == reward.shape
    return (reward > means.max(axis=-2) + by).all(axis=-1)


@pytest.mark.parametrize("worlds", [FIXED, DRIFTING, FIXED[:1]], ids=["fixed", "drift", "one"])
def test_measures_may_see_rewards_and_have_settings(worlds: Any) -> None:
    which = [partial(above, by=-0.3), measures.variance_over_users, total]
    trace = play(worlds, which, repeats=1 if len(worlds) == 1 else 3)
    assert trace.measures == ("above", "variance_over_users", "total")
    np.testing.assert_allclose(trace.column("total"), trace.rewards.sum(axis=-1))
    counts = trace.column("above")
    assert (np.diff(counts, axis=0) >= 0).all()
    assert 0 < counts[-1].sum() < 40 * counts[-1].size


def total(reward: Any) -> Any:
    return reward.sum(axis=-1)
