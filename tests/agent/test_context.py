"""An agent that decides by arms in a context equals one that is fed with the products."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.test_agreement import POLICIES, Make, seen
from tests.agent.test_threads import together
from tests.properties import examples, mostly_slow

import mogro
from mogro._validation import FloatArray
from mogro.agent import events
from mogro.agent.decision_inputs import DecisionInputs
from mogro.agent.features.feature_map import FeatureMap
from mogro.exploration import needed_exploration

A, C, K = 3, 2, 6
NAMES = ("a", "b", "c")
OBJECTIVES = [
    mogro.Objective("a"),
    mogro.Objective("b", unit=2.0, offset=1.0),
    mogro.Objective("c", direction="min"),
]
ARMS = np.random.default_rng(8).standard_normal((K, A))
IDS = [f"arm {k}" for k in range(K)]
# Encoders name columns, so that some products can be left out; arms are still given as numbers.
NAMED: dict[str, Any] = {
    "arms": mogro.Encoder(u=mogro.Vector(1), v=mogro.Vector(2)),
    "context": mogro.Encoder(s=mogro.Vector(1), t=mogro.Vector(1)),
}
ALL: dict[str, Any] = {"arms": A, "context": C}
LEFT_OUT: list[dict[str, Any]] = [
    ALL,
    ALL | {"interactions": False},
    NAMED | {"interactions": [("v", "s")]},
    NAMED | {"interactions": [("u", "s"), ("v", "t")]},
]


def products(features: FeatureMap, arms: FloatArray, context: FloatArray) -> FloatArray:
    """All products but the constant, written out: the slow way."""
    rows = []
    for x in arms:
        row = list(x)
        for i, c in enumerate(context):
            row += [c] + [c * value for j, value in enumerate(x) if there(features, j, i)]
        rows.append(row)
    return np.array(rows)


def there(features: FeatureMap, arm: int, context: int) -> bool:
    """Whether the learner sees the product of these features."""
    if isinstance(features.interactions, bool):
        return features.interactions
    return ("uvv"[arm], "st"[context]) in features.interactions


def truth(size: int) -> FloatArray:
    return np.random.default_rng(1).standard_normal((3, size))


BOTH = FeatureMap(A, C)


def make(name: str) -> Make:
    if name == "basis":
        return partial(mogro.MOGRO, exploration=mogro.BasisRoundRobin(seen(ARMS)))
    return POLICIES[name]


class Pair:
    """An agent with contexts, and one that is given the products."""

    def __init__(self, sees: dict[str, Any] = ALL, policy: Make = mogro.MOGRO) -> None:
        self.features = FeatureMap(**sees)
        self.agent = mogro.Agent(OBJECTIVES, seed=5, policy=policy, **sees)
        size = self.features.learner_dim - 1  # the constant is there by itself
        self.explicit = mogro.Agent(OBJECTIVES, arms=size, seed=5, policy=policy)
        self.rng = np.random.default_rng(3)

    def decide(
        self, context: FloatArray, arms: FloatArray = ARMS, **asked: object
    ) -> tuple[mogro.agent.Decision, mogro.agent.Decision]:
        given = products(self.features, arms, context)
        ids = IDS[: len(arms)]
        decision = self.agent.decide(ids, arms, context=context, **asked)  # type: ignore[arg-type]
        other = self.explicit.decide(ids, given, **asked)  # type: ignore[arg-type]
        return decision, other

    def reward(self, arm: str, id: str, context: FloatArray) -> None:
        x = seen(products(self.features, ARMS, context))[IDS.index(arm)]
        values = truth(self.features.learner_dim) @ x + 0.3 * self.rng.standard_normal(3)
        for agent in (self.agent, self.explicit):
            agent.reward(id, dict(zip(NAMES, values.tolist(), strict=True)))


def contexts(kind: str) -> FloatArray:
    """Contexts of all kinds: any, a few that come again, some that are zero or collinear."""
    rng = np.random.default_rng(11)
    if kind == "any":
        return rng.standard_normal((80, C))
    if kind == "few":
        return rng.standard_normal((3, C))[rng.integers(3, size=80)]
    return np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[rng.integers(3, size=80)]


@pytest.mark.parametrize("kind", mostly_slow(["any", "few", "plain"]))
@pytest.mark.parametrize("name", [name for name in POLICIES if "Thompson" not in name])
def test_choices_and_estimates_are_those_of_the_products(name: str, kind: str) -> None:
    pair = Pair(policy=make(name))
    for context in contexts(kind):
        one, other = pair.decide(context)
        assert (one.arm, one.exploring, one.weights) == (other.arm, other.exploring, other.weights)
        assert one.estimates == pytest.approx(other.estimates, abs=1e-8)
        pair.reward(one.arm, one.id, context)
    assert pair.agent.theta == pytest.approx(pair.explicit.theta, abs=1e-8)
    assert pair.agent.intercept == pytest.approx(pair.explicit.intercept)
    assert pair.agent.counters == pair.explicit.counters


@pytest.mark.parametrize("left_out", LEFT_OUT, ids=str)
@pytest.mark.parametrize("kind", ["any", "plain"])
def test_whatever_is_left_out(left_out: dict[str, Any], kind: str) -> None:
    pair = Pair(left_out)
    size = 1 + products(pair.features, ARMS, np.ones(C)).shape[1]
    assert pair.features.learner_dim == size == len(pair.features.names)
    for n, context in enumerate(contexts(kind)):
        # Fewer arms than features, too, and arms that depend on each other.
        arms = ARMS if n % 3 else ARMS[[0, 1, 0]] if n % 2 else ARMS[:2]
        one, other = pair.decide(context, arms)
        assert (one.arm, one.exploring) == (other.arm, other.exploring)
        pair.reward(one.arm, one.id, context)
    assert pair.agent.theta == pytest.approx(pair.explicit.theta, abs=1e-8)


@pytest.mark.parametrize("left_out", LEFT_OUT, ids=str)
def test_estimates_and_their_errors_are_those_of_the_products(left_out: dict[str, Any]) -> None:
    pair = Pair(left_out)
    for n, context in enumerate(contexts("any")[:40]):
        one, _ = pair.decide(context)
        pair.reward(one.arm, one.id, context)
        if n in (0, 4, 39):
            catalogue = mogro.Catalogue(A)
            catalogue.add(IDS, ARMS)
            estimates = pair.explicit.estimate(IDS, products(pair.features, ARMS, context))
            for mine in (
                pair.agent.estimate(IDS, ARMS, context=context),
                pair.agent.estimate(catalogue, context=context),
            ):
                assert mine.arms == estimates.arms
                assert mine.values == pytest.approx(estimates.values, abs=1e-8)
                assert mine.errors == pytest.approx(estimates.errors, rel=1e-5)


@pytest.mark.parametrize("name", ["Thompson", "Thompson front"])
def test_thompson_sampling_has_the_same_law(name: str) -> None:
    """It draws parameters of the arms in the context, which are fewer than those of products."""
    pair = Pair(policy=POLICIES[name])
    for n, context in enumerate(contexts("any")[:30]):
        one, other = pair.decide(context, id=f"asked {n}")
        if n % 10 == 9:
            mine, theirs = one.propensities, other.propensities
            slack = 5 * np.hypot(mine.errors, theirs.errors)
            assert (np.abs(mine.values - theirs.values) <= slack).all()
            assert mine.values.max() < 1
        only = [arm == one.arm for arm in IDS]  # the same past for both
        pair.decide(context, id=f"learned {n}", eligible=only)
        pair.reward(one.arm, f"learned {n}", context)
        assert pair.agent.theta == pytest.approx(pair.explicit.theta, abs=1e-8)


@pytest.mark.parametrize("name", [name for name in POLICIES if "Thompson" not in name])
def test_views_are_those_of_the_products(name: str) -> None:
    pair = Pair(policy=make(name))
    for n, context in enumerate(contexts("any")[:40]):
        one, other = pair.decide(context)
        if n in (0, 5, 39):
            assert one.propensities.arms == other.propensities.arms
            slack = 5 * np.hypot(one.propensities.errors, other.propensities.errors) + 1e-7
            apart = np.abs(one.propensities.values - other.propensities.values)
            assert (apart <= slack).all()
            mine, theirs = pair.agent.explain(one), pair.explicit.explain(other)
            assert mine.reason == theirs.reason
            for rival, twin in zip(mine.rivals, theirs.rivals, strict=True):
                assert rival.leads == pytest.approx(twin.leads, abs=1e-8)
        pair.reward(one.arm, one.id, context)
    given = products(BOTH, ARMS, context)
    front, twin_front = (
        pair.agent.front(IDS, ARMS, context=context),
        pair.explicit.front(IDS, given),
    )
    assert front.arms == twin_front.arms
    assert front.values == pytest.approx(twin_front.values, abs=1e-8)
    assert front.shares == pytest.approx(twin_front.shares, abs=1e-6)


def test_constraints_and_several_arms() -> None:
    pair = Pair()
    for context in contexts("any")[:40]:
        one, _ = pair.decide(context)
        pair.reward(one.arm, one.id, context)
    context = np.array([0.3, -0.2])
    given = products(pair.features, ARMS, context)
    mine = pair.agent.decide_top(IDS, ARMS, context=context, top=3, id="top")
    decisions = pair.explicit.decide_top(IDS, given, top=3, id="top")
    assert [one.arm for one in mine] == [their.arm for their in decisions]
    bounds = {"a": float(np.median((truth(12) @ seen(given).T)[0]))}
    eligible = [True, True, False, True, True, True]
    one, other = pair.decide(context, at_least=bounds, eligible=eligible, weights=[1, 1, 1])
    assert one.arm == other.arm
    assert one.propensities.arms == other.propensities.arms


@pytest.mark.parametrize("eligible", [None, [True, False, True, True, False, True]])
@pytest.mark.parametrize("name", ["MOGRO", "threshold", "UCB", "hypervolume"])
def test_a_catalogue_is_the_same_as_a_list(name: str, eligible: list[bool] | None) -> None:
    pair = Pair(policy=POLICIES[name])
    shop = mogro.Catalogue(A)
    shop.add(IDS, ARMS)
    for n, context in enumerate(contexts("any")):
        decision = pair.agent.decide(shop, context=context, id=str(n), eligible=eligible)
        given = products(BOTH, ARMS, context)
        other = pair.explicit.decide(IDS, given, id=str(n), eligible=eligible)
        assert (decision.arm, decision.exploring) == (other.arm, other.exploring)
        pair.reward(decision.arm, decision.id, context)


def test_no_product_is_built_for_many_arms() -> None:
    """A policy, also one's own, is shown arms of 1 + A features."""
    shapes = set()

    agent = mogro.Agent(OBJECTIVES, arms=A, context=C, seed=1, prior=mogro.priors.Flat())
    decision = agent.decide(IDS, ARMS, context=[1.0, 2.0])
    shapes.add(decision.inputs.arms.features.shape)
    assert isinstance(decision.inputs, DecisionInputs)
    beliefs = decision.inputs.beliefs
    shapes.add(beliefs.S.shape)
    assert shapes == {(K, 1 + A), (1, 1 + A, 1 + A)}
    assert beliefs.theta.shape == (3, 1 + A)


