"""What should be looked at, by what an agent has on record.

Chances are bounds for sums of what is bounded (Bernstein's), or binomial, so that rare clicks give
no alarms by themselves. ``benchmarks/alarms.py`` counts alarms where nothing is wrong.
"""

import math
from dataclasses import dataclass

import numpy as np

from mogro._intervals import are_rates, rate_interval
from mogro._validation import FloatArray
from mogro.agent.decision_records import count_unknown_values
from mogro.agent.objective import DEFAULTED, LEARNED, MISSING, PENDING
from mogro.agent.state.accounts import Account
from mogro.agent.state.block import HOLDOUT, IMPORTED, OBSERVED, UNIFORM, Block
from mogro.agent.state.relearning import learned_rewards
from mogro.agent.state.state import State

_FALSE_ALARM_RATE = 1e-5  # of an alarm without a cause, each time that one looks, about
_LATE_SHARE = 0.05  # share of rewards that came after their window
_RECENT = 100  # decisions
_SPANS = (100, 1000)  # decisions over which rewards may drift
_MIN_DECISIONS = 20  # fewer are not enough to say anything
_MAX_SILENT = 200  # decisions without a reward, where it may take any time
_STANDARD_ERRORS = 3.0  # of an interval of a rate
_NOT_CHOSEN_HERE = OBSERVED | HOLDOUT | IMPORTED  # flags of decisions that were not chosen here
_UNKNOWN_SHARE = 0.05  # of the last decisions had a value that the encoder does not know
_MISSED_SHARE = 0.05  # part of its bound by which a budget is missed
_MIN_PROBABILITY = 0.1  # that an arm which is no longer chosen is better


@dataclass(frozen=True)
class Alarm:
    """One thing to look at.

    Attributes
    ----------
    name
        ``"silence"``, ``"late"``, ``"drift"``, ``"one arm"``, ``"uniform"``, ``"budget"``,
        ``"unknown"`` or ``"clock"``.
    number
        What is behind it: see the words.
    words
        What was seen, and what to do.
    """

    name: str
    number: float
    words: str


def find_alarms(state: State, refusals: int) -> tuple[Alarm, ...]:
    """Look at the decisions that a state holds, and at how many times of callers were refused."""
    block = state.ledger.gather(state.ledger.live())
    alarms = [_one_arm(state, block), _uniform(state, block), *map(_budget, state.accounts)]
    for m in range(len(state.objective_set)):
        alarms += [check(state, block, m) for check in (_silence, _late, _drift)]
    alarms += _unknown_values(state)
    if refusals:
        message = f"times far from all others: {refusals}; see whose clock is wrong, or its unit"
        alarms.append(Alarm("clock", refusals, message))
    return tuple(alarm for alarm in alarms if alarm is not None)


def _silence(state: State, block: Block, m: int) -> Alarm | None:
    """Say that rewards which used to come come no longer, or never came."""
    statuses, name = block.statuses[:, m], state.objective_set.names[m]
    has_no_window = not state.objective_set.windows[m] < math.inf  # then a reward is never due
    final_states = (LEARNED, PENDING) if has_no_window else (LEARNED, DEFAULTED, MISSING)
    has_reward = (statuses == LEARNED)[np.isin(statuses, final_states)]
    silence = len(has_reward) - 1 - int(np.flatnonzero(has_reward).max(initial=-1))
    earlier = has_reward[: len(has_reward) - silence]
    if not len(earlier):
        if state.objective_set.defaults[m] is not None or silence < (
            _MAX_SILENT if has_no_window else _MIN_DECISIONS
        ):
            return None  # with a default, none at all may be what is usual
        message = (
            f"{name}: no reward has come for any of {silence} decisions; see whether they are sent"
        )
        return Alarm("silence", silence, message)
    share = float(earlier.mean())
    lowest_share = float(rate_interval(share, len(earlier), _STANDARD_ERRORS)[0])
    # A share of 1 tells no more than one of 0.5.
    log_probability = silence * math.log1p(-min(lowest_share, 0.5))
    too_few = has_no_window and silence < max(_MAX_SILENT, len(earlier) / 2)
    if log_probability >= math.log(_FALSE_ALARM_RATE) or too_few:
        return None
    message = (
        f"{name}: no reward for the last {silence} decisions, where {share:.0%} had one before; "
        "see whether rewards still arrive"
    )
    return Alarm("silence", silence, message)


def _late(state: State, block: Block, m: int) -> Alarm | None:
    """Say that many rewards come after their window."""
    if not state.objective_set.windows[m] < math.inf:
        return None
    ends = block.start + state.objective_set.windows[m]
    has_time = block.stamps[:, m] > -math.inf
    is_late = (block.stamps[:, m] >= ends)[has_time][-10 * _RECENT :]
    share = float(is_late.mean()) if len(is_late) else 0.0
    if is_late.sum() < _MIN_DECISIONS or share <= _LATE_SHARE:
        return None
    message = (
        f"{state.objective_set.names[m]}: {share:.0%} of the last {len(is_late)} rewards came "
        "after their window; send them sooner, or widen the window"
    )
    return Alarm("late", share, message)


