"""Routing real prompts to language models: quality at equal cost, and what a decision takes.

``python -m benchmarks.routing FOLDER [NAME ...]``, where the folder is an unpacked wheel of
paretobandit 0.1.1 (Apache-2.0), which ships 3,609 prompts with the quality and the cost of three
models each: ``pip download paretobandit==0.1.1 --no-deps`` and ``unzip``; nothing of it is kept
here. The peers need ``mabwiser contextualbandits scikit-learn joblib tqdm`` beside mogro. Names, or
how they begin, say who runs; all do without. It takes an hour, most of it for two peers, and may
be interrupted: what each got is kept in ``out/routing``, and is measured anew once it is deleted
there. The report on all that is there is ROUTING.md.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mogro
from benchmarks.common import Line, duration, ratio, typical
from benchmarks.field.routing import read_prompts
from benchmarks.routers import (
    MODELS,
    PRICES,
    AgentRouter,
    ContextualRouter,
    MabwiserRouter,
    Make,
    ParetoBanditRouter,
    PolicyRouter,
    Router,
    blocks,
)
from benchmarks.routing_report import report
from mogro.policies import LinearPolicy
from mogro.scalarization import Scalarization

OUT = Path("out", "routing")
ORDERS, FIRST, ROUNDS = 20, 500, 1000
SIZE, FEW, WARM = 24, 8, 200  # features, a few of them, prompts known beforehand


class Prompts(NamedTuple):
    """Features (n, d), quality (n, K) and cost in cents (n, K) of every model."""

    features: np.ndarray
    quality: np.ndarray
    cost: np.ndarray


class Played(NamedTuple):
    """Models chosen for each order and price, and which of these rounds count, (O, P, T) each."""

    chosen: np.ndarray
    counts: np.ndarray | None = None


Prices = tuple[float, ...]
Play = Callable[[Prompts, np.ndarray, Prices], Played]  # with prompts in orders (O, T)


def read(folder: Path) -> Prompts:
    """Read all prompts; features are the first principal components of hashed words, whitened."""
    place = folder / "pareto_bandit" / "data" / "examples"
    if not place.is_dir():
        sys.exit(f"no {place}: pip download paretobandit==0.1.1 --no-deps, unzip, name its folder")
    words, quality, cost = read_prompts(folder)
    scores = words[:, :SIZE]
    return Prompts(scores / scores.std(axis=0), quality, cost)


def in_turn(make: Make, prompts: Prompts, orders: np.ndarray, prices: Prices) -> Played:
    """Let one router after the other play."""

    def route(price: float, order: np.ndarray) -> list[int]:
        router = make(price, SIZE, int(order[0]))
        chosen = []
        for n in order:
            model = router.choose(prompts.features[n])
            told = float(prompts.quality[n, model]), float(prompts.cost[n, model])
            router.learn(prompts.features[n], model, *told)
            chosen.append(model)
        return chosen

    return Played(np.array([[route(price, order) for price in prices] for order in orders]))


class Given:
    """The weights that somebody sets before each round."""

    def __init__(self) -> None:
        self.price = 0.0

    def weights(self, objectives: int, **_: object) -> np.ndarray:
        """Return them."""
        return np.array([1.0, self.price]) / (1 + self.price)


@dataclass(frozen=True, eq=False, repr=False)
class Shrinking(LinearPolicy):
    """Greedy by ridge estimates: ``EpsilonGreedy(epsilon=0)`` of an agent that is given weights."""

    dim: int
    objectives: int
    _: KW_ONLY
    scalarization: Scalarization
    batch: tuple[int, ...] = ()
    ridge: float = 1.0

    @property
    def selection(self) -> Scalarization:
        """How to select."""
        return self.scalarization


def at_once(
    prompts: Prompts, orders: np.ndarray, prices: Prices, *, size: int = SIZE, warm: int = 0
) -> Played:
    """Let MOGRO play all orders in a batch, which chooses what agents would choose.

    Warm: so many other prompts are known beforehand, with all models.
    """
    few = prompts._replace(features=prompts.features[:, :size])
    rounds = [np.full(orders.shape[1], price) for price in prices]
    return Played(np.stack([_batch(few, orders, given, warm) for given in rounds], axis=1))


def optimistic(prompts: Prompts, orders: np.ndarray, prices: Prices) -> Played:
    """Let ridge estimates play that start from the best quality, 1, with features of norm 1."""
    small = prompts._replace(features=prompts.features / np.sqrt(SIZE), quality=prompts.quality - 1)
    rounds = [np.full(orders.shape[1], price) for price in prices]
    return Played(
        np.stack([_batch(small, orders, given, policy=Shrinking) for given in rounds], axis=1)
    )


def shared(prompts: Prompts, orders: np.ndarray, prices: Prices) -> Played:
    """Let one MOGRO serve all prices, another one with each prompt."""
    drawn = np.random.default_rng(2).integers(len(prices), size=orders.shape[1])
    counts = np.tile(drawn == np.arange(len(prices))[:, None], (len(orders), 1, 1))
    chosen = _batch(prompts, orders, np.array(prices)[drawn])
    return Played(np.broadcast_to(chosen[:, None], counts.shape), counts)


def _batch(
    prompts: Prompts,
    orders: np.ndarray,
    prices: np.ndarray,
    warm: int = 0,
    policy: Callable[..., LinearPolicy] = mogro.MOGRO,
) -> np.ndarray:
    """Return the models chosen (orders, rounds) at the prices of the rounds."""
    given, rng, everyone = Given(), np.random.default_rng(1), np.arange(len(orders))
    dim = len(MODELS) * (1 + prompts.features.shape[1])
    learner = policy(dim, 2, scalarization=given, batch=(len(orders),))
    values = np.stack([prompts.quality, -prompts.cost], -1)
    for prompt in _others(orders, len(values), warm).T:
        for model in range(len(MODELS)):
            learner.update(blocks(prompts.features[prompt])[:, model], values[prompt, model])
    history = []
    for prompt, price in zip(orders.T, prices.tolist(), strict=True):
        given.price = price
        arms = blocks(prompts.features[prompt])
        chosen = learner.select(arms, rng=rng)
        learner.update(arms[everyone, chosen], values[prompt, chosen])
        history.append(chosen)
    return np.stack(history, -1)


def _others(orders: np.ndarray, count: int, wanted: int) -> np.ndarray:
    """Return some prompts that do not come, (O, wanted)."""
    return np.stack([np.setdiff1d(np.arange(count), order)[:wanted] for order in orders])


def by_table(table: np.ndarray, orders: np.ndarray) -> Played:
    """Choose models (prices, prompts) that are known beforehand."""
    return Played(np.moveaxis(table[:, orders], 0, 1))


def best(quality: np.ndarray, cost: np.ndarray, prices: Prices) -> np.ndarray:
    """Return the best models (prices, prompts) by quality and cost."""
    return np.stack([(quality - price * cost).argmax(axis=1) for price in prices])


def linear_limit(prompts: Prompts, orders: np.ndarray, prices: Prices) -> Played:
    """Choose by least squares over all models and prompts, those to come included."""
    design = np.column_stack([np.ones(len(prompts.cost)), prompts.features])
    told = np.column_stack([prompts.quality, prompts.cost])
    fitted = design @ np.linalg.lstsq(design, told, rcond=None)[0]
    quality, cost = np.split(fitted, 2, axis=1)
    return by_table(best(quality, cost, prices), orders)


def oracle(prompts: Prompts, orders: np.ndarray, prices: Prices) -> Played:
    """Choose the best model for every prompt."""
    return by_table(best(prompts.quality, prompts.cost, prices), orders)


def one_model(prompts: Prompts, orders: np.ndarray, prices: Prices) -> Played:
    """Choose one model for all."""
    table = np.repeat(np.arange(len(MODELS))[:, None], len(prompts.cost), axis=1)
    return by_table(table, orders)


OURS, PEER, MOST = "mogro", "ParetoBandit", 2.0
CONTESTANTS: Mapping[str, Play] = {
    OURS: at_once,
    f"{OURS}, {FEW} features": partial(at_once, size=FEW),
    f"{OURS}, {WARM} prompts known": partial(at_once, warm=WARM),
    f"{OURS}, ridge, from the best": optimistic,
    f"{OURS}, one for all trade-offs": shared,
    PEER: partial(in_turn, ParetoBanditRouter),
    f"{PEER}, no forgetting": partial(in_turn, partial(ParetoBanditRouter, forgetting_factor=1.0)),
    "mabwiser": partial(in_turn, MabwiserRouter),
    "contextualbandits": partial(in_turn, ContextualRouter),
    "always one model": one_model,
    "linear limit": linear_limit,
    "oracle": oracle,
}


# A cent has no price for ParetoBandit: a unit is the cost of a model on a scale from 0 to 1. The
# slow ones have fewer prices, where the others' fronts bend.
SWEEPS: Mapping[str, Prices] = {
    PEER: (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 3.0),
    "mabwiser": (0.03, 0.1, 0.5),
    "contextualbandits": (0.03, 0.1, 0.5),
}


def means(played: Played, prompts: Prompts, orders: np.ndarray) -> np.ndarray:
    """Return quality and cost in m$ of the first prompts and of the rest, (2, O, P, 2)."""
    at = orders[:, None], played.chosen
    values = np.stack([prompts.quality[at], 10 * prompts.cost[at]], -1)
    counts = np.ones(played.chosen.shape) if played.counts is None else played.counts
    spans = slice(0, FIRST), slice(FIRST, None)
    return np.stack([
        np.einsum("optv,opt->opv", values[:, :, span], counts[:, :, span])
        / counts[:, :, span].sum(axis=2)[..., None]
        for span in spans
    ])  # fmt: skip


def explored(prompts: Prompts, order: np.ndarray) -> tuple[int, int]:
    """Return how often an Agent explores, and how often it differs from its policy alone."""
    routers = AgentRouter(0.03, SIZE, 0), PolicyRouter(0.03, SIZE, 0)
    differs = 0
    for n in order:
        model, other = (router.choose(prompts.features[n]) for router in routers)
        differs += model != other
        for router in routers:
            outcome = float(prompts.quality[n, model]), float(prompts.cost[n, model])
            router.learn(prompts.features[n], model, *outcome)
    return routers[0].explored, differs


def timed(prompts: Prompts, order: np.ndarray) -> list[Line]:
    """Measure choosing alone, while prompts are learned, after the first ones."""
    makes: dict[str, Make] = {
        "Agent.decide": AgentRouter,
        "MOGRO.select": PolicyRouter,
        PEER: ParetoBanditRouter,
        "mabwiser": MabwiserRouter,
        "contextualbandits": ContextualRouter,
    }
    routers = {name: make(0.03, SIZE, 0) for name, make in makes.items()}
    taken: dict[str, list[float]] = {name: [] for name in routers}
    for block in np.split(order, len(order) // 25):
        for name, router in routers.items():  # they take turns
            taken[name].append(_seconds(router, prompts, block) / len(block))
    times = {name: np.array(each[FIRST // 25 :]) for name, each in taken.items()}
    lines = []
    for name in ("MOGRO.select", "Agent.decide", "mabwiser", "contextualbandits"):
        of = ratio(times[name], times[PEER])
        figures = f"{duration(typical(times[name]))} / {duration(typical(times[PEER]))}"
        line = Line("routing", of, f"{name} / {PEER}", f"K = 3, {SIZE} features", figures)
        barred = replace(line, bar=f"<= {MOST:g}", met=of.value <= MOST)
        lines.append(barred if name == "MOGRO.select" else line)
    return lines


def _seconds(router: Router, prompts: Prompts, block: np.ndarray) -> float:
    """Return how long a router takes to choose for prompts, and let it learn from each."""
    spent = 0.0
    for n in block:
        x = prompts.features[n]
        choose = partial(router.choose, x)
        if isinstance(router, PolicyRouter):  # its arms are given
            choose = partial(router.select, blocks(x))
        start = time.process_time()
        model = choose()
        spent += time.process_time() - start
        router.learn(x, model, float(prompts.quality[n, model]), float(prompts.cost[n, model]))
    return spent


def main(folder: str = "", *names: str) -> None:
    """Run contestants, and write the report."""
    if not folder:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    sys.path.insert(0, folder)
    prompts = read(Path(folder))
    rng = np.random.default_rng(0)
    orders = np.stack([rng.permutation(len(prompts.cost))[:ROUNDS] for _ in range(ORDERS)])
    OUT.mkdir(parents=True, exist_ok=True)
    results = {}
    for name, play in CONTESTANTS.items():
        prices = SWEEPS.get(name.split(",")[0], PRICES)
        pieces = [prices] if play in (shared, one_model) else [(price,) for price in prices]
        paths = [OUT / f"{name} {piece[0]:g}.npy" for piece in pieces]
        for piece, path in zip(pieces, paths, strict=True):
            if not path.exists() and (not names or name.startswith(names)):
                np.save(path, means(play(prompts, orders, piece), prompts, orders))
                print(path.stem, file=sys.stderr, flush=True)
        if all(path.exists() for path in paths):
            results[name] = np.concatenate([np.load(path) for path in paths], axis=2)
    times = timed(prompts, orders[0])
    often, differs = explored(prompts, orders[0])
    missing = [name for name in CONTESTANTS if name not in results]
    facts = {"explored": often, "differs": differs, "first": FIRST, "rounds": ROUNDS}
    report(results, OURS, times, missing=missing, **facts)


if __name__ == "__main__":
    main(*sys.argv[1:])