numbers = st.floats(-3, 3, allow_subnormal=False).map(lambda x: round(x, 3))


@examples(60)
@given(
    context=st.lists(numbers, min_size=C, max_size=C),
    told=st.lists(st.lists(numbers, min_size=C, max_size=C), max_size=6),
    left_out=st.sampled_from(LEFT_OUT),
)
def test_beliefs_about_arms_are_those_about_their_products(
    context: list[float], told: list[list[float]], left_out: dict[str, Any]
) -> None:
    features = FeatureMap(**left_out)
    policy = mogro.MOGRO(features.learner_dim, 2)
    for n, before in enumerate(told):
        policy.update(features.in_context(before).learner_features(ARMS[n % K]), [1.0, float(n)])
    known, view = policy.beliefs(), features.in_context(context)
    wide, arms = seen(products(features, ARMS, np.array(context))), view.policy_features(ARMS)
    inside = view.project(known, lambda: arms)
    assert view.learner_features(ARMS) == pytest.approx(wide)
    assert arms @ view.columns.T == pytest.approx(wide, abs=1e-12)
    assert np.vecdot(arms, arms) == pytest.approx(np.vecdot(wide, wide))
    assert inside.estimates(arms) == pytest.approx(known.estimates(wide), abs=1e-5)
    assert inside.variances(arms) == pytest.approx(known.variances(wide), rel=1e-5, abs=1e-6)
    for threshold in (None, 0.3):
        mine = needed_exploration(arms, inside, threshold, step=0)
        theirs = needed_exploration(wide, known, threshold, step=0)
        assert (mine is None) == (theirs is None)
        if mine is not None and theirs is not None:
            gains, expected = mine.gains / mine.gains.max(), theirs.gains / theirs.gains.max()
            assert gains == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_it_is_saved_and_its_events_make_it_again(tmp_path: Path) -> None:
    told: list[events.Event] = []
    sees = LEFT_OUT[-1]
    agent = mogro.Agent(OBJECTIVES, seed=5, on_event=told.append, **sees)
    for context in contexts("any")[:20]:
        decision = agent.decide(IDS, ARMS, context=context)
        agent.reward(decision.id, {"a": 1.0, "b": float(context[0]), "c": 0.5})
    agent.save(tmp_path / "agent")
    again = mogro.Agent.load(tmp_path / "agent")
    assert np.array_equal(again.theta, agent.theta)
    for context in contexts("few")[:10]:
        one, other = (each.decide(IDS, ARMS, context=context) for each in (agent, again))
        assert one == other
    plain = events.to_plain(told[0])
    assert events.to_plain(events.from_plain(plain)) == plain
    assert plain["features"]["shape"] == [FeatureMap(**sees).learner_dim]


