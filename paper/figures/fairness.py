"""Fairness: the index over 40,000 rounds for several weight distributions, and the regret."""

from dataclasses import replace

import numpy as np

from mogro.scalarization import RandomWeights
from mogro.simulation import ConfidenceInterval
from paper.lab.arrays import FloatArray
from paper.lab.contenders import BY_SETTING, RR, RR_AT_1, Contender, Greedy, single
from paper.lab.fairness import FairnessRun
from paper.lab.parallel import Results
from paper.lab.regrets import plan_runs
from paper.lab.reproduce import Tables
from paper.lab.runs import by_run
from paper.lab.scale import Scale
from paper.lab.tables import Table, distinct, select, table
from paper.lab.worlds import Fixed
from paper.report import statistics
from paper.report.claims import SAME, Case, Claim, alike, below, certain, higher, lower
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

_ROUNDS = 40_000
_SAMPLE = (10, 20)  # as in the paper; the index needs the pulls of many repeats
_SIZE = (10, 200, 10)
_CONCENTRATIONS = (1.0, 0.5, 0.1, 0.05, 0.01)
_PANELS = {
    "index": "effective Pareto fairness index",
    "estimate": "the paper's estimate of the index",
    "regret": "effective Pareto regret",
}
_MEASURES = {"estimate": "estimated fairness index", "index": "exact fairness index"}


def _label(concentration: float) -> str:
    return f"Dirichlet({concentration:g})"


_WEIGHTINGS = [_label(a) for a in _CONCENTRATIONS]
_USUAL, _BALANCED, _SKEWED = _label(1.0), _label(0.1), _label(0.01)
_DIRICHLET = tuple(Greedy(_label(a), scalarization=RandomWeights(a)) for a in _CONCENTRATIONS)
_SHOWN: tuple[Contender, ...] = (*_DIRICHLET, RR, single(_SIZE[2]))
_AT_1 = ", B = 1"
_PUBLISHED = tuple(
    replace(policy, label=f"{policy.label}{_AT_1}", threshold=1.0, exploration=None)
    for policy in _DIRICHLET
)
_CONTENDERS: tuple[Contender, ...] = (*_SHOWN, *_PUBLISHED, RR_AT_1)


def _tasks(scale: Scale) -> list[FairnessRun]:
    runs = plan_runs([Fixed(*_SIZE)], _CONTENDERS, scale, sample=_SAMPLE, rounds=_ROUNDS)
    return [FairnessRun(run) for run in runs]


def _tables(scale: Scale, results: Results) -> Tables:
    once = ("members", "regret_explored")
    over_time = ("index", "lower", "estimate", "single", "regret")
    names = ("policy", "instance", *once, "round", *over_time)
    rows = []
    for (_, contender), runs in by_run(task.simulation for task in _tasks(scale)).items():
        parts = [results[FairnessRun(run)] for run in runs]
        columns = {
            name: np.concatenate([part[name] for part in parts], axis=-1)
            for name in (*once, *over_time)
        }
        for i in range(len(columns["members"])):
            same = [columns[name][i].item() for name in once]
            for c, t in enumerate(parts[0]["rounds"].tolist()):
                values = [columns[name][c, i].item() for name in over_time]
                rows.append((contender.label, i, *same, t, *values))
    return {"fairness": table(names, rows)}


def _line_styles() -> dict[str, LineStyle]:
    swept = {
        label: LineStyle(f"MOGRO-RW, {label}", colour, "-", marker)
        for label, colour, marker in zip(_WEIGHTINGS, WEIGHTING_COLOURS, "os^Dv", strict=True)
    }
    return swept | {c.label: line_style(c.label) for c in _SHOWN if c.label not in swept}


def _draw(tables: Tables) -> Drawing:
    data = tables["fairness"]
    drawing, axes = panels(1, 3, width=3.6, height=3.2)
    for panel, (name, title) in zip(axes[0], _PANELS.items(), strict=True):
        for n, (policy, style) in enumerate(_line_styles().items()):
            rounds, values = _by_instance(data, policy, name)
            middle = values.mean(axis=-1)
            curve(panel, style, rounds, middle, middle, middle, marked=True)
            end, low, high = statistics.positive_mean(values[-1])
            panel.errorbar(
                [rounds[-1] * (1.03 + 0.03 * n)],  # side by side: seven bands would be a wash
                [end],
                yerr=([end - low], [high - end]),
                fmt=style.marker,
                color=style.colour,
                markersize=3,
                elinewidth=1,
            )
        panel.set_title(title)
        panel.set_xlabel("round")
        panel.set_ylim(bottom=0)
        panel.set_xlim(left=0)
        panel.set_xticks(np.linspace(0, rounds[-1], 5))
    legend(drawing, axes[0, 0], columns=4)
    return drawing


def _by_instance(data: Table, policy: str, name: str) -> tuple[FloatArray, FloatArray]:
    """Return the rounds (C,) and a column (C, I)."""
    runs = select(data, policy=policy)
    instances = [select(runs, instance=i) for (i,) in distinct(runs, "instance")]
    return instances[0]["round"], np.stack([part[name] for part in instances], axis=-1)


def _final(data: Table, policy: str, name: str) -> FloatArray:
    return np.asarray(_by_instance(data, policy, name)[1][-1])


