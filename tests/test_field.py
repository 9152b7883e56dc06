"""What benchmarks.field rests on: statistics, references, replay."""

from dataclasses import replace

import numpy as np
from benchmarks.field import news
from benchmarks.field.__main__ import constant, limit, orders, ours, phases, uniform
from benchmarks.field.play import Ridge, accepted, disjoint, earned, play, products
from benchmarks.field.report import advantages, holm
from benchmarks.field.table import Table


def table(n: int = 300, *, logged: bool = False) -> Table:
    """Return three arms, the first best where the context is positive, the second elsewhere."""
    rng = np.random.default_rng(0)
    contexts = rng.standard_normal((n, 1))
    rewards = np.stack([contexts[:, 0], -contexts[:, 0], np.zeros(n)], axis=1)[..., None]
    rewards = rewards + 0.3 * rng.standard_normal(rewards.shape)
    arms, shares = np.zeros(n, dtype=int), np.array([0.5, 0.3, 0.2])
    made = Table(
        "made", np.eye(3), contexts, rewards, np.ones((1, 1)), np.zeros(3, int), np.zeros(1, int)
    )
    if not logged:
        return made
    arms = rng.choice(3, n, p=shares)
    known = np.where(np.eye(3, dtype=bool)[arms][..., None], rewards, np.nan)
    return replace(made, rewards=known, logged=arms, propensities=shares[arms])


def test_holm_rejects_what_the_method_says() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == [True, False, False, True]
    assert holm([0.06]) == [False]


def test_an_advantage_beyond_the_margin_is_seen_and_a_smaller_one_is_not() -> None:
    rng = np.random.default_rng(1)
    noise = 0.01 * rng.standard_normal((20, 1, 2))
    held = {
        "uniform": np.zeros((20, 1, 2)),
        "linear limit": np.ones((20, 1, 2)),
        "constant in hindsight": np.ones((20, 1, 2)),
        "mogro": np.full((20, 1, 2), 0.5),
        "better": 0.6 + noise,
        "alike": 0.54 + noise,
    }
    sure = {cell[1]: cell[-1] < 0.001 for cell in advantages({"made": held})}
    assert sure == {"better": True, "alike": False}


def test_references() -> None:
    made = table()
    rows = orders(made, 2)
    assert phases(made, rows, limit(made, rows)).mean() > 0.7  # E|x| is .8
    assert abs(phases(made, rows, uniform(made, rows)).mean()) < 0.15
    assert phases(made, rows, constant(made, rows)).max() < 0.3


def test_replay_counts_rounds_as_if_logged_arms_were_uniform() -> None:
    made = table(20_000, logged=True)
    assert made.logged is not None
    kept = accepted(made, np.arange(20_000)[None])[0]
    shares = np.bincount(made.logged[kept]) / kept.sum()
    np.testing.assert_allclose(shares, 1 / 3, atol=0.02)
    played = limit(made, np.arange(20_000)[None])
    assert abs(np.nanmean(earned(made, np.arange(20_000)[None], played)) - 0.8) < 0.05


def test_ridge_is_ridge_regression() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((30, 4)), rng.standard_normal((30, 1))
    learner = Ridge(4, 1, 0.1)
    for row, reward in zip(x, y, strict=True):
        learner.learn(row[None], reward[None], np.ones((1, 1), bool), np.ones((1, 1)))
    expected = np.linalg.solve(x.T @ x + np.eye(4), x.T @ y)[:, 0]
    np.testing.assert_allclose(learner._theta[0], expected)


def test_contestants_learn() -> None:
    made = table()
    rows = orders(made, 2)
    for played in (
        ours(made, rows),
        ours(made, rows, flat=True),
        play(made, rows, lambda dim, runs: Ridge(dim, runs, 0.3), disjoint),
    ):
        assert phases(made, rows, played)[..., 1].mean() > 0.6


def test_features() -> None:
    arms, contexts = np.eye(3)[None], np.array([[2.0]])
    assert products(arms, contexts).shape == (1, 3, 8)
    blocks = disjoint(arms, contexts)[0]
    assert (blocks @ blocks.T == 5 * np.eye(3)).all()  # 1 + 4 in a block of one's own
    assert news.load(0, 20).groups.max() == 8  # a constant, two, two, and four products
