"""The main figure: both regrets and the running time at two sizes, fixed arms."""

from paper.lab import regrets
from paper.lab.contenders import ALL
from paper.lab.parallel import Results, Task
from paper.lab.reproduce import Tables
from paper.lab.scale import Scale
from paper.lab.times import WHOLE_FRONT, stopwatches, timing_table
from paper.lab.worlds import Fixed
from paper.report.claims import Claim, below
from paper.report.comparisons import BY_SETTING, fastest, later_ratios, lowest_regret
from paper.report.figure import Figure
from paper.report.panels import regret_panel, time_panel
from paper.report.style import Drawing, legend, panels


def _tasks(scale: Scale) -> list[Task]:
    worlds = (Fixed(*size) for size in regrets.MAIN_SIZES)
    runs = regrets.plan_runs(worlds, ALL, scale, sample=regrets.SAMPLE)
    return [*runs, *stopwatches(regrets.MAIN_SIZES, scale, builds=[WHOLE_FRONT])]


def _tables(scale: Scale, results: Results) -> Tables:
    tasks = _tasks(scale)
    return {
        "curves": regrets.curves(tasks, results),
        "instances": regrets.finals(tasks, results),
        "seconds": timing_table(tasks, results),
    }


def _draw(tables: Tables) -> Drawing:
    drawing, axes = panels(len(regrets.MAIN_SIZES), 3, width=3.3, height=2.6)
    for row, size in enumerate(regrets.MAIN_SIZES):
        for n, (kind, name) in enumerate(regrets.KINDS.items()):
            regret_panel(axes[row, n], tables["curves"], size, kind)
            axes[row, n].set_ylabel(name)
            axes[row, n].set_xlabel("round")
        time_panel(axes[row, 2], regrets.select_size(tables["seconds"], size))
        axes[row, 2].set_ylabel("processor seconds")
        for panel in axes[row]:
            panel.set_title(regrets.size_name(size))
    legend(drawing, axes[0, 0], columns=4)
    return drawing


def _claims(tables: Tables) -> list[Claim]:
    data = tables["instances"]
    return [
        *lowest_regret(data, where="fixed arms (main sizes)", headline=True),
        *(
            Claim(
                "MOGRO-RW adds nothing in the second half",
                "In the second half of the rounds MOGRO-RW adds less than 1 % of the effective "
                "Pareto regret that epsilon-greedy adds.",
                "regret added / that of epsilon-greedy, below 0.01",
                below(0.01, later_ratios(data, mogro, "MOLB-eps-greedy")),
                setting=setting,
                beyond=True,
            )
            for setting, (mogro, _) in BY_SETTING.items()
        ),
        *fastest(tables["seconds"], where="main sizes"),
    ]


FIGURE = Figure(
    name="main",
    title="Main figure: fixed arms",
    about=(
        "Cumulative Pareto regret, effective Pareto regret and running time of the five policies "
        "of the paper at its two main sizes. Thick lines are MOGRO at mogro's default. The paper "
        "does not say which threshold B it explored with: thin lines are MOGRO with B = 1 and the "
        "paper's exploration, a round robin over a pivoted-QR basis, which is most of what they "
        "pay. Bands are 95 % intervals over instances."
    ),
    tasks=_tasks,
    tables=_tables,
    draw=_draw,
    claims=_claims,
    sample=regrets.SAMPLE,
)
