"""STAR: pupils randomised within schools to three class types (Ecdat in pydataset).

Rewards are mathematics and reading, in standard deviations, and what the class costs.
"""

import csv
from pathlib import Path

import numpy as np

from benchmarks.field.table import Table, one_hot, standardised

CLASSES = ("regular", "regular.with.aide", "small.class")
COSTS = (0.0, 0.3, 0.5)


def load(folder: Path) -> Table:
    """Return all pupils of schools that have all class types."""
    with (folder / "resources" / "rdata" / "csv" / "Ecdat" / "Star.csv").open() as file:
        rows = list(csv.DictReader(file))
    classes = np.array([CLASSES.index(row["classk"]) for row in rows])
    schools = np.unique([row["schidkn"] for row in rows], return_inverse=True)[1]
    counts = np.zeros((schools.max() + 1, 3))
    np.add.at(counts, (schools, classes), 1)
    complete = (counts.min(axis=1) > 0)[schools]
    shares = counts / counts.sum(axis=1, keepdims=True)
    numbers = np.array([[float(row[name]) for name in ("tmathssk", "treadssk")] for row in rows])
    columns = [one_hot([row[name] for row in rows]) for name in ("sex", "freelunk", "race")]
    experience = standardised(np.array([[float(row["totexpk"])] for row in rows]))
    contexts = np.hstack([experience, *columns])
    groups = np.repeat(np.arange(4), [1, *(column.shape[1] for column in columns)])
    rewards = np.full((len(rows), 3, 3), np.nan)
    each = np.arange(len(rows))
    rewards[each, classes, :2] = standardised(numbers)
    rewards[each, classes, 2] = -np.array(COSTS)[classes]
    return Table(
        "STAR",
        np.eye(3),
        contexts[complete],
        rewards[complete],
        np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.2, 1.0, 1.0]]),
        np.zeros(3, dtype=int),
        groups,
        classes[complete],
        shares[schools, classes][complete],
    )
