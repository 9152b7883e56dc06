"""Draws the picture of the README: ``python docs/images/draw.py`` (about ten seconds)."""

from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mogro
from mogro.experiments.style import look

HERE = Path(__file__).parent
BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#999999"


def pulls_on_the_front(axes: Axes) -> None:
    rng = np.random.default_rng(25)
    angles = rng.uniform(-0.1, np.pi / 2 + 0.1, 40)
    lengths = np.sqrt(rng.uniform(0.35**2, 1.0, (40, 1)))
    arms = lengths * np.column_stack([np.cos(angles), np.sin(angles)])
    world = mogro.environments.FixedArms(arms, np.eye(2), noise=0.3)
    trace = mogro.simulate(mogro.MOGRO, world, rounds=500, repeats=1, seed=1)
    pulls = trace.pulls()[-1, 0, 0]
    effective = mogro.pareto.effective_front(world.means)
    pareto = mogro.pareto.front(world.means) & ~effective
    line = world.means[effective]
    axes.plot(
        *line[np.argsort(line[:, 0])].T, color=BLUE, linewidth=1, linestyle="--", zorder=1
    )
    rest = ~effective & ~pareto
    for which, colour, label in (
        (effective, BLUE, "effective front"),
        (pareto, ORANGE, "Pareto front only"),
        (rest, GREY, "dominated"),
    ):
        sizes = 14 + 2.2 * pulls[which]
        axes.scatter(*world.means[which].T, s=sizes, color=colour, alpha=0.85, linewidth=0)
        axes.scatter([], [], color=colour, s=40, label=label)
    axes.set(xlabel="first objective", ylabel="second objective")
    axes.set_title("500 pulls: the larger, the more", fontsize=10)
    axes.legend(loc="lower left", fontsize=8)


def regrets(axes: Axes) -> None:
    worlds = [
        mogro.environments.FixedArms.sample(
            5, 50, 5, noise=0.1, rng=np.random.default_rng(seed)
        )
        for seed in range(10)
    ]
    policies = {
        "MOGRO-RW": ("MOGRO", mogro.MOGRO),
        "MOLB-UCB": ("UCB", partial(mogro.UCB, noise=0.1, delta=1e-3)),
        "MOLB-eps-greedy": ("epsilon-greedy", mogro.EpsilonGreedy),
        "MOL-TS": (
            "Thompson sampling",
            partial(mogro.ThompsonSampling, noise=0.1, delta=1e-3),
        ),
    }
    for house_name, (name, make) in policies.items():
        trace = mogro.simulate(make, worlds, rounds=1000, repeats=5)
        how = look(house_name)
        axes.plot(
            trace.checkpoints,
            trace.effective_regret.mean(axis=(1, 2)),
            color=how.colour,
            linestyle=how.line,
            label=name,
        )
    axes.set(
        xlabel="round", ylabel="effective Pareto regret", xlim=(0, 1000), ylim=(0, None)
    )
    axes.set_title("50 arms, 5 features, 5 objectives", fontsize=10)
    axes.legend(fontsize=8)


def main() -> None:
    with mpl.rc_context(fname=HERE.parent / "matplotlibrc"):
        figure = Figure(figsize=(8.4, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        pulls_on_the_front(left)
        regrets(right)
        figure.savefig(HERE / "mogro.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
