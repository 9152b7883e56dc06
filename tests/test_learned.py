"""A prior that is learned: its strengths, and what policies and agents do with it."""

import numpy as np
import pytest

import mogro
from mogro import _evidence
from mogro._derived_posteriors import with_objectives
from mogro._streams import Streams
from mogro.posterior import Posterior
from mogro.priors import Fixed, Learned

GROUPS = (-1, 0, 0, 0, 1, 1)


def observations(seed: int, n: int, objectives: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.standard_normal((n, 5))])
    theta = rng.standard_normal((objectives, 6)) * np.array([3, 1, 1, 1, 0.01, 0.01])
    return x, x @ theta.T + 0.5 * rng.standard_normal((n, objectives))


def members(groups: tuple[int, ...]) -> dict[int, list[int]]:
    """Return the features of each group but the constant's."""
    return {g: [j for j, of in enumerate(groups) if of == g] for g in sorted({*groups} - {-1})}


def by_hand(x: np.ndarray, y: np.ndarray, groups: tuple[int, ...]) -> np.ndarray:
    """Return the precisions of one objective, feature by feature."""
    n, d = x.shape
    sizes = np.array([np.square(x[:, j]).sum() / np.count_nonzero(x[:, j]) for j in range(d)])
    start = {
        group: _evidence.START * sum(np.count_nonzero(x[:, j]) for j in at) / n
        for group, at in members(groups).items()
    }
    strengths = start | {-1: 1e-9}
    for _ in range(_evidence._ITERATIONS):
        Lambda = np.array([strengths[group] for group in groups]) * sizes
        S = np.linalg.inv(x.T @ x + np.diag(Lambda))
        theta = S @ x.T @ y
        used = 1 - Lambda * np.diag(S)
        penalty = (Lambda * np.square(theta)).sum()
        noise = (np.square(y - x @ theta).sum() + penalty) / (n - groups.count(-1))
        effects = sizes * theta**2
        largest = max(effects[j] for j in range(d) if groups[j] >= 0)
        noise = max(noise, largest / 1e4)
        for group, at in members(groups).items():
            belief, believed = _evidence.BELIEF, (noise + largest) / start[group]
            squares = (effects[at].sum() + belief * believed) / noise
            strengths[group] = (used[at].sum() + belief) / squares
    caution = np.array([1.0 if group < 0 else _evidence.CAUTION for group in groups])
    return np.asarray(np.array([strengths[group] for group in groups]) * sizes / caution)


@pytest.mark.parametrize("n", [7, 30, 400])
def test_precisions_are_those_of_the_fixed_point(n: int) -> None:
    x, y = observations(n, n)
    posterior = Posterior(6, 2, prior=Learned(GROUPS))
    posterior.learn(x, y)
    expected = np.stack([by_hand(x, y[:, m], GROUPS) for m in range(2)])
    np.testing.assert_allclose(posterior.evidence(), expected, rtol=1e-6)


def test_strengths_are_those_that_effects_were_drawn_with() -> None:
    rng = np.random.default_rng(0)
    d, n = 120, 4000
    groups, true = np.repeat([0, 1], d // 2), np.array([400.0, 4.0])
    x = rng.standard_normal((n, d))
    theta = rng.standard_normal(d) / np.sqrt(true[groups])
    posterior = Posterior(d, 1, prior=Learned(groups.tolist()))
    posterior.learn(x, (x @ theta + rng.standard_normal(n))[:, None])
    learned = posterior.evidence()[0] * _evidence.CAUTION
    np.testing.assert_allclose(learned[[0, -1]], true, rtol=0.5)


def test_the_noise_is_that_of_the_rewards() -> None:
    rng = np.random.default_rng(2)
    for n in (15, 50, 400):  # fewer observations than features, too
        x = np.column_stack([np.ones(n), rng.standard_normal((n, 30))])
        found = []
        for _ in range(40):
            theta = rng.standard_normal(31) * np.r_[100, np.full(30, 0.2)]
            policy = mogro.MOGRO(31, 1, prior=Learned([-1] + 30 * [0]))
            policy.learn(x, (x @ theta + 0.5 * rng.standard_normal(n))[:, None])
            found.append(policy.posterior.noise.item())
        # Fewer observations than features cannot tell effects, sqrt(30 * 0.04), from noise.
        most = 1.4 if n > 30 else float(np.hypot(0.5, 1.1)) / 0.5
        assert 0.6 < np.sqrt(np.mean(found)) / 0.5 < most


def test_where_nothing_matters_estimates_are_shrunk() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(60), rng.standard_normal((60, 30))])
    y = 5 + rng.standard_normal((60, 1))
    flat, learned = mogro.MOGRO(31, 1), mogro.MOGRO(31, 1, prior=Learned([-1] + 30 * [0]))
    for policy in (flat, learned):
        policy.learn(x, y)
    norms = [float(np.linalg.norm(policy.theta[0, 1:])) for policy in (flat, learned)]
    assert norms[1] < 0.6 * norms[0]
    assert abs(learned.theta[0, 0] - y.mean()) < 0.2  # a constant is left free


