"""A grid of trade-offs from one log: together they hold what they promise."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.evaluation.worlds import Run, World, make_table, one_sided_table, small_world

import mogro
from mogro import Objective
from mogro.evaluation import WhatIf

RUNS = 100
# Below with probability 1 in 10,000 if true coverage is 94.5 %.
LEAST = 0.945 - 3.72 * np.sqrt(0.945 * 0.055 / RUNS)
EVEN = (Objective("click"), Objective("subscribe"))  # so that a grid of weights is one of choices
STEPS = 4


@pytest.fixture(scope="module")
def world() -> World:
    return replace(small_world(), objectives=EVEN)


@pytest.fixture(scope="module")
def runs(world: World) -> list[tuple[Run, WhatIf]]:
    logs = world.steady_runs(RUNS, 900, np.random.default_rng(1), uniform=0.6)
    return [(run, mogro.what_if(run.table, STEPS)) for run in logs]


def truth(world: World, run: Run, found: WhatIf) -> np.ndarray:
    return np.stack([world.value(run, list(trade_off.values())) for trade_off in found.trade_offs])


@pytest.mark.slow
def test_intervals_hold_together(world: World, runs: list[tuple[Run, WhatIf]]) -> None:
    held, widths = [], []
    for run, result in runs:
        bounds, values = result.interval(), truth(world, run, result)
        held.append(((bounds[..., 0] <= values) & (values <= bounds[..., 1])).all())
        widths.append(np.ptp(bounds, axis=-1).mean() / (2 * 1.96))
    assert np.mean(held) >= LEAST
    # Neighbours see nearly the same rows: together they cost less than Bonferroni's 2.8 / 1.96.
    spread = np.std([result.value for _, result in runs], axis=0).mean()
    assert np.mean(widths) < 1.4 * spread


@pytest.mark.slow
def test_what_is_recommended_meets_its_constraint(
    world: World, runs: list[tuple[Run, WhatIf]]
) -> None:
    # A bound between what the trade-offs give, so that there is much to get wrong.
    middle = np.mean([truth(world, run, result)[:, 0] for run, result in runs], axis=0)
    bound = float(np.sort(middle)[1]) + 1e-3
    wrong, said = [], 0
    for run, result in runs:
        sure = result.confidence(at_least={"click": bound}) >= 0.95
        wrong.append((sure & (truth(world, run, result)[:, 0] < bound)).any())
        best = result.best("subscribe", at_least={"click": bound})
        said += best.weights is not None
        if best.weights is not None:
            row = result.trade_offs.index(best.weights)
            assert sure[row]
            assert best.values["subscribe"] == result.value[sure, 1].max()
    assert np.mean(wrong) <= 1 - LEAST
    assert said > 0.2 * RUNS


@pytest.mark.slow
def test_trade_offs_that_differ_are_told_apart(
    world: World, runs: list[tuple[Run, WhatIf]]
) -> None:
    for _, result in runs[:20]:
        apart = result.distinguishable()
        assert (apart == apart.T).all()
        assert not apart.diagonal().any()
    assert np.mean([result.distinguishable()[0, -1] for _, result in runs[:20]]) > 0.8


@pytest.mark.slow
def test_equal_trade_offs_are_not_told_apart() -> None:
    """All differences are 0 where all arms are worth the same."""
    rng = np.random.default_rng(2)
    n, differ = 400, []
    for _ in range(RUNS):
        chosen = rng.integers(4, size=n)
        table = make_table(
            EVEN,
            rewards=rng.random((n, 2)),
            propensities=np.full(n, 0.25),
            chosen=chosen,
            offered=[list("abcd")] * n,
            estimates=rng.random((n, 4, 2)),
            features=np.zeros((n, 4, 1)),
        )
        differ.append(mogro.what_if(table, 3).distinguishable().any())
    assert np.mean(differ) <= 1 - LEAST


def test_a_few_rows_tell_nothing_apart() -> None:
    """Two trade-offs differ in five rows of a thousand, and there by what was believed alone."""
    n = 1000
    rng = np.random.default_rng(0)
    estimates = np.tile([[1.0, 0.0], [0.0, 0.5]], (n, 1, 1))
    estimates[5:, 1] = -1.0
    table = make_table(
        EVEN,
        rewards=rng.random((n, 2)),
        propensities=np.full(n, 0.5),
        chosen=np.zeros(n, dtype=int),
        offered=[["a", "b"]] * n,
        estimates=estimates,
        features=np.zeros((n, 2, 1)),
    )
    result = mogro.what_if(table, 1)
    assert result.effective_sizes[0, 1] == pytest.approx(5)
    assert not result.distinguishable().any()


def test_one_trade_off_is_what_evaluate_says(world: World, tmp_path: Path) -> None:
    table = next(world.steady_runs(1, 300, np.random.default_rng(0), uniform=0.5)).table
    weights = [{"click": 3, "subscribe": 1}, {"subscribe": 2}, {"click": 6, "subscribe": 2}]
    result = mogro.what_if(table, weights)
    assert result.trade_offs[0] == {"click": 0.75, "subscribe": 0.25}
    for one, own in zip(weights, result.evaluations, strict=True):
        alone = mogro.evaluate(table, one)
        np.testing.assert_allclose(own.value, alone.value)
        np.testing.assert_allclose(own.covariance, alone.covariance)
    block = result.covariance[:2, :2]
    np.testing.assert_allclose(block, result.evaluations[0].covariance, rtol=0.02)
    np.testing.assert_allclose(result.covariance[:2, 4:], block)  # the third is the first again
    assert not result.distinguishable()[0, 2]
    parquet.write_table(table.slice(0, 150), tmp_path / "0.parquet")
    parquet.write_table(table.slice(150), tmp_path / "1.parquet")
    parts = mogro.what_if(tmp_path, weights)
    np.testing.assert_allclose(parts.covariance, result.covariance, rtol=1e-9)


def test_directions(world: World) -> None:
    objectives = (Objective("click"), Objective("cost", direction="min"))
    cheap = replace(world, objectives=objectives)
    table = next(cheap.steady_runs(1, 2000, np.random.default_rng(0), uniform=0.8)).table
    result = mogro.what_if(table, 2)
    sure = result.confidence(at_most={"cost": 0.6})
    assert (sure[result.trusted] > 0.99).all()
    best = result.best("cost", at_most={"cost": 0.6})
    assert best.values["cost"] == result.value[result.trusted, 1].min()
    assert "cost at most 0.6" in str(best)
    assert "NO TRADE-OFF" in str(result.best("click", at_most={"cost": 0.0}))


PRICES = [{"click": 1.0, "cost": price} for price in (0.0, 0.5, 2.0, 20.0)]


@pytest.mark.parametrize("count", [pytest.param(100, marks=pytest.mark.slow), 20])
def test_budgets_that_prices_are_said_to_have_kept(world: World, count: int) -> None:
    objectives = (Objective("click"), Objective("cost", direction="min"))
    cheap = replace(world, objectives=objectives)
    logs = cheap.steady_runs(count, 1200, np.random.default_rng(2), uniform=0.6)
    held = []
    for run in logs:
        result = mogro.what_if(run.table, PRICES)
        costs, bounds = truth(cheap, run, result)[:, 1], result.kept_bounds("cost")
        assert result.trusted.any()
        held.append((costs <= bounds)[result.trusted].all())
        # A bound that says nothing would hold, too: it is near what was estimated.
        assert (bounds - result.value[:, 1])[result.trusted].max() < 0.2
    # Below with probability 1 in 10,000 if true coverage is 94.5 %.
    assert np.mean(held) >= 0.945 - 3.72 * np.sqrt(0.945 * 0.055 / count)


def test_without_support_nothing_looks_fine() -> None:
    table = one_sided_table()
    result = mogro.what_if(table, 1)
    assert "NO SUPPORT" in str(result).splitlines()[0]
    assert "no estimate" in str(result)
    assert result.confidence(at_least={"click": 0.5}).tolist() == [0.0, 0.0]
    assert result.best("subscribe").weights is None
    assert not result.distinguishable().any()
    assert np.isnan(result.interval()[1]).all()


@pytest.mark.parametrize(
    ("objectives", "steps", "size"), [(1, None, 1), (2, None, 21), (3, None, 21), (3, 2, 6)]
)
def test_grids(objectives: int, steps: int | None, size: int) -> None:
    n = 50
    rng = np.random.default_rng(0)
    names = [Objective(f"o{m}") for m in range(objectives)]
    table = make_table(
        names,
        rewards=rng.random((n, objectives)),
        propensities=np.full(n, 0.5),
        chosen=rng.integers(2, size=n),
        offered=[["a", "b"]] * n,
        estimates=rng.random((n, 2, objectives)),
        features=np.zeros((n, 2, 1)),
    )
    result = mogro.what_if(table, steps)
    assert len(result.trade_offs) == size
    assert all(sum(trade_off.values()) == pytest.approx(1) for trade_off in result.trade_offs)
    assert result.interval().shape == (size, objectives, 2)


def test_refusals(world: World) -> None:
    table: pa.Table = next(world.steady_runs(1, 30, np.random.default_rng(0), uniform=0.5)).table
    for given, words in (([], "1 to 200"), (0, "integer >= 1"), ([{"c": 1}], "objectives")):
        with pytest.raises(ValueError, match=words):
            mogro.what_if(table, given)
    result = mogro.what_if(table, 1)
    with pytest.raises(ValueError, match="objective: expected one of"):
        result.best("clicks")
    with pytest.raises(ValueError, match="at_most: expected one of"):
        result.confidence(at_most={"clicks": 1.0})


def test_what_cannot_be_asked_is_refused(world: World) -> None:
    table = next(world.steady_runs(1, 60, np.random.default_rng(0), uniform=0.6)).table
    result = mogro.what_if(table, cast("int", np.int64(2)))
    assert len(result.trade_offs) == 3
    assert str(result.best("click")) == "NO TRADE-OFF has an estimate that can be trusted"
    for ask in (result.interval, result.distinguishable):
        with pytest.raises(ValueError, match=r"level: expected a number in \(0, 1\)"):
            ask(1.0)
    for wrong in ({"click": 1.0}, "click"):
        with pytest.raises(ValueError, match="trade_offs: expected a list"):
            mogro.what_if(table, wrong)  # type: ignore[arg-type]
