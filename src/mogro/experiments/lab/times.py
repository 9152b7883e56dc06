"""Which running times are measured, and the table made of them."""

from collections.abc import Sequence
from itertools import product

from mogro.experiments.lab.contenders import FIVE
from mogro.experiments.lab.regrets import ROUNDS, SIZE
from mogro.experiments.lab.scale import Scale
from mogro.experiments.lab.tables import Table, table
from mogro.experiments.lab.timing import WITH_WHOLE_FRONTS, Stopwatch
from mogro.experiments.lab.worlds import Fixed
from mogro.simulation.parallel import Results

INSTANCES = 5
TOGETHER = 50
WHOLE_FRONT, LOCKSTEP = "whole front", "lockstep"

Stopwatches = dict[tuple[str, tuple[int, int, int], int], Stopwatch]


def stopwatches(
    sizes: Sequence[tuple[int, int, int]], scale: Scale, *, builds: Sequence[str]
) -> Stopwatches:
    """Return what is timed: build, size and instance of each task."""
    known = {WHOLE_FRONT: (WITH_WHOLE_FRONTS, 1, INSTANCES), LOCKSTEP: (FIVE, TOGETHER, 1)}
    watches = {}
    for size, build in product(sizes, builds):
        contenders, learners, instances = known[build]
        for i in range(min(instances, scale.sample(instances, 1)[0])):
            watches[build, size, i] = Stopwatch(
                Fixed(*size), contenders, scale.horizon(ROUNDS), scale.seed, i, learners
            )
    return watches


def timing_table(watches: Stopwatches, results: Results) -> Table:
    """Return one row for each policy in each task."""
    return table(
        (*SIZE, "build", "policy", "instance", "seconds"),
        [
            (*size, build, contender.label, i, float(seconds))
            for (build, size, i), task in watches.items()
            for contender, seconds in zip(task.contenders, results[task]["seconds"], strict=True)
        ],
    )
