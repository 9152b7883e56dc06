"""Where an agent lives: in memory, in a snapshot, in a journal."""

import copy
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

from mogro._validation import count, folder_or_file, real
from mogro.live.changes import Changing
from mogro.live.deciding.proposals import Proposer
from mogro.live.deciding.requests import check_id
from mogro.live.errors import DifferentSettings
from mogro.live.events import Compacted, Erased, Event, Forgotten
from mogro.live.journal import GroupCommit, check_settings, open_journal
from mogro.live.journal.clearing import decided_id
from mogro.live.logs import archive
from mogro.live.logs.reading import new_rows, read_log
from mogro.live.memory.snapshot import read, write
from mogro.live.memory.state import State
from mogro.live.memory.state_arrays import save_state
from mogro.live.objective import HalfLife, Objective
from mogro.live.offers.arms import ArmReader
from mogro.live.offers.bilinear import Bilinear
from mogro.live.offers.features import Scaling
from mogro.live.settings import MakePolicy, make_settings
from mogro.policies import MOGRO


class Kept(Changing):
    """The part of an :class:`~mogro.Agent` that keeps its state, and lets events happen to it."""

    _events: Callable[[Event], object] | None

    def _begin(self, state: State, events: Callable[[Event], object] | None) -> None:
        self._events = events
        self._lock = threading.RLock()
        self._reader = ArmReader(state.settings.mapping)
        self._group = None
        self._go_on_from(state)

    def _go_on_from(self, state: State) -> None:
        self._state = state
        self._proposer = Proposer(state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, pending decisions included; see :meth:`load`.

        The file that stood there is replaced as a whole or not at all, even by a crash. Threads
        can go on once a copy has been taken; that it is on the disk is certain when the call
        returns.
        """
        place = folder_or_file(path, "path")
        with self._current():
            numbers, arrays = save_state(self._state, placed=False)
        write(place, self._settings, numbers, arrays)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        types: Sequence[type[Any]] = (),
        events: Callable[[Event], object] | None = None,
    ) -> Self:
        """Read an agent that :meth:`save` wrote; it goes on to the bit, on the same kind of CPU.

        Parameters
        ----------
        path
            The file.
        types
            Classes of policies, scalarisations and explorations that are not mogro's own.
        events
            Told of everything that happens from now on, as for a new agent.

        Raises
        ------
        DamagedSnapshot
            With the reason.
        """
        agent = cls.__new__(cls)
        agent._begin(read(folder_or_file(path, "path"), types), events)
        return agent

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        objectives: Sequence[Objective] | None = None,
        *,
        name: str = "agent",
        dim: int | None = None,
        features: Bilinear | None = None,
        seed: int | None = None,
        policy: MakePolicy = MOGRO,
        intercept: bool = False,
        scaling: Scaling | None = None,
        half_life: HalfLife | None = None,
        capacity: int | None = None,
        retention: float | None = None,
        uniform: float = 0.0,
        patience: float | None = None,
        types: Sequence[type[Any]] = (),
        timeout: float = 60.0,
        snapshot_every: int = 5000,
    ) -> Self:
        """Open an agent that forgets nothing, and that processes can share.

        Every change is on the disk when its call returns, in a journal of events. A process that is
        killed at any moment has lost nothing that was acknowledged. Any number of processes may
        open the same journal: each decision knows all that any of them has committed before it,
        and all agree on the estimates.

        Parameters
        ----------
        path
            An SQLite file, on a disk of this machine, because network file systems do not lock
            reliably; or a PostgreSQL database, ``"postgresql://user@host/shop"`` (extra
            ``postgres``).
        objectives
            With these the agent is created if it is not there. Otherwise all settings have to be
            those that it was created with, or those that it has now, after :meth:`add`,
            :meth:`retire` and :meth:`change`; in both cases, and without objectives, it goes on as
            it is.
        name
            Of the agent, where there are several.
        dim, features, seed, policy, intercept, scaling
            As for a new agent, beside objectives.
        half_life, capacity, retention, uniform, patience
            Likewise.
        types
            Classes of policies, scalarisations and explorations that are not mogro's own.
        timeout
            Seconds to wait for other processes, or for a server, before a call fails.
        snapshot_every
            Events after which this process writes a snapshot into the journal, so that opening it
            stays quick; later where more than fifty times as many decisions are held.

        Raises
        ------
        JournalError
            With the file or database and the reason: :class:`~mogro.errors.JournalUnavailable`,
            :class:`~mogro.errors.DamagedJournal`, :class:`~mogro.errors.NewerJournal`,
            :class:`~mogro.errors.DifferentSettings`.

        Examples
        --------
        >>> import mogro, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/shop.db"
        >>> with mogro.Agent.open(path, [mogro.Objective("sales")], dim=1, seed=7) as agent:
        ...     decision = agent.decide({"a": [1.0], "b": [2.0]}, id="visit 1")
        >>> with mogro.Agent.open(path) as agent:  # later, or in another process
        ...     agent.reward("visit 1", {"sales": 4.0})
        ...     agent.theta.tolist()
        Outcome(learned=1, pending=0, revised=0, repeated=0, late=0)
        [[2.0]]
        >>> folder.cleanup()
        """
        others = (dim, features, seed, scaling, half_life, capacity, retention, patience)
        if objectives is None and (
            any(one is not None for one in others) or intercept or uniform or policy is not MOGRO
        ):
            raise ValueError("objectives: expected some beside other settings, got None")
        settings = None
        if objectives is not None:
            settings = make_settings(
                objectives,
                dim=dim,
                intercept=intercept,
                scaling=scaling,
                features=features,
                policy=policy,
                half_life=half_life,
                capacity=capacity,
                retention=retention,
                seed=count(seed, "seed", minimum=0),
                uniform=uniform,
                patience=patience,
            )
        agent = cls.__new__(cls)
        every = count(snapshot_every, "snapshot_every")
        journal, first = open_journal(path, name, settings, types=types, timeout=timeout)
        agent._begin(State(first), None)
        agent._group = GroupCommit(journal, first, snapshot_every=every, replace=agent._go_on_from)
        if settings is not None:
            now = agent._settings.to_plain()
            try:
                check_settings(journal.path, settings.to_plain(), journal.settings, now)
            except DifferentSettings:
                agent.close()
                raise
        return agent

    def forget(self, *, before: float) -> int:
        """Drop completed decisions made before a time, and return how many; learning stays."""
        event = Forgotten(real(before, "before"))
        dropped: int = self._perform(lambda: self._commit(event))
        return dropped

    def compact(self, *, before: float, to: str | os.PathLike[str] | None = None) -> int:
        """Move completed decisions made before a time out of the agent; learning stays.

        A journal does not grow for ever then: events of decisions that are no longer held, dropped
        now or before, go out of it, and a snapshot takes their place. Their ids are unknown from
        now on, as after :meth:`forget`; so a decision under one of them is a new one.

        Parameters
        ----------
        before
            The time.
        to
            A folder where they go, in a Parquet file with the columns of :meth:`log` (extra
            ``logs``); no file has a decision that another has. None: nowhere.

        Returns
        -------
        int
            How many decisions were dropped now.

        Examples
        --------
        >>> import mogro, os, tempfile
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> _ = agent.reward(agent.decide({"a": [2.0]}, now=1.0).id, {"sales": 4.0}, now=2.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     agent.compact(before=9.0, to=folder), len(os.listdir(folder))
        (1, 1)
        >>> agent.theta.tolist(), agent.decisions()
        ([[2.0]], ())
        """
        time, folder = real(before, "before"), None if to is None else folder_or_file(to, "to")
        with self._current():
            name = None if folder is None else archive.new_name(self._state.position + 1)
            event = Compacted(time, name)
            if self._group is not None:
                return archive.move_out(self._group, event, folder, lambda: self._state)
            if folder is not None and name is not None:
                gone = archive.completed_before(self._state, time)
                archive.write_draft(self.log(), gone, folder, name)
                archive.finish_drafts(folder, [name])
            dropped: int = self._commit(event)
        return dropped

    def erase(self, *ids: str) -> int:
        """Remove what was recorded of decisions, and return how many; what was learned stays.

        Nothing more is learned from what was pending. Their ids are unknown from now on. Out of a
        journal goes all that was recorded under these ids, also of decisions that were forgotten;
        what is recorded of others stays. An SQLite file is overwritten where they stood; what was
        deleted in a PostgreSQL database goes when the server cleans up; backups and archives are
        out of reach.

        Raises
        ------
        UnknownDecision
            If nothing is recorded of one of them; then none is erased.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> _ = agent.reward(agent.decide({"a": [2.0]}, id="visit 1").id, {"sales": 4.0})
        >>> agent.erase("visit 1")
        1
        >>> agent.theta.tolist(), agent.decisions()
        ([[2.0]], ())
        """
        for id in ids:
            check_id(id)
        gone = set(ids)

        def make() -> Erased:
            held = gone & self._state.ledger.rows.keys()
            left = gone - held
            if left and self._group is not None:
                left -= {decided_id(event) for _, event in self._group.events()}
            for id in left:
                self._proposer.number(id)  # raises
            return Erased(tuple(self._proposer.number(id) for id in ids if id in held))

        with self._current():
            if self._group is None:
                self._commit(make())
            else:
                self._group.clear(make, erased=gone)
        return len(gone)

    def learn(self, log: Any) -> int:
        """Take over the decisions and rewards in a log of another agent, and return how many.

        So a new agent begins with all that was known. What that agent has learned from a decision
        is learned, and nothing from what was pending there. Decisions whose id is known are left
        out, so that a log can be taken over twice; if one is not what is known under its id (arm,
        features, time, what was learned of it), nothing is taken over.

        Parameters
        ----------
        log
            A table that :meth:`log` gave, or was read from the file of :meth:`export`. What the
            learner sees of arms has to be the same there as here; objectives may differ: those that
            are not in the log count as missing, and others in it are left out.

        Examples
        --------
        >>> import mogro
        >>> old, new = (mogro.Agent([mogro.Objective("sales")], dim=1, seed=s) for s in (0, 1))
        >>> _ = old.reward(old.decide({"a": [2.0]}, id="visit 1").id, {"sales": 4.0})
        >>> new.learn(old.log())
        1
        >>> new.theta.tolist()
        [[2.0]]
        """
        settings = self._settings
        read = read_log(log, settings)

        def make() -> int:
            rows = read if settings is self._settings else read_log(log, self._settings)
            theta = self._state.learner.theta
            fresh = new_rows(rows, self._state)
            for event in fresh:
                believed = event.decision._replace(estimates=theta @ event.decision.features)
                self._commit(event._replace(decision=believed))
            return len(fresh)

        taken: int = self._perform(make)
        return taken

    def close(self) -> None:
        """Let go of the file, of an agent that was opened; everything acknowledged is in it."""
        if self._group is not None:
            self._group.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        with self._current():
            return {"state": copy.deepcopy(self._state)}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self._begin(kept["state"], None)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)
