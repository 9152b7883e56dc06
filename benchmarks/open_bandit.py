"""Open Bandit: the clicks of one policy from the log of another, both real.

``python -m benchmarks.open_bandit FOLDER``, where the folder is an unpacked wheel of obp 0.4.1,
which ships samples of 10,000 rows: ``pip download obp==0.4.1 --no-deps`` and ``unzip``. Data of
Saito, Aihara, Matsutani and Narita (2021), CC BY 4.0; nothing of them is kept here.

Two objectives: clicks, and clicks times the first feature of the item. From the log of the random
policy the value of the Thompson policy is estimated and compared with the mean of its own log. Its
probabilities in the contexts of the random log are not known: taken is its mean logged propensity
for every item and position. A row is logged the more often the higher its propensity, so these
means are too high (they sum to 1.7 to 3.7 at a position) and are scaled to sum to 1. Beside it is
the share of its rows that have the item at the position, which has no such bias.
"""

import csv
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mogro import offpolicy
from mogro.offpolicy import Evaluation

CAMPAIGNS = ("all", "men", "women")
_WHERE = Path("obp", "dataset", "obd")


class Sample(NamedTuple):
    """Rows of a log: items and positions (n,), propensities (n,), rewards (n, 2)."""

    items: np.ndarray
    positions: np.ndarray
    propensities: np.ndarray
    rewards: np.ndarray


def read(folder: Path, policy: str, campaign: str) -> Sample:
    """Read the sample of a policy and a campaign."""
    place = folder / _WHERE / policy / campaign
    with (place / f"{campaign}.csv").open() as file:
        rows = [
            (row["item_id"], row["position"], row["propensity_score"], row["click"])
            for row in csv.DictReader(file)
        ]
    with (place / "item_context.csv").open() as file:
        features = {int(row["item_id"]): row["item_feature_0"] for row in csv.DictReader(file)}
    table = np.array(rows, dtype=float)
    items = table[:, 0].astype(int)
    first = np.array([features[item] for item in range(len(features))], dtype=float)
    clicks = table[:, 3]
    rewards = np.column_stack((clicks, clicks * first[items]))
    return Sample(items, table[:, 1].astype(int) - 1, table[:, 2], rewards)


def mean_propensities(sample: Sample, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean logged propensities, scaled, and shares of rows; each (positions, items)."""
    shape = sample.positions.max() + 1, items
    sums, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, (sample.positions, sample.items), sample.propensities)
    np.add.at(counts, (sample.positions, sample.items), 1)
    means = np.divide(sums, counts, out=np.zeros(shape), where=counts > 0)
    return means / means.sum(axis=1, keepdims=True), counts / counts.sum(axis=1, keepdims=True)


def evaluate(folder: Path, campaign: str) -> dict[str, Evaluation]:
    """Return the truth by the policy's own log, and estimates from the random log."""
    random, bts = read(folder, "random", campaign), read(folder, "bts", campaign)
    items = int(max(random.items.max(), bts.items.max())) + 1
    target, shares = mean_propensities(bts, items)
    propensities = target[random.positions, random.items]
    log = random.rewards, random.propensities, propensities
    # An item and a position have a mean of their own: least squares over indicators is too much for
    # forty clicks, so items share what they have and positions are left out.
    predictions = offpolicy.cross_fitted(random.rewards, random.items, np.eye(items), ridge=50.0)
    ones = np.ones(len(bts.items))
    return {
        "own log": offpolicy.ips(bts.rewards, ones, ones),
        "random log, mean": offpolicy.ips(random.rewards, random.propensities, random.propensities),
        "ips": offpolicy.ips(*log),
        "snips": offpolicy.snips(*log),
        "doubly robust": offpolicy.doubly_robust(
            *(random.rewards, random.propensities, random.items),
            target[random.positions],
            predictions,
        ),
        "snips, by shares": offpolicy.snips(
            random.rewards, random.propensities, shares[random.positions, random.items]
        ),
    }


def table(folder: Path) -> str:
    """Return what was found for every campaign."""
    head = "| campaign | estimate | clicks, 95 % | clicks x feature, 95 % | size | weight | meets |"
    rows = [head, "|---|---|---|---|---|---|---|"]
    for campaign in CAMPAIGNS:
        evaluations = evaluate(folder, campaign)
        truth = evaluations["own log"].interval()
        for name, evaluation in evaluations.items():
            bounds = evaluation.interval()
            cells = [
                f"{value:.5f} [{low:.5f}, {high:.5f}]"
                for value, (low, high) in zip(evaluation.value, bounds, strict=True)
            ]
            meets = (bounds[:, 0] <= truth[:, 1]) & (truth[:, 0] <= bounds[:, 1])
            words = "" if name == "own log" else " ".join("yes" if each else "NO" for each in meets)
            note = "" if evaluation.trusted else " (not trusted)"
            rows.append(
                f"| {campaign} | {name}{note} | {cells[0]} | {cells[1]} "
                f"| {evaluation.effective_size[0]:.0f} | {evaluation.mean_weight:.3f} | {words} |"
            )
    return "\n".join(rows)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
