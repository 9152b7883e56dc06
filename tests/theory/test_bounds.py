import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import theory as oracle
from tests.properties import examples

from mogro.theory import (
    diversity_left,
    eigenvalue_increment,
    fairness_bound,
    goodness_needed,
    radius_cap,
    regret_bound_random_weights,
    regret_bound_round_robin,
)

slopes, sigmas = st.floats(1e-4, 1), st.floats(0, 5)
sizes, horizons, starts = st.integers(1, 20), st.integers(1, 10**7), st.integers(0, 10**4)


@given(slopes, sigmas, sizes, sizes, horizons, starts)
def test_regret_bounds_written_out(
    slope: float, sigma: float, d: int, M: int, T: int, T0: int
) -> None:
    given: dict[str, Any] = {
        "noise": sigma,
        "dim": d,
        "objectives": M,
        "rounds": T,
        "initial_rounds": T0,
    }
    rw = regret_bound_random_weights(increment=slope, **given)
    rr = regret_bound_round_robin(diversity_left=slope, **given)
    assert rw == pytest.approx(oracle.regret_rw(slope, sigma, d, M, T, T0))
    assert rr == pytest.approx(oracle.regret_rr(slope, sigma, d, M, T, T0))


@examples(30)
@given(
    slopes,
    sigmas,
    sizes,
    sizes,
    st.integers(2, 1000),
    st.integers(1, 100),
    st.floats(0.3, 3),
    st.floats(0.3, 3),
)
def test_regret_bound_covers_the_sum_it_bounds(
    slope: float, sigma: float, d: int, M: int, T: int, T0: int, xmax: float, L: float
) -> None:
    bound = regret_bound_random_weights(
        increment=slope,
        noise=sigma,
        dim=d,
        objectives=M,
        rounds=T,
        initial_rounds=T0,
        feature_norm=xmax,
        parameter_norm=L,
    )
    assert bound >= oracle.regret_rw_by_rounds(slope, sigma, d, M, T, T0, xmax, L) * (1 - 1e-9)


@given(slopes, sigmas, sizes, sizes, horizons, starts, st.floats(1.01, 3))
def test_regret_bounds_are_monotone(
    slope: float, sigma: float, d: int, M: int, T: int, T0: int, more: float
) -> None:
    def rw(slope: float, sigma: float, T: int, T0: int, xmax: float = 1.0) -> float:
        return regret_bound_random_weights(
            increment=slope,
            noise=sigma,
            dim=d,
            objectives=M,
            rounds=T,
            initial_rounds=T0,
            feature_norm=xmax,
        )

    base = rw(slope, sigma, T, T0)
    assert rw(slope, sigma, math.ceil(more * T), T0) >= base
    assert rw(slope, sigma * more, T, T0) >= base
    assert rw(slope / more, sigma, T, T0) >= base
    assert rw(slope, sigma, T, T0 + 1) > base
    assert rw(slope, sigma, T, T0, more) > base


def test_regret_bound_falls_as_alpha_shrinks_what_is_lost() -> None:
    # A smaller radius leaves more of lambda.
    gamma, bounds = 0.999, []
    for alpha in (0.01, 0.05, radius_cap(0.5, 0.999)):
        left = diversity_left(0.5, alpha, gamma)
        bounds.append(
            regret_bound_round_robin(
                diversity_left=left, noise=1.0, dim=2, objectives=2, rounds=10**4, initial_rounds=10
            )
        )
    assert bounds == sorted(bounds)


@given(
    st.floats(0.05, 1),
    slopes,
    st.floats(0, 1),
    sizes,
    sizes,
    st.integers(1, 10**9),
    st.integers(0, 1000),
)
def test_fairness_bound_written_out(
    psi: float, inc: float, sigma: float, d: int, M: int, T: int, T0: int
) -> None:
    found = fairness_bound(
        0.3, psi=psi, increment=inc, noise=sigma, dim=d, objectives=M, rounds=T, initial_rounds=T0
    )
    expected = oracle.fairness(0.3, psi, inc, sigma, d, M, T, T0)
    assert 0 <= found <= psi
    if found > 0:
        assert found == pytest.approx(expected, rel=1e-6)
    elif oracle.settled(0.3, inc, sigma, d, T, T0) < T:
        assert expected <= 0


def test_fairness_bound_is_monotone_and_tends_to_psi() -> None:
    def index(T: int = 10**7, sigma: float = 0.1, inc: float = 0.1, epsilon: float = 0.3) -> float:
        return fairness_bound(
            epsilon,
            psi=0.2,
            increment=inc,
            noise=sigma,
            dim=3,
            objectives=3,
            rounds=T,
            initial_rounds=1000,
        )

    assert index(10**5) < index(10**6) < index(10**7) < index(10**9)
    assert index(10**12) == pytest.approx(0.2, rel=1e-3)
    assert index(sigma=0.2) < index(sigma=0.1)
    assert index(inc=0.05) < index(inc=0.1)
    assert index(epsilon=0.1) < index(epsilon=0.3)
    assert index(2000) == 0


