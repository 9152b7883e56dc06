"""The paper's exploration, general version, from the definitions: obvious and slow."""

import numpy as np

from mogro._validation import FloatArray


def span(features: FloatArray) -> FloatArray:
    """Orthonormal basis (d, r) of the span of arms (K, d)."""
    sizes, vectors = np.linalg.svd(features)[1:]
    return np.asarray(vectors[: int((sizes > 1e-6 * max(sizes[0], 1e-300)).sum())].T)


def smallest_in_span(V: FloatArray, features: FloatArray) -> float:
    """Smallest eigenvalue of V restricted to the span; infinite if the span is zero."""
    basis = span(features)
    if basis.shape[1] == 0:
        return np.inf
    return float(np.linalg.eigvalsh(basis.T @ V @ basis)[0])


def gains(V: FloatArray, features: FloatArray) -> FloatArray:
    """Squared projections (K,) on the whole weakest eigenspace of V within the span."""
    basis = span(features)
    values, vectors = np.linalg.eigh(basis.T @ V @ basis)
    weak = basis @ vectors[:, values <= values[0] + 1e-9 * max(values[-1], 1e-300)]
    return np.asarray(np.square(features @ weak).sum(axis=1))


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
