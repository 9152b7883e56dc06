"""Measures are what a plain loop over the arms pulled finds."""

from functools import partial
from pathlib import Path
from typing import Any

import moocore
import numpy as np
import pytest
from benchmarks.league.environments import DriftingArms, SleepingArms

import mogro
from mogro.environments import FixedArms
from mogro.simulation import Trace, join, simulate

RNG = np.random.default_rng(0)
FIXED = [FixedArms.sample(3, 8, 2, noise=0.1, rng=RNG) for _ in range(2)]
DRIFTING = [DriftingArms.sample(3, 8, 2, places=3, every=15, noise=0.1, rng=RNG) for _ in range(2)]
SLEEPING = [SleepingArms.sample(3, 8, 2, awake=4, noise=0.1, rng=RNG) for _ in range(2)]


def scalarised(means: Any, chosen: Any) -> Any:
    """Return what an arm lacks under some weights."""
    weights = np.array([0.7, 0.3])
    return (means * weights).sum(axis=-1).max(axis=-1) - (chosen * weights).sum(axis=-1)


def violation(chosen: Any, *, least: float) -> Any:
    """Return what the first objective lacks."""
    return np.maximum(least - chosen[..., 0], 0)


hypervolume = partial(moocore.hypervolume, ref=[-1, -1], maximise=True)


def missing_volume(means: Any, pulls: Any) -> Any:
    """Return the volume that all arms dominate, less that of the arms pulled so far."""
    volumes = [hypervolume(means[counts > 0]) for counts in pulls.reshape(-1, len(means))]
    whole = hypervolume(means)
    return whole - np.reshape(volumes, pulls.shape[:-1])


def share_of_first(pulls: Any) -> Any:
    return pulls[..., 0] / pulls.sum(axis=-1)


ALWAYS: dict[str, Any] = {"scalarised": scalarised, "violation": partial(violation, least=0.5)}
STAYING: dict[str, Any] = {"hypervolume": missing_volume, "first": share_of_first}


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
            expected = [regret, lack]
            np.testing.assert_allclose(trace.measured[row, i, r, :2], expected, atol=1e-12)
    means, chosen_means = met[-1]
    assert means.shape[-1] == chosen_means.shape[-1] == 2
    assert (np.abs(means - chosen_means[..., None, :]).max(-1).min(-1) == 0).all()


def test_where_means_stay_more_can_be_measured() -> None:
    trace = play(FIXED, STAYING)
    pulls = trace.pulls()
    for c, i, r in np.ndindex(3, 2, 3):
        means, counts = FIXED[i].means, pulls[c, i, r]
        front = [hypervolume(m) for m in (means, means[counts > 0])]
        assert trace.column("hypervolume")[c, i, r] == pytest.approx(front[0] - front[1])
        assert trace.column("first")[c, i, r] == (trace.arms[: (1, 17, 40)[c], i, r] == 0).mean()


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
        ([wrong_shape, wrong_shape], "measures: expected different names"),
        ({"pareto_regret": wrong_shape}, "measures: expected different names other than"),
    ],
)
def test_measures_that_are_none_are_refused(which: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play(FIXED, which)


def test_columns_are_known_by_name() -> None:
    trace = play(FIXED, [scalarised])
    assert np.array_equal(trace.column("effective_regret"), trace.effective_regret)
    with pytest.raises(ValueError, match=r"name: expected one of .*scalarised.*, got 'x'"):
        trace.column("x")


def above(reward: Any, means: Any, chosen: Any, *, by: float) -> Any:
    """Whether a round paid more than could be expected of any arm."""
    assert chosen.shape == reward.shape
    return (reward > means.max(axis=-2) + by).all(axis=-1)


@pytest.mark.parametrize("worlds", [FIXED, DRIFTING, FIXED[:1]], ids=["fixed", "drift", "one"])
def test_measures_may_see_rewards_and_have_settings(worlds: Any) -> None:
    which = [partial(above, by=-0.3), scalarised, total]
    trace = play(worlds, which, repeats=1 if len(worlds) == 1 else 3)
    assert trace.measures == ("above", "scalarised", "total")
    np.testing.assert_allclose(trace.column("total"), trace.rewards.sum(axis=-1))
    counts = trace.column("above")
    assert (np.diff(counts, axis=0) >= 0).all()
    assert 0 < counts[-1].sum() < 40 * counts[-1].size


def total(reward: Any) -> Any:
    return reward.sum(axis=-1)
