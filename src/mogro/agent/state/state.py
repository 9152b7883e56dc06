"""All that changes in an agent, and the one place where it changes: :meth:`State.apply`.

The state follows from the events alone: there is no clock, no randomness and no policy here, and
no file. Any event can be applied at any time; one that was overtaken by another applies as what it
then is, and :meth:`State.apply` says what that was. An event that is refused changes nothing.
"""

import copy
import math
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from mogro._derived_posteriors import with_objectives
from mogro._validation import FloatArray
from mogro.agent import events
from mogro.agent.config import AgentConfig
from mogro.agent.errors import UnknownDecision
from mogro.agent.objective import DEFAULTED, LEARNED, PENDING, STATUS, UNMET, WITHDRAWN
from mogro.agent.objective_set import ObjectiveSet
from mogro.agent.state.accounts import Account, SpentAmount, new_accounts
from mogro.agent.state.block import COUNTED, IMPORTED, Block
from mogro.agent.state.counters import Counters, Outcome, Reconfiguration
from mogro.agent.state.learner import ClosingWindows, Learner
from mogro.agent.state.ledger import Ledger
from mogro.agent.state.relearning import (
    carry_over,
    learn_again,
    moved_objectives,
    observations,
    remapped_features,
    replaced_defaults,
)
from mogro.agent.state.rewards import Rewards, find_conflict, receive, reopen
from mogro.agent.state.windows import Windows, find_windows

T = TypeVar("T")

# Settings by which all is learned again.
_RELEARNING_SETTINGS = frozenset(
    ("arms", "context", "interactions", "prior", "half_life", "arm_effects")
)
_SPARE_ARMS = 1024  # whose effects are kept beside twice as many as decisions are held
_MAX_OFFERS = 1024  # sets of arms that are known to have been written down, the last ones


