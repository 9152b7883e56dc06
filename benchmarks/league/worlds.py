"""The worlds of the league: small, and each difficult in one way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.league.environments import DriftingArms, LogisticArms, SleepingArms
from mogro import environments
from mogro.simulation import Purpose, stream
from paper.lab.lower_bound import lower_bound_instance

ROUNDS = 1000
_ROWS = 400


@dataclass(frozen=True)
class LeagueWorld:
    """A kind of problem.

    Attributes
    ----------
    name
        A short name, for tables.
    about
        What it is, in a sentence.
    make
        Draws an instance.
    stays
        Whether the places of arms mean the same in all rounds.
    """

    name: str
    about: str = field(repr=False)
    make: Callable[[np.random.Generator], environments.Environment] = field(repr=False)
    stays: bool = True

    def instance(self, number: int, seed: int) -> environments.Environment:
        """Return an instance, the same for everybody."""
        return self.make(stream(seed, number, 0, Purpose.WORLD))


def _fixed(rng: np.random.Generator) -> environments.Environment:
    return environments.FixedArms.sample(5, 50, 5, noise=0.1, rng=rng)


def _noisy(rng: np.random.Generator) -> environments.Environment:
    return environments.FixedArms.sample(10, 50, 3, noise=1.0, rng=rng)


def _opposed(rng: np.random.Generator) -> environments.Environment:
    return environments.FixedArms.sample(5, 50, 2, noise=0.1, rng=rng, conflict=0.9)


def _at_odds(rng: np.random.Generator) -> environments.Environment:
    return environments.FixedArms.sample(5, 50, 3, noise=0.5, rng=rng, conflict=0.7)


def _fresh(rng: np.random.Generator) -> environments.Environment:
    return environments.VaryingContexts.sample(5, 20, 3, noise=0.1, rng=rng)


def _contexts(rng: np.random.Generator) -> environments.Environment:
    return environments.BilinearContexts.sample(2, 2, 10, 2, noise=0.3, rng=rng)


def _hard(rng: np.random.Generator) -> environments.Environment:
    return lower_bound_instance(3, rounds=ROUNDS, instance=int(rng.integers(3)))


def _bernoulli(rng: np.random.Generator) -> environments.Environment:
    return environments.BernoulliArms.sample(20, 2, rng=rng)


def _logistic(rng: np.random.Generator) -> environments.Environment:
    return LogisticArms.sample(5, 30, 2, rng=rng)


def _drifting(rng: np.random.Generator) -> environments.Environment:
    return DriftingArms.sample(5, 30, 3, places=3, every=ROUNDS // 2, noise=0.1, rng=rng)


def _sleeping(rng: np.random.Generator) -> environments.Environment:
    return SleepingArms.sample(5, 40, 3, awake=10, noise=0.1, rng=rng)


def _replay(rng: np.random.Generator) -> environments.Environment:
    """Questions to six models: stronger ones are dearer, and each is better at something."""
    models, topics = 6, 3
    questions = rng.random((_ROWS, topics))
    skills = np.linspace(0.3, 1.5, models)[:, None] * rng.random((models, topics))
    right = rng.random((_ROWS, models)) < 1 - np.exp(-2 * questions @ skills.T)
    price = np.linspace(0.05, 0.8, models) * (0.5 + questions.mean(axis=1, keepdims=True))
    products = (
        np.eye(models)[:, :, None] * np.column_stack([np.ones(_ROWS), questions])[:, None, None]
    )
    return environments.Replay(
        np.stack([right, -price], axis=-1), products.reshape(_ROWS, models, -1)
    )


WORLDS = (
    LeagueWorld("fixed arms", "The paper's: 50 arms that stay, 5 features, 5 objectives.", _fixed),
    LeagueWorld("much noise", "50 arms that stay, 10 features, noise larger than gaps.", _noisy),
    LeagueWorld("opposed", "50 arms that stay, two objectives that are nearly opposed.", _opposed),
    LeagueWorld("at odds", "50 arms, three objectives with cosines of -0.05, noise.", _at_odds),
    LeagueWorld("hard instances", "The paper's lower bound: 9 arms, nearly alike.", _hard),
    LeagueWorld(
        "fresh arms", "20 new arms in each round, from the unit ball.", _fresh, stays=False
    ),
    LeagueWorld(
        "contexts", "10 arms that stay, and a context in each round.", _contexts, stays=False
    ),
    LeagueWorld("sleeping arms", "10 of 40 arms are awake in each round.", _sleeping, stays=False),
    LeagueWorld("drift", "30 arms that stay; the parameters move all the time.", _drifting),
    LeagueWorld("Bernoulli", "20 arms without features, rewards of 0 and 1.", _bernoulli),
    LeagueWorld(
        "logistic", "30 arms, rewards of 0 and 1, means not linear in features.", _logistic
    ),
    LeagueWorld(
        "replay", "400 questions to 6 models, right answers against price; a known table.", _replay
    ),
)


def choose_worlds(names: Sequence[str]) -> tuple[LeagueWorld, ...]:
    """Return the worlds of these names, or all if there are none."""
    worlds = {world.name: world for world in WORLDS}
    for name in names:
        if name not in worlds:
            raise ValueError(f"world: expected one of {', '.join(worlds)}, got {name!r}")
    return tuple(worlds[name] for name in names) or WORLDS
