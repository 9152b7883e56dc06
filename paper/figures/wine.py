"""Wine: cumulative rewards of three objectives on real data, and the planes of two of them."""

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from mogro.scalarization import RandomWeights
from mogro.simulation import ConfidenceInterval, band
from paper.lab import wine
from paper.lab.contenders import BASELINES, BY_SETTING, RR, RR_AT_1, Contender, Greedy
from paper.lab.parallel import Results
from paper.lab.regrets import ROUNDS
from paper.lab.reproduce import Tables
from paper.lab.runs import Simulation, by_run, gather, split
from paper.lab.scale import Scale
from paper.lab.tables import Table, select, table
from paper.lab.worlds import Wines
from paper.report import statistics
from paper.report.claims import Claim, above, below
from paper.report.figure import Figure
from paper.report.style import (
    WEIGHTING_COLOURS,
    Drawing,
    LineStyle,
    curve,
    legend,
    line_style,
    panels,
)

_ARMS = (50, 100)
_WEIGHTINGS = ((2.0, 2.0, 2.1), (1.0, 1.0, 1.0), (5.0, 1.0, 1.0), (1.0, 5.0, 1.0), (1.0, 1.0, 5.0))
_SAMPLE = (20, 1)  # episodes, each played once, as in the paper
_PAIRS = ((0, 1), (1, 2), (2, 0))

Numbers = Iterator[tuple[str, ConfidenceInterval]]


def _label(weighting: tuple[float, ...]) -> str:
    return "MOGRO-RW ({})".format(", ".join(f"{a:g}" for a in weighting))


_WEIGHTED = tuple(Greedy(_label(w), scalarization=RandomWeights(w)) for w in _WEIGHTINGS)
_PUBLISHED = tuple(
    replace(policy, label=f"{policy.label}, B = 1", threshold=1.0, exploration=None)
    for policy in _WEIGHTED
)
_AT_1 = _PUBLISHED[0].label
_OURS = dict(zip(BY_SETTING, ((*_WEIGHTED, RR), (*_PUBLISHED, RR_AT_1)), strict=True))
_SHOWN: tuple[Contender, ...] = (*_WEIGHTED, _PUBLISHED[0], RR, *BASELINES)
_CONTENDERS: tuple[Contender, ...] = (*_WEIGHTED, *_PUBLISHED, RR, RR_AT_1, *BASELINES)


def _tasks(scale: Scale) -> list[Simulation]:
    return [
        task
        for arms, contender in product(_ARMS, _CONTENDERS)
        for task in split(Wines(arms), contender, scale, rounds=ROUNDS, sample=_SAMPLE)
    ]


def _tables(scale: Scale, results: Results) -> Tables:
    over_time, episodes = [], []
    for (world, contender), tasks in by_run(_tasks(scale)).items():
        _, arms, _ = world.sizes
        arrays = gather(results, tasks)
        rewards = arrays["rewards"].mean(axis=2)  # (C, episodes, M)
        bands = [x for m in range(3) for x in band(rewards[..., m])]
        for t, *values in zip(arrays["rounds"].tolist(), *(b.tolist() for b in bands), strict=True):
            over_time.append((arms, contender.label, t, *values))
        episodes += [
            (arms, contender.label, i, *last.tolist()) for i, last in enumerate(rewards[-1])
        ]
    names = [f"{name}_{part}" for name in wine.REWARDS for part in ("mean", "low", "high")]
    return {
        "curves": table(("arms", "policy", "round", *names), over_time),
        "episodes": table(("arms", "policy", "episode", *wine.REWARDS), episodes),
    }


def _line_styles() -> dict[str, LineStyle]:
    default, *others = WEIGHTING_COLOURS
    colours = (others[0], default, *others[1:])  # Dirichlet(1, 1, 1) is MOGRO-RW elsewhere
    swept = {
        _label(w): LineStyle(_label(w), colour, "-", marker)
        for w, colour, marker in zip(_WEIGHTINGS, colours, "*PX<>", strict=True)
    }
    swept[_AT_1] = swept[_label(_WEIGHTINGS[0])]._replace(name=_AT_1, width=0.7)
    return swept | {c.label: line_style(c.label) for c in _SHOWN if c.label not in swept}


def _draw(tables: Tables) -> Drawing:
    drawing, axes = panels(2 * len(_ARMS), 3, width=3.6, height=2.5)
    for k, arms in enumerate(_ARMS):
        for m, objective in enumerate(wine.REWARDS):
            _curve_panel(axes[2 * k, m], select(tables["curves"], arms=arms), objective)
            axes[2 * k, m].set_title(f"{objective}, K = {arms}")
        for n, (i, j) in enumerate(_PAIRS):
            here = select(tables["episodes"], arms=arms)
            _plane(axes[2 * k + 1, n], here, wine.REWARDS[i], wine.REWARDS[j])
            axes[2 * k + 1, n].set_title(f"at the end, K = {arms}")
    legend(drawing, axes[1, 0], columns=5)
    return drawing


