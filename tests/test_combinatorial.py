"""Combinatorial actions: arms that only a linear oracle can search."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import mogro
from mogro._validation import FloatArray
from mogro.combinatorial import ActionSearch

Maximise = Callable[[FloatArray], FloatArray]


def ball(v: FloatArray) -> FloatArray:
    size = np.linalg.norm(v)
    return v / size if size > 0 else np.eye(len(v))[0]


def best_of(arms: FloatArray) -> Maximise:
    return lambda v: np.asarray(arms[np.argmax(arms @ v)])


def play(
    policy: mogro.MOGRO, maximise: Maximise, theta: FloatArray, rounds: int, *, noise: float = 0.1
) -> list[FloatArray]:
    rng = np.random.default_rng(0)
    pulled = []
    for _ in range(rounds):
        x = policy.choose(maximise, rng=rng)
        policy.update(x, theta @ x + noise * rng.standard_normal(len(theta)))
        pulled.append(x)
    return pulled


def test_the_unit_ball() -> None:
    theta = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0][:2]
    policy = mogro.MOGRO(4, 2, threshold=1.0)
    pulled = play(policy, ball, theta, 500)
    assert not policy.exploring
    V = np.zeros((4, 4))
    for t, x in enumerate(pulled[:4]):  # each of the first pulls is a new direction
        V += np.outer(x, x)
        assert np.linalg.matrix_rank(V) == t + 1
    # Best for some weights are just the unit vectors between the two parameters.
    late = np.array(pulled[100:])
    np.testing.assert_allclose(np.linalg.norm(late @ theta.T, axis=1), 1, atol=0.02)
    assert (late @ theta.T).min() > -0.1


def test_a_list_and_an_oracle_over_it_are_the_same_policy() -> None:
    """With an oracle over a list, greedy rounds choose what select chooses."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((30, 3))
    log, rewards = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    one, other = (mogro.MOGRO(3, 2, threshold=0.1) for _ in range(2))
    for policy in (one, other):
        policy.learn(log, rewards)
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(50):
        x = one.choose(best_of(arms), rng=first)
        assert (x == arms[other.select(arms, rng=second)]).all()


def asked(S: FloatArray, arms: FloatArray) -> FloatArray:
    """Return the directions that exploration asks an oracle for, without their negatives."""
    questions: list[FloatArray] = []

    def maximise(v: FloatArray) -> FloatArray:
        questions.append(v)
        return best_of(arms)(v)

    ActionSearch(len(S))._explore(maximise, S, np.ones(len(S)), 1.0)
    assert all((v == -w).all() for v, w in zip(questions[::2], questions[1::2], strict=True))
    return np.array(questions[::2])


def test_what_is_asked_is_canonical() -> None:
    """Among equal eigenvalues LAPACK may return any eigenvectors; the questions are the same."""
    nothing = np.zeros((1, 4))
    for S in (1e9 * np.eye(4), 3 * np.eye(4)):
        assert (asked(S, nothing) == np.eye(4)).all()
    rng = np.random.default_rng(0)
    for _ in range(20):
        turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]  # of the eigenvectors of the space
        space = np.array([[1.0, 1, 0, 0], [0, 0, 0, 1]]).T / np.sqrt([2, 1])
        space = space @ turn
        first, second = asked(5 * space @ space.T, nothing)
        assert (first == [0, 0, 0, 1]).all()  # the longest projection of an axis
        assert second[0] == second[1] > 0  # equal but for rounding: equal
        assert (second[2:] == 0).all()
        np.testing.assert_allclose(second[:2], 1)


def test_what_is_known_least_is_asked_first_and_what_is_known_not_at_all() -> None:
    nothing = np.zeros((1, 3))
    assert (asked(np.diag([2.0, 0.5, 7.0]), nothing) == np.eye(3)[[2, 0]]).all()


def test_a_polytope() -> None:
    from scipy.optimize import linprog

    # x >= 0, sum x <= 1, x_1 + 2 x_2 <= 1.2: some corners are best for no positive weights.
    A, b = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 0.0]]), np.array([1.0, 1.2])

    def maximise(v: FloatArray) -> FloatArray:
        return np.asarray(linprog(-v, A_ub=A, b_ub=b, bounds=(0, None)).x)

    theta = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3]])
    policy = mogro.MOGRO(3, 2, threshold=1.0)
    pulled = play(policy, maximise, theta, 150)
    assert not policy.exploring
    assert np.abs(policy.theta - theta).max() < 0.3
    for x in pulled:
        assert (A @ x <= b + 1e-9).all()
    last = {tuple(np.round(x, 6).tolist()) for x in pulled[100:]}
    assert last <= {(1.0, 0.0, 0.0), (0.8, 0.2, 0.0), (0.0, 0.6, 0.4)}