LATE = [
    mogro.Objective("a", window=4.0, default=0.5),
    mogro.Objective("b", unit=2.0, offset=1.0, window=7.0, given="a"),
    mogro.Objective("c", direction="min", window=3.0, revise="last"),
]


@pytest.mark.slow
@examples(25)
@given(
    seed=st.integers(0, 10**6),
    half_life=st.sampled_from([None, mogro.HalfLife(updates=9), mogro.HalfLife(time=6.0)]),
    uniform=st.sampled_from([0.0, 0.3]),
    retention=st.sampled_from([None, mogro.Retention(decisions=5)]),
)
def test_histories_leave_what_those_of_the_products_leave(
    seed: int, half_life: mogro.HalfLife | None, uniform: float, retention: mogro.Retention | None
) -> None:
    """Windows, conditions, revisions, rewards late or never, fading, draws of any arm."""
    agent, explicit = (
        mogro.Agent(
            LATE,
            seed=seed,
            prior=mogro.priors.Flat(),  # a learned one goes by groups, which differ
            half_life=half_life,
            epsilon=uniform,
            retention=retention,
            **sees,
        )
        for sees in (ALL, ALL | {"arms": BOTH.learner_dim - 1, "context": None})
    )
    rng = np.random.default_rng(seed)
    now, asked = 0.0, 0
    for _ in range(60):
        now += rng.exponential(0.5)
        if asked and rng.random() < 0.6:
            names = rng.choice(NAMES, size=rng.integers(1, 4), replace=False)
            values = {str(name): float(rng.standard_normal()) for name in names}
            id = str(rng.integers(max(0, asked - 6), asked))
            one, other = (told(each, id, values, now) for each in (agent, explicit))
        else:
            context, count = rng.standard_normal(C), int(rng.integers(1, K + 1))
            given = products(BOTH, ARMS[:count], context)
            one = agent.decide(
                IDS[:count], ARMS[:count], context=context, id=str(asked), now=now
            ).arm
            other = explicit.decide(IDS[:count], given, id=str(asked), now=now).arm
            asked += 1
        assert one == other
        assert agent.counters == explicit.counters
    agent.expire(now + 10)
    explicit.expire(now + 10)
    assert agent.theta == pytest.approx(explicit.theta, abs=1e-7)
    assert agent.observations == pytest.approx(explicit.observations)
    assert agent.counters["learned"] > 0


