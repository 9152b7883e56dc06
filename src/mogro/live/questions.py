"""What can be asked of an agent: nothing changes by it."""

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mogro._files import write_whole
from mogro._validation import FloatArray, folder_or_file
from mogro.live import views
from mogro.live.deciding.decisions import Decision, DecisionRecord
from mogro.live.deciding.proposals import Proposer
from mogro.live.deciding.requests import check_id
from mogro.live.events import Decided, Event, Offered
from mogro.live.journal import GroupCommit
from mogro.live.logs.log import make_log, replayed, write_log
from mogro.live.memory.state import State
from mogro.live.objective import Objective
from mogro.live.offers.arms import ArmReader, Arms, Context, Features
from mogro.live.offers.bilinear import Bilinear
from mogro.live.report import last_arms, make_report
from mogro.live.settings import Settings

if TYPE_CHECKING:
    from mogro.theory import Diagnosis


class Questions:
    """The half of an :class:`~mogro.Agent` that changes nothing."""

    _state: State
    _proposer: Proposer
    _reader: ArmReader
    _lock: threading.RLock
    _group: GroupCommit | None  # with a journal
    _perform: Callable[..., Any]  # see Agent
    _commit: Callable[[Event], Any]

    @property
    def _settings(self) -> Settings:
        return self._state.settings

    def _current(self) -> AbstractContextManager[object]:
        """Keep the state as it is; with a journal, as the last event committed left it."""
        return self._lock if self._group is None else self._group.current()

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What decisions should be good at."""
        return self._settings.units.objectives

    @property
    def theta(self) -> FloatArray:
        """Estimated change of each objective per feature, (M, d), in the user's units.

        With :class:`~mogro.Bilinear` features are the products that it names.
        """
        return self._lines()[0]

    @property
    def intercept(self) -> FloatArray:
        """Estimate of each objective for features of zero, (M,), in the user's units."""
        return self._lines()[1]

    @property
    def counters(self) -> dict[str, int]:
        """What has happened so far, and how many decisions are held."""
        with self._current():
            held, done = len(self._state.ledger), len(self._state.ledger.completed)
            return asdict(self._state.counters) | {"pending": held - done, "completed": done}

    @property
    def observations(self) -> dict[str, float]:
        """The effective number of observations of each objective: the sum of their weights.

        With a half-life in time, as of the latest time that the agent was told.
        """
        with self._current():
            return self._settings.units.named(self._state.learner.effective)

    def estimate(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
    ) -> views.Estimates:
        """Return what is believed of arms, with standard errors, in the user's units.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> for value in (1.0, 3.0):
        ...     outcome = agent.reward(agent.decide({"a": [1.0]}).id, {"sales": value})
        >>> agent.estimate({"a": [1.0], "b": [2.0]})
        arm  sales
        a    2 ± 1
        b    4 ± 2
        """
        offered = self._reader.read(arms, features, context=context)
        with self._current():
            return views.estimates(offered, self._state.learner, self._settings)

    def decision(self, id: str) -> DecisionRecord:
        """Return a decision and what has become of it.

        With a journal it comes with what it was based on, also after a restart: it can be asked for
        its propensity, and explained, unless the objectives have changed since.

        Raises
        ------
        UnknownDecision
            If it was never made, or is forgotten.
        """
        check_id(id)
        with self._current():
            record = self._proposer.record(id)
            if self._group is None:
                return record
            position = self._proposer.position(id)
            if position <= self._state.changed:  # other objectives
                return record
            event = self._group.event(position)
            if not isinstance(event, Decided) or event.id != id or event.evidence is None:
                return record
            offered = self._group.event(event.evidence.offered)
            if not isinstance(offered, Offered):
                return record
            return record._replace(decision=self._proposer.again(event, offered))

    def decisions(self, *, pending: bool | None = None) -> tuple[DecisionRecord, ...]:
        """Return all decisions that are held, in order; only those with something pending, or not.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> decision = agent.decide({"a": [1.0]})
        >>> [record.status for record in agent.decisions(pending=True)]
        [{'sales': 'pending'}]
        """
        with self._current():
            ledger = self._state.ledger
            rows = ledger.live() if pending is not True else ledger.pending()
            records = [self._proposer.record(ledger.ids[row]) for row in rows.tolist()]
        return tuple(one for one in records if pending is None or one.pending == pending)

    def agreement(self) -> float | None:
        """Return how often the agent would have chosen as others did, lately.

        None before the first. It is the mean probability of the arms in :meth:`observe`, as it was
        then; each counts for half after a hundred further ones.
        """
        with self._current():
            total, weight = self._state.agreement
        return total / weight if weight else None

    def log(self, *, largest: int = 1000) -> Any:
        """Return all decisions with their rewards as an Arrow table, one row each, in order.

        With a journal these are all decisions that are in it, and what they were based on, so that
        other policies can be judged by them; in memory, those that are held. The columns are
        described in :mod:`mogro.live.logs.log`. It takes pyarrow (``pip install mogro[logs]``).

        Parameters
        ----------
        largest
            Where more arms than this were on offer, they are left out (null): a large catalogue in
            every row would take more memory than there is.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> _ = agent.reward(agent.decide({"a": [1.0]}, id="visit 1").id, {"sales": 4.0})
        >>> agent.log().select(["id", "arm", "reward_sales", "status_sales"]).to_pylist()
        [{'id': 'visit 1', 'arm': 'a', 'reward_sales': 4.0, 'status_sales': 'learned'}]
        """
        with self._current():
            if self._group is None:
                return make_log(self._state, None, largest=largest)
            return make_log(*replayed(self._group.settings, self._group.events()), largest=largest)

    def export(self, folder: str | os.PathLike[str], *, largest: int = 1000) -> Path:
        """Write :meth:`log` to ``decisions.parquet`` in a folder, and return the file's path."""
        place = folder_or_file(folder, "folder")
        return write_log(self.log(largest=largest), place)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page for those who ask how the agent is doing; it opens from a file.

        Objectives over time, arms and how often they were chosen, exploration, rewards that are
        pending or came late, what was not expected, and the features that matter. It takes pyarrow
        (``pip install mogro[logs]``); with a journal there is more on it.

        Examples
        --------
        >>> import mogro, tempfile
        >>> agent = mogro.Agent([mogro.Objective("sales")], dim=1, seed=0)
        >>> for value in (4.0, 3.0):
        ...     _ = agent.reward(agent.decide({"a": [1.0]}).id, {"sales": value})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     agent.report(folder + "/agent.html")
        """
        place = folder_or_file(path, "path")
        table = self.log()
        offered = last_arms(table)
        known = None
        if offered is not None:
            known = self.estimate(offered.ids, offered.features, context=offered.context)
        with self._current():
            theta, lead = self._state.learner.theta, views.text(self._state).splitlines()[0]
        mapping = self._settings.mapping
        plain = [f"feature {j}" for j in range(theta.shape[1])]
        page = make_report(
            table,
            self._settings.units,
            lead=lead,
            theta=theta,
            names=mapping.names if isinstance(mapping, Bilinear) else plain,
            estimates=known,
        )
        with write_whole(place) as file:
            file.write(page.encode())

    def front(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
    ) -> views.Front:
        """Return the estimated effective front of some arms, with each one's share of weights.

        It belongs to the estimates: with few observations it may be far from the true one.

        Examples
        --------
        >>> import mogro
        >>> agent = mogro.Agent([mogro.Objective("taste"), mogro.Objective("price",
        ...     direction="min")], dim=2, seed=0)
        >>> arms = {"cake": [1.0, 0.0], "bread": [0.0, 1.0]}
        >>> for name, taste, price in (("cake", 5.0, 4.0), ("bread", 1.0, 2.0)):
        ...     decision = agent.decide(arms, eligible=[name == arm for arm in arms])
        ...     outcome = agent.reward(decision.id, {"taste": taste, "price": price})
        >>> agent.front(arms)
        arm    taste  price  share of weights
        cake   5      4      66...%
        bread  1      2      33...%
        """
        offered = self._reader.read(arms, features, context=context)
        with self._current():
            theta = self._state.learner.theta
        return views.learned_front(offered, theta, self._settings)

    def explain(self, decision: Decision) -> views.Explanation:
        """Say what an arm was chosen over, and on which objectives it led, by what was known."""
        return views.explain(decision)

    def diagnose(
        self,
        arms: Arms,
        features: Features | None = None,
        *,
        context: Context | None = None,
        rounds: int,
    ) -> "Diagnosis":
        """Say which assumptions of the theory these arms meet, by the estimates so far.

        Noise is taken from the residuals, the largest of all objectives in units; features are as
        the learner sees them. See :func:`mogro.theory.diagnose`.
        """
        offered = self._reader.read(arms, features, context=context)
        with self._current():
            theta, noise = self._state.learner.theta, self._state.learner.noise
        return views.diagnosis(offered, theta, noise, self._settings, rounds=rounds)

    def __repr__(self) -> str:
        with self._current():
            return views.text(self._state)

    def _repr_html_(self) -> str:
        with self._current():
            return views.html(self._state)

    def _lines(self) -> tuple[FloatArray, FloatArray]:
        with self._current():
            theta = self._state.learner.theta
        units = self._settings.units
        slopes, constants = self._settings.mapping.lines(theta)
        return slopes * units.scale[:, None], units.outward(constants)
