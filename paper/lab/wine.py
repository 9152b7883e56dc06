"""Wines as arms: a bandit with three objectives, regressed from the UCI Wine Quality data.

6497 wines, red and white together, with 10 physicochemical features (acidity, sugar, density and
so on); the rewards are alcohol, quality and being red. Source: P. Cortez, A. Cerdeira, F. Almeida,
T. Matos and J. Reis (2009), Wine Quality, UCI Machine Learning Repository,
https://doi.org/10.24432/C56S3T, licence CC BY 4.0.
"""

import hashlib
import io
import os
import urllib.request
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mogro.environments import FixedArms
from paper.lab.arrays import FloatArray
from paper.lab.files import write_file

URL = "https://archive.ics.uci.edu/static/public/186/wine+quality.zip"
DIGESTS = {
    "winequality-red.csv": "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
    "winequality-white.csv": "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
}
REWARDS = ("alcohol", "quality", "red")

_FEATURES = 10  # the first columns of the files; then come alcohol and quality
_TIMEOUT = 30.0  # seconds


class Wine(NamedTuple):
    """Wines, their features (n, d) and rewards (n, M), and the parameters (M, d) fitted to them.

    Columns have mean 0 and variance 1.
    """

    features: FloatArray
    rewards: FloatArray
    theta: FloatArray

    def sample(self, arms: int, *, rng: np.random.Generator) -> FixedArms:
        """Return an episode: ``arms`` wines of different features, drawn without replacement.

        The mean rewards are the fitted ones, so the world is linear, whatever the wines are.
        """
        distinct = np.unique(self.features, axis=0)
        chosen = rng.choice(len(distinct), size=arms, replace=False)
        return FixedArms(distinct[chosen], self.theta, noise=1.0)


def fit(features: FloatArray, rewards: FloatArray) -> Wine:
    """Return measured wines with normalised columns, and the least-squares parameters."""
    x, y = _normalised(features), _normalised(rewards)
    return Wine(x, y, np.linalg.lstsq(x, y)[0].T.copy())


def _normalised(columns: FloatArray) -> FloatArray:
    centred = columns - columns.mean(axis=0)
    return np.asarray(centred / centred.std(axis=0))


def load() -> Wine:
    """Return the wine data, as published.

    They are in the folder that ``MOGRO_WINE`` names. Without it they are in the user's cache,
    where they are put the first time, from the UCI archive. A FileNotFoundError says why they
    cannot be had.
    """
    folder = os.environ.get("MOGRO_WINE")
    try:
        contents = _read(Path(folder)) if folder else _cached()
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise FileNotFoundError(
            f"wine data: {error}; to get them by hand, unpack {URL} into a folder, and name it in "
            "the environment variable MOGRO_WINE"
        ) from error
    red, white = (
        np.loadtxt(io.BytesIO(contents[name]), delimiter=";", skiprows=1) for name in DIGESTS
    )
    table = np.concatenate([red, white])
    is_red = np.repeat([1.0, 0.0], [len(red), len(white)])
    return fit(table[:, :_FEATURES], np.column_stack([table[:, _FEATURES:], is_red]))


def _cached() -> dict[str, bytes]:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mogro" / "wine"
    try:
        return _read(folder)
    except (OSError, ValueError):  # not there, or damaged
        contents = _verified(_download())
    for name, content in contents.items():
        write_file(folder / name, content)
    return contents


def _download() -> dict[str, bytes]:
    with urllib.request.urlopen(URL, timeout=_TIMEOUT) as response:
        archive = response.read()
    with zipfile.ZipFile(io.BytesIO(archive)) as members:
        return {name: members.read(name) for name in DIGESTS}


def _read(folder: Path) -> dict[str, bytes]:
    return _verified({name: (folder / name).read_bytes() for name in DIGESTS})


def _verified(contents: dict[str, bytes]) -> dict[str, bytes]:
    for name, digest in DIGESTS.items():
        if (actual := hashlib.sha256(contents[name]).hexdigest()) != digest:
            raise ValueError(f"{name}: expected SHA-256 {digest}, got {actual}")
    return contents
