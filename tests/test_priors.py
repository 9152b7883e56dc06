"""What is believed before the first observation."""

from typing import Any

import numpy as np
import pytest

import mogro
from mogro.posterior import Posterior
from mogro.priors import Fixed, Flat


def test_a_flat_prior_is_a_billionth_of_a_mean_square() -> None:
    """And never below the rounding of the diagonal of V."""
    squares = np.array([1.0, 4.0, 1e-16])
    np.testing.assert_allclose(Flat().precisions(10 * squares, np.array(10)), 1e-9 * squares)
    many = Flat().precisions(1e9 * squares, np.array(1e9))
    assert (many >= 1e9 * squares * np.finfo(np.float64).eps).all()
    assert (many <= 1e9 * squares * 1e-14).all()
    assert (Posterior(3, 2).theta == 0).all()


def test_a_fixed_prior_before_the_first_observation() -> None:
    posterior = Posterior(2, 3, prior=Fixed([4.0, 0.5], mean=[1.0, -2.0]))
    np.testing.assert_allclose(posterior.S[0], np.diag([0.25, 2.0]))
    np.testing.assert_allclose(posterior.theta, [[1.0, -2.0]] * 3)
    each = Posterior(2, 2, prior=Fixed(1.0, mean=[[1.0, 2.0], [3.0, 4.0]]), batch=(2,))
    np.testing.assert_allclose(each.theta, [[[1.0, 2.0], [3.0, 4.0]]] * 2)


def test_a_precision_counts_as_so_many_observations() -> None:
    """Of unit features whose rewards were the mean."""
    prior, plain = Fixed(3.0, mean=2.0), Posterior(1, 1)
    posterior = Posterior(1, 1, prior=prior)
    plain.learn(np.ones((3, 1)), np.full((3, 1), 2.0))
    for reward in (5.0, -1.0, 4.0):
        posterior.update(np.ones(1), np.array([reward]))
        plain.update(np.ones(1), np.array([reward]))
    np.testing.assert_allclose(posterior.theta, plain.theta, rtol=1e-8)
    np.testing.assert_allclose(posterior.S, plain.S, rtol=1e-8)


def test_priors_are_values() -> None:
    given: Any = np.array([1.0, 2.0])
    assert Fixed(given, mean=0.0 * given) == Fixed([1, 2], mean=[0, 0])
    assert Fixed(1.0) != Fixed(2.0)
    assert Flat() == Flat()
    assert hash(Fixed([1.0, 2.0], mean=[[0.0, 1.0]])) == hash(Fixed((1.0, 2.0), mean=((0.0, 1.0),)))
    prior = Fixed(given)
    given[:] = 7
    assert prior.precision == (1.0, 2.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "a", [1.0, 0.0], [[1.0]], None])
def test_precisions_that_are_none_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="precision"):
        Fixed(bad)


@pytest.mark.parametrize("bad", [np.nan, [np.inf], "a", [[[1.0]]], None])
def test_means_that_are_none_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="mean"):
        Fixed(mean=bad)


def test_priors_of_other_sizes_are_refused() -> None:
    for prior, name in (
        (Fixed([1.0, 2.0]), "precision"),
        (Fixed(mean=[1.0, 2.0]), "mean"),
        (Fixed(mean=[[1.0] * 3] * 4), "mean"),
    ):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            mogro.MOGRO(3, 2, prior=prior)


def test_a_warm_start_is_greedy_at_once() -> None:
    """What is known for certain needs no exploration."""
    prior = Fixed(1e6, mean=[[1.0, 0.0], [0.0, 1.0]])
    policy, rng = mogro.MOGRO(2, 2, prior=prior), np.random.default_rng(0)
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.3]])
    chosen = [policy.select(arms, rng=rng) for _ in range(50)]
    assert set(chosen) == {0, 1}
    assert not policy.exploring
