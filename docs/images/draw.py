"""Draws the picture of the README: ``python docs/images/draw.py`` (about ten seconds)."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mogro
from paper.lab.contenders import EPS, OPTIMIST, RW, RW_AT_1, THOMPSON
from paper.lab.runs import Simulation
from paper.lab.worlds import Fixed
from paper.report.style import line_style

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
    others = ~effective & ~pareto
    for which, colour, label in (
        (effective, BLUE, "effective front"),
        (pareto, ORANGE, "Pareto front only"),
        (others, GREY, "dominated"),
    ):
        sizes = 14 + 2.2 * pulls[which]
        axes.scatter(*world.means[which].T, s=sizes, color=colour, alpha=0.85, linewidth=0)
        axes.scatter([], [], color=colour, s=40, label=label)
    axes.set(xlabel="first objective", ylabel="second objective")
    axes.set_title("500 pulls: the larger, the more", fontsize=10)
    axes.legend(loc="lower left", fontsize=8)


def regrets(axes: Axes) -> None:
    """Draw what ``python -m paper main`` runs at its smaller size, with fewer instances."""
    names = {
        RW: "MOGRO",
        RW_AT_1: "MOGRO, B = 1",
        OPTIMIST: "UCB",
        EPS: "epsilon-greedy",
        THOMPSON: "Thompson sampling",
    }
    for contender, name in names.items():
        trace = Simulation(
            Fixed(5, 50, 5),
            contender,
            rounds=1000,
            repeats=1,
            seed=0,
            first=0,
            instances=50,
        ).trace()
        style = line_style(contender.label)
        axes.plot(
            trace.checkpoints,
            trace.effective_regret.mean(axis=(1, 2)),
            color=style.colour,
            linestyle=style.line,
            linewidth=style.width,
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
        front_axes, regret_axes = figure.subplots(1, 2)
        pulls_on_the_front(front_axes)
        regrets(regret_axes)
        figure.savefig(HERE / "mogro.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
