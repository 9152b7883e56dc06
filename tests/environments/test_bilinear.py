import pickle

import numpy as np
import pytest

import mogro
from mogro.agent.features.feature_map import FeatureMap
from mogro.environments import BilinearContexts
from mogro.testing import check_environment


def world(rng: np.random.Generator) -> BilinearContexts:
    return BilinearContexts.sample(2, 3, 8, 2, noise=0.1, rng=rng)


@pytest.mark.slow
def test_it_is_an_environment() -> None:
    check_environment(world)


def test_products_are_those_of_an_agent() -> None:
    rng = np.random.default_rng(0)
    one = world(rng)
    context = one.context(rng=rng, batch=(4,))
    both = FeatureMap(2, one.context_dim)
    expected = [both.in_context(c).learner_features(one.arm_features) for c in context]
    assert np.array_equal(one.products(context), np.array(expected))
    assert one.dim == both.learner_dim


def test_regret_is_exact_and_who_knows_the_truth_has_none() -> None:
    one = world(np.random.default_rng(0))

    class Informed:
        def __init__(self, dim: int, objectives: int) -> None: ...

        def select(self, features: np.ndarray, *, rng: np.random.Generator) -> int:
            return int((features @ one.theta[0]).argmax())

        def update(self, features: np.ndarray, reward: np.ndarray) -> None: ...

    informed = mogro.simulate(Informed, one, rounds=50, seed=1)
    assert np.abs(informed.effective_regret).max() < 1e-9
    learner = mogro.simulate(mogro.MOGRO, one, rounds=50, seed=1)
    assert learner.effective_regret.max() > 0


def test_pickling_keeps_it() -> None:
    one = world(np.random.default_rng(0))
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(one.theta, again.theta)
    assert np.array_equal(one.arm_features, again.arm_features)


@pytest.mark.parametrize("columns", [3, 4, 7])
def test_parameters_that_are_no_products_are_refused(columns: int) -> None:
    with pytest.raises(ValueError, match=r"^theta: .*columns"):
        BilinearContexts(np.ones((4, 2)), np.ones((2, columns)), noise=0.1)
