"""The paper's exploration, general version, from the definitions: obvious and slow."""

import numpy as np
import scipy.linalg

from mogro._validation import FloatArray


def span(features: FloatArray) -> FloatArray:
    """Orthonormal basis (d, r) of the span of arms (K, d)."""
    sizes, vectors = np.linalg.svd(features)[1:]
    return np.asarray(vectors[: int((sizes > 1e-6 * max(sizes[0], 1e-300)).sum())].T)


def independent(features: FloatArray) -> FloatArray:
    """Some arms (r, d) that are a basis of the span of arms (K, d), by Gram and Schmidt.

    An arm adds to the others if more than 1e-5 of it is left, in columns of one size.
    """
    largest = np.abs(features).max(axis=0)
    scaled = features / np.where(largest > 0, largest, 1.0)
    chosen: list[int] = []
    basis = np.zeros((features.shape[1], 0))
    for number, arm in enumerate(scaled):
        left = arm - basis @ (basis.T @ arm)
        left -= basis @ (basis.T @ left)
        if np.linalg.norm(left) > 1e-5 * np.linalg.norm(arm):
            chosen.append(number)
            basis = np.column_stack([basis, left / np.linalg.norm(left)])
    return features[chosen]


def largest_variance(features: FloatArray, S: FloatArray) -> float:
    """Largest ``u' S u / u' u`` of u in the span of arms: a generalised eigenvalue problem."""
    basis = independent(features)
    if not len(basis):
        return 0.0
    units = basis / np.linalg.norm(basis, axis=1, keepdims=True)
    return float(scipy.linalg.eigh(units @ S @ units.T, units @ units.T, eigvals_only=True)[-1])


def smallest_in_span(V: FloatArray, features: FloatArray) -> float:
    """Smallest eigenvalue of V restricted to the span; infinite if the span is zero."""
    basis = span(features)
    if basis.shape[1] == 0:
        return np.inf
    return float(np.linalg.eigvalsh(basis.T @ V @ basis)[0])


def known_in_span(V: FloatArray, features: FloatArray) -> float:
    """The least ``1 / u^T V^+ u`` over unit vectors u of the span; 0 for a u never seen."""
    basis = span(features)
    if basis.shape[1] == 0:
        return np.inf
    values, vectors = np.linalg.eigh(V)
    unseen = vectors[:, values <= 1e-10 * values[-1]]
    if unseen.size and np.linalg.norm(unseen.T @ basis, 2) > 1e-6:
        return 0.0
    inverse = np.linalg.pinv(V, rcond=1e-10, hermitian=True)
    return float(1 / np.linalg.eigvalsh(basis.T @ inverse @ basis)[-1])