class State:
    """What an agent knows: decisions and their rewards, what was learned, what is in flight."""

    def __init__(self, config: AgentConfig) -> None:
        self.config = config
        self.objective_set: ObjectiveSet = config.objective_set
        self.learner = new_learner(config)
        sizes = config.features.learner_dim, len(self.objective_set)
        self.ledger = Ledger(*sizes, stamped=self.objective_set.windowed)
        self.counters = Counters()
        self.accounts = new_accounts(config.budgets, config.half_life)
        self.time = -math.inf  # the latest seen
        self.ids_made = 0  # of ids that the agent made up
        self.changes: list[int] = []  # positions of events that changed the configuration
        self.offers: dict[str, int] = {}  # positions of arms that were written down, by digest
        # Defaults that were learned once, by the decision's number and the objective, which has
        # another now.
        self.defaults: dict[tuple[int, str], float] = {}
        # Decisions that are not completed, by arm, where arms have effects.
        self.pending_by_arm: Counter[str] = Counter()
        self._windows = Windows()
        # For a time, with what closes until then: see preview.
        self._prepared_learner: tuple[float, Learner, ClosingWindows | None] | None = None

    def apply(self, event: events.Event) -> Any:
        """Apply an event, and return its result.

        Of a reward that is the :class:`Outcome`; of a decision or an activation whether it is new;
        of the others, how many windows closed, objectives were withdrawn or decisions dropped. What
        is refused is returned as the exception that says why, and nothing has changed.
        """
        self.ledger.position += 1
        result = self._apply[type(event)](self, event)
        if isinstance(result, Exception):
            self.ledger.position -= 1
        return result

    @property
    def position(self) -> int:
        """That of the last event, or the one that is happening."""
        return self.ledger.position

    def skip(self, event: events.Event) -> None:
        """Go on as if an event had not happened; an id that was made up for it stays taken."""
        self.ledger.position += 1
        if isinstance(event, events.Decided) and event.id_number is not None:
            self.ids_made = max(self.ids_made, event.id_number + 1)

    def learn_prior(self) -> None:
        """Learn the prior anew if it is due, where no event says what came of it."""
        observed = self.learner.observed
        while observed.due:
            self.learner.learn_prior(self.learner.evidence())
            observed = self.learner.observed

    def freeze(self) -> "State":
        """Return the state as it is now: it can be read at any time, while this one goes on."""
        other = copy.copy(self)
        other.ledger, other.learner = self.ledger.freeze(), self.learner.copy()
        other.counters, other.changes = copy.copy(self.counters), self.changes.copy()
        other.accounts = [account.copy() for account in self.accounts]
        other.offers, other.defaults = self.offers.copy(), self.defaults.copy()
        other.pending_by_arm = self.pending_by_arm.copy()
        return other

    def preview(self, time: float | None) -> tuple[Learner, list[Account]]:
        """Return learner and accounts as an event of a time will find them.

        Nothing is learned yet; what was computed is kept for that event.
        """
        if time is None:
            return self.learner, self.accounts
        now = max(time, self.time)
        closing = self._windows.closing(now, self.ledger, self.objective_set)
        if closing is None and not self.learner.decays_until(now):
            return self.learner, self.accounts
        learner, accounts = self.learner.copy(), self.accounts
        learner.advance(now)
        if closing is not None:
            learner.learn_closing(closing)
            accounts = [account.copy() for account in accounts]
            for row, states in closing.states.items() if accounts else ():
                block, i = self.ledger.readable(row)
                self._recount_spending(block, i, self._spent_amounts(block, i), accounts, states)
        self._prepared_learner = now, learner, closing
        return learner, accounts

    def accounts_after(
        self, accounts: list[Account], event: events.Decided, before: int
    ) -> list[Account]:
        """Return accounts after a decision that is not made yet; so many come before it."""
        copies = [account.copy() for account in accounts]
        self._spend(copies, event, self.counters.decisions + before)
        return copies

    def _spend(self, accounts: list[Account], event: events.Decided, number: int) -> None:
        record = event.budget_record
        if record is not None:
            expected = self.config.spending.expected(event.estimates)
            for index, account in enumerate(accounts):
                account.decide(number, expected[index], record, index, event.time or 0.0)

    def _decided(self, event: events.Decided) -> bool:
        ledger, counters, made = self.ledger, self.counters, event.time or 0.0
        if ledger.rows_by_id.get(event.id) is not None:
            return False
        self._advance(event.time)
        number = counters.decisions
        row = ledger.store(event, number)
        counters.decisions = number + 1
        counters.explored += event.exploring
        counters.observed += event.made_elsewhere
        if event.id_number is not None and event.id_number >= self.ids_made:
            self.ids_made = event.id_number + 1
        end = made + (self.objective_set.shortest_window if event.active else self.config.timeout)
        if end < math.inf:
            self._windows.add(end, number, row)
        block, i = ledger.readable(row)
        self.learner.add_pending(number, block.features[i].copy(), made)
        if self.config.arm_effects:
            self.pending_by_arm[event.arm] += 1
        if self.accounts:
            self._spend(self.accounts, event, number)
        return True

    def _imported(self, event: events.Imported) -> bool:
        """Take over a decision with what has become of it, as that agent has learned it."""
        if not self._decided(event.decision):
            return False
        row = self.ledger.rows_by_id.get(event.decision.id)
        assert row is not None
        block, i = self.ledger.writable(row)
        block.flags[i] |= IMPORTED
        values, states = [math.nan] * len(self.objective_set), list[int]()
        for m, name in enumerate(self.objective_set.names):
            state, value = STATUS.index(event.status.get(name, "missing")), event.values.get(name)
            if value is not None and state != DEFAULTED:
                values[m] = value
            elif value is not None and value != self.objective_set.defaults[m]:
                self.defaults[block.number.item(i), name] = value
            if self.objective_set.windowed and name in event.times:
                block.stamps[i, m] = event.times[name]
            states.append(state)
        self._settle(row, states, values)
        return True

    def _rewarded(self, event: events.Rewarded) -> Outcome | ValueError:
        objective_set, row = self.objective_set, self.ledger.rows_by_id.get(event.id)
        if row is None:
            return _unknown_decision(event.id)
        block, i = self.ledger.readable(row)
        if (
            objective_set.final_on_arrival
            and event.values.keys() == objective_set.index.keys()
            and not any(block.statuses[i].tolist())  # all are PENDING, which is 0
            and block.start.item(i) < math.inf
        ):  # all that a decision waits for, to be learned at once: most
            self._advance(event.time)
            return self._learn_all(event, row)
        conflict = find_conflict(objective_set, block.values[i].tolist(), event.values)
        if conflict is not None:
            return conflict
        self._advance(event.time)
        if self.ledger.rows_by_id.get(event.id) != row:  # it was completed just now, and dropped
            outcome = Outcome(late=len(event.values))
        else:
            outcome = self._learn_parts(event, row)
        counters = self.counters
        counters.revised += outcome.revised
        counters.repeated += outcome.repeated
        counters.late += outcome.late
        return outcome

    def _learn_all(self, event: events.Rewarded, row: int) -> Outcome:
        """Learn every objective of a decision at once."""
        objective_set, (block, i) = self.objective_set, self.ledger.writable(row)
        block.statuses[i] = LEARNED
        block.values[i] = received = list(map(event.values.__getitem__, objective_set.names))
        number, time, arm = block.number.item(i), block.time.item(i), self.ledger.arms[row]
        if self.accounts and block.flags.item(i) & COUNTED:
            spending = self.config.spending
            guesses, spends = spending.expected(block.estimates[i]), spending.spent(received)
            for account, guess, spent in zip(self.accounts, guesses, spends, strict=True):
                account.change(number, (guess, True), (spent, False))
        y: FloatArray = block.values[i]
        if not objective_set.plain:
            y = objective_set.to_learner_units(y)
        self.learner.learn(number, block.features[i], y, None, time, arm)
        self.counters.learned += len(y)
        self._complete(row)
        return Outcome(len(y))

    def _learn_parts(self, event: events.Rewarded, row: int) -> Outcome:
        """Take over the values given for a decision, and learn those that are final.

        Late values teach what they would have taught in time. What follows from them by conditions
        is decided anew, too: it may be learned, taken out, or waited for again.
        """
        objective_set, (block, i) = self.objective_set, self.ledger.writable(row)
        states, start = block.statuses[i].tolist(), block.start.item(i)
        rewards = Rewards(states, block.values[i].tolist(), block.stamps[i].tolist(), start)
        received = receive(objective_set, rewards, event, self.time, self.config.correction_time)
        block.stamps[i] = received.stamps
        timely_states = states.copy()
        if start < math.inf:
            objective_set.resolve(timely_states, received.values, start, self.time)
        final_states, reopened = reopen(objective_set, timely_states, received.corrected)
        if reopened:
            objective_set.resolve(final_states, received.values, start, self.time)
        self._settle(row, final_states, received.values, reopened)
        return received.outcome(states, timely_states, final_states)

    def _settle(
        self,
        row: int,
        states: list[int],
        values: list[float] | None = None,
        reopened: Collection[int] = (),
    ) -> None:
        """Let states and values of a decision be these; the learner learns what differs by them.

        Of objectives that were reopened, a default is the one that counts now.
        """
        objective_set, (block, i) = self.objective_set, self.ledger.writable(row)
        number, time, start = block.number.item(i), block.time.item(i), block.start.item(i)
        x, arm, before = block.features[i], self.ledger.arms[row], block.statuses[i].tolist()
        learned_before, amounts = self._learned_values(block, i), self._spent_amounts(block, i)
        for m in reopened:
            self.defaults.pop((number, objective_set.names[m]), None)
        block.statuses[i] = states
        if values is not None:
            block.values[i] = values
        learned_now = self._learned_values(block, i)
        removed = [pair for pair in learned_before.items() if learned_now.get(pair[0]) != pair[1]]
        added = [pair for pair in learned_now.items() if learned_before.get(pair[0]) != pair[1]]
        was_pending, is_pending = np.array(before) == PENDING, np.array(states) == PENDING
        arrived = was_pending & ~is_pending
        corrected = {m for m, _ in (*removed, *added) if before[m] != PENDING}
        if corrected:
            self.learner.correct(number, x, removed, added, time, arm)
        elif added:
            mask, y = np.zeros_like(was_pending), np.zeros(len(states))
            for m, value in added:
                mask[m], y[m] = True, value
            self.learner.learn(number, x, y, None if mask.all() else mask, time, arm)
            arrived &= ~mask
        if arrived.any():
            self.learner.remove_pending(x[None], arrived[None], np.array([time]))
        reopened_mask = is_pending & ~was_pending
        if reopened_mask.any():
            self.learner.add_pending_rows(x[None], reopened_mask[None], np.array([time]))
            self._windows.add(objective_set.next_closing(states, start, self.time), number, row)
        self._recount_spending(block, i, amounts)
        self.counters.count(before, states)
        self.counters.corrected += len(corrected)
        if was_pending.any() and not is_pending.any():
            self._complete(row)
        elif is_pending.any() and not was_pending.any():
            self.ledger.reopen(row)
            if self.config.arm_effects:
                self.pending_by_arm[arm] += 1

    def _learned_values(self, block: Block, i: int) -> dict[int, float]:
        """Return what was learned of a decision, by objective, as the learner sees it."""
        objective_set, learned, values = self.objective_set, {}, block.values[i].tolist()
        for m, state in enumerate(block.statuses[i].tolist()):
            if state in (LEARNED, DEFAULTED):
                value = values[m] if state == LEARNED else self._default(block, i, m)
                learned[m] = (value - objective_set.offsets[m]) / objective_set.slopes[m]
        return learned

    def _default(self, block: Block, i: int, m: int) -> float:
        """Return the default that was learned of a decision."""
        key = block.number.item(i), self.objective_set.names[m]
        default = self.defaults.get(key, self.objective_set.defaults[m])
        assert default is not None
        return default

    def _activated(self, event: events.Activated) -> bool | ValueError:
        if event.id not in self.ledger.rows_by_id:
            return _unknown_decision(event.id)
        self._advance(event.time)
        row = self.ledger.rows_by_id.get(event.id)
        if row is None:  # it timed out just now, and it was dropped
            return False
        block, i = self.ledger.writable(row)
        states = block.statuses[i].tolist()
        if block.start.item(i) < math.inf or PENDING not in states:
            return False
        start = block.time.item(i) if event.time is None else event.time
        block.start[i] = start
        states = self._learn_final(row)
        end = self.objective_set.next_closing(states, start, -math.inf)
        self._windows.add(end, block.number.item(i), row)
        return True

    def _withdrawn(self, event: events.Withdrawn) -> int | ValueError:
        if event.id not in self.ledger.rows_by_id:
            return _unknown_decision(event.id)
        self._advance(event.time)
        row = self.ledger.rows_by_id.get(event.id)
        if row is None:  # it was completed just now, and dropped
            return 0
        return self._withdraw(row)

    def _withdraw(self, row: int) -> int:
        """Let nothing more be learned from a decision; return for how many objectives it was."""
        block, i = self.ledger.readable(row)
        states = block.statuses[i].tolist()
        self._settle(row, [WITHDRAWN if state == PENDING else state for state in states])
        return int(states.count(PENDING))

    def _reconfigured(self, event: events.Reconfigured) -> Reconfiguration | ValueError:
        """Go on with another configuration; what is known of objectives that stay is kept."""
        changes, relearned, unsure = event.changes.keys(), 0, 0
        reshaping = changes & {"objectives", "policy", *_RELEARNING_SETTINGS}
        try:
            config = self.config.reconfigured(event.changes)
            if reshaping:
                forgotten = self.counters.forgotten
                if forgotten and (self.config.arm_effects or config.arm_effects):
                    raise ValueError(
                        "arm_effects: expected all decisions to learn again from, but "
                        f"{forgotten} are forgotten"
                    )
                features, unsure = remapped_features(self.ledger, forgotten, self.config, config)
        except (ValueError, TypeError, KeyError) as error:
            return ValueError(str(error))
        self.changes.append(self.position)
        self._prepared_learner = None  # windows may be others
        if reshaping:
            relearn = bool(changes & _RELEARNING_SETTINGS) or config.arm_effects
            relearned = self._reshape(config, features, relearn=relearn)
        self.config, self.objective_set = config, config.objective_set
        if "budgets" in changes:
            self._renew_accounts()
        if reshaping or "activation_timeout" in changes:
            self.rebuild_pending()
        return Reconfiguration(tuple(event.changes), relearned, unsure)

    def _reshape(self, config: AgentConfig, features: FloatArray, *, relearn: bool) -> int:
        """Let ledger and learner be those of another configuration.

        ``relearn``: what was learned is made again from the decisions held. Return how many were.
        """
        old_set, objective_set = self.objective_set, config.objective_set
        indices, factors = moved_objectives(old_set, objective_set)
        before, learner, ledger = self.learner, new_learner(config), self.ledger
        held = ledger.gather(ledger.live())
        if relearn and self.counters.forgotten:
            old = self.config, self.defaults
            learner.observed = carry_over(before, held, *old, config, indices, factors)
        elif not relearn:
            learner.observed = before.observed
            if old_set.objectives != objective_set.objectives:
                learner.observed = with_objectives(before.observed, indices, factors)
        self.defaults = replaced_defaults(held, self.defaults, old_set, objective_set)
        self.config, self.objective_set = config, objective_set
        ledger.reshape(indices, factors, features, stamped=objective_set.windowed)
        block = ledger.gather(ledger.live())
        self.counters.missing += indices.count(None) * len(block.number)
        values, learned = observations(block, objective_set, self.defaults)
        learner.continue_from(before, block.number[learned.any(axis=1)], self.time)
        if relearn:
            arms = [ledger.arms[row] for row in ledger.live().tolist()]
            learn_again(learner, block, values, learned, arms)
        learner.add_pending_rows(block.features, block.statuses == PENDING, block.time)
        self.learner = learner
        self._renew_accounts()
        rows = ledger.live()
        completed_rows = rows[(block.statuses != PENDING).all(axis=1) & (block.completed < 0)]
        for row in completed_rows.tolist():
            self._complete(row)
        for row in ledger.pending().tolist():  # values may wait for no window any more
            self._learn_final(row)
        return int(relearn and learned.any(axis=1).sum())

    def _learn_final(self, row: int) -> list[int]:
        """Learn what is final of a decision by the values that came; return its states."""
        block, i = self.ledger.readable(row)
        states, start = list[int](block.statuses[i].tolist()), block.start.item(i)
        if start < math.inf:
            self.objective_set.resolve(states, block.values[i].tolist(), start, None)
            self._settle(row, states)
        return states

    def _advance(self, time: float | None) -> int:
        """Bring everything to a time: what was learned fades, windows close. Return how many."""
        prepared, self._prepared_learner = self._prepared_learner, None
        if time is None:
            return 0
        now = max(time, self.time)
        if prepared is not None and prepared[0] == now:
            _, self.learner, closing = prepared
        else:
            closing = self._windows.closing(now, self.ledger, self.objective_set)
            self.learner.advance(now)
            if closing is not None:
                self.learner.learn_closing(closing)
        self.time = now
        if self.config.max_age < math.inf:
            self.counters.forgotten += self.ledger.drop_aged(now - self.config.max_age)
        if closing is None:
            return 0
        self._windows.drop(now)
        for row, states in closing.states.items():
            block, i = self.ledger.writable(row)
            before = block.statuses[i].tolist()
            if PENDING not in before:
                continue  # all of it had come before its last window closed; it may be dropped
            self.counters.count(before, states)
            amounts = self._spent_amounts(block, i)
            block.statuses[i] = states
            self._recount_spending(block, i, amounts)
            if PENDING not in states:
                self._complete(row)
                continue
            end = self.objective_set.next_closing(states, block.start.item(i), now)
            self._windows.add(end, block.number.item(i), row)
        return closing.resolved

    def _renew_accounts(self) -> None:
        """Have an account for every budget; those of budgets that stay go on."""
        since, half_life = self.counters.decisions, self.config.half_life
        self.accounts = new_accounts(self.config.budgets, half_life, since, self.accounts)

    def _spent_amounts(
        self, block: Block, i: int, states: list[int] | None = None
    ) -> list[SpentAmount | None]:
        """Return what a decision spends of every budget, in states if not its own.

        An empty list if it does not count.
        """
        if not self.accounts or not block.flags.item(i) & COUNTED:
            return []
        current_states = block.statuses[i].tolist() if states is None else states
        spending, amounts = self.config.spending, list[SpentAmount | None]()
        expected, values = spending.expected(block.estimates[i]), block.values[i].tolist()
        for m, sign, guess in zip(spending.indices, spending.signs, expected, strict=True):
            state, value = current_states[m], values[m]
            if state == DEFAULTED and value != value:
                value = self._default(block, i, m)
            if state in (WITHDRAWN, UNMET):
                amounts.append(None)
            elif value == value:
                amounts.append((sign * value, False))
            else:  # what nobody told counts as it was expected
                amounts.append((guess, state == PENDING))
        return amounts

    def _recount_spending(
        self,
        block: Block,
        i: int,
        before: list[SpentAmount | None],
        accounts: Sequence[Account] | None = None,
        states: list[int] | None = None,
    ) -> None:
        """Count for the budgets what has become of a decision: in accounts and states, or ours."""
        if before:
            pairs = zip(before, self._spent_amounts(block, i, states), strict=True)
            for account, (old, new) in zip(accounts or self.accounts, pairs, strict=True):
                if old != new:
                    account.change(block.number.item(i), old, new)

    def _complete(self, row: int) -> None:
        """Keep a decision with nothing pending, among the last ones."""
        arm, ledger, effects = self.ledger.arms[row], self.ledger, self.learner.effects
        self.counters.forgotten += ledger.complete(row, self.config.max_completed)
        if effects is None:
            return
        self.pending_by_arm[arm] -= 1
        if not self.pending_by_arm[arm]:
            del self.pending_by_arm[arm]
        if len(effects.sums) > _SPARE_ARMS + 2 * len(ledger):
            effects.keep(set(ledger.arms))

    def _erased(self, event: events.Erased) -> int:
        """Drop decisions; nothing more is learned from what was pending."""
        dropped = 0
        self._prepared_learner = None  # it may have learned from them
        for row in self.ledger.rows_of_numbers(event.numbers):
            if self.ledger.holds(row):  # else it was one too many just now
                self._withdraw(row)
            if self.ledger.holds(row):
                self.ledger.reopen(row)
                self.ledger.drop(row)
                self.counters.forgotten += 1
            dropped += 1
        for digest, offer in list(self.offers.items()):
            if self.ledger.references[offer] == 1:  # of arms that no decision held has seen
                self.ledger.drop_reference(self.offers.pop(digest))
        return dropped

    def _offered(self, event: events.Offered) -> bool:
        self.ledger.drop_reference(self.offers.pop(event.digest, 0))
        self.offers[event.digest] = self.position
        self.ledger.add_reference(self.position)
        if len(self.offers) > _MAX_OFFERS:
            self.ledger.drop_reference(self.offers.pop(next(iter(self.offers))))
        return True

    _apply: ClassVar[dict[type[Any], Callable[["State", Any], Any]]] = {
        events.Decided: _decided,
        events.Imported: _imported,
        events.Rewarded: _rewarded,
        events.Activated: _activated,
        events.Withdrawn: _withdrawn,
        events.Reconfigured: _reconfigured,
        events.Expired: lambda self, event: self._advance(event.time),
        events.Erased: _erased,
        events.PriorLearned: lambda self, event: self.learner.learn_prior(event.precisions),
        events.Offered: _offered,
        events.Voided: lambda self, event: True,  # the queue begins again without that event
    }

    def rebuild_pending(self) -> None:
        """Find out anew which windows are open, and which arms decisions in flight have."""
        self._windows = find_windows(self.ledger, self.objective_set, self.config.timeout)
        if self.config.arm_effects:
            rows = self.ledger.pending().tolist()
            self.pending_by_arm = Counter(self.ledger.arms[row] for row in rows)