# A graph of routes: edges between layers of nodes, from 0 to 5; features of a route are sums.
EDGES = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 5), (4, 5)]


def best_route(v: FloatArray) -> FloatArray:
    """Heaviest path by dynamic programming over the topological order; any sign will do."""
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for edge, (start, end) in enumerate(EDGES):
        value, path = best[start]
        if end not in best or value + v[edge] > best[end][0]:
            best[end] = (value + float(v[edge]), [*path, edge])
    route = np.zeros(len(EDGES))
    route[best[5][1]] = 1
    return route


def all_routes() -> FloatArray:
    routes = []
    for chosen in itertools.product([0, 1], repeat=len(EDGES)):
        edges = [EDGES[i] for i in range(len(EDGES)) if chosen[i]]
        ends = [0, *(end for _, end in edges)]
        if len(edges) == 3 and [start for start, _ in edges] == ends[:-1] and ends[-1] == 5:
            routes.append(chosen)
    return np.array(routes, dtype=float)


def test_routes_with_time_cost_and_emissions_to_be_kept_low() -> None:
    routes = all_routes()
    assert len(routes) == 4
    rng = np.random.default_rng(3)
    for v in rng.standard_normal((50, len(EDGES))):
        assert best_route(v) @ v == pytest.approx((routes @ v).max())
    theta = -rng.uniform(0.1, 1.0, (3, len(EDGES)))
    policy = mogro.MOGRO(len(EDGES), 3, threshold=0.1)
    pulled = np.array(play(policy, best_route, theta, 300))
    rank = np.linalg.matrix_rank(routes)
    assert rank < len(EDGES)
    assert (
        len(policy._actions._null_basis) == len(EDGES) - rank
    )  # directions in which there is no route
    assert not policy.exploring
    gaps = mogro.pareto.effective_gaps(routes @ theta.T)
    which = np.array([np.flatnonzero((routes == x).all(axis=1))[0] for x in pulled])
    assert gaps[which[50:]].max() < 1e-9
    estimates, truth = routes @ policy.theta.T, routes @ theta.T
    seen = np.unique(which)
    np.testing.assert_allclose(estimates[seen], truth[seen], atol=0.2)


