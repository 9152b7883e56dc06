"""The command ``mogro``: diagnose a problem, evaluate a log, serve agents."""

import argparse
import csv
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mogro._validation import FloatArray, floats
from mogro._version import __version__
from mogro.agent import JournalError
from mogro.evaluation import what_if
from mogro.scalarization import RandomWeights, RoundRobin
from mogro.theory import diagnose


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="mogro", description="Multi-objective linear bandits, for problems and logs of yours."
    )
    parser.add_argument("--version", action="version", version=f"mogro {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_diagnose(commands)
    _add_evaluate(commands)
    _add_serve(commands)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except ModuleNotFoundError as error:
        sys.exit(f"Error: this needs {error.name}: pip install {error.name}")
    except (ValueError, JournalError, ImportError, OSError) as error:
        sys.exit(f"Error: {error}")


_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
_Options: TypeAlias = argparse.Namespace


def _command(commands: _Commands, run: Callable[[_Options], None]) -> argparse.ArgumentParser:
    """Add a command: the name of a function, with its documentation as help."""
    description = inspect.getdoc(run) or ""
    parser = commands.add_parser(
        run.__name__.strip("_"),
        help=description.partition("\n")[0],
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _add_diagnose(commands: _Commands) -> None:
    parser = _command(commands, _diagnose)
    parser.add_argument("features", metavar="FEATURES", type=_file)
    parser.add_argument("theta", metavar="THETA", type=_file)
    parser.add_argument(
        "--noise",
        metavar="N[,N...]",
        type=_numbers,
        required=True,
        help="standard deviation of a reward, one or one for each objective",
    )
    parser.add_argument("--rounds", type=int, required=True, help="rounds to be played")
    scalarization = parser.add_mutually_exclusive_group()
    scalarization.add_argument(
        "--weights",
        metavar="A[,A...]",
        type=_numbers,
        default=1.0,
        help="Dirichlet parameter of random weights, one or one for each objective [1]",
    )
    scalarization.add_argument(
        "--round-robin", action="store_true", help="one objective after the other, not weights"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _diagnose(options: _Options) -> None:
    """Say which assumptions of the theory a problem meets, and what it guarantees.

    FEATURES has a row for each arm, THETA a row for each objective, true or estimated, with as many
    columns; both are .npy or .csv files. For arms that change, FEATURES is a .npy file with the
    arms of at least 100 rounds, (rounds, arms, features).

      mogro diagnose arms.csv objectives.csv --noise 0.1 --rounds 10000
      mogro diagnose arms.npy theta.npy --noise 1 --rounds 5000 --round-robin --json
    """
    diagnosis = diagnose(
        read_matrix(options.features, "features", stack=True),
        read_matrix(options.theta, "theta"),
        noise=options.noise,
        rounds=options.rounds,
        scalarization=RoundRobin() if options.round_robin else RandomWeights(options.weights),
    )
    print(diagnosis.to_json() if options.json else diagnosis)


def _add_evaluate(commands: _Commands) -> None:
    parser = _command(commands, _evaluate)
    parser.add_argument("log", metavar="LOG")
    parser.add_argument(
        "--weights",
        metavar="NAME=WEIGHT,...",
        type=_named_weights,
        action="append",
        help="a trade-off, per unit of each objective; may be given again; without it, a grid",
    )


def _evaluate(options: _Options) -> None:
    """Say what other trade-offs would have been worth, from the log of an agent.

    LOG is a folder with the Parquet files of `agent.export`, one such file, or where an agent is
    kept that was opened with `Agent.open`: a file, or the address of a database. A trade-off takes
    the arm that is best for its weights by the beliefs held at each decision. What is wrong with an
    estimate is said first.

      mogro evaluate log/ --weights click=1,subscribe=4
      mogro evaluate agent.db
    """
    print(what_if(options.log, options.weights))


def _add_serve(commands: _Commands) -> None:
    parser = _command(commands, _serve)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path)
    parser.add_argument("--demo", action="store_true", help="a simulated news site drives it")
    parser.add_argument("--host", help="to listen on, instead of what the file says")
    parser.add_argument("--port", type=int, help="to listen on, instead of what the file says")
    parser.add_argument("--check", action="store_true", help="read the file, and do nothing else")
    parser.add_argument("--add-key", metavar="NAME", help="make a key, print it, and stop")
    parser.add_argument("--roles", default="admin", help="of it: decide, reward, read, admin")
    parser.add_argument("--agents", default="", help="with which it may be used; all by default")
    parser.add_argument("--remove-key", metavar="NAME", help="take a key back, and stop")


def _serve(options: _Options) -> None:
    """Serve decisions over the network: one process learns, and light clients ask it.

    FILE says in TOML which agents there are, and where they are kept; see docs/howto/serve.md.

      mogro serve shop.toml
      mogro serve shop.toml --add-key phone --roles decide,reward
      mogro serve --demo
    """
    try:
        from mogro.service import command
    except ModuleNotFoundError as error:
        raise ImportError(f"mogro serve needs {error.name}: pip install '.[serve]'") from error
    command.run(options)


def _file(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"file {text!r} does not exist")
    return Path(text)


def _numbers(text: str) -> float | tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers and commas, got {text}") from None
    return values[0] if len(values) == 1 else values


def _named_weights(text: str) -> dict[str, float]:
    """Return ``click=1,subscribe=4`` as weights by name."""
    try:
        pairs = (part.rsplit("=", 1) for part in text.split(","))
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected names and numbers such as click=1,subscribe=4, got {text}"
        ) from None


def read_matrix(path: Path, name: str, *, stack: bool = False) -> FloatArray:
    r"""Read a matrix from a ``.npy`` file or a table of numbers in a ``.csv`` file.

    A CSV file may start with a line of names, and separate values by commas, semicolons or tabs.
    ``name`` is what a refusal calls the matrix. With ``stack``, a ``.npy`` file may also hold
    several of them, (n, rows, columns).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "arms.csv"
    ...     _ = path.write_text("price,age\n1.5,0\n2,1\n")
    ...     read_matrix(path, "features")
    array([[1.5, 0. ],
           [2. , 1. ]])
    """
    readers: dict[str, Callable[[Path], ArrayLike]] = {".npy": _npy, ".csv": _csv}
    if (reader := readers.get(path.suffix.lower())) is None:
        raise ValueError(f"{name}: expected a .npy or .csv file, got {path.name}")
    try:
        values = reader(path)
        is_stack = stack and np.ndim(values) == 3
        shape = ("matrices", "rows", "columns") if is_stack else ("rows", "columns")
        return floats(values, name, shape=shape).astype(np.float64)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name}: {path.name} cannot be read: {error}") from error
    except (MemoryError, OverflowError) as error:
        raise ValueError(f"{name}: {path.name} is damaged, or too large") from error
    except ValueError as error:
        reason = str(error).removeprefix(f"{name}: ")
        raise ValueError(f"{name}: {path.name}: {reason}") from error


def _npy(path: Path) -> ArrayLike:
    # Not np.load, which takes a zip file of several arrays for one.
    with path.open("rb") as file:
        array: ArrayLike = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _csv(path: Path) -> ArrayLike:
    lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    separator = max(",;\t", key=lines[0].count) if lines else ","
    rows = list(csv.reader(lines, delimiter=separator))
    if rows and not any(map(_is_number, rows[0])):
        del rows[0]  # names
    if not rows:
        raise ValueError("expected a table of numbers, got none")
    for row in rows:
        if len(row) != len(rows[0]) or not all(map(_is_number, row)):
            raise ValueError(f"expected {len(rows[0])} numbers in every line, got {row}")
    return [[float(cell) for cell in row] for row in rows]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
