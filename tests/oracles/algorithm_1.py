"""Algorithm 1 as the paper writes it, a plain loop for fixed arms."""

import numpy as np
from tests.oracles.exploration import span

from mogro._validation import FloatArray, IntArray


def play(
    features: FloatArray,
    rewards: FloatArray,
    *,
    basis: IntArray,
    threshold: float,
    rng: np.random.Generator | None,
) -> list[int]:
    """Return the arms of all rounds; ``rewards`` are (T, K, M), of every arm in every round.

    With a generator MOGRO-RW, without MOGRO-RR.
    """
    rounds, _, objectives = rewards.shape
    inside = span(features)
    V = np.zeros((features.shape[1], features.shape[1]))
    b = np.zeros((features.shape[1], objectives))
    pulls: list[int] = []
    for t in range(1, rounds + 1):
        if np.linalg.eigvalsh(inside.T @ V @ inside)[0] < threshold:
            arm = int(basis[(t - 1) % len(basis)])
        else:
            theta = np.linalg.pinv(V, rcond=1e-10, hermitian=True) @ b
            if rng is None:
                weighted = theta[:, (t % objectives or objectives) - 1]
            else:
                weighted = theta @ rng.dirichlet(np.ones(objectives))
            arm = int(np.argmax(features @ weighted))
        V += np.outer(features[arm], features[arm])
        b += np.outer(features[arm], rewards[t - 1, arm])
        pulls.append(arm)
    return pulls
