"""MovieLens 100k (recbole's wheel): a user's arms are films that the user has rated.

Rewards are the rating, from 0 to 1, and novelty: how few others rated the film, from 0 to 1.
"""

import csv
from pathlib import Path

import numpy as np

from benchmarks.field.table import Table, one_hot, standardised

OFFERED = 10


def load(folder: Path, seed: int = 0) -> Table:
    """Return a round for each of 4,000 draws of a user; ten of this user's films are on offer."""
    place = folder / "recbole" / "dataset_example" / "ml-100k"

    def read(name: str) -> list[list[str]]:
        with (place / f"ml-100k.{name}").open(encoding="utf-8") as file:
            return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]

    films = read("item")
    genres = sorted({genre for film in films for genre in film[3].split()})
    tags = np.array([[genre in film[3].split() for genre in genres] for film in films], float)
    years = np.array([float(film[2]) if film[2].isdigit() else np.nan for film in films])
    years = standardised(np.nan_to_num(years, nan=float(np.nanmean(years)))[:, None])
    features = np.hstack([years, tags])
    users = read("user")
    ages = standardised(np.array([[float(user[1])] for user in users]))
    people = np.hstack([ages, one_hot([user[2] for user in users])])
    film_at = {film[0]: place for place, film in enumerate(films)}
    user_at = {user[0]: place for place, user in enumerate(users)}
    rated = [
        (user_at[user], film_at[film], float(rating)) for user, film, rating, _ in read("inter")
    ]
    by_user: dict[int, list[tuple[int, float]]] = {}
    counts = np.zeros(len(films))
    for user, film, rating in rated:
        by_user.setdefault(user, []).append((film, rating))
        counts[film] += 1
    novelty = 1 - np.log1p(counts) / np.log1p(counts.max())
    rng = np.random.default_rng(seed)
    chosen = rng.choice(sorted(by_user), 4000)
    arms, rewards = np.empty((4000, OFFERED, features.shape[1])), np.empty((4000, OFFERED, 2))
    ids = np.empty((4000, OFFERED), dtype=int)
    for row, user in enumerate(chosen):
        offered = [by_user[user][k] for k in rng.permutation(len(by_user[user]))[:OFFERED]]
        at = [film for film, _ in offered]
        arms[row], ids[row] = features[at], at
        rewards[row, :, 0] = [(rating - 1) / 4 for _, rating in offered]
        rewards[row, :, 1] = novelty[at]
    return Table(
        "MovieLens",
        arms,
        people[chosen],
        rewards,
        np.array([[1.0, 0.0], [0.7, 0.3], [0.3, 0.7]]),
        np.array([0] + [1] * len(genres)),
        np.array([0, 1, 1]),
        ids=ids,
    )
