"""ACTG 175: patients randomised to four treatments (lifelines).

Rewards are CD4 cells after 20 and 96 weeks, in standard deviations at the start, and event-free
days; the second count is missing for a third of the patients.
"""

import csv
from pathlib import Path

import numpy as np

from benchmarks.field.table import Table, standardised

COVARIATES = (
    *("age", "wtkg", "hemo", "homo", "drugs", "karnof"),
    *("race", "gender", "str2", "symptom", "cd40", "cd80"),
)


def load(folder: Path) -> Table:
    """Return all patients."""
    with (folder / "lifelines" / "datasets" / "ACTG175.csv").open() as file:
        rows = list(csv.DictReader(file))

    def column(name: str) -> np.ndarray:
        return np.array([np.nan if row[name] == "NA" else float(row[name]) for row in rows])

    contexts = standardised(np.stack([column(name) for name in COVARIATES], axis=1))
    before = column("cd40")
    late = (column("cd496") - before.mean()) / before.std()
    early = (column("cd420") - before.mean()) / before.std()
    outcomes = np.stack([early, column("days") / 1000, late], axis=1)
    logged = column("arms").astype(int)
    rewards = np.full((len(rows), 4, 3), np.nan)
    rewards[np.arange(len(rows)), logged] = outcomes
    return Table(
        "ACTG 175",
        np.eye(4),
        contexts,
        rewards,
        np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.5], [0.0, 0.0, 1.0]]),
        np.zeros(4, dtype=int),
        np.zeros(len(COVARIATES), dtype=int),
        logged,
        np.full(len(rows), 0.25),
    )
