"""Estimators as obp 0.5.7 publishes them, one objective and one row at a time."""

import numpy as np

Array = np.ndarray


def weight(logged: Array, arms: Array, probabilities: Array, i: int) -> float:
    return float(probabilities[i, arms[i]] / logged[i])


def ips(rewards: Array, logged: Array, arms: Array, probabilities: Array) -> float:
    n = len(rewards)
    return float(sum(rewards[i] * weight(logged, arms, probabilities, i) for i in range(n)) / n)


def snips(rewards: Array, logged: Array, arms: Array, probabilities: Array) -> float:
    n = len(rewards)
    weights = [weight(logged, arms, probabilities, i) for i in range(n)]
    mean = sum(weights) / n
    return float(sum(rewards[i] * weights[i] / mean for i in range(n)) / n)


def direct(probabilities: Array, predictions: Array) -> float:
    n, arms = probabilities.shape
    total = 0.0
    for i in range(n):
        total += sum(probabilities[i, k] * predictions[i, k] for k in range(arms))
    return float(total / n)


def doubly_robust(
    rewards: Array,
    logged: Array,
    arms: Array,
    probabilities: Array,
    predictions: Array,
) -> float:
    n = len(rewards)
    total = 0.0
    for i in range(n):
        w = weight(logged, arms, probabilities, i)
        total += w * (rewards[i] - predictions[i, arms[i]])
    return total / n + direct(probabilities, predictions)


def self_normalised_doubly_robust(
    rewards: Array, logged: Array, arms: Array, probabilities: Array, predictions: Array
) -> float:
    n = len(rewards)
    weights = [weight(logged, arms, probabilities, i) for i in range(n)]
    residuals = sum(weights[i] * (rewards[i] - predictions[i, arms[i]]) for i in range(n))
    return float(residuals) / sum(weights) + direct(probabilities, predictions)


def by_arm(
    rewards: Array, weights: Array, arms: Array, observed: Array, *, self_normalised: bool
) -> float:
    """Rewards missing at random given the arm: an observed one stands for others of its arm."""
    above = below = 0.0
    for i in range(len(rewards)):
        if observed[i]:
            same = arms == arms[i]
            share = observed[same].mean()
            above += weights[i] * rewards[i] / share
            below += weights[i] / share
    return above / (below if self_normalised else len(rewards))


def least_squares(features: Array, rewards: Array) -> Array:
    """Coefficients of least norm, (d,)."""
    return np.asarray(np.linalg.lstsq(features, rewards, rcond=None)[0])
