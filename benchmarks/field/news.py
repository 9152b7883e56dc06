"""A page of news, made up: clicks, heavy-tailed reading times, rare subscriptions.

Of 200 articles 30 % are new each day, of 500 visits; 20 are on offer at a time. Clicks are of about
10 %, and depend on a few products of article and visitor.
"""

import numpy as np

from benchmarks.field.table import Table

ARTICLES, OFFERED, DAY, SECTIONS, VISITORS = 200, 20, 500, 6, 6


def load(seed: int = 0, rounds: int = 3000, hits: float = 0.0) -> Table:
    """Return visits in their order; ``hits`` is the spread of what features do not explain."""
    rng = np.random.default_rng([7, seed])
    C = 1 + VISITORS  # a number, and a category
    A = 2 + SECTIONS  # two numbers, and a category
    main = np.concatenate([rng.normal(0, 0.25, 2), rng.normal(0, 0.4, SECTIONS)])
    sparse = rng.normal(0, 0.9, (C, A)) * (rng.random((C, A)) < 0.2)
    slopes = rng.normal(0, 0.3, A)

    def fresh(count: int) -> tuple[np.ndarray, np.ndarray]:
        sections = np.eye(SECTIONS)[rng.integers(SECTIONS, size=count)]
        return np.hstack([rng.standard_normal((count, 2)), sections]), rng.normal(0, hits, count)

    articles, luck = fresh(ARTICLES)
    names, ids = np.arange(ARTICLES), np.empty((rounds, OFFERED), dtype=int)
    arms, contexts = np.empty((rounds, OFFERED, A)), np.empty((rounds, C))
    means = np.empty((rounds, OFFERED, 3))
    for visit in range(rounds):
        if visit and visit % DAY == 0:
            gone = rng.permutation(ARTICLES)[: int(0.3 * ARTICLES)]
            articles[gone], luck[gone] = fresh(len(gone))
            names[gone] = names.max() + 1 + np.arange(len(gone))
        visitor = np.concatenate([rng.standard_normal(1), np.eye(VISITORS)[rng.integers(VISITORS)]])
        offered = rng.permutation(ARTICLES)[:OFFERED]
        x, ids[visit] = articles[offered], names[offered]
        logits = -2.8 + x @ main + x @ (visitor @ sparse) + luck[offered]
        click = 1 / (1 + np.exp(-logits))
        minutes = click * np.exp(0.3 + 0.5 * (x @ slopes))
        subscribe = click * 0.03 * np.exp(0.5 * (x @ slopes[::-1]))
        arms[visit], contexts[visit] = x, visitor
        means[visit] = np.stack([click, minutes, np.minimum(subscribe, 1)], axis=-1)
    clicked = rng.random((rounds, OFFERED)) < means[..., 0]
    read = clicked * means[..., 1] / means[..., 0] * rng.lognormal(-0.5, 1.0, clicked.shape)
    subscribed = clicked & (rng.random(clicked.shape) < means[..., 2] / means[..., 0])
    return Table(
        "news" if not hits else f"news, hits {hits:g}",
        arms,
        contexts,
        np.stack([clicked, read, subscribed], axis=-1).astype(np.float64),
        np.array([[1.0, 0.0, 0.0], [0.5, 0.3, 2.0], [0.0, 0.2, 10.0]]),
        np.array([0, 0] + [1] * SECTIONS),
        np.array([0] + [1] * VISITORS),
        ordered=True,
        means=means,
        ids=ids,
    )
