"""Combinatorial actions: routes through a road network with time, cost and emissions.

A network of a few dozen roads has thousands of routes. MOGRO never lists them: it asks for the best
route under some weight for every road, which dynamic programming answers at once.

Run with ``python examples/routes.py``.
"""

from itertools import pairwise

import numpy as np

import mogro

LAYERS, WIDTH = 6, 4  # crossings between start and goal


def roads() -> list[tuple[int, int]]:
    """Return the roads of a layered network, from lower to higher crossing."""
    start, goal = 0, 1 + LAYERS * WIDTH
    crossing = [[1 + layer * WIDTH + i for i in range(WIDTH)] for layer in range(LAYERS)]
    inner = [
        (a, b)
        for here, there in pairwise(crossing)
        for a in here
        for b in there
        if abs((a - b) % WIDTH) != 2
    ]
    return [(start, a) for a in crossing[0]] + inner + [(a, goal) for a in crossing[-1]]


def best_route(value: np.ndarray, edges: list[tuple[int, int]]) -> np.ndarray:
    """Return the route, as 0 and 1 for every road, of the largest total value of any sign."""
    best = {0: (0.0, -1)}
    for road, (a, b) in sorted(enumerate(edges), key=lambda item: item[1]):
        total = best[a][0] + value[road]
        if b not in best or total > best[b][0]:
            best[b] = (total, road)
    route = np.zeros(len(edges))
    place = max(b for _, b in edges)
    while place:
        road = best[place][1]
        route[road] = 1
        place = edges[road][0]
    return route


def main() -> None:
    rng = np.random.default_rng(0)
    edges = roads()
    # Every road has a mean time, cost and emission, each to be kept low: learn their negatives.
    truth = -rng.uniform(0.2, 1.0, size=(3, len(edges)))
    policy = mogro.MOGRO(dim=len(edges), objectives=3, threshold=1.0)

    def maximise(v: np.ndarray) -> np.ndarray:
        return best_route(v, edges)

    rounds = 1000
    shortfall = np.empty(rounds)
    for t in range(rounds):
        route = policy.choose(maximise, rng=rng)
        policy.update(route, truth @ route + 0.1 * rng.standard_normal(3))
        # How far from the best route for equal weights, for those weights.
        even = truth.mean(axis=0)
        shortfall[t] = even @ (best_route(even, edges) - route)

    names = ("time", "cost", "emissions")
    print(f"{len(edges)} roads, {rounds} trips")
    for objective, name in enumerate(names):
        chosen = best_route(policy.theta[objective], edges)
        optimum = best_route(truth[objective], edges)
        print(
            f"least {name:<9}: {-truth[objective] @ chosen:.2f} by the estimates, "
            f"{-truth[objective] @ optimum:.2f} in truth"
        )
    first, last = shortfall[:50].mean(), shortfall[-50:].mean()
    print(f"worse than the best even trade-off by {first:.2f} in the first 50 trips,")
    print(f"by {last:.2f} in the last 50: by then every trip is the best for some trade-off")


if __name__ == "__main__":
    main()
