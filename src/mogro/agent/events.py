"""What happens to an agent, as plain data: :class:`State` changes by these and by nothing else.

An event says what was asked for and what was chosen, never how the state changed. It is a tuple;
:func:`to_plain` makes it what JSON can hold.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

from mogro import _codec
from mogro._codec import by_name
from mogro._codec import to_plain as to_plain
from mogro._validation import BoolArray, FloatArray
from mogro.agent.config import KNOWN
from mogro.selection import Selection


class Offered(NamedTuple):
    """Arms that decisions choose among, written down once however many decisions do.

    Attributes
    ----------
    digest
        Of the rest.
    ids
        Of all arms, also of those that are not eligible.
    features
        Of these arms as the caller gave them, (K, A); None if they are records.
    records
        The arms as the caller gave them, if they are records; features follow from the encoder
        that the agent has when it decides.
    """

    digest: str
    ids: tuple[str, ...]
    features: FloatArray | None
    records: tuple[dict[str, Any], ...] | None = None


class BudgetRecord(NamedTuple):
    """What the budgets of an agent had to do with a decision; one entry for each of them.

    Attributes
    ----------
    prices
        Of a unit of the objective, as rewards are given.
    least_spend
        What the cheapest arm was expected to spend; None in decisions that did not review
        prices.
    at_stake
        What another price would have changed: where there was a surplus, how much more an
        optimistic round without prices would have spent; else how much less prices alone would.
        None in decisions that did not review prices, and where none could: in uniform draws, and in
        those that explore.
    surcharge
        What the decision counts beyond the estimate of its arm until its value has come; None where
        there was ample room for the arm, or nothing to add.
    usual, context_effect
        What its arm was expected to spend on average over contexts, and what estimates in its own
        said beside that; None without a context, and where there was ample room.
    """

    prices: tuple[float, ...]
    least_spend: tuple[float, ...] | None = None
    at_stake: tuple[float, ...] | None = None
    surcharge: tuple[float, ...] | None = None
    usual: tuple[float, ...] | None = None
    context_effect: tuple[float, ...] | None = None


class Evidence(NamedTuple):
    """What the evaluation of a decision wants to know beside it.

    Attributes
    ----------
    eligible
        Which of the arms on offer were, a mask; None for all.
    context
        As the caller gave it, (C,), if it is not a record.
    constraints
        Lower bounds by objective, and upper bounds.
    selection
        How to select, if not the policy's own way.
    basis
        The position of the last event that the beliefs knew of.
    theta
        The estimates that arms were compared by, (M, a): in a context, those of arms there.
    values
        What arms were worth, (K, M), where that is neither the estimates nor random; with
        effects of arms, at the prices of budgets.
    propensity
        With its standard error, where it does not follow from all this: see
        :attr:`mogro.agent.Decision.propensity`. Of a decision that somebody else has made, what
        they say.
    prices
        What budgets added to the weights, (M,), if there were some that are not in the values.
    allowed
        Which of the eligible arms constraints and budgets left, a mask; None for all.
    step
        How many decisions were made before, also such as were voided since.
    """

    eligible: BoolArray | None
    context: FloatArray | None
    constraints: tuple[dict[str, float], dict[str, float]] | None
    selection: Selection | None
    basis: int
    step: int
    theta: FloatArray
    values: FloatArray | None
    propensity: tuple[float, float] | None
    prices: FloatArray | None = None
    allowed: BoolArray | None = None


class Decided(NamedTuple):
    """An arm was chosen.

    Attributes
    ----------
    id
        Of the decision.
    arm
        The id of the arm.
    features
        Of the arm, as the learner sees them, (p,).
    weights
        Those the arm was best for, (M,), if any.
    estimates
        Of the arm when it was chosen, as the learner sees them, (M,).
    exploring, uniform, grouped
        Whether it was chosen to explore; whether it was a uniform draw; whether it is one of
        several chosen together.
    id_number
        That in the id, if the agent made it up.
    time
        If the caller gave one.
    active
        Whether windows begin at once, and not when it is activated.
    subject
        A hash of whom it was made for, if that is known.
    record, context
        The arm and the context as the caller gave them, if these are records.
    budget_record
        Where the agent has budgets; None for decisions that do not count.
    evidence
        Where there is a journal.
    made_elsewhere
        Whether somebody else has made it.
    offer_position
        The position of the event with the arms on offer; 0 without a journal.
    holdout
        Whether the baseline was served, because its subject is held out.
    """

    id: str
    arm: str
    features: FloatArray
    weights: FloatArray | None
    estimates: FloatArray
    exploring: bool
    uniform: bool
    grouped: bool
    id_number: int | None
    time: float | None
    active: bool = True
    subject: int | None = None
    record: dict[str, Any] | None = None
    context: dict[str, Any] | None = None
    budget_record: BudgetRecord | None = None
    evidence: Evidence | None = None
    made_elsewhere: bool = False
    offer_position: int = 0
    holdout: bool = False


class Imported(NamedTuple):
    """A decision of another agent was taken over, with what has become of it.

    Attributes
    ----------
    decision
        As if it were made now; its estimates are what is believed now.
    values
        Rewards by objective, in the user's units.
    status
        By objective, as in :class:`~mogro.agent.DecisionRecord`.
    times
        When rewards came, by objective, where that is known.
    """

    decision: Decided
    values: dict[str, float]
    status: dict[str, str]
    times: dict[str, float]


class Rewarded(NamedTuple):
    """Values came for a decision, in the user's units, by objective."""

    id: str
    values: dict[str, float]
    time: float | None


class Activated(NamedTuple):
    """The arm of a decision is really shown: its windows begin."""

    id: str
    time: float | None


class Withdrawn(NamedTuple):
    """The arm of a decision was not shown after all."""

    id: str
    time: float | None


class Reconfigured(NamedTuple):
    """From now on the agent is configured otherwise.

    Attributes
    ----------
    changes
        Fields of :class:`~mogro.agent.config.AgentConfig` that differ, by name.
    time
        If somebody gave one.
    """

    changes: dict[str, Any]
    time: float | None


class Expired(NamedTuple):
    """A time has come, and windows close."""

    time: float


class PriorLearned(NamedTuple):
    """A prior was learned anew: replay takes it over, and never computes it again.

    Attributes
    ----------
    precisions
        Of every objective and feature of the learner, (M, p).
    """

    precisions: FloatArray


class Erased(NamedTuple):
    """Decisions are dropped, wherever they stand, by their numbers in the order of decisions."""

    numbers: tuple[int, ...]


class Voided(NamedTuple):
    """The event at a position has not happened: all is as if the others had come without it."""

    position: int


Event = (
    Decided
    | Rewarded
    | Activated
    | Withdrawn
    | Reconfigured
    | Expired
    | Offered
    | Imported
    | Erased
    | PriorLearned
    | Voided
)

KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}
PARTS: tuple[type[Any], ...] = (Evidence, BudgetRecord)  # of events


def from_plain(plain: Any, types: Sequence[type[Any]] = ()) -> Event:
    """Make an event again of what :func:`to_plain` gave; ``types`` are not mogro's own.

    Examples
    --------
    >>> to_plain(Expired(time=60.0))
    {'is': 'Expired', 'time': 60.0}
    >>> from_plain(to_plain(Expired(time=60.0)))
    Expired(time=60.0)
    """
    known = (*KNOWN, *KINDS.values(), *PARTS)
    event: Event = _codec.from_plain(plain, by_name(known, types))
    return event
