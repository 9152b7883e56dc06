"""Why learning goes on: MOGRO beside a policy that explores alike, and then learns no more."""

from mogro._plots import Drawing, legend, panels
from mogro.experiments.lab import regrets
from mogro.experiments.lab.contenders import COMMIT, COMMIT_AT_1, RW, RW_AT_1, Contender
from mogro.experiments.lab.reproduce import Tables
from mogro.experiments.lab.runs import Simulation
from mogro.experiments.lab.scale import Scale
from mogro.experiments.lab.tables import distinct
from mogro.experiments.lab.worlds import Fixed
from mogro.experiments.report.claims import Claim, lower
from mogro.experiments.report.comparisons import BY_SETTING, later_ratios
from mogro.experiments.report.figure import Figure
from mogro.experiments.report.panels import regret_panel
from mogro.simulation.parallel import Results

_ROUNDS = 4000
_SAMPLE = (50, 1)
_NOISE = 0.5
_CONTENDERS: tuple[Contender, ...] = (RW, COMMIT, RW_AT_1, COMMIT_AT_1)
_PAIRS = dict(
    zip(BY_SETTING, [(RW.label, COMMIT.label), (RW_AT_1.label, COMMIT_AT_1.label)], strict=True)
)


def _tasks(scale: Scale) -> list[Simulation]:
    worlds = (Fixed(*size, noise=_NOISE) for size in regrets.MAIN_SIZES)
    return regrets.plan_runs(worlds, _CONTENDERS, scale, sample=_SAMPLE, rounds=_ROUNDS)


def _tables(scale: Scale, results: Results) -> Tables:
    tasks = _tasks(scale)
    return {"curves": regrets.curves(tasks, results), "instances": regrets.finals(tasks, results)}


def _draw(tables: Tables) -> Drawing:
    data = tables["curves"]
    drawing, axes = panels(1, len(regrets.MAIN_SIZES), width=4.4, height=3.3)
    for panel, size in zip(axes[0], distinct(data, *regrets.SIZE), strict=True):
        regret_panel(panel, data, size, "effective")
        panel.set_title(f"{regrets.size_name(size)}, noise {_NOISE}")
        panel.set_ylabel("effective Pareto regret")
        panel.set_xlabel("round")
    legend(drawing, axes[0, 0])
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    return [
        Claim(
            "greedy rounds that teach beat explore-then-commit",
            "Learning from greedy rounds is needed: a policy that explores like MOGRO and then "
            "commits to its estimates goes on paying.",
            "effective regret added in the second half / that of explore-then-commit, below 1",
            lower(later_ratios(tables["instances"], *pair)),
            setting=setting,
        )
        for setting, pair in _PAIRS.items()
    ]


FIGURE = Figure(
    name="commit",
    title="Explore, then commit",
    about=(
        "The paper's remark on explore-then-commit, as regret: MOGRO-RW beside a policy that "
        "explores alike and then learns no more, with noise 0.5. Thick lines are both at mogro's "
        "default, thin ones with B = 1 and the paper's exploration. Bands are 95 % intervals over "
        "instances."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=_SAMPLE,
    rounds=_ROUNDS,
    beyond=True,
)