def _curve_panel(panel: Any, data: Table, objective: str) -> None:
    for policy, style in _line_styles().items():
        runs = select(data, policy=policy)
        values = [runs[f"{objective}_{part}"] for part in ("mean", "low", "high")]
        curve(panel, style, runs["round"], *values, marked=True)
    panel.set_xlabel("round")
    panel.set_ylabel("cumulative reward")


def _plane(panel: Any, data: Table, across: str, up: str) -> None:
    for policy, style in _line_styles().items():
        runs = select(data, policy=policy)
        (x, x_low, x_high), (y, low, high) = (band(runs[name]) for name in (across, up))
        panel.errorbar(
            [x],
            [y],
            xerr=([x - x_low], [x_high - x]),
            yerr=([y - low], [high - y]),
            fmt=style.marker,
            color=style.colour,
            markersize=8,
            elinewidth=0.7,
            label=style.name,
        )
    panel.set_xlabel(f"{across}, at the end")
    panel.set_ylabel(f"{up}, at the end")


def _rewards(data: Table, policy: str) -> np.ndarray:
    """Return the final rewards of a policy, (episodes, M)."""
    runs = select(data, policy=policy)
    return np.stack([runs[name] for name in wine.REWARDS], axis=-1)


def _claims(tables: Tables) -> list[Claim]:
    return [
        claim
        for setting, policies in _OURS.items()
        for claim in (
            Claim(
                "Dirichlet(2, 2, 2.1) dominates on wine",
                "MOGRO-RW with weights from Dirichlet(2, 2, 2.1) collects more of all three "
                "rewards than every baseline.",
                "difference of cumulative rewards at the end, above 0",
                above(0.0, _ahead(tables["episodes"], policies[0].label)),
                setting=setting,
            ),
            Claim(
                "every weighting is Pareto optimal on wine",
                "MOGRO-RW under every weighting is Pareto optimal in cumulative rewards: no other "
                "policy collects more of all three.",
                "what the closest rival has more, of the reward where it is least ahead; below 0",
                below(0.0, _leads(tables["episodes"], [policy.label for policy in policies])),
                setting=setting,
            ),
        )
    ]


def _ahead(episodes: Table, favourite: str) -> Numbers:
    """Give by how much a policy is ahead of every baseline in every reward."""
    for arms, policy in product(_ARMS, BASELINES):
        data = select(episodes, arms=arms)
        ahead = _rewards(data, favourite) - _rewards(data, policy.label)
        for name, difference in zip(wine.REWARDS, ahead.T, strict=True):
            yield f"K = {arms}, {name}, against {policy.label}", statistics.mean(difference)


def _leads(episodes: Table, weightings: list[str]) -> Numbers:
    """Give for every weighting (round robin is the last of them) the lead of its best rival."""
    policies = [*weightings, *(policy.label for policy in BASELINES)]
    for arms, policy in product(_ARMS, weightings[:-1]):
        yield f"K = {arms}, {policy}", _lead(select(episodes, arms=arms), policy, policies)


def _lead(data: Table, policy: str, policies: list[str]) -> ConfidenceInterval:
    """Return by how much the best rival is ahead in the objective where it is least so."""
    rewards = _rewards(data, policy).mean(axis=0)
    leads = {
        rival: float((_rewards(data, rival).mean(axis=0) - rewards).min())
        for rival in policies
        if rival != policy
    }
    rival = max(leads, key=lambda name: leads[name])
    difference = _rewards(data, rival) - _rewards(data, policy)
    return statistics.mean(difference[:, difference.mean(axis=0).argmin()])


def _missing() -> str | None:
    return why_missing(os.environ.get("MOGRO_WINE"))


@cache
def why_missing(folder: str | None) -> str | None:
    """Look once for the data that ``MOGRO_WINE`` names, or else the cache or the archive have."""
    try:
        wine.load()
    except FileNotFoundError as error:
        return str(error)
    return None


FIGURE = Figure(
    name="wine",
    title="Wine",
    about=(
        "Cumulative rewards (alcohol, quality, being red) on episodes made of the UCI Wine Quality "
        "data with noise 1, for K = 50 and K = 100 wines. Under the curves, where every policy "
        "ends, in the plane of two objectives at a time. MOGRO-RW is run with several Dirichlet "
        "weightings, at mogro's default threshold; (1, 1, 1) is the usual one. Bands "
        "and bars are 95 % intervals over episodes. "
        "The data are downloaded once, unless MOGRO_WINE names a folder with them."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=_SAMPLE,
    missing=_missing,
)
