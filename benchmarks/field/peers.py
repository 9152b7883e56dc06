"""Other libraries, each as its documentation says, for one order and one trade-off at a time.

They learn one reward, the weighted sum of the objectives, and see the context where the arms stay
the same, the products of arm and context where they change.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class Peer(Protocol):
    """Chooses among arms (K, d), and learns the reward of the one chosen."""

    def choose(self, arms: np.ndarray, context: np.ndarray) -> int:
        """Return an arm."""
        ...

    def learn(self, arms: np.ndarray, context: np.ndarray, arm: int, reward: float) -> None:
        """Learn."""
        ...


class VowpalWabbit:
    """``--cb_explore_adf`` with an exploration, and products of arm and context (-q)."""

    def __init__(self, arms: int, options: str, seed: int) -> None:
        from vowpalwabbit import Workspace

        flags = f"--cb_explore_adf {options} -q CA --quiet --random_seed {seed}"
        self._model = Workspace(flags)
        self._rng = np.random.default_rng(seed)
        self._chance = 1.0

    def _lines(
        self, arms: np.ndarray, context: np.ndarray, cost: tuple[int, float] | None
    ) -> list[str]:
        shared = "shared |C " + " ".join(f"c{j}:{v:.6g}" for j, v in enumerate(context) if v)
        lines = [shared]
        for k, arm in enumerate(arms):
            label = f"0:{cost[1]:.6g}:{self._chance:.6g} " if cost and cost[0] == k else ""
            arm_features = " ".join(f"a{j}:{v:.6g}" for j, v in enumerate(arm) if v)
            lines.append(f"{label}|A {arm_features}")
        return lines

    def choose(self, arms: np.ndarray, context: np.ndarray) -> int:
        """Return an arm drawn from its probabilities."""
        chances = np.array(self._model.predict(self._lines(arms, context, None)))
        arm = int(self._rng.choice(len(arms), p=chances / chances.sum()))
        self._chance = float(chances[arm])
        return arm

    def learn(self, arms: np.ndarray, context: np.ndarray, arm: int, reward: float) -> None:
        """Learn a cost."""
        self._model.learn(self._lines(arms, context, (arm, -reward)))


class Mabwiser:
    """``LinUCB`` of mabwiser, for arms that stay the same."""

    def __init__(self, arms: int, alpha: float, seed: int) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self._model = MAB(list(range(arms)), LearningPolicy.LinUCB(alpha=alpha), seed=seed)
        self._begun = False

    def choose(self, arms: np.ndarray, context: np.ndarray) -> int:
        """Return an arm; the first at random."""
        if not self._begun:
            return 0
        return int(self._model.predict([_with_one(context)]))

    def learn(self, arms: np.ndarray, context: np.ndarray, arm: int, reward: float) -> None:
        """Learn."""
        fit = self._model.partial_fit if self._begun else self._model.fit
        fit([arm], [reward], [_with_one(context)])
        self._begun = True


class ContextualBandits:
    """``LinUCB`` of contextualbandits, for arms that stay the same."""

    def __init__(self, arms: int, alpha: float, seed: int) -> None:
        from contextualbandits.online import LinUCB

        self._model = LinUCB(arms, alpha=alpha, random_state=1 + seed)
        self._begun = False

    def choose(self, arms: np.ndarray, context: np.ndarray) -> int:
        """Return an arm."""
        return int(self._model.predict(context[None])[0]) if self._begun else 0

    def learn(self, arms: np.ndarray, context: np.ndarray, arm: int, reward: float) -> None:
        """Learn."""
        arguments = context[None], np.array([arm]), np.array([reward])
        (self._model.partial_fit if self._begun else self._model.fit)(*arguments)
        self._begun = True


class BayesianBandits:
    """``NormalInverseGammaRegressor`` with Thompson sampling of bayesianbandits."""

    def __init__(self, arms: int, seed: int) -> None:
        from bayesianbandits import Arm, ContextualAgent, NormalInverseGammaRegressor
        from bayesianbandits import ThompsonSampling as Sampling

        arm_list: list[Any] = [
            Arm(k, learner=NormalInverseGammaRegressor(random_state=seed + k)) for k in range(arms)
        ]
        self._model = ContextualAgent(arm_list, Sampling(), random_seed=seed)

    def choose(self, arms: np.ndarray, context: np.ndarray) -> int:
        """Return an arm."""
        (arm,) = self._model.pull(np.array([_with_one(context)]))
        return int(arm)

    def learn(self, arms: np.ndarray, context: np.ndarray, arm: int, reward: float) -> None:
        """Learn."""
        self._model.select_for_update(arm).update(
            np.array([_with_one(context)]), np.array([reward])
        )


class ParetoBandit:
    """The policy of ParetoBandit, with the settings of its paper, for arms that stay the same."""

    def __init__(self, arms: int, seed: int) -> None:
        self._arms, self._seed = [str(arm) for arm in range(arms)], seed
        self._model: Any = None

    def choose(self, arms: np.ndarray, context: np.ndarray) -> int:
        """Return an arm."""
        if self._model is None:
            self._model = self._policy(1 + len(context))
        arm, _ = self._model.select_arm(np.array(_with_one(context)))
        self._model.mark_selected(arm)
        return int(arm)

    def learn(self, arms: np.ndarray, context: np.ndarray, arm: int, reward: float) -> None:
        """Learn."""
        x = np.array(_with_one(context))
        self._model.update(str(arm), x, reward, advance_time=False)

    def _policy(self, dim: int) -> Any:
        from pareto_bandit.config import BEST_K3_HPARAMS
        from pareto_bandit.policy import DisjointLinUCBPolicy

        settings = {name: BEST_K3_HPARAMS[name] for name in ("alpha", "forgetting_factor")}
        return DisjointLinUCBPolicy(self._arms, dim=dim, seed=self._seed, **settings)


def _with_one(context: np.ndarray) -> list[float]:
    return [1.0, *context.tolist()]


Make = Callable[[int, int], Peer]  # number of arms, seed
CHANGING: dict[str, Make] = {  # those that take arms that change
    "vowpalwabbit, squarecb": lambda arms, seed: VowpalWabbit(arms, "--squarecb", seed),
    "vowpalwabbit, epsilon": lambda arms, seed: VowpalWabbit(arms, "--epsilon 0.05", seed),
}
PEERS: dict[str, Make] = CHANGING | {
    "mabwiser, LinUCB": lambda arms, seed: Mabwiser(arms, 0.3, seed),
    "contextualbandits, LinUCB": lambda arms, seed: ContextualBandits(arms, 0.3, seed),
    "bayesianbandits, Thompson": BayesianBandits,
    "ParetoBandit": ParetoBandit,
}
