"""Other bandit libraries, each used as its documentation says, for the same round.

A round: choose one of K arms, then learn from one number. All of them have one scalar reward.
Where a library can share one learner over the features of the arms, (K, d), it does; the others
have one learner for each arm and see one context of d numbers. Everything that can be prepared
before the first round (contexts, parsed examples, lists of arms) is.
"""

from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, cycle
from typing import Any

import numpy as np

from benchmarks.common import Step

GREEDY, OPTIMIST, THOMPSON = "greedy", "UCB", "Thompson"
SHARED, DISJOINT = "shared learner", "one learner per arm"
PARSED = "shared learner, arms parsed once: only for arms that never change"
Make = Callable[[np.ndarray, np.ndarray], Step]  # features (K, d) and rewards (n,): a round


@dataclass(frozen=True)
class Peer:
    """A policy of another library, or an estimator used by hand."""

    name: str
    kind: str
    learns: str
    make: Make
    policy: bool = True


def _vowpal(arguments: str, *, parse_once: bool) -> Make:
    def make(features: np.ndarray, rewards: np.ndarray) -> Step:
        from vowpalwabbit import Workspace

        learner = Workspace(f"--cb_explore_adf {arguments} --noconstant --quiet --random_seed 1")
        lines = ["| " + " ".join(f"{i}:{x:.6g}" for i, x in enumerate(row)) for row in features]
        arms = learner.parse(lines) if parse_once else lines
        costs = cycle((-rewards).tolist())
        rng = np.random.default_rng(0)

        def step() -> None:
            chances = learner.predict(arms)
            arm = min(bisect(list(accumulate(chances)), rng.random()), len(lines) - 1)
            chosen = [f"0:{next(costs)}:{chances[arm]} {lines[arm]}"]
            example = learner.parse(chosen) if parse_once else chosen
            learner.learn(arms[:arm] + example + arms[arm + 1 :])

        return step

    return make


def _bayesian(policy: Callable[[Any], Any]) -> Make:
    def make(features: np.ndarray, rewards: np.ndarray) -> Step:
        import bayesianbandits as bb

        class ByArm(bb.ArmFeaturizer):  # type: ignore[misc]
            def transform(self, X: Any, *, action_tokens: Any) -> np.ndarray:
                return features if len(action_tokens) > 1 else features[action_tokens]

        arms = [bb.Arm(i, learner=None) for i in range(len(features))]
        agent = bb.LipschitzContextualAgent(
            arms, policy(bb), ByArm(), bb.NormalRegressor(alpha=1.0, beta=1.0), random_seed=0
        )
        context = np.ones((1, 1))
        values = cycle(rewards[:, None])

        def step() -> None:
            agent.pull(context)
            agent.update(context, next(values))

        return step

    return make


def _bayesian_by_hand(features: np.ndarray, rewards: np.ndarray) -> Step:
    import bayesianbandits as bb

    learner = bb.NormalRegressor(alpha=1.0, beta=1.0)
    values = cycle(rewards[:, None])

    def step() -> None:
        arm = learner.predict(features).argmax()
        learner.partial_fit(features[arm : arm + 1], next(values))

    return step


def _contextual_by_hand(kind: str) -> Make:
    def make(features: np.ndarray, rewards: np.ndarray) -> Step:
        from contextualbandits.linreg import LinearRegression

        learner = LinearRegression(
            fit_intercept=False, use_float=False, precompute_ts=kind == THOMPSON
        )
        learner.fit(features[:1], rewards[:1])
        score = {
            GREEDY: learner.predict,
            OPTIMIST: learner.predict_ucb,
            THOMPSON: partial(learner.predict_thompson, random_state=np.random.default_rng(0)),
        }[kind]
        values = cycle(rewards[:, None])

        def step() -> None:
            arm = score(features).argmax()
            learner.partial_fit(features[arm : arm + 1], next(values))

        return step

    return make


def _contextual(name: str) -> Make:
    def make(features: np.ndarray, rewards: np.ndarray) -> Step:
        from contextualbandits import online

        policy = getattr(online, name)(nchoices=len(features), random_state=1)
        context = features[:1]
        values = cycle((rewards[:, None] > 0).astype(np.float64))  # it takes 0 and 1 only
        policy.fit(context, np.array([0]), next(values))

        def step() -> None:
            policy.partial_fit(context, policy.predict(context), next(values))

        return step

    return make


def _mabwiser(policy: Callable[[Any], Any]) -> Make:
    def make(features: np.ndarray, rewards: np.ndarray) -> Step:
        from mabwiser.mab import MAB, LearningPolicy

        bandit = MAB(list(range(len(features))), policy(LearningPolicy), seed=0)
        context = features[:1]
        bandit.fit(np.array([0]), rewards[:1], context)
        values = cycle(rewards[:, None])

        def step() -> None:
            bandit.partial_fit(np.array([bandit.predict(context)]), next(values), context)

        return step

    return make


def _river(features: np.ndarray, rewards: np.ndarray) -> Step:
    from river.bandit import LinUCBDisjoint

    policy = LinUCBDisjoint(seed=0)
    arms = list(range(len(features)))
    context = dict(enumerate(features[0].tolist()))
    values = cycle(rewards.tolist())

    def step() -> None:
        policy.update(policy.pull(arms, context), context, next(values))

    return step


_EPSILON = "--epsilon 0.1"
_REGCB = "--regcb --regcbopt --cb_min_cost -3 --cb_max_cost 3"

PEERS = (
    Peer("vowpalwabbit epsilon", GREEDY, SHARED, _vowpal(_EPSILON, parse_once=False)),
    Peer("vowpalwabbit epsilon, parsed", GREEDY, PARSED, _vowpal(_EPSILON, parse_once=True)),
    Peer("vowpalwabbit RegCB, parsed", OPTIMIST, PARSED, _vowpal(_REGCB, parse_once=True)),
    Peer("vowpalwabbit bag, parsed", THOMPSON, PARSED, _vowpal("--bag 5", parse_once=True)),
    Peer("bayesianbandits epsilon", GREEDY, SHARED, _bayesian(lambda bb: bb.EpsilonGreedy())),
    Peer("bayesianbandits UCB", OPTIMIST, SHARED, _bayesian(lambda bb: bb.UpperConfidenceBound())),
    Peer("bayesianbandits Thompson", THOMPSON, SHARED, _bayesian(lambda bb: bb.ThompsonSampling())),
    Peer("bayesianbandits regression", GREEDY, SHARED, _bayesian_by_hand, policy=False),
    Peer("contextualbandits regression", GREEDY, SHARED, _contextual_by_hand(GREEDY), policy=False),
    Peer("contextualbandits ucb", OPTIMIST, SHARED, _contextual_by_hand(OPTIMIST), policy=False),
    Peer("contextualbandits ts", THOMPSON, SHARED, _contextual_by_hand(THOMPSON), policy=False),
    Peer("contextualbandits LinUCB", OPTIMIST, DISJOINT, _contextual("LinUCB")),
    Peer("contextualbandits LinTS", THOMPSON, DISJOINT, _contextual("LinTS")),
    Peer("mabwiser LinGreedy", GREEDY, DISJOINT, _mabwiser(lambda p: p.LinGreedy(epsilon=0.1))),
    Peer("mabwiser LinUCB", OPTIMIST, DISJOINT, _mabwiser(lambda p: p.LinUCB())),
    Peer("mabwiser LinTS", THOMPSON, DISJOINT, _mabwiser(lambda p: p.LinTS())),
    Peer("river LinUCBDisjoint", OPTIMIST, DISJOINT, _river),
)
