"""The growth of the smallest eigenvalue of V: implicit exploration at a glance."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mogro._validation import FloatArray
from mogro.environments import Environment
from mogro.experiments import statistics
from mogro.experiments.claims import Claim, above, below
from mogro.experiments.contenders import PAPER, Commit, Contender
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.regrets import MAIN_SIZES, OURS, ROUNDS, SIZE, Runs, title
from mogro.experiments.runs import gather, parts
from mogro.experiments.scale import Scale
from mogro.experiments.style import curve, legend, look, panels
from mogro.experiments.table import Table, distinct, select, table
from mogro.experiments.worlds import Fixed
from mogro.simulation.parallel import Piece, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_CONTENDERS: tuple[Contender, ...] = (*PAPER, Commit())


def smallest_eigenvalue(policy: Any, worlds: Sequence[Environment]) -> FloatArray:
    """Probe: the smallest eigenvalue of what was learned from, without the ridge."""
    values = np.linalg.eigvalsh(policy.model.gram)[..., 0] - policy.model.ridge
    return np.asarray(np.maximum(values, 0))


def _runs(scale: Scale) -> Runs:
    return {
        (world, contender): parts(
            world,
            contender,
            scale,
            rounds=ROUNDS,
            repeats=max(1, scale.repeats // 4),
            probe=smallest_eigenvalue,
        )
        for world in (Fixed(*size) for size in MAIN_SIZES)
        for contender in _CONTENDERS
    }


def _pieces(scale: Scale) -> list[Piece]:
    return [piece for pieces in _runs(scale).values() for piece in pieces]


def _tables(scale: Scale, results: Results) -> Tables:
    rows = []
    for (world, contender), pieces in _runs(scale).items():
        found = gather(results, pieces)
        for t, values in zip(found["rounds"].tolist(), found["probed"].mean(axis=-1), strict=True):
            rows += [
                (*world.sizes, contender.label, t, i, v) for i, v in enumerate(values.tolist())
            ]
    return {"eigenvalue": table((*SIZE, "policy", "round", "instance", "eigenvalue"), rows)}


def _by_round(data: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return rounds (C,) and eigenvalues (C, I) of one policy at one size."""
    rounds = [t for (t,) in distinct(data, "round")]
    return np.array(rounds), data["eigenvalue"].reshape(len(rounds), -1)


def _draw(tables: Tables) -> "Drawing":
    data = tables["eigenvalue"]
    drawing, axes = panels(1, len(MAIN_SIZES), width=4.4, height=3.3)
    for panel, size in zip(axes[0], distinct(data, *SIZE), strict=True):
        here = select(data, **dict(zip(SIZE, size, strict=True)))
        for (policy,) in distinct(here, "policy"):
            rounds, values = _by_round(select(here, policy=policy))
            middle, low, high = statistics.band(values)
            curve(panel, look(policy), rounds, middle, np.maximum(low, 0), high)
        panel.set_title(title(size))
        panel.set_xlabel("round")
        panel.set_ylabel("smallest eigenvalue of V")
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=0)
    legend(drawing, axes[0, 0], columns=3)
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    data = tables["eigenvalue"]
    growing: list[tuple[str, statistics.Interval]] = []
    committed: list[tuple[str, statistics.Interval]] = []
    for size in distinct(data, *SIZE):
        here = select(data, **dict(zip(SIZE, size, strict=True)))
        name = "({}, {}, {})".format(*size)
        for policy in (*OURS, Commit().label):
            _, values = _by_round(select(here, policy=policy))
            number = statistics.ratio(values[-1], values[len(values) // 2 - 1])
            (committed if policy == Commit().label else growing).append(
                (f"{policy} at {name}", number)
            )
    return [
        Claim(
            "greedy rounds explore by themselves",
            "The smallest eigenvalue of V grows linearly in the greedy rounds of MOGRO.",
            "eigenvalue at the end / in the middle of the run, above 1.5 (a straight line has 2)",
            above(1.5, growing),
            varies="the policy and the size",
        ),
        Claim(
            "without them nothing is learned",
            "A policy that does not learn from its greedy rounds stays where exploration left it.",
            "eigenvalue at the end / in the middle of the run, below 1.01",
            below(1.01, committed),
        ),
    ]


FIGURE = Figure(
    name="growth",
    title="Implicit exploration",
    about=(
        "Beyond the paper's experiments: the smallest eigenvalue of V, the sum of x x^T over the "
        "rounds that a policy learned from. MOGRO stops exploring at 1; what it has above "
        "explore-then-commit, which stays there, its greedy choices taught by themselves. Bands "
        "are 95 % intervals over instances."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    beyond=True,
)