def test_fairness_with_feature_norm_is_a_change_of_units() -> None:
    # Features c times as long, parameters, noise and slack as they were times c.
    base: dict[str, Any] = {"psi": 0.2, "dim": 3, "objectives": 3, "rounds": 10**7}
    one = fairness_bound(0.3, increment=0.1, noise=0.1, initial_rounds=50, **base)
    two = fairness_bound(0.6, increment=0.4, noise=0.2, initial_rounds=50, feature_norm=2.0, **base)
    assert two == pytest.approx(one)


def test_regret_with_feature_norm_is_a_change_of_units() -> None:
    base: dict[str, Any] = {"dim": 3, "objectives": 3, "rounds": 10**5, "initial_rounds": 50}
    one = regret_bound_random_weights(increment=0.1, noise=0.1, **base)
    two = regret_bound_random_weights(increment=0.4, noise=0.2, feature_norm=2.0, **base)
    assert two == pytest.approx(2 * one)
    one = regret_bound_round_robin(diversity_left=0.1, noise=0.1, **base)
    two = regret_bound_round_robin(diversity_left=0.4, noise=0.2, feature_norm=2.0, **base)
    assert two == pytest.approx(2 * one)


@given(st.floats(0.05, 1), st.floats(0.1, 1), st.floats(0.01, 1), st.floats(0.01, 1))
def test_stochastic_versions(lam: float, share: float, phi: float, q: float) -> None:
    gamma = 1 - (1 - share) * lam**2 / 18
    left = diversity_left(lam, radius_cap(lam, gamma), gamma)
    inc = eigenvalue_increment(left, phi=phi, goodness_probability=q, objectives=3)
    assert inc == pytest.approx(lam / 3 * q * phi * 3, rel=1e-5)
    given: dict[str, Any] = {
        "noise": 0.1,
        "dim": 3,
        "objectives": 3,
        "rounds": 10**6,
        "initial_rounds": 70,
    }
    regret = regret_bound_random_weights(increment=inc, **given)
    assert regret == pytest.approx(oracle.regret_rw(inc, 0.1, 3, 3, 10**6, 70))


@given(
    st.floats(0.05, 1),
    st.floats(0.1, 1),
    st.floats(0.2, 5),
    st.floats(0.5, 2),
    st.floats(0.01, 1),
    st.floats(0.01, 1),
)
def test_stochastic_versions_for_other_norms(
    lam: float, share: float, x: float, L: float, phi: float, q: float
) -> None:
    norms: dict[str, Any] = {"feature_norm": x, "parameter_norms": (L, L)}
    needed = goodness_needed(lam * L**2, **norms)
    gamma = needed + share * (x - needed)
    alpha = radius_cap(lam * L**2, gamma, **norms)
    # Parameters of norm L: the lemma for norm 1, with alpha / L.
    expected = oracle.left_xmax(lam, alpha / L, gamma, x)
    left = diversity_left(lam * L**2, alpha, gamma, **norms)
    inc = eigenvalue_increment(left, phi=phi, goodness_probability=q, objectives=3)
    assert inc == pytest.approx(expected * q * phi * 3, rel=1e-4, abs=1e-9 * x**2)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"increment": 0.0}, "increment"),
        ({"increment": -0.1}, "increment"),
        ({"increment": math.nan}, "increment"),
        ({"noise": -1.0}, "noise"),
        ({"dim": 0}, "dim"),
        ({"objectives": 0}, "objectives"),
        ({"rounds": 0}, "rounds"),
        ({"initial_rounds": -1}, "initial_rounds"),
        ({"feature_norm": math.inf}, "feature_norm"),
        ({"parameter_norm": 0.0}, "parameter_norm"),
    ],
)
def test_refusals(changed: dict[str, Any], name: str) -> None:
    given: dict[str, Any] = {
        "increment": 0.1,
        "noise": 1.0,
        "dim": 2,
        "objectives": 2,
        "rounds": 10,
        "initial_rounds": 1,
    }
    with pytest.raises(ValueError, match=name):
        regret_bound_random_weights(**(given | changed))


def test_stochastic_refuses_contexts_that_are_never_good() -> None:
    inc = eigenvalue_increment(0.1, phi=0.1, goodness_probability=0.0, objectives=2)
    with pytest.raises(ValueError, match="increment"):
        regret_bound_random_weights(
            increment=inc, noise=0.1, dim=2, objectives=2, rounds=10, initial_rounds=1
        )
