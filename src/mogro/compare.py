"""Policies side by side in the same environments, on one processor or many."""

import contextlib
import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from mogro._validation import count, folder_or_file
from mogro.comparison import Comparison
from mogro.environments import Environment
from mogro.simulation import MakePolicy, Trace, simulate
from mogro.simulation._learners import WrongPolicyError
from mogro.simulation.measures import Measures
from mogro.simulation.run import Probe, Until


def compare(
    policies: Mapping[str, MakePolicy],
    environment: Environment | Sequence[Environment],
    *,
    rounds: int,
    repeats: int = 20,
    seed: int = 0,
    measures: Measures = (),
    checkpoints: Sequence[int] | None = None,
    probe: Probe | None = None,
    until: Until | None = None,
    workers: int | Executor = 1,
    folder: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Let several policies play in the same environment, and compare regrets and other measures.

    Every policy meets the same contexts and the same noise, and none is disturbed by the others.

    Parameters
    ----------
    policies
        What makes each policy, by name; see :func:`mogro.simulate`. One of your own is a class
        with ``__init__(dim, objectives)``, ``select(features, *, rng)`` and
        ``update(features, reward)``.
    environment
        One instance, or several of equal sizes.
    rounds, repeats, seed, checkpoints, probe, until
        As for :func:`mogro.simulate`; what the probe saw is in the traces.
    measures
        What to measure beside the regrets: functions of true means, rewards and pulls, see
        :mod:`mogro.simulation.measures`; in a dict, under names of your choice.
    workers
        Processes that share the policies, or an executor of your own: that of a cluster, such as
        ``distributed.Client(...).get_executor()``. What they are given has to be picklable.
    folder
        Where to keep the trace of every policy as soon as it is finished. Called again, with
        equal arguments, only those play that are not there. Delete it after a change of the code
        of a policy.

    Returns
    -------
    Comparison
        A table that prints itself; ``plot()`` draws. With a single run
        the table has numbers without intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import mogro
    >>> rng = np.random.default_rng(0)
    >>> world = mogro.environments.FixedArms.sample(5, 50, 5, noise=0.1, rng=rng)
    >>> comparison = mogro.compare(
    ...     {"MOGRO": mogro.MOGRO, "epsilon-greedy": mogro.EpsilonGreedy},
    ...     world,
    ...     rounds=300,
    ...     repeats=5,
    ... )
    >>> regret = {name: row["effective_regret"].value for name, row in comparison.table.items()}
    >>> regret["MOGRO"] < regret["epsilon-greedy"]
    True
    """
    _check_policies(policies)
    directory = None if folder is None else _read_folder(folder)
    settings: dict[str, Any] = {
        "rounds": rounds,
        "repeats": repeats,
        "seed": seed,
        "checkpoints": checkpoints,
        "probe": probe,
        "measures": measures,
        "until": until,
    }
    traces, tasks = {}, {}
    for name, make in policies.items():
        path = None
        if directory is not None:
            path = _trace_path(directory, name, (make, environment, settings))
        if path is not None and path.exists():
            traces[name] = Trace.load(path)
        else:
            tasks[name] = partial(_play, make, environment, settings, path)
    traces |= _run(tasks, workers)
    return Comparison({name: traces[name] for name in policies})


def _play(make: MakePolicy, environment: Any, settings: dict[str, Any], path: Path | None) -> Trace:
    """Let one policy play, and keep its trace."""
    trace = simulate(make, environment, **settings)
    if path is not None:
        trace.save(path)
    return trace


def _run(tasks: Mapping[str, Callable[[], Trace]], workers: int | Executor) -> dict[str, Trace]:
    """Run tasks by name. All that were handed out finish before one that failed is named."""
    with contextlib.ExitStack() as stack:
        if not isinstance(workers, Executor) and count(workers, "workers") > 1 and len(tasks) > 1:
            pool = ProcessPoolExecutor(min(workers, len(tasks)), get_context("spawn"))
            workers = stack.enter_context(pool)
        if isinstance(workers, Executor):
            tasks = {name: workers.submit(task).result for name, task in tasks.items()}
        return {name: _finish(name, task) for name, task in tasks.items()}


def _finish(name: str, task: Callable[[], Trace]) -> Trace:
    """Return what a task gives, or name the policy that failed."""
    try:
        return task()
    except WrongPolicyError as error:
        raise ValueError(f"policies[{name!r}]: {error.args[0]}") from None
    except Exception as error:
        error.add_note(f"in policies[{name!r}]")
        raise


def _read_folder(folder: object) -> Path:
    path = folder_or_file(folder, "folder")
    if path.exists() and not path.is_dir():
        raise ValueError(f"folder: expected a folder, got the file {str(path)!r}")
    return path


def _trace_path(folder: Path, name: str, arguments: object) -> Path:
    """Return where the trace of a policy is kept; other arguments have another place."""
    try:
        key = sha256(pickle.dumps(arguments)).hexdigest()[:16]
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"folder: expected policies[{name!r}], environment and measures that can be pickled "
            f"(functions of a module, no lambdas): {error}"
        ) from None
    readable_name = "".join(letter if letter.isalnum() else "-" for letter in name)
    return folder / f"{readable_name}-{key}.npz"


def _check_policies(policies: object) -> None:
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError(
            f"policies: expected a dict of name to policy class or function, got {policies!r}"
        )
    for name, make in policies.items():
        if not isinstance(name, str):
            raise ValueError(f"policies: expected names that are strings, got {name!r}")
        if not callable(make):
            raise ValueError(
                f"policies[{name!r}]: expected a policy class or function, got {make!r}"
            )