def test_units_of_features_and_rewards_change_nothing() -> None:
    x, y = observations(3, 50)
    units, scale = np.array([1, 1e-3, 1, 1e4, 1e2, 1]), np.array([1.0, 1e5])
    plain, other = (mogro.MOGRO(6, 2, prior=Learned(GROUPS)) for _ in range(2))
    plain.learn(x, y)
    other.learn(x * units, y * scale)
    np.testing.assert_allclose(other.theta * units / scale[:, None], plain.theta, rtol=1e-5)


def test_precisions_follow_from_the_sums_alone() -> None:
    x, y = observations(4, 64)
    at_once, one_by_one = (mogro.MOGRO(6, 2, prior=Learned(GROUPS)) for _ in range(2))
    at_once.learn(x, y)
    for row, reward in zip(x, y, strict=True):
        one_by_one.update(row, reward)
    np.testing.assert_allclose(
        one_by_one.posterior.evidence(), at_once.posterior.evidence(), rtol=1e-6
    )


def test_it_is_learned_whenever_the_count_has_doubled() -> None:
    x, y = observations(5, 100)
    posterior = Posterior(6, 2, prior=Learned(GROUPS))
    learned = []
    for count, (row, reward) in enumerate(zip(x, y, strict=True), 1):
        posterior.update(row, reward)
        if posterior.due:
            posterior.learn_prior(posterior.evidence())
            learned.append(count)
    assert learned == [4, 8, 16, 32, 64]


def test_with_a_half_life_it_is_learned_at_least_once_in_it() -> None:
    x, y = observations(6, 400)
    policy = mogro.MOGRO(6, 2, prior=Learned(GROUPS), half_life=20.0)
    learned = []
    for count, (row, reward) in enumerate(zip(x, y, strict=True), 1):
        before = policy.posterior.save_state()["due"].max()
        policy.update(row, reward)
        if policy.posterior.save_state()["due"].max() > before:
            learned.append(count)
    assert max(np.diff(learned)) <= 31  # observations that are left of all: 20 / log 2, and one


def test_a_batch_equals_its_learners_and_a_copy_goes_on() -> None:
    R, prior = 3, Learned(GROUPS)
    batch = mogro.MOGRO(6, 2, prior=prior, batch=(R,))
    singles = [mogro.MOGRO(6, 2, prior=prior) for _ in range(R)]
    generators = [np.random.default_rng([run, 2]) for run in range(R)]
    streams = Streams(np.array([np.random.default_rng([run, 2]) for run in range(R)], object))
    rng = np.random.default_rng(0)
    for step in range(80):
        arms = rng.standard_normal((R, 4, 6)) * np.array([1, 1, 1, 1, 100, 0.01])
        arms[..., 0] = 1
        chosen = np.asarray(batch.select(arms, rng=streams))
        pulled = arms[np.arange(R), chosen]
        rewards = pulled[:, :2] + rng.standard_normal((R, 2))
        batch.update(pulled, rewards)
        for run, single in enumerate(singles):
            assert single.select(arms[run], rng=generators[run]) == chosen[run]
            single.update(pulled[run], rewards[run])
            assert (single.theta == batch.theta[run]).all()
        if step == 40:
            loaded = mogro.MOGRO(6, 2, prior=prior, batch=(R,))
            loaded.load_state(batch.save_state())
            batch = loaded


def test_objectives_that_are_observed_apart_have_their_own() -> None:
    x, y = observations(7, 60)
    both = Posterior(6, 2, prior=Learned(GROUPS))
    seen = np.column_stack([np.ones(60), np.arange(60) % 3 == 0]).astype(float)
    both.learn(x, y, seen)
    for m in range(2):
        alone, rows = Posterior(6, 1, prior=Learned(GROUPS)), seen[:, m] > 0
        alone.learn(x[rows], y[rows, m : m + 1])
        np.testing.assert_allclose(both.evidence()[m], alone.evidence()[0], rtol=1e-7)


