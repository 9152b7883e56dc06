"""Prompts routed to three language models: quality and cost (paretobandit 0.1.1, Apache-2.0)."""

import json
import re
import zlib
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.field.table import Table

MODELS = (
    "meta-llama/llama-3.1-8b-instruct",
    "mistralai/mistral-large-2512",
    "google/gemini-2.5-pro",
)
PRICES = (0.01, 0.1, 3.0)  # quality that a cent is worth
_BUCKETS = 1024


@cache
def read_prompts(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return principal components of hashed words, and quality and cost (in cents) by model."""
    place = folder / "pareto_bandit" / "data" / "examples"
    files = [(place / name).read_text() for name in ("val.jsonl", "test_holdout.jsonl")]
    rows = [json.loads(line) for text in files for line in text.split("\n") if line]
    counts = np.zeros((len(rows), _BUCKETS))
    for row, counted in zip(rows, counts, strict=True):
        for word in re.findall(r"[a-z]+|\d", row["prompt"].lower()):
            counted[zlib.crc32(word.encode()) % _BUCKETS] += 1
    words = np.log1p(counts)
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    words -= words.mean(axis=0)
    _, vectors = np.linalg.eigh(words.T @ words)
    quality, cost = (
        np.array([[row["arms"][model][what] for model in MODELS] for row in rows])
        for what in ("reward", "cost")
    )
    return words @ vectors[:, ::-1], quality, 100 * cost


def load(folder: Path, size: int = 24) -> Table:
    """Return all prompts; contexts are the first principal components of hashed words, whitened."""
    scores, quality, cost = read_prompts(folder)
    contexts = scores[:, :size] / scores[:, :size].std(axis=0)
    weights = np.array([[1.0, price] for price in PRICES])
    return Table(
        f"routing, {size} features",
        np.eye(len(MODELS)),
        contexts,
        np.stack([quality, -cost], axis=-1),
        weights,
        np.zeros(len(MODELS), dtype=int),
        np.zeros(size, dtype=int),
    )
