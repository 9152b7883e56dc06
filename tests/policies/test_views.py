"""Policies show themselves shortly, in a console and in a notebook."""

import numpy as np

import mogro


def test_repr_has_what_differs_from_the_defaults() -> None:
    policy = mogro.MOGRO(3, 2, scalarization=mogro.RoundRobin())
    assert repr(policy) == "MOGRO(dim=3, objectives=2, scalarization=RoundRobin())"


def test_repr_stays_short_with_large_arrays() -> None:
    arms = np.eye(40)
    assert repr(mogro.BasisRoundRobin(arms)) == "BasisRoundRobin(<array (40, 40)>)"
    assert repr(mogro.Oracle(arms)) == "Oracle(truth=<array (40, 40)>)"
    assert repr(mogro.Oracle(np.eye(2))) == "Oracle(truth=array([[1., 0.], [0., 1.]]))"


def test_streams_tell_their_batch() -> None:
    rngs = [np.random.default_rng(seed) for seed in range(3)]
    assert repr(mogro.Streams(rngs)) == "Streams(batch=(3,))"


def test_notebook_view_tells_settings_and_progress() -> None:
    policy = mogro.Oracle(np.eye(40))
    policy.update(np.ones(40), np.ones(40))
    view = policy._repr_html_()
    assert "<caption>Oracle</caption>" in view
    assert "&lt;array (40, 40)&gt;" in view
    assert "observations</th><td>1</td>" in view


def test_explore_then_commit_counts_too() -> None:
    policy = mogro.ExploreThenCommit(2, 1)
    policy.select(np.eye(2), rng=np.random.default_rng(0))
    assert "arms selected</th><td>1</td>" in policy._repr_html_()


def test_trace_in_a_notebook() -> None:
    world = mogro.environments.FixedArms(np.eye(2), np.eye(2), noise=0.1)
    trace = mogro.simulate(mogro.MOGRO, world, rounds=5, repeats=2, seed=3)
    view = trace._repr_html_()
    assert "<th>repeats</th>" in view
    assert "<td>3</td>" in view
