import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.agent.test_agent import OBJECTIVES, ball

import mogro
from mogro.agent import ExactIndex


def stocked(features: np.ndarray, *, dtype: type = np.float64) -> mogro.Catalogue:
    catalogue = mogro.Catalogue(features.shape[1], dtype=dtype)
    catalogue.add([str(k) for k in range(len(features))], features)
    return catalogue


def test_a_catalogue_decides_like_a_list() -> None:
    features = ball(60, 4)
    ids = [str(k) for k in range(60)]
    one, two = (mogro.Agent(OBJECTIVES, arms=4, seed=3) for _ in range(2))
    catalogue = stocked(features)
    truth = features @ np.random.default_rng(0).standard_normal((4, 3))
    rng = np.random.default_rng(1)
    for n in range(80):
        mask = rng.random(60) < 0.7 if n % 3 == 0 else None
        first = one.decide(ids, features, eligible=mask)
        second = two.decide(catalogue, eligible=mask)
        assert (first.arm, first.exploring) == (second.arm, second.exploring)
        values = truth[int(first.arm)].tolist()
        for agent, decision in ((one, first), (two, second)):
            agent.reward(decision.id, dict(zip(("click", "watch", "cost"), values, strict=True)))
    assert one.counters == two.counters
    bounds = {"click": float(np.median(truth[:, 0]))}
    first, second = (
        one.decide(ids, features, at_least=bounds),
        two.decide(catalogue, at_least=bounds),
    )
    assert first.arm == second.arm
    assert [d.arm for d in one.decide_top(ids, features, top=5)] == [
        d.arm for d in two.decide_top(catalogue, top=5)
    ]
    assert first.propensities.values == pytest.approx(second.propensities.values)