def _claims(tables: Tables) -> list[Claim]:
    data = tables["fairness"]
    published = np.array([policy.endswith(_AT_1) for policy in data["policy"].tolist()])
    claims = [_size(data)]
    for setting, rows in zip(BY_SETTING, (~published, published), strict=True):
        here = {name: column[rows] for name, column in data.items()}
        here["policy"] = np.array([name.removesuffix(_AT_1) for name in here["policy"].tolist()])
        judged = (*_converging(here), *_balance(here), *_round_robin(here), *_regret(here))
        claims += [replace(claim, setting=setting) for claim in judged]
    return claims


def _converging(data: Table) -> list[Claim]:
    def since_middle(policy: str, name: str) -> ConfidenceInterval:
        rounds, values = _by_instance(data, policy, name)
        return statistics.ratio(values[-1], values[len(rounds) // 2 - 1])

    positive = [
        Claim(
            f"positive {what}",
            f"The {what} of MOGRO-RW is positive in the end for every weighting.",
            "mean over instances at the end; the smallest (with the case) above 0: checked in "
            "every instance, since that one is positive on average says little",
            [_positive(policy, _final(data, policy, name)) for policy in _WEIGHTINGS],
        )
        for name, what in _MEASURES.items()
    ]
    settled = [
        Claim(
            f"{what} has settled",
            f"The {what} converges: it has hardly moved since the middle of the run.",
            "at the end / in the middle of the run, within {} to {}".format(*SAME),
            alike([(policy, since_middle(policy, name)) for policy in _WEIGHTINGS]),
        )
        for name, what in _MEASURES.items()
    ]
    return positive + settled


def _positive(policy: str, values: FloatArray) -> Case:
    smallest = float(values.min())
    number = statistics.positive_mean(values)
    return certain(f"{policy}, smallest {smallest:.2g}", number, smallest > 0, smallest)


def _balance(data: Table) -> list[Claim]:
    def compared(policy: str, rival: str, name: str) -> ConfidenceInterval:
        return statistics.ratio(_final(data, policy, name), _final(data, rival, name))

    return [
        Claim(
            f"{_BALANCED} relatively balanced",
            f"Weights from {_BALANCED} select the effective front in a relatively balanced way; "
            "read as: more so than other weightings.",
            f"index under {_BALANCED} / under another weighting, above 1",
            higher(
                [
                    (f"{what}, against {other}", compared(_BALANCED, other, name))
                    for name, what in _MEASURES.items()
                    for other in _WEIGHTINGS
                    if other != _BALANCED
                ]
            ),
        ),
        Claim(
            f"{_SKEWED} more skewed than {_BALANCED}",
            f"Weights from {_SKEWED} select the effective front in a more skewed way.",
            f"index under {_SKEWED} / under {_BALANCED}, below 1",
            lower([(what, compared(_SKEWED, _BALANCED, name)) for name, what in _MEASURES.items()]),
        ),
    ]


def _round_robin(data: Table) -> list[Claim]:
    index = statistics.ratio(_final(data, RR.label, "index"), _final(data, _BALANCED, "index"))
    others = statistics.positive_mean(1 - _final(data, RR.label, "single"))
    return [
        Claim(
            "round robin pulls only best arms of single objectives",
            "MOGRO-RR pulls only arms that are best for a single objective.",
            "share of other pulls among those since the last but one row of the table, below 0.01",
            below(0.01, [("all instances", others)]),
        ),
        Claim(
            "round robin is not fair",
            "So MOGRO-RR does not pursue effective Pareto fairness; read as: it is less fair than "
            f"MOGRO-RW under {_BALANCED}.",
            f"exact index of MOGRO-RR / of MOGRO-RW under {_BALANCED}, below 1",
            lower([("all instances", index)]),
        ),
    ]


def _regret(data: Table) -> list[Claim]:
    regrets = {policy: _final(data, policy, "regret") for policy in _WEIGHTINGS}
    others = [policy for policy in _WEIGHTINGS if policy != _USUAL]
    after = [
        (policy, statistics.ratio(total - _final(data, policy, "regret_explored"), total))
        for policy, total in regrets.items()
    ]
    return [
        Claim(
            "the weighting does not change the regret",
            "The weight distribution makes no meaningful difference to effective Pareto regret.",
            "final regret / that under {}, within {} to {}".format(_USUAL, *SAME),
            alike([(p, statistics.ratio(regrets[p], regrets[_USUAL])) for p in others]),
        ),
        Claim(
            "no regret after exploration, every weighting",
            "For all weight distributions the regret becomes negligible after exploration.",
            "share of the final regret that came after exploration, below 0.01",
            below(0.01, after),
        ),
    ]


def _size(data: Table) -> Claim:
    members = _final(data, _USUAL, "members").tolist()
    return Claim(
        "5 to 10 members of the effective front",
        "The effective front has between 5 and 10 members.",
        "members of the front, from 5 to 10: counted in every instance",
        [
            certain(f"instance {i}", statistics.exactly(n), 5 <= n <= 10, min(n - 5, 10 - n))
            for i, n in enumerate(members)
        ],
    )


FIGURE = Figure(
    name="fairness",
    title="Effective Pareto fairness",
    about=(
        "The effective Pareto fairness index (epsilon = 0.1) over 40,000 rounds for five weight "
        "distributions and round robin, at d = M = 10 and K = 200, MOGRO at mogro's default: "
        "exact, and as the paper estimates it (pulls in a ball around every member of the "
        "effective front). Beside it the regret. A policy that cares for one objective only may "
        "have as little regret, and no fairness. Pulls of all repeats of an instance are pooled; "
        "bars beside the ends of the lines are 95 % intervals over instances."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=_SAMPLE,
    rounds=_ROUNDS,
)
