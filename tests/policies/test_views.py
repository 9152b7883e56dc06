"""Policies show themselves shortly, in a console and in a notebook."""

import numpy as np

import mogro


def test_repr_has_what_differs_from_the_defaults() -> None:
    policy = mogro.MOGRO(3, 2, scalarization=mogro.RoundRobin())
    assert repr(policy) == "MOGRO(dim=3, objectives=2, scalarization=RoundRobin())"


def test_repr_stays_short_with_large_arrays() -> None:
    arms = np.eye(40)
    assert repr(mogro.BasisRoundRobin(arms)) == "BasisRoundRobin(<array (40, 40)>)"


def test_streams_tell_their_batch() -> None:
    rngs = [np.random.default_rng(seed) for seed in range(3)]
    assert repr(mogro.Streams(rngs)) == "Streams(batch=(3,))"


def test_notebook_view_tells_settings_and_progress() -> None:
    policy = mogro.MOGRO(40, 2, exploration=mogro.BasisRoundRobin(np.eye(40)))
    policy.update(np.ones(40), np.ones(2))
    view = policy._repr_html_()
    assert "<caption>MOGRO</caption>" in view
    assert "&lt;array (40, 40)&gt;" in view
    assert "observations</th><td>1</td>" in view