def _one_arm(state: State, block: Block) -> Alarm | None:
    """Say that one arm is chosen for all, though another may well be better for the weights."""
    rows = state.ledger.live()[block.flags & _NOT_CHOSEN_HERE == 0].tolist()
    arms = [state.ledger.arms[row] for row in rows]
    last_rows = dict(zip(arms[:-_RECENT], rows, strict=False))
    other_rows = [row for arm, row in last_rows.items() if arm != arms[-1]][-_RECENT:]
    if set(arms[-_RECENT:]) != {*arms[-1:]} or not other_rows:
        return None
    recent = state.ledger.gather(np.array(rows[-_RECENT:]))
    weighted_rows = np.flatnonzero(~np.isnan(recent.weights).any(axis=1))[-5:]
    if not len(weighted_rows):
        return None
    other_features = state.ledger.gather(np.array(other_rows)).features
    pairs = zip(recent.features[weighted_rows], recent.weights[weighted_rows], strict=True)
    probability = float(
        np.mean([_chance_of_better(state, *pair, other_features) for pair in pairs])
    )
    if probability < _MIN_PROBABILITY:
        return None
    message = (
        f"the last {_RECENT} decisions chose {arms[-1]!r}, of {1 + len(other_rows)} arms that were "
        f"chosen before, though another is better with probability {probability:.0%}; see whether "
        "others are on offer; epsilon= keeps trying them"
    )
    return Alarm("one arm", probability, message)


def _chance_of_better(
    state: State, chosen_features: FloatArray, weights: FloatArray, other_features: FloatArray
) -> float:
    """Return the probability with which the best of others (n, p) is better than the chosen arm.

    By weights (M,), in the context of that arm (p,).
    """
    features = state.config.features
    (arms, _), (_, context) = features.split(other_features), features.split(chosen_features[None])
    differences = features.join(arms, np.repeat(context, len(arms), axis=0)) - chosen_features
    beliefs = state.learner.beliefs()
    leads = beliefs.estimates(differences) @ weights
    variances = (np.maximum(beliefs.variances(differences), 0) * beliefs.noise) @ weights**2
    z = np.divide(leads, np.sqrt(variances), out=np.full(len(leads), -9.0), where=variances > 0)
    return 0.5 * math.erfc(-float(z.max()) / math.sqrt(2))


def _uniform(state: State, block: Block) -> Alarm | None:
    """Say that uniform draws are more, or fewer, than ``epsilon`` says."""
    config = state.config
    share = 1 - (1 - config.epsilon) * (1 - config.policy.epsilon)
    is_current = block.position > max(state.changes, default=0)  # it may have been another before
    chosen_here = is_current & (block.flags & _NOT_CHOSEN_HERE == 0)
    subjects = np.where(block.subject > 0, block.subject, -1 - block.number)[chosen_here]
    first_draws = np.unique(subjects, return_index=True)[1]  # of sticky subjects one draw each
    count, n = int((block.flags[chosen_here][first_draws] & UNIFORM > 0).sum()), len(first_draws)
    if not _is_significant(count - n * share, n * share * (1 - share), 1.0):
        return None
    message = (
        f"{count} of {n} decisions were uniform draws, where {share:.2%} were to be; see whether "
        "ids are drawn at random, and every decision is made by decide"
    )
    return Alarm("uniform", count / n, message)


def _budget(account: Account) -> Alarm | None:
    """Say that even the cheapest arms miss a budget."""
    budget, lowest_mean = account.budget, account.mean_least_spend
    if lowest_mean <= budget.bound + _MISSED_SHARE * budget.worth:
        return None
    lowest_mean *= budget.sign
    message = (
        f"{budget.objective}: even the arms that suit the budget best were expected to give "
        f"{lowest_mean:.4g} on average, and its bound is {budget.sign * budget.bound:.4g}; change "
        "the bound, or offer others"
    )
    return Alarm("budget", lowest_mean, message)


def _unknown_values(state: State) -> list[Alarm]:
    """Say that arms or contexts have values that the encoders do not know, by column."""
    alarms, decision_count = [], min(len(state.ledger), _SPANS[-1])
    for column, counts in count_unknown_values(state, limit=_SPANS[-1]).items():
        total, (value, frequency) = sum(counts.values()), next(iter(counts.items()))
        if total >= max(_MIN_DECISIONS, _UNKNOWN_SHARE * decision_count):
            message = (
                f"{column}: values that the encoder does not know, {total} in the last "
                f"{decision_count} decisions, {value!r} most often ({frequency}); they count as "
                "zeros: reconfigure with an encoder that has them"
            )
            alarms.append(Alarm("unknown", total, message))
    return alarms


def _drift(state: State, block: Block, m: int) -> Alarm | None:
    """Say that rewards differ from what was expected otherwise than before."""
    values = learned_rewards(block, state.objective_set, state.defaults)[:, m]
    has_error = ~np.isnan(values) & (block.flags & OBSERVED == 0)
    errors = values[has_error] - state.objective_set.to_user_units(block.estimates)[has_error, m]
    errors = errors[_RECENT:]  # the first ones knew nothing
    min_bound = 1.0 if are_rates(values[has_error]) else 0.0  # what a rare click may do
    for span in _SPANS:
        earlier, recent = errors[:-span], errors[-span:]
        if len(earlier) < 2 * span:
            return None
        change = float(recent.mean() - earlier.mean())
        variance = float(errors.var()) * (span + span**2 / len(earlier))
        bound = max(float(np.abs(errors - errors.mean()).max()), min_bound)
        if _is_significant(span * change, variance, bound):
            message = (
                f"{state.objective_set.names[m]}: {abs(change):.3g} "
                f"{'more' if change > 0 else 'less'} than expected, on average over the "
                f"last {span}, and not before; the world may have changed: half_life="
            )
            return Alarm("drift", change, message)
    return None


def _is_significant(total: float, variance: float, bound: float) -> bool:
    """Tell whether a sum of independent terms, of mean 0 and bounded, is no chance."""
    log_chance = -math.log(_FALSE_ALARM_RATE / 2)
    linear_term = bound * log_chance / 3
    return abs(total) > linear_term + math.sqrt(linear_term**2 + 2 * log_chance * variance) + 1e-9
