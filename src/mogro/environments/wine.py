"""Wines as arms: a bandit with three objectives, regressed from the UCI Wine Quality data.

6497 wines, red and white together, with 10 physicochemical features (acidity, sugar, density and
so on); the rewards are alcohol, quality and being red. Source: P. Cortez, A. Cerdeira, F. Almeida,
T. Matos and J. Reis (2009), Wine Quality, UCI Machine Learning Repository,
https://doi.org/10.24432/C56S3T, licence CC BY 4.0.
"""

import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import numpy as np

from mogro import _page
from mogro import _validation as check
from mogro._validation import FloatArray
from mogro.environments import _files
from mogro.environments.synthetic import FixedArms

URL = "https://archive.ics.uci.edu/static/public/186/wine+quality.zip"
DIGESTS = {
    "winequality-red.csv": "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
    "winequality-white.csv": "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
}
REWARDS = ("alcohol", "quality", "red")

_FEATURES = 10  # the first columns of the files; then come alcohol and quality


@final
@dataclass(frozen=True, eq=False, repr=False)
class Wine:
    """Measured wines, and the linear rewards fitted to them.

    Parameters
    ----------
    features
        One row for each wine, (n, d). Each column is brought to mean 0 and variance 1.
    rewards
        What was measured for each objective, (n, M). Each column is normalised likewise.

    Attributes
    ----------
    theta
        Least-squares parameters of the normalised rewards on the normalised features, (M, d).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> features = rng.random((40, 2))
    >>> wines = Wine(features, features @ [[1.0], [0.0]])
    >>> wines.theta.round(6) + 0.0
    array([[1., 0.]])
    >>> wines.sample(5, rng=rng)
    FixedArms(dim=2, arms=5, objectives=1, noise=1)
    """

    features: FloatArray
    rewards: FloatArray
    theta: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        raw = check.floats(self.features, "features", shape=("n", "d"))
        features = _normalised(raw, "features")
        measured = check.floats(self.rewards, "rewards", shape=(len(raw), "M"))
        rewards = _normalised(measured, "rewards")
        theta = np.linalg.lstsq(features, rewards)[0].T.copy()
        for name, array in (("features", features), ("rewards", rewards), ("theta", theta)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def sample(self, arms: int, *, noise: float = 1.0, rng: np.random.Generator) -> FixedArms:
        """Return an episode: ``arms`` wines of different features, drawn without replacement.

        The mean rewards are the fitted ones, so the world is linear, whatever the wines are.
        """
        K = check.count(arms, "arms")
        distinct = np.unique(self.features, axis=0)
        if len(distinct) < K:
            raise ValueError(f"arms: expected at most {len(distinct)} distinct wines, got {K}")
        chosen = check.generator(rng, "rng").choice(len(distinct), size=K, replace=False)
        return FixedArms(distinct[chosen], self.theta, noise=noise)

    def __repr__(self) -> str:
        wines, dim = self.features.shape
        return f"Wine(wines={wines}, dim={dim}, objectives={self.rewards.shape[1]})"

    def _repr_html_(self) -> str:
        wines, dim = self.features.shape
        sizes = {"wines": wines, "dim": dim, "objectives": self.rewards.shape[1]}
        return _page.facts("Wine", sizes)


def load(
    folder: str | os.PathLike[str] | None = None, *, url: str = URL, timeout: float = 30.0
) -> Wine:
    """Return the wine data, from the first of these places that is named or has them.

    1. ``folder``, which must have both files, as published;
    2. the folder that the environment variable ``MOGRO_WINE`` names, likewise;
    3. the user's cache: ``mogro/wine`` in ``$XDG_CACHE_HOME`` if that is set, else in
       ``~/.cache``, ``~/Library/Caches`` or ``%LOCALAPPDATA%``, as the system has it;
    4. the UCI archive, from where they are put into the cache.

    Files must have the published SHA-256 digests wherever they come from.

    Parameters
    ----------
    folder
        Where ``winequality-red.csv`` and ``winequality-white.csv`` are.
    url
        A zip archive with the two files.
    timeout
        Seconds to wait for the server.

    Raises
    ------
    FileNotFoundError
        The data cannot be had; the message says what was tried and what to do.
    ValueError
        A file in a named folder is not the published one.

    Examples
    --------
    >>> load("a/folder/without/wine")
    Traceback (most recent call last):
    ...
    FileNotFoundError: wine data: no file a...winequality-red.csv (looked in the folder given)...
    """
    seconds = check.real(timeout, "timeout", above=0.0)
    if folder is not None:
        contents = _from_named(Path(folder), "the folder given")
    elif named := os.environ.get("MOGRO_WINE"):
        contents = _from_named(Path(named), "the folder that MOGRO_WINE names")
    else:
        contents = _from_cache_or_archive(url, seconds)
    red, white = (
        np.loadtxt(io.BytesIO(contents[name]), delimiter=";", skiprows=1) for name in DIGESTS
    )
    table = np.concatenate([red, white])
    is_red = np.repeat([1.0, 0.0], [len(red), len(white)])
    return Wine(table[:, :_FEATURES], np.column_stack([table[:, _FEATURES:], is_red]))


def _from_named(folder: Path, origin: str) -> dict[str, bytes]:
    try:
        return _files.read_folder(folder, DIGESTS)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"wine data: {error} (looked in {origin}); {_how_to_get_them(URL)}"
        ) from None
    except ValueError as error:
        raise ValueError(f"wine data in {folder} ({origin}): {error}") from None


def _from_cache_or_archive(url: str, timeout: float) -> dict[str, bytes]:
    cache = _files.cache_folder("wine")
    try:
        return _files.read_folder(cache, DIGESTS)
    except (OSError, ValueError) as error:  # a damaged cache is as good as none
        absent = error
    try:
        contents = _files.download(url, DIGESTS, timeout=timeout)
    except ConnectionError as error:
        raise FileNotFoundError(
            f"wine data: not in the cache ({absent}), and not from {url} ({error}); "
            f"{_how_to_get_them(url)}"
        ) from error
    _files.store(cache, contents)
    return contents


def _how_to_get_them(url: str) -> str:
    return (
        f"to get them by hand, unpack {url} into a folder, "
        "and name that folder in the call or in the environment variable MOGRO_WINE"
    )


def _normalised(columns: FloatArray, name: str) -> FloatArray:
    if (columns.max(axis=0) == columns.min(axis=0)).any():
        raise ValueError(f"{name}: expected columns that vary, got a constant one")
    centred = columns.astype(np.float64) - columns.mean(axis=0)
    return np.asarray(centred / centred.std(axis=0))
