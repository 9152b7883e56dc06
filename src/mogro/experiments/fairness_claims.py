"""What the paper claims about fairness, judged from the table of the figure."""

from collections.abc import Sequence

import numpy as np

from mogro.experiments import statistics
from mogro.experiments.claims import Case, Claim, above, below, within
from mogro.experiments.contenders import RR
from mogro.experiments.statistics import Interval
from mogro.experiments.table import Table, distinct, select

_MEASURES = {"estimate": "estimated fairness index", "index": "exact fairness index"}


def by_instance(data: Table, policy: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounds (C,) and a column (C, I)."""
    one = select(data, policy=policy)
    instances = [select(one, instance=i) for (i,) in distinct(one, "instance")]
    return instances[0]["round"], np.stack([part[name] for part in instances], axis=-1)


def fairness_claims(
    data: Table, weightings: Sequence[str], *, balanced: str, skewed: str
) -> list[Claim]:
    """Return the claims, given the policies with random weights; the first is the usual one."""
    return [
        *_converging(data, weightings),
        *_balance(data, weightings, balanced=balanced, skewed=skewed),
        *_round_robin(data, balanced),
        *_regret(data, weightings),
        Claim(
            "5 to 10 members of the effective front",
            "The effective front has between 5 and 10 members.",
            "members of the front, from 5 to 10",
            within(5, 10, _members(data, weightings[0])),
            varies="the instance",
        ),
    ]


def _final(data: Table, policy: str, name: str) -> np.ndarray:
    return np.asarray(by_instance(data, policy, name)[1][-1])


def _converging(data: Table, weightings: Sequence[str]) -> list[Claim]:
    def since_middle(policy: str, name: str) -> Interval:
        rounds, values = by_instance(data, policy, name)
        return statistics.ratio(values[-1], values[len(rounds) // 2 - 1])

    positive = [
        Claim(
            f"positive {what}",
            f"The {what} of MOGRO-RW is positive in the end for every weighting.",
            "mean over instances at the end; the smallest (with the case) above 0",
            [_positive(policy, _final(data, policy, name)) for policy in weightings],
            varies="the weighting",
        )
        for name, what in _MEASURES.items()
    ]
    settled = [
        Claim(
            f"{what} has settled",
            f"The {what} converges: it has hardly moved since the middle of the run.",
            "at the end / in the middle of the run, within 0.9 to 1.1",
            within(0.9, 1.1, [(policy, since_middle(policy, name)) for policy in weightings]),
            varies="the weighting",
        )
        for name, what in _MEASURES.items()
    ]
    return positive + settled


def _positive(policy: str, values: np.ndarray) -> Case:
    smallest = float(values.min())
    number = statistics.positive_mean(values)
    return Case(f"{policy}, smallest {smallest:.2g}", number, smallest > 0, smallest)


def _balance(data: Table, weightings: Sequence[str], *, balanced: str, skewed: str) -> list[Claim]:
    def compared(one: str, other: str, name: str) -> Interval:
        return statistics.ratio(_final(data, one, name), _final(data, other, name))

    return [
        Claim(
            f"{balanced} relatively balanced",
            f"Weights from {balanced} select the effective front in a relatively balanced way; "
            "read as: more so than other weightings.",
            f"index under {balanced} / under another weighting, above 1",
            above(
                1.0,
                [
                    (f"{what}, against {other}", compared(balanced, other, name))
                    for name, what in _MEASURES.items()
                    for other in weightings
                    if other != balanced
                ],
            ),
            varies="the measure and the weighting",
        ),
        Claim(
            f"{skewed} more skewed than {balanced}",
            f"Weights from {skewed} select the effective front in a more skewed way.",
            f"index under {skewed} / under {balanced}, below 1",
            below(
                1.0,
                [(what, compared(skewed, balanced, name)) for name, what in _MEASURES.items()],
            ),
            varies="the measure",
        ),
    ]


def _round_robin(data: Table, balanced: str) -> list[Claim]:
    index = statistics.ratio(_final(data, RR.label, "index"), _final(data, balanced, "index"))
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
            f"MOGRO-RW under {balanced}.",
            f"exact index of MOGRO-RR / of MOGRO-RW under {balanced}, below 1",
            below(1.0, [("all instances", index)]),
        ),
    ]


def _regret(data: Table, weightings: Sequence[str]) -> list[Claim]:
    regrets = {policy: _final(data, policy, "regret") for policy in weightings}
    usual, *others = weightings
    after = [
        (policy, statistics.ratio(total - _final(data, policy, "regret_explored"), total))
        for policy, total in regrets.items()
    ]
    return [
        Claim(
            "the weighting does not change the regret",
            "The weight distribution makes no meaningful difference to effective Pareto regret.",
            f"final regret / that under {usual}, within 0.9 to 1.1",
            within(
                0.9,
                1.1,
                [(other, statistics.ratio(regrets[other], regrets[usual])) for other in others],
            ),
            varies="the weighting",
        ),
        Claim(
            "no regret after exploration, every weighting",
            "For all weight distributions the regret becomes negligible after exploration.",
            "share of the final regret that came after exploration, below 0.01",
            below(0.01, after),
            varies="the weighting",
        ),
    ]


def _members(data: Table, policy: str) -> list[tuple[str, Interval]]:
    members = _final(data, policy, "members").tolist()
    return [(f"instance {i}", statistics.exactly(value)) for i, value in enumerate(members)]
