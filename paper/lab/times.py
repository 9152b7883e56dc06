"""Which running times are measured, and the table made of them."""

from collections.abc import Iterable, Sequence
from itertools import product

from paper.lab.contenders import FIVE
from paper.lab.parallel import Results, Task
from paper.lab.regrets import ROUNDS, SIZE
from paper.lab.scale import Scale
from paper.lab.tables import Table, table
from paper.lab.timing import WITH_WHOLE_FRONTS, Stopwatch
from paper.lab.worlds import Fixed

INSTANCES = 5
TOGETHER = 50
WHOLE_FRONT, LOCKSTEP = "whole front", "lockstep"


def stopwatches(
    sizes: Sequence[tuple[int, int, int]], scale: Scale, *, builds: Sequence[str]
) -> list[Stopwatch]:
    """Return what is timed, for every size and build."""
    special_cases = {WHOLE_FRONT: (WITH_WHOLE_FRONTS, 1, INSTANCES), LOCKSTEP: (FIVE, TOGETHER, 1)}
    watches = []
    for size, build in product(sizes, builds):
        contenders, learners, instances = special_cases[build]
        watches += [
            Stopwatch(Fixed(*size), contenders, scale.horizon(ROUNDS), scale.seed, i, learners)
            for i in range(min(instances, scale.sample(instances, 1)[0]))
        ]
    return watches


def timing_table(tasks: Iterable[Task], results: Results) -> Table:
    """Return one row for each policy of each task that is timed."""
    rows = []
    for task in tasks:
        if isinstance(task, Stopwatch):
            build = WHOLE_FRONT if task.learners == 1 else LOCKSTEP
            pairs = zip(task.contenders, results[task]["seconds"].tolist(), strict=True)
            rows += [(*task.world.sizes, build, c.label, task.instance, s) for c, s in pairs]
    return table((*SIZE, "build", "policy", "instance", "seconds"), rows)