class LockedState:
    """A state in memory: calls of threads happen one after the other.

    With a journal, :class:`~mogro.agent.journal.CommitQueue` takes its place.
    """

    journaled = False

    def __init__(self, state: State) -> None:
        self.state = state
        self.apply = state.apply
        self._lock = threading.RLock()
        self._notifications: deque[Callable[[], object]] = deque()  # for a listener
        self._is_notifying = False

    def perform(self, work: Callable[..., T], *arguments: Any) -> T:
        """Carry out what a caller asks for, by itself, and return its result."""
        with self._lock:
            try:
                return work(*arguments)
            finally:
                if self._notifications and not self._is_notifying:
                    self._send_notifications()

    def batch(self, calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Carry out calls that each :meth:`perform`; return an answer each."""
        results: list[T | Exception] = []
        for call in calls:
            try:
                results.append(call())
            except Exception as error:  # as with a journal: it is the caller's
                results.append(error)
        return results

    def notify_later(self, listener: Callable[[events.Event], object], event: events.Event) -> None:
        """Tell a listener of an event, for ``work``, once all of that has happened."""
        self._notifications.append(partial(listener, event))

    def _send_notifications(self) -> None:
        """Tell listeners what has happened, all of it and in order, also what they add to it."""
        error: Exception | None = None
        self._is_notifying = True
        try:
            while self._notifications:
                try:
                    self._notifications.popleft()()
                except Exception as raised:
                    error = raised
        finally:
            self._is_notifying = False
        if error is not None:
            raise error

    def current(self) -> AbstractContextManager[object]:
        """Keep the state as it is."""
        return self._lock


def new_learner(config: AgentConfig) -> Learner:
    """Return a learner that knows nothing."""
    return Learner(
        config.features.learner_dim,
        config.objective_set.first_conditions,
        prior=config.prior,
        half_life=config.half_life,
        explores=config.policy.exploration is not None,
        arm_effects=config.arm_effects,
    )


def _unknown_decision(id: str) -> UnknownDecision:
    return UnknownDecision(f"id: no decision {id!r}; it was never made, or is forgotten")