def told(agent: mogro.Agent, id: str, values: dict[str, float], now: float) -> str:
    """Return what an agent says to a reward, errors included."""
    try:
        return str(agent.reward(id, values, now=now))
    except (mogro.agent.ConflictingReward, mogro.agent.UnknownDecision) as error:
        return str(error)


def test_threads_in_contexts_leave_least_squares() -> None:
    agent = mogro.Agent(
        OBJECTIVES, arms=A, context=C, seed=5, prior=mogro.priors.Flat(), epsilon=0.2
    )
    rows: list[tuple[FloatArray, FloatArray]] = []

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        for n in range(40):
            context, values = rng.standard_normal(C), rng.standard_normal(3)
            decision = agent.decide(IDS, ARMS, context=context, id=f"{number} {n}")
            x = seen(products(BOTH, ARMS[[IDS.index(decision.arm)]], context))[0]
            agent.reward(decision.id, dict(zip(NAMES, values.tolist(), strict=True)))
            rows.append((x, values))

    together(*(partial(work, number) for number in range(4)))
    assert agent.counters["learned"] == 3 * len(rows) == 480
    design, values = (np.array(part) for part in zip(*rows, strict=True))
    theta = np.linalg.lstsq(design, values, rcond=None)[0].T
    assert agent.theta == pytest.approx(theta[:, 1:], abs=1e-8)
    assert agent.intercept == pytest.approx(theta[:, 0], abs=1e-8)


