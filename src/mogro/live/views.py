"""What an agent shows of itself, all in the user's units and directions."""

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from mogro._validation import FloatArray
from mogro.live.books import Books
from mogro.live.choosing import Plan
from mogro.live.decision import Decision
from mogro.live.driving import Beliefs, estimated
from mogro.live.offer import Offer
from mogro.live.setup import Setup
from mogro.pareto import learned_front
from mogro.scalarization import RandomWeights, RoundRobin

if TYPE_CHECKING:
    from mogro.theory import Diagnosis

_SHOWN = 5  # rivals that an explanation tells about


@dataclass(frozen=True, eq=False)
class Front:
    """The arms that are best under some weights, by the estimates.

    Attributes
    ----------
    arms
        Their ids, F of them.
    values
        Their estimates, (F, M), in the user's units.
    shares
        The share of all weights under which each wins, (F,); they sum to 1.
    objectives
        Names of the columns of ``values``.
    """

    arms: tuple[str, ...]
    values: FloatArray
    shares: FloatArray
    objectives: tuple[str, ...]

    def __str__(self) -> str:
        order = np.argsort(-self.shares, kind="stable")
        rows = [
            [self.arms[i], *(f"{v:.4g}" for v in self.values[i]), f"{self.shares[i]:.1%}"]
            for i in order
        ]
        return _table(["arm", *self.objectives, "wins"], rows)

    __repr__ = __str__


@dataclass(frozen=True)
class Rival:
    """An arm that was not chosen.

    Attributes
    ----------
    arm
        Its id.
    estimates
        What it was expected to give, by objective, in the user's units.
    leads
        By how much the chosen arm led, by objective, in units, better being positive.
    total
        The leads added up with the weights of the decision; None if it had none.
    """

    arm: str
    estimates: dict[str, float]
    leads: dict[str, float]
    total: float | None


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why an arm was chosen: its closest rivals, and on what it led.

    Attributes
    ----------
    decision
        The decision.
    reason
        In a sentence.
    rivals
        The closest rivals, closest first.
    """

    decision: Decision
    reason: str
    rivals: tuple[Rival, ...]

    def __str__(self) -> str:
        lines = [f"{self.decision.arm}: {self.reason}."]
        for rival in self.rivals:
            leads = ", ".join(f"{name} {lead:+.3g}" for name, lead in rival.leads.items())
            total = "" if rival.total is None else f" (weighted {rival.total:+.3g})"
            lines.append(f"  against {rival.arm}, in units: {leads}{total}")
        return "\n".join(lines)

    __repr__ = __str__


def front_of(offer: Offer, theta: FloatArray, setup: Setup) -> Front:
    """Return the estimated effective front of the arms on offer."""
    listed = offer.listed()
    found = learned_front(listed.mapped, theta)
    arms = tuple(listed.ids[i] for i in found.members)
    return Front(arms, setup.units.outward(found.values), found.shares, setup.units.names)


def explain(decision: Decision, setup: Setup) -> Explanation:
    """Compare the chosen arm with the others, by what was believed then."""
    if not isinstance(decision, Decision):
        raise ValueError(f"decision: expected a Decision, got {decision!r}")
    plan = decision.plan
    values = _believed(plan)
    chosen = plan.offer.ids.index(decision.arm)
    leads = values[chosen] - values
    weights = decision._weights
    close = leads.min(axis=1) if weights is None else leads @ weights
    order = [i for i in np.argsort(close, kind="stable") if i != chosen][:_SHOWN]
    units = setup.units
    rivals = tuple(
        Rival(
            plan.offer.ids[i],
            units.named(units.outward(values[i])),
            units.named(leads[i]),
            None if weights is None else float(close[i]),
        )
        for i in order
    )
    return Explanation(decision, _reason(decision, plan), rivals)


def diagnosis(
    offer: Offer, theta: FloatArray, noise: FloatArray, setup: Setup, *, rounds: int
) -> "Diagnosis":
    """Say what the theory says of the arms on offer, by estimates (M, p) with noise (M,)."""
    from mogro.theory import diagnose

    if np.isnan(noise).any():
        raise ValueError("noise: unknown yet; expected more rewards than there are features")
    selection = setup.driver.selection
    covered = selection if isinstance(selection, RandomWeights | RoundRobin) else RandomWeights()
    return diagnose(
        offer.listed().mapped,
        theta,
        noise=float(noise.max()),
        rounds=rounds,
        scalarization=covered,
    )


def text(setup: Setup, books: Books) -> str:
    """Describe an agent in a few lines."""
    return _heading(setup, books) + "\n" + _table(*_objectives(setup, books))


def html(setup: Setup, books: Books) -> str:
    """Describe an agent for a notebook."""
    names, rows = _objectives(setup, books)
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<p>{escape(_heading(setup, books))}</p><table><tr>{head}</tr>{body}</table>"


def _believed(plan: Plan) -> FloatArray:
    beliefs = Beliefs(plan.beliefs.theta, None, None)
    return estimated(plan.offer, beliefs, np.random.default_rng(0))


def _reason(decision: Decision, plan: Plan) -> str:
    if plan.situation is not None:
        return "chosen to explore a direction in which too little has been seen"
    if decision.weights is None:
        return "drawn at random by the policy among arms that it holds equal"
    shown = ", ".join(f"{name} {weight:.3g}" for name, weight in decision.weights.items())
    return f"best for the weights {shown}"


def _heading(setup: Setup, books: Books) -> str:
    tally, ledger = books.tally, books.ledger
    policy = " ".join(repr(setup.driver.policy).split())
    policy = policy if len(policy) <= 100 else f"{policy[:97]}..."
    return (
        f"Agent: {policy}, {tally.decisions} decisions ({tally.explored} to "
        f"explore), {len(ledger) - len(ledger.completed)} pending, {tally.learned} rewards learned"
    )


def _objectives(setup: Setup, books: Books) -> tuple[list[str], list[list[str]]]:
    noise = books.learner.noise * np.abs(setup.units.scale)
    rows = []
    for m, one in enumerate(setup.units.objectives):
        window = "" if one.window is None else f"{one.window:g}"
        seen = f"{books.learner.effective[m]:.6g}"
        spread = "" if np.isnan(noise[m]) else f"{noise[m]:.3g}"
        rows.append([one.name, one.direction, f"{one.unit:g}", window, seen, spread])
    return ["objective", "direction", "unit", "window", "observations", "noise"], rows


def _table(names: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in [names, *rows]) for i in range(len(names))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [names, *rows]
    ]
    return "\n".join(lines)