def test_add_update_remove() -> None:
    features = ball(10, 3)
    catalogue = stocked(features)
    before = catalogue.version()
    catalogue.add(["new"], [[9.0, 9.0, 9.0]])
    catalogue.update(["3", "5"], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    catalogue.remove(["0", "9"])
    assert len(before.ids) == 10
    assert (before.features == features).all()  # whoever holds the old version keeps it
    now = catalogue.version()
    rows = dict(zip(now.ids, now.features.tolist(), strict=True))
    assert list(rows) == ["1", "2", "3", "4", "5", "6", "7", "8", "new"]
    assert rows["3"] == [1.0, 2.0, 3.0]
    assert rows["new"] == [9.0, 9.0, 9.0]
    assert "9" not in catalogue
    catalogue.add(["0"], features[:1])
    assert catalogue.version().ids[-1] == "0"
    catalogue.remove(list(catalogue.version().ids))
    with pytest.raises(ValueError, match="at least one arm"):
        catalogue.version()


@pytest.mark.parametrize("dtype", ["bogus", int, "float16"])
def test_a_catalogue_is_of_floats(dtype: Any) -> None:
    with pytest.raises(ValueError, match="dtype: expected float32 or float64, got"):
        mogro.Catalogue(2, dtype=dtype)


def test_what_a_catalogue_refuses() -> None:
    catalogue = stocked(ball(3, 2), dtype=np.float32)
    for call, argument in (
        (lambda: catalogue.add(["0"], [[1.0, 1.0]]), "ids"),
        (lambda: catalogue.add(["a", "a"], np.ones((2, 2))), "ids"),
        (lambda: catalogue.add(["a"], [[np.inf, 1.0]]), "features"),
        (lambda: catalogue.add(["a"], [[1e38, 1.0]]), "features"),
        (lambda: catalogue.update(["a"], [[1.0, 1.0]]), "ids"),
        (lambda: catalogue.remove(["a"]), "ids"),
        (lambda: mogro.Catalogue(2, dtype=np.int64), "dtype"),
        (lambda: mogro.Agent(OBJECTIVES, arms=3, seed=0).decide(catalogue), "arms"),
    ):
        with pytest.raises(ValueError, match=argument):
            call()
    assert len(catalogue) == 3


def test_features_that_span_a_subspace_are_surveyed_once() -> None:
    """Dummies and an intercept: after exploration only the index is asked."""

    asked = []

    class Counting(ExactIndex):
        def best(self, direction: np.ndarray, *, eligible: np.ndarray | None) -> np.ndarray:
            asked.append(1)
            return super().best(direction, eligible=eligible)

    catalogue = mogro.Catalogue(4, dtype=np.float32, index=Counting)
    catalogue.add([str(k) for k in range(100)], np.eye(4).repeat(25, axis=0))
    policy = partial(mogro.MOGRO, threshold=0.2)
    agent = mogro.Agent(OBJECTIVES[:2], arms=4, seed=0, policy=policy)
    for _ in range(30):
        decision = agent.decide(catalogue)
        agent.reward(decision.id, {"click": float(decision.arm), "watch": 1.0})
    assert agent.counters["explored"] <= 8
    assert len(asked) == 30 - agent.counters["explored"]


def test_float32_scores_are_exact_to_their_precision() -> None:
    features = ball(5000, 8).astype(np.float32)
    catalogue = stocked(features, dtype=np.float32)
    agent = mogro.Agent(OBJECTIVES[:2], arms=8, seed=1)
    slopes = np.random.default_rng(2).standard_normal((2, 8))
    for _ in range(60):
        decision = agent.decide(catalogue)
        value = slopes @ features[int(decision.arm)]
        agent.reward(decision.id, {"click": value[0], "watch": 30 + 60 * value[1]})
    decision = agent.decide(catalogue)
    weights = list((decision.weights or {}).values())
    scores = features.astype(np.float64) @ (np.array(weights) @ slopes)
    assert scores[int(decision.arm)] >= scores.max() - 1e-5


def test_digits_of_float32_decide() -> None:
    """An arm that is chosen has a propensity, however near the best ones are."""
    step = float(np.finfo(np.float32).eps)
    catalogue = mogro.Catalogue(2, dtype=np.float32)
    catalogue.add(["a", "b", "c"], [[1.0, 0.0], [1.0 + step, 0.0], [0.0, -1.0]])
    agent = mogro.Agent(OBJECTIVES[:2], arms=2, seed=1, prior=mogro.priors.Flat())
    for arm in ("a", "c", "a", "c"):
        agent.observe(catalogue, arm=arm, rewards={"click": 1.0, "watch": 60.0})
    for _ in range(20):
        decision = agent.decide(catalogue, weights=[1, 1])
        assert (decision.arm, decision.propensity) == ("b", 1.0)


def test_other_policies_take_catalogues_too() -> None:
    catalogue = stocked(ball(50, 3))
    for policy in (
        mogro.EpsilonGreedy,
        partial(mogro.UCB, noise=0.1, delta=0.1),
        partial(mogro.ThompsonSampling, noise=0.1, delta=0.1),
        mogro.RandomArm,
    ):
        agent = mogro.Agent(OBJECTIVES, arms=3, seed=0, policy=policy)
        mask = np.arange(50) > 30
        for _ in range(20):
            decision = agent.decide(catalogue, eligible=mask)
            assert int(decision.arm) > 30
            agent.reward(decision.id, {"click": 1.0})
        assert decision.propensity > 0


def test_threads_share_a_catalogue_that_changes() -> None:
    features = ball(2000, 4)
    catalogue = stocked(features)
    agent = mogro.Agent(OBJECTIVES, arms=4, seed=0)
    failures: list[BaseException] = []
    running = threading.Event()

    def decide() -> None:
        try:
            for _ in range(150):
                decision = agent.decide(catalogue)
                agent.reward(decision.id, {"click": 1.0, "watch": 2.0, "cost": 3.0})
        except BaseException as error:
            failures.append(error)

    def change() -> None:
        for n in range(2000, 2100):
            catalogue.add([str(n)], features[:1])
            catalogue.remove([str(n - 2000)])
            running.wait(0.001)

    threads = [threading.Thread(target=decide) for _ in range(3)]
    threads.append(threading.Thread(target=change))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert agent.counters["decisions"] == 450
    assert len(catalogue) == 2000


def test_an_outlier_that_is_not_eligible_decides_no_tie() -> None:
    catalogue = mogro.Catalogue(2, dtype=np.float32)
    catalogue.add(["a", "b", "far"], [[1.0, 0.0], [1.05, 0.0], [0.0, 1e5]])
    agent = mogro.Agent([mogro.Objective("gain")], arms=2, seed=0, policy=mogro.EpsilonGreedy)
    for arm in ("b", "far"):
        decision = agent.decide(catalogue, eligible=[arm == one for one in ("a", "b", "far")])
        agent.reward(decision.id, {"gain": 1.0})
    mask = [True, True, False]
    for _ in range(20):
        decision = agent.decide(catalogue, eligible=mask, weights=[1.0])
        assert decision.uniform or decision.arm == "b"
        assert decision.propensity > 0


def test_arms_that_tie_are_drawn_as_in_a_list() -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    ids = [str(k) for k in range(4)]
    objectives = [mogro.Objective("gain")]
    one, two = (
        mogro.Agent(objectives, arms=2, seed=5, policy=partial(mogro.MOGRO, threshold=0.4))
        for _ in range(2)
    )
    catalogue = stocked(features)
    seen = set()
    for n in range(60):
        first, second = one.decide(ids, features), two.decide(catalogue)
        assert first.arm == second.arm
        for agent, decision in ((one, first), (two, second)):
            agent.reward(decision.id, {"gain": 0.0})  # every arm is worth as much, exactly
        if n > 4:
            seen.add(first.arm)
            assert first.propensities.values == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    assert seen == {"0", "1", "3"}


class Fragile(ExactIndex):
    """An index that cannot be made of some features."""

    def __init__(self, features: np.ndarray) -> None:
        if (features == 13.0).any() or len(features) == 2:
            raise RuntimeError("no index")
        super().__init__(features)


def test_a_change_without_an_index_changes_nothing() -> None:
    catalogue = mogro.Catalogue(1, index=Fragile)
    catalogue.add(["a", "b", "c"], [[1.0], [2.0], [3.0]])
    before = catalogue.version()
    changes: list[Callable[[], None]] = [
        lambda: catalogue.update(["a"], [[13.0]]),
        lambda: catalogue.add(["d"], [[13.0]]),
        lambda: catalogue.remove(["a"]),
    ]
    for change in changes:
        with pytest.raises(RuntimeError, match="no index"):
            change()
        assert catalogue.version() is before
        assert (len(catalogue), "a" in catalogue, "d" in catalogue) == (3, True, False)
    catalogue.add(["d", "e"], [[4.0], [5.0]])
    catalogue.update(["a"], [[9.0]])
    version = catalogue.version()
    assert dict(zip(version.ids, version.features[:, 0].tolist(), strict=True)) == {
        "a": 9.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0,
    }  # fmt: skip


def test_a_word_is_no_list_of_arms_that_were_offered_before() -> None:
    agent = mogro.Agent([mogro.Objective("a")], arms=1, seed=0)
    agent.decide(["x", "y"], [[1.0], [2.0]])
    with pytest.raises(ValueError, match="arms: expected a mapping of id to features"):
        agent.decide("xy", [[1.0], [2.0]])


def test_a_word_is_no_list_of_arms() -> None:
    catalogue = stocked(ball(3, 2))
    catalogue.add(["a", "b"], ball(2, 2))
    with pytest.raises(ValueError, match="ids"):
        catalogue.remove("ab")
    assert len(catalogue) == 5


@pytest.mark.parametrize("found", [[7], [-1], [], [0.5], [[0]], [1]])
def test_an_index_that_names_no_eligible_arm(found: list[int]) -> None:
    class Wrong(ExactIndex):
        def best(self, direction: np.ndarray, *, eligible: np.ndarray | None) -> np.ndarray:
            return np.array(found)

    catalogue = mogro.Catalogue(1, index=Wrong)
    catalogue.add(["a", "b"], [[1.0], [2.0]])
    policy = partial(mogro.MOGRO, threshold=0.2)  # without one, rounds without the index come first
    agent = mogro.Agent([mogro.Objective("gain")], arms=1, seed=0, policy=policy)
    for arm in "ab":
        decision = agent.decide(catalogue, eligible=[arm == "a", arm == "b"])
        agent.reward(decision.id, {"gain": 1.0})
    with pytest.raises(ValueError, match="index: expected"):
        agent.decide(catalogue, eligible=[True, False])