@pytest.mark.parametrize("seed", range(5))
def test_arms_in_a_subspace(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arms = rng.standard_normal((8, 2)) @ np.linalg.qr(rng.standard_normal((5, 5)))[0][:2]
    policy = mogro.MOGRO(5, 2, threshold=0.5)
    pulled = np.array(play(policy, best_of(arms), rng.standard_normal((2, 5)), 40))
    assert len(policy._actions._null_basis) == 3
    np.testing.assert_allclose(policy._actions._null_basis @ arms.T, 0, atol=1e-7)
    assert not policy.exploring
    basis = np.linalg.svd(arms)[2][:2]
    V = basis @ pulled.T @ pulled @ basis.T
    assert np.linalg.eigvalsh(V)[0] >= 0.5


def test_one_arm_and_the_zero_arm() -> None:
    theta = np.ones((2, 3))
    arm = np.array([1.0, 2.0, 0.0])
    policy = mogro.MOGRO(3, 2, threshold=0.1)
    pulled = play(policy, lambda v: arm, theta, 10, noise=0.0)
    assert all((x == arm).all() for x in pulled)
    assert not policy.exploring
    np.testing.assert_allclose(policy.theta @ arm, theta @ arm)
    nothing = mogro.MOGRO(3, 2, threshold=0.1)
    play(nothing, lambda v: np.zeros(3), theta, 5)
    assert not nothing.exploring
    np.testing.assert_allclose(nothing.theta, 0)


def test_calls_stop_once_a_subspace_is_covered() -> None:
    asked = []

    def maximise(v: FloatArray) -> FloatArray:
        asked.append(v)
        return best_route(v)

    policy = mogro.MOGRO(len(EDGES), 3)
    theta = -np.ones((3, len(EDGES)))
    play(policy, maximise, theta, 50)
    asked.clear()
    play(policy, maximise, theta, 50)
    assert len(asked) == 50


def test_the_oracles_arguments_and_answers_are_copies() -> None:
    kept = np.array([1.0, 0.0])

    def maximise(v: FloatArray) -> FloatArray:
        v[:] = np.nan
        return kept

    policy = mogro.MOGRO(2, 1)
    x = policy.choose(maximise, rng=np.random.default_rng(0))
    x[:] = 7
    assert (kept == [1.0, 0.0]).all()


@pytest.mark.parametrize("learned", [0, 3])
@pytest.mark.parametrize(
    "answer", [None, "x", [1.0], [[1.0, 0.0]], [np.nan, 0.0], [np.inf, 0.0], [1e200, 0.0]]
)
def test_bad_answers_are_refused_and_change_nothing(answer: object, learned: int) -> None:
    policy = mogro.MOGRO(2, 1)
    play(policy, ball, np.ones((1, 2)), learned)
    before = policy.save_state()
    with pytest.raises(ValueError, match=r"maximise\(v\)"):
        policy.choose(lambda v: answer, rng=np.random.default_rng(0))  # type: ignore[arg-type, return-value]
    after = policy.save_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_bad_answer_after_good_ones_changes_nothing() -> None:
    """The first answers show that every direction is empty; the greedy one is bad."""
    answers = iter([np.zeros(2)] * 4 + [np.full(2, np.nan)])
    policy = mogro.MOGRO(2, 1)
    before = policy.save_state()
    with pytest.raises(ValueError, match=r"maximise\(v\)"):
        policy.choose(lambda v: next(answers), rng=np.random.default_rng(0))
    after = policy.save_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (mogro.MOGRO(2, 2, scalarization=mogro.RandomHypervolume()), "not linear"),
        (mogro.MOGRO(2, 2, scalarization=mogro.RandomChebyshev()), "not linear"),
        (mogro.MOGRO(2, 2, exploration=mogro.Uniform()), "exploration"),
        (mogro.MOGRO(2, 2, exploration=mogro.BasisRoundRobin(np.eye(2))), "exploration"),
        (mogro.MOGRO(2, 2, batch=(3,)), "batch"),
    ],
)
def test_what_cannot_choose_says_so(policy: mogro.MOGRO, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        policy.choose(ball, rng=np.random.default_rng(0))


@pytest.mark.parametrize("threshold", [None, 0.1])
def test_a_policy_that_forgets_explores_again(threshold: float | None) -> None:
    policy = mogro.MOGRO(2, 1, threshold=threshold, half_life=4.0)
    pulled = np.array(play(policy, best_of(np.eye(2)), np.array([[1.0, -1.0]]), 200))
    assert pulled[:100, 1].sum() > 2
    assert pulled[100:, 1].sum() > 2


def test_a_restored_policy_explores_what_it_does_not_know_any_more() -> None:
    policy, fresh = mogro.MOGRO(2, 1, threshold=0.1), mogro.MOGRO(2, 1, threshold=0.1)
    play(policy, lambda v: np.array([1.0, 0.0]), np.ones((1, 2)), 20)
    assert not policy.exploring
    policy.load_state(fresh.save_state())
    pulled = play(policy, best_of(np.eye(2)), np.ones((1, 2)), 2)
    assert sorted(x.tolist() for x in pulled) == [[0, 1], [1, 0]]


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1.0, 1e8, 1e30])
def test_a_threshold_in_proportion_makes_the_same_choices(scale: float) -> None:
    arms = np.random.default_rng(4).standard_normal((9, 3))
    theta = np.random.default_rng(5).standard_normal((2, 3))
    plain = play(mogro.MOGRO(3, 2, threshold=0.5), best_of(arms), theta, 20)
    policy = mogro.MOGRO(3, 2, threshold=0.5 * scale**2)
    scaled = play(policy, best_of(scale * arms), theta / scale, 20)
    np.testing.assert_allclose(np.array(scaled) / scale, plain)


def test_after_very_many_observations_in_a_subspace() -> None:
    """Estimates can be drawn although some directions are a billion times less known."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((10, 3)) @ rng.standard_normal((3, 8))
    policy = mogro.MOGRO(8, 2)
    log = np.tile(arms, (1000, 1))
    for _ in range(100):
        policy.learn(log, rng.standard_normal((10_000, 2)))
    play(policy, best_of(arms), rng.standard_normal((2, 8)), 400)
    assert policy.posterior.n == 1_000_400
