"""Rank and Reward in the shape of Azure Personalizer, for clients of that retired service.

Features of an action and of the context are lists of objects there; here they are one record, and
what the encoders of the agent do not know is left out. The reward goes to one objective.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from mogro.agent import Agent, Decision, Encoder
from mogro.service.config import Personalizer
from mogro.service.operations import Operation, ServiceRequest, make_operation
from mogro.service.wire import Id

_PATH = "/personalizer/v1.1-preview.3"

Scalar = float | str | bool | None
Group = dict[str, Scalar | list[float | str] | dict[str, Scalar | list[float | str]]]


class RankableAction(Struct, rename="camel"):
    """An action that may be chosen."""

    id: Id
    features: list[Group]


class RankRequest(Struct, rename="camel"):
    """What to choose among, and for whom."""

    actions: Annotated[list[RankableAction], Meta(min_length=1, max_length=50)]
    context_features: list[Group] = []
    excluded_actions: list[str] = []
    event_id: Id | None = None
    defer_activation: bool = False


class RankedAction(Struct):
    """An action with its probability."""

    id: str
    probability: float


class RankResponse(Struct, rename="camel"):
    """The action to show, and all of them with their probabilities."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class RewardRequest(Struct):
    """How good it was."""

    value: float


def operations(config: Personalizer | None) -> list[Operation]:
    """Return the calls, if they are wanted."""
    if config is None:
        return []

    def reward(request: ServiceRequest, body: RewardRequest) -> None:
        """Reward an event."""
        request.agent.reward(request.http.path_params["event"], {config.objective: body.value})

    event, options = f"{_PATH}/events/{{event}}", {"is_write": True, "agent": config.agent}
    return [
        make_operation("POST", f"{_PATH}/rank", "decide", _rank, status=201, **options),
        make_operation("POST", f"{event}/reward", "reward", reward, status=204, **options),
        make_operation("POST", f"{event}/activate", "reward", _activate, status=204, **options),
    ]


def _activate(request: ServiceRequest, _: None) -> None:
    """Activate an event."""
    request.agent.activate(request.http.path_params["event"])


def _rank(request: ServiceRequest, body: RankRequest) -> RankResponse:
    """Rank actions, as Personalizer did."""
    agent = request.agent
    config = agent.config
    arms = {action.id: _record(action.features, config.arms) for action in body.actions}
    if len(arms) < len(body.actions):
        raise ValueError("actions: expected different ids")
    excluded_ids = set(body.excluded_actions)
    decision = agent.decide(
        arms,
        context=None if config.context is None else _record(body.context_features, config.context),
        id=body.event_id,
        eligible=[arm not in excluded_ids for arm in arms],
        activate=not body.defer_activation,
    )
    probabilities = _probabilities(agent, decision)
    ranking = [RankedAction(arm, probabilities.get(arm, 0.0)) for arm in arms]
    ranking.sort(key=lambda action: (action.id != decision.arm, -action.probability))
    return RankResponse(ranking, decision.id, decision.arm)


def _probabilities(agent: Agent, decision: Decision) -> Mapping[str, float]:
    """Return probabilities by arm; of a decision made before, those that the journal knows."""
    try:
        propensities = decision.propensities
    except ValueError:
        propensities = agent.decision(decision.id).decision.propensities
    return dict(zip(propensities.arms, propensities.values.tolist(), strict=True))


def _record(groups: list[Group], encoder: Any) -> dict[str, Any]:
    """Return one record of groups of features, nested ones too, with the names that are known."""
    if not isinstance(encoder, Encoder):
        raise ValueError("features: expected an agent with named columns of arms and context")
    record: dict[str, Any] = {}
    for group in groups:
        for name, value in group.items():
            record |= value if isinstance(value, dict) else {name: value}
    return {name: value for name, value in record.items() if name in encoder.slices}
