"""Goodness beside its relatives in the literature, on the appendix's examples."""

import numpy as np

from mogro._intervals import ConfidenceInterval
from mogro._plots import Axes, Drawing, panels
from mogro.experiments.lab.goodness import EXAMPLES, Judgement
from mogro.experiments.lab.reproduce import Tables
from mogro.experiments.lab.scale import Scale
from mogro.experiments.lab.tables import Table, table
from mogro.experiments.report.claims import Claim, certain
from mogro.experiments.report.figure import Figure
from mogro.experiments.report.statistics import exactly
from mogro.simulation.parallel import Results


def _tasks(scale: Scale) -> list[Judgement]:
    samples = 20_000 if scale.quick else 100_000
    return [Judgement(number, samples, scale.seed) for number in range(len(EXAMPLES))]


def _tables(scale: Scale, results: Results) -> Tables:
    rows = []
    for example, task in zip(EXAMPLES, _tasks(scale), strict=True):
        *goodness, constant = results[task]["values"].tolist()
        good, rival = _word(example.good), _word(example.rival)
        rows.append(
            (example.name, example.gamma, *goodness, good, example.condition, constant, rival)
        )
    columns = ("example", "gamma", "goodness", "low", "high", "good_by_the_paper")
    return {"conditions": table((*columns, "rival", "constant", "rival_by_the_paper"), rows)}


def _word(holds: bool) -> str:
    return "holds" if holds else "fails"


def _draw(tables: Tables) -> Drawing:
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
    axes[0, 1].tick_params(labelleft=True)
    return drawing


def _draw_values(panel: Axes, data: Table, value: str, paper: str) -> None:
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
        number = ConfidenceInterval(*share)
        good.append(certain(name, number, _word(number.low > 0) == good_there))
        agrees = _word(constant > 0) == rival_there
        rival.append(certain(f"{condition}, {name}", exactly(constant), agrees))
    return [
        Claim(
            "goodness on the appendix's examples",
            "Goodness holds with one continuous arm beside fixed ones, with a finite net, and with "
            "all kinds of tails on the line; it fails in a ball of half the radius.",
            "probability of a good arm in the worst direction found, above 0 where it should be; "
            "elsewhere no draw may be good, since draws cannot show a probability of 0",
            good,
        ),
        Claim(
            "context diversity and beta-regularity on the appendix's examples",
            "Context diversity fails with fixed arms and with few candidates for an arm, and holds "
            "in a ball of half the radius; beta-regularity holds with one tail for all arms only.",
            "constant of context diversity, or the common exponent of the tails, above 0 where it "
            "should be, else 0; computed, without an interval",
            rival,
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
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    shown=("conditions",),
    beyond=True,
)
