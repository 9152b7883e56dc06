"""``mogro diagnose`` and ``evaluate``: what can be said of a problem and a log of one's own."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from mogro._matrices import read_matrix
from mogro._page import document
from mogro.evaluation import make_page, what_if
from mogro.live import Agent, JournalError
from mogro.scalarization import RandomWeights, RoundRobin
from mogro.theory import diagnose as run_diagnosis

_MATRIX = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("diagnose")
@click.argument("features", type=_MATRIX)
@click.argument("theta", type=_MATRIX)
@click.option("--noise", type=float, required=True, help="Standard deviation of a reward.")
@click.option("--rounds", type=click.IntRange(1), required=True, help="Rounds to be played.")
@click.option(
    "--weights",
    metavar="A[,A...]",
    help="Random weights are Dirichlet with this parameter, or one for each objective [1].",
)
@click.option("--round-robin", is_flag=True, help="One objective after the other, not weights.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page.")
def diagnose(
    features: Path,
    theta: Path,
    noise: float,
    rounds: int,
    weights: str | None,
    round_robin: bool,
    as_json: bool,
    html: Path | None,
) -> None:
    """Say whether greedy suffices for a problem, what the theory promises, and what to run.

    FEATURES has a row for each arm, THETA a row for each objective, true or estimated, with as many
    columns; both are .npy or .csv files. For arms that change, FEATURES is a .npy file with the
    arms of at least 100 rounds, (rounds, arms, features).

    \b
    mogro diagnose arms.csv objectives.csv --noise 0.1 --rounds 10000
    mogro diagnose arms.npy theta.npy --noise 1 --rounds 5000 --round-robin --json
    """  # noqa: D301
    if round_robin and weights is not None:
        raise click.UsageError("--weights are for random weights, not for --round-robin: give one")
    try:
        found = run_diagnosis(
            read_matrix(features, "features", stack=True),
            read_matrix(theta, "theta"),
            noise=noise,
            rounds=rounds,
            scalarization=RoundRobin() if round_robin else RandomWeights(_concentration(weights)),
        )
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    click.echo(found.to_json() if as_json else str(found))
    if html is not None:
        _write_page(document("mogro: diagnosis", found._repr_html_()), html)


def _concentration(text: str | None) -> float | tuple[float, ...]:
    try:
        values = [float(part) for part in (text or "1").split(",")]
    except ValueError as error:
        raise click.UsageError(f"--weights: expected numbers and commas, got {text}") from error
    return values[0] if len(values) == 1 else tuple(values)


@click.command("evaluate")
@click.argument("log")
@click.option(
    "--weights",
    multiple=True,
    metavar="NAME=WEIGHT,...",
    help="A trade-off, per unit of each objective; may be given again. Without it, a grid.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page.")
def evaluate(log: str, weights: Sequence[str], html: Path | None) -> None:
    """Say what other trade-offs would have been worth, from the log of an agent.

    LOG is a folder with the Parquet files of `agent.export`, one such file, or where an agent is
    kept that was opened with `Agent.open`: a file, or the address of a database. A trade-off takes
    the arm that is best for its weights by the beliefs held at each decision. What is wrong with an
    estimate is said first.

    \b
    mogro evaluate log/ --weights click=1,subscribe=4
    mogro evaluate agent.db --html what-if.html
    """  # noqa: D301
    trade_offs = [_named_weights(each) for each in weights]
    try:
        with _rows_of(log) as rows:
            click.echo(str(what_if(rows, trade_offs or None)))
            page = None if html is None else make_page(rows, trade_offs)
    except (ValueError, JournalError, ImportError) as error:
        raise click.ClickException(str(error)) from error
    if page is not None and html is not None:
        _write_page(page, html)


@contextlib.contextmanager
def _rows_of(log: str) -> Iterator[object]:
    """Return what holds the rows: Parquet files, or the table of an agent."""
    if Path(log).is_dir() or log.endswith(".parquet"):
        yield log
        return
    with Agent.open(log) as agent:
        yield agent.log()


def _named_weights(text: str) -> dict[str, float]:
    """Return ``click=1,subscribe=4`` as weights by name."""
    try:
        pairs = (part.rsplit("=", 1) for part in text.split(","))
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError as error:
        raise click.UsageError(
            f"--weights: expected names and numbers such as click=1,subscribe=4, got {text}"
        ) from error


def _write_page(page: str, path: Path) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"--html: {error}") from error