def test_no_rounds_go_before_to_explore() -> None:
    rng = np.random.default_rng(0)
    policy = mogro.MOGRO(40, 1, prior=Learned())
    arms = np.vstack([np.eye(40), np.ones((1, 40))])
    for _ in range(30):
        arm = policy.select(arms, rng=rng)
        policy.update(arms[arm], [1.0 * (arm == 40) + 0.1 * rng.standard_normal()])
    assert policy.select(arms, rng=rng) == 40  # a flat prior would visit 40 directions first


@pytest.mark.parametrize("groups", [[], [0, 2], [-1, -1], [0.5], [[0]], [-2, 0]])
def test_groups_that_make_no_sense_are_refused(groups: object) -> None:
    with pytest.raises(ValueError, match="groups"):
        Learned(groups)  # type: ignore[arg-type]


def test_groups_have_to_fit_the_features() -> None:
    with pytest.raises(ValueError, match=r"groups: expected one for each of 3 features, got 2"):
        mogro.MOGRO(3, 1, prior=Learned([0, 0]))


def test_rewards_without_noise_and_arms_never_seen_are_no_trouble() -> None:
    policy = mogro.MOGRO(3, 2, prior=Learned())
    for n in range(40):
        policy.update(np.eye(3)[n % 2], [float(n % 2), 0.0])
    np.testing.assert_allclose(policy.theta[0], [0, 1, 0], atol=1e-4)
    assert np.isfinite(policy.estimate(np.eye(3)).errors).all()
    assert (policy.theta[1] == 0).all()


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_without_noise_no_arm_is_lost(level: float) -> None:
    """One arm has the same reward always; the others are better on one side of the context."""
    policy = mogro.MOGRO(8, 1, prior=Learned([-1, 0, 0, 0, 1, 2, 2, 2]), batch=(20,))
    streams = mogro.Streams([np.random.default_rng(seed) for seed in range(20)])
    rng, learners, regret = np.random.default_rng(20), np.arange(20), []
    for step in range(600):
        side = rng.standard_normal(20)
        context = np.column_stack([np.ones(20), side])
        arms = np.hstack([np.ones((3, 1)), np.eye(3)])
        arms = (context[:, None, :, None] * arms[:, None, :]).reshape(20, 3, 8)
        means = np.column_stack([side, -side, np.full(20, level)])
        arm = policy.select(arms, rng=streams)
        policy.update(arms[learners, arm], means[learners, arm][:, None])
        if step >= 500:
            regret.append(means.max(axis=1) - means[learners, arm])
    assert np.mean(regret, axis=0).max() < 0.1  # stuck: 0.4 to 0.8


def test_what_is_not_due_stays_in_force() -> None:
    x, y = observations(8, 50)
    posterior = Posterior(6, 2, prior=Learned(GROUPS))
    posterior.learn(x, y)
    learned = posterior.evidence()
    posterior.learn_prior(learned)
    posterior.update(x[0], y[0])
    np.testing.assert_array_equal(posterior.evidence(), learned)


def test_a_fixed_prior_learns_nothing() -> None:
    posterior = Posterior(2, 1, prior=Fixed(1.0))
    posterior.learn(np.eye(2)[[0, 1] * 50], np.ones((100, 1)))
    assert not posterior.due


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("updates", [0, 20, 40])
def test_squares_of_residuals_are_those_of_the_observations_in_any_unit(
    unit: float, updates: int
) -> None:
    rng = np.random.default_rng(0)
    x = unit * rng.standard_normal((40, 3))
    y = x @ rng.standard_normal((3, 1)) / unit + 0.1 * rng.standard_normal((40, 1))
    policy = mogro.MOGRO(3, 1, prior=Learned())
    for features, reward in zip(x[:updates], y[:updates], strict=True):
        policy.update(features, reward)
    if updates < 40:
        policy.learn(x[updates:], y[updates:])
    theta = policy.theta
    residuals = np.square(y - x @ theta.T).sum()
    np.testing.assert_allclose(policy.posterior.residual(theta[:, None])[0], residuals, rtol=1e-6)


def test_a_faded_prior_stays_what_was_learned_with_other_objectives() -> None:
    """What is in force has faded with the sums; what was learned has not."""
    rng, posterior = np.random.default_rng(0), Posterior(3, 1, prior=Learned())
    posterior.learn(rng.standard_normal((20, 3)), rng.standard_normal((20, 1)))
    posterior.learn_prior(posterior.evidence())
    posterior.decay(0.9)
    before, after = posterior.save_state(), with_objectives(posterior, [0]).save_state()
    for name in ("learned", "precision"):
        np.testing.assert_array_equal(after[name], before[name])
