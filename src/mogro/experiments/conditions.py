"""Goodness beside its relatives in the literature, on the appendix's examples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mogro import theory
from mogro.environments.examples import (
    DrawnArms,
    finite_net,
    one_continuous_arm,
    small_ball,
    tailed_arms,
)
from mogro.experiments.claims import Case, Claim
from mogro.experiments.figure import Figure, Tables
from mogro.experiments.scale import Scale
from mogro.experiments.statistics import Interval, exactly
from mogro.experiments.style import panels
from mogro.experiments.table import Table, table
from mogro.simulation.parallel import Arrays, Piece, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


Measure = Callable[[DrawnArms, int, np.random.Generator], float]


def _diversity(world: DrawnArms, samples: int, rng: np.random.Generator) -> float:
    return theory.context_diversity(world.contexts, samples=samples, rng=rng).value


def _exponent(world: DrawnArms, samples: int, rng: np.random.Generator) -> float:
    """Return the exponent that the tails of all arms have in common; 0 if there is none."""
    found = theory.beta_regularity(world.contexts, samples=samples, rng=rng)
    return float(found.exponents.mean()) if found.holds else 0.0


@dataclass(frozen=True)
class _Example:
    """Arms, the condition that goodness is compared with, and which hold by the paper."""

    name: str
    world: DrawnArms
    good: bool
    rival: bool
    measure: Measure = _diversity
    gamma: float = 0.99  # in the plane more than 1 - (1/2)^2 / 18 is needed, on the line 1 - 1 / 18


_AXES = np.eye(2)
_ANGLES = np.linspace(0, 2 * np.pi, 32, endpoint=False)
_NET = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
_FIXED = [[0.5, 0.0], [0.0, 0.5]]
_EXAMPLES = (
    _Example("1: one continuous arm", one_continuous_arm(_AXES, _FIXED, noise=0.1), True, False),
    _Example("2: a finite net", finite_net(_AXES, _NET, arms=4, noise=0.1), True, False),
    _Example("3: half the radius", small_ball(_AXES, arms=4, noise=0.1), False, True),
    _Example("one tail for all", tailed_arms([1.0, 1.0, 1.0], noise=0.1), True, True, _exponent),
    _Example("some arms at 0", tailed_arms([1.0, None, None], noise=0.1), True, False, _exponent),
    _Example("several tails", tailed_arms([1.0, 2.0, 4.0], noise=0.1), True, False, _exponent),
)


@dataclass(frozen=True)
class Judgement:
    """Both conditions on one of the examples."""

    example: int
    samples: int
    seed: int

    @property
    def alone(self) -> bool:
        """Others may run meanwhile."""
        return False

    @property
    def cost(self) -> float:
        """Seconds, roughly."""
        return self.samples / 50_000

    def run(self) -> Arrays:
        """Estimate them."""
        example = _EXAMPLES[self.example]
        rng = np.random.default_rng((self.seed, self.example))
        good = theory.context_goodness(
            example.world.contexts, gamma=example.gamma, samples=self.samples, rng=rng
        )
        rival = example.measure(example.world, self.samples, rng)
        return {"values": np.array([good.value, good.low, good.high, rival])}


def _judgements(scale: Scale) -> list[Judgement]:
    samples = 20_000 if scale.quick else 100_000
    return [Judgement(number, samples, scale.seed) for number in range(len(_EXAMPLES))]


def _pieces(scale: Scale) -> list[Piece]:
    return list(_judgements(scale))


def _tables(scale: Scale, results: Results) -> Tables:
    names: dict[Measure, str] = {_diversity: "context diversity", _exponent: "beta-regularity"}
    rows = []
    for example, piece in zip(_EXAMPLES, _judgements(scale), strict=True):
        rows.append(
            (
                example.name,
                example.gamma,
                *results[piece]["values"][:3].tolist(),
                _word(example.good),
                names[example.measure],
                float(results[piece]["values"][3]),
                _word(example.rival),
            )
        )
    columns = ("example", "gamma", "goodness", "low", "high", "good_by_the_paper")
    return {"conditions": table((*columns, "rival", "constant", "rival_by_the_paper"), rows)}


def _word(holds: bool) -> str:
    return "holds" if holds else "fails"


def _draw(tables: Tables) -> "Drawing":
    data = tables["conditions"]
    drawing, axes = panels(1, 2, width=4.4, height=2.6, sharey=True)
    good = axes[0, 0]
    _draw_values(good, data, "goodness", "good_by_the_paper")
    good.hlines(range(len(data["low"])), data["low"], data["high"], color="#333333", linewidth=1)
    good.set_title("goodness")
    good.set_xlabel("probability of a good arm")
    good.invert_yaxis()
    _draw_values(axes[0, 1], data, "constant", "rival_by_the_paper")
    axes[0, 1].set_title("context diversity (1 to 3), beta-regularity")
    axes[0, 1].set_xlabel("constant")
    return drawing


def _draw_values(panel: "Axes", data: Table, value: str, paper: str) -> None:
    """Draw values on a scale with a place for 0: filled where a condition should hold."""
    places = np.arange(len(data["example"]))
    for word, face in (("holds", "#0072B2"), ("fails", "white")):
        there = data[paper] == word
        panel.plot(
            data[value][there],
            places[there],
            linestyle="",
            marker="o",
            color="#0072B2",
            markerfacecolor=face,
            label=f"{word} by the paper",
            clip_on=False,
            zorder=3,
        )
    panel.set_xscale("symlog", linthresh=1e-4)
    panel.set_xlim(0, 1.5)
    panel.set_yticks(places, data["example"].tolist())
    panel.legend(loc="lower right", fontsize=8)


def _claims(tables: Tables) -> list[Claim]:
    good, rival = [], []
    columns = [column.tolist() for column in tables["conditions"].values()]
    for name, _, *share, good_there, condition, constant, rival_there in zip(*columns, strict=True):
        good.append(Case(name, Interval(*share), _word(share[1] > 0) == good_there))
        number = exactly(constant)
        rival.append(Case(f"{condition}, {name}", number, _word(constant > 0) == rival_there))
    return [
        Claim(
            "goodness on the appendix's examples",
            "Goodness holds with one continuous arm beside fixed ones, with a finite net, and with "
            "all kinds of tails on the line; it fails in a ball of half the radius.",
            "probability of a good arm in the worst direction found, above 0 where it should be",
            good,
            varies="the example",
        ),
        Claim(
            "context diversity and beta-regularity on the appendix's examples",
            "Context diversity fails with fixed arms and with few candidates for an arm, and holds "
            "in a ball of half the radius; beta-regularity holds with one tail for all arms only.",
            "constant of context diversity, or the common exponent of the tails, above 0 where it "
            "should be, else 0",
            rival,
            varies="the example",
        ),
    ]


FIGURE = Figure(
    name="conditions",
    title="Goodness and its relatives",
    about=(
        "The appendix's examples, for which goodness and the context diversity of the greedy "
        "literature are different conditions, neither weaker than the other; and arms on a line "
        "with given tails, where goodness is weaker than beta-regularity. Filled where the paper "
        "says that a condition holds: there the value has to be above 0, elsewhere 0."
    ),
    pieces=_pieces,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    shown=("conditions",),
    beyond=True,
)