def test_explanations_name_features_and_add_up() -> None:
    pair = Pair()
    for context in contexts("any"):
        decision, _ = pair.decide(context)
        pair.reward(decision.arm, decision.id, context)
    explanation = pair.agent.explain(decision)
    for rival in explanation.rivals:
        assert rival.total is not None
        assert sum(rival.reasons.values()) == pytest.approx(rival.total)
        assert set(rival.reasons) <= set(pair.features.names)
        assert not {"1", "context 0", "context 1"} & set(rival.reasons)  # the same for all arms
    assert "* arm" in str(explanation)


@pytest.mark.parametrize(
    "asked",
    [
        {"arms": 0},
        {"context": "x"},
        {"interactions": 1},
        {"interactions": ["us"]},
        {"interactions": [("u", "s", "t")]},
        NAMED | {"interactions": [("u", "x")]},
        NAMED | {"interactions": [("x", "s")]},
        {"interactions": [("u", "s")]},
    ],
    ids=str,
)
def test_features_that_make_no_sense_are_refused(asked: dict[str, object]) -> None:
    name = list(asked)[-1]
    with pytest.raises(ValueError, match=f"^{name}:"):
        mogro.Agent(OBJECTIVES, seed=1, **(ALL | asked))


@pytest.mark.parametrize(
    "context", [None, [1.0], [[1.0, 2.0]], [np.nan, 1.0], [1e40, 1.0], "ab", {"age": 3}], ids=str
)
def test_contexts_that_do_not_fit_are_refused(context: object) -> None:
    agent = mogro.Agent(OBJECTIVES, arms=A, context=C, seed=1)
    for ask in (agent.decide, agent.front):
        with pytest.raises(ValueError, match=r"^context:"):
            ask(IDS, ARMS, context=context)  # type: ignore[arg-type]
    assert agent.counters["decisions"] == 0


def test_a_context_without_products_is_refused() -> None:
    agent = mogro.Agent(OBJECTIVES, arms=A, seed=1)
    with pytest.raises(ValueError, match=r"^context: expected none"):
        agent.decide(IDS, ARMS, context=[1.0, 2.0])


def test_no_pairs_are_no_products() -> None:
    for context in (None, 2):
        for pairs in ((), False):
            agent = mogro.Agent(
                [mogro.Objective("click")], arms=2, context=context, interactions=pairs, seed=7
            )
            assert not any("*" in name for name in agent.feature_names)
