"""What can be asked of the agents of a service: for each a method and path, types, and the work."""

from collections.abc import Callable
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from mogro._codec import to_plain
from mogro.agent import Agent
from mogro.agent.features.feature_map import FeatureMap
from mogro.agent.state.counters import Reconfiguration
from mogro.service import personalizer, wire
from mogro.service.config import AgentSettings
from mogro.service.error_responses import RequestRefused
from mogro.service.hosted_agent import HostedAgent
from mogro.service.keys import Role
from mogro.service.service import Service
from mogro.service.sessions import Caller

_HERE = "/v1/agents/{agent}"
_PERSONALIZER = "/personalizer/v1.1-preview.3"


class CallContext(NamedTuple):
    """Who asks which agent; of Personalizer's calls also the event in the path."""

    service: Service
    hosted: HostedAgent
    caller: Caller
    event: str

    @property
    def agent(self) -> Agent:
        """The agent itself."""
        return self.hosted.agent

    def note(self, what: str, detail: Any) -> None:
        """Write down who has changed what."""
        by, agent = self.caller.name, self.hosted.name
        self.service.audit.write(by, agent, what, msgspec.to_builtins(detail))
        self.service.log({"event": "change", "by": by, "agent": agent, "what": what})

    def history(self, what: str) -> list[wire.ChangeAnswer]:
        """Return who has changed it before."""
        return self.service.audit.list(self.hosted.name, what)


class Operation(NamedTuple):
    """One call of the service.

    Attributes
    ----------
    method, path
        By which it is called; ``{agent}`` stands for a name.
    summary
        What it does.
    role
        That a key needs, or words about it; None if it needs no key.
    asks, answers
        Types of what is asked (in a GET, in the address) and of the answer; None where there is
        none, or no JSON.
    work
        What to do, with who asks and what; None for what is no call of an agent.
    writes
        Whether the thread does it that shares commits.
    agent
        Whose call it is, where the path does not say.
    good
        The status of an answer as asked.
    """

    method: str
    path: str
    summary: str
    role: Any = None
    asks: Any = None
    answers: Any = None
    work: Any = None
    writes: bool = False
    agent: str | None = None
    good: int = 200


def agent_operations(service: Service) -> list[Operation]:
    """Return all that can be asked of agents."""
    return [
        *(_call(kind, writes=True) for kind in get_args(wire.WriteCall)),
        *(_call(kind, writes=False) for kind in wire.READ_CALLS),
        _make("GET", "decision", "read", _show_decision),
        _make("GET", "explanation", "read", _explain),
        _make("GET", "alarms", "read", _show_alarms),
        _make("GET", "weights", "read", _show_weights),
        _make("PUT", "weights", "admin", _set_weights),
        _make("GET", "config", "read", _show_config),
        _make("PATCH", "config", "admin", _reconfigure),
        _make("GET", "budgets", "read", _show_budgets),
        _make("PUT", "budgets", "admin", _set_budgets),
        _make("GET", "arms", "read", _show_arms),
        _make("PUT", "arms", "admin", _put_arms),
        _make("DELETE", "arms", "admin", _drop_arms),
        _make("POST", "erase", "admin", _erase),
        _make("GET", "", "read", _describe),
        *_personalizer_operations(service),
    ]


def _make(method: str, name: str, role: Role, work: Callable[..., Any]) -> Operation:
    hints, words = get_type_hints(work), (work.__doc__ or "").partition("\n")[0]
    path = f"{_HERE}/{name}".rstrip("/")
    return Operation(method, path, words, role, hints.get("asked"), hints["return"], work)


def _call(kind: type[wire.Call], *, writes: bool) -> Operation:
    path, words = f"{_HERE}/{kind.__struct_config__.tag}", (kind.__doc__ or "").partition("\n")[0]
    answers = get_type_hints(kind.carry_out)["return"]
    return Operation("POST", path, words, kind.role, kind, answers, _carry_out, writes)


def _carry_out(here: CallContext, asked: wire.Call) -> Any:
    return here.hosted.carry_out(asked)


def _personalizer_operations(service: Service) -> list[Operation]:
    """Return the calls in the shape of Azure Personalizer, if they are wanted."""
    wanted = service.config.personalizer
    if wanted is None:
        return []
    name, objective = wanted.agent, wanted.objective

    def rank(here: CallContext, asked: personalizer.RankRequest) -> Any:
        return personalizer.rank(here.agent, asked)

    def reward(here: CallContext, asked: personalizer.RewardRequest) -> Any:
        here.agent.reward(here.event, {objective: asked.value})

    def activate(here: CallContext, _: None) -> Any:
        here.agent.activate(here.event)

    p, event = personalizer, f"{_PERSONALIZER}/events/{{event}}"
    return [
        Operation("POST", f"{_PERSONALIZER}/rank", "Rank actions, as Personalizer did.", "decide",
                  p.RankRequest, p.RankResponse, rank, True, name, 201),
        Operation("POST", f"{event}/reward", "Reward an event.", "reward",
                  p.RewardRequest, None, reward, True, name, 204),
        Operation("POST", f"{event}/activate", "Activate an event.", "reward",
                  None, None, activate, True, name, 204),
    ]  # fmt: skip


def _show_decision(here: CallContext, asked: wire.DecisionId) -> wire.RecordAnswer:
    """Return a decision and what has become of it."""
    return wire.record_answer(here.agent.decision(asked.id))


def _explain(here: CallContext, asked: wire.DecisionId) -> wire.ExplanationAnswer:
    """Say what an arm was chosen over."""
    known = here.agent.explain(here.agent.decision(asked.id).decision)
    return wire.ExplanationAnswer(wire.decision_answer(known.decision), known.reason, known.rivals)


def _show_alarms(here: CallContext, _: None) -> wire.AlarmsAnswer:
    """Say what should be looked at."""
    return wire.AlarmsAnswer([wire.AlarmAnswer(*alarm) for alarm in here.agent.alarms()])


def _show_weights(here: CallContext, _: None) -> wire.WeightsAnswer:
    """Return the trade-off, and those before."""
    return wire.WeightsAnswer(here.agent.weights, here.history("weights"))


def _set_weights(here: CallContext, asked: wire.SetWeights) -> wire.WeightsAnswer:
    """Set the trade-off."""
    here.agent.set_weights(asked.weights, now=asked.now)
    here.note("weights", asked.weights)
    return _show_weights(here, None)


def _show_config(here: CallContext, _: None) -> wire.ConfigAnswer:
    """Return the settings, and who changed them."""
    return _config_after(here, Reconfiguration())


def _reconfigure(here: CallContext, asked: AgentSettings) -> wire.ConfigAnswer:
    """Go on with other settings; what is left out stays."""
    options, config = asked.options(), here.agent.config
    names = ("arms", "context", "interactions")
    size = FeatureMap(*(options.get(name, getattr(config, name)) for name in names)).size
    most = here.service.config.limits.features
    if size > most:
        raise RequestRefused(
            413, f"arms: expected at most {most} features of the agent, got {size}"
        )
    done = here.agent.reconfigure(**options)
    if done.changes:
        here.note("config", asked)
    return _config_after(here, done)


def _config_after(here: CallContext, done: Reconfiguration) -> wire.ConfigAnswer:
    settings, changes = to_plain(here.agent.config), list(done.changes)
    history = here.history("config")
    return wire.ConfigAnswer(settings, changes, done.relearned, done.unsure, history)


def _show_budgets(here: CallContext, _: None) -> wire.BudgetsAnswer:
    """Say how the budgets stand."""
    budgets = [wire.BudgetAnswer(*status) for status in here.agent.budgets]
    return wire.BudgetsAnswer(budgets, here.history("budgets"))


def _set_budgets(here: CallContext, asked: wire.SetBudgets) -> wire.BudgetsAnswer:
    """Set all budgets."""
    here.agent.reconfigure(budgets=asked.budgets)
    here.note("budgets", asked.budgets)
    return _show_budgets(here, None)


def _show_arms(here: CallContext, _: None) -> wire.CatalogueAnswer:
    """Return the catalogue."""
    return wire.CatalogueAnswer(dict(here.hosted.arms.given))


def _put_arms(here: CallContext, asked: wire.PutArms) -> wire.CountAnswer:
    """Add arms, or give them other features."""
    here.hosted.arms.put(asked.arms)
    here.note("arms", {"put": list(asked.arms)[:100]})
    return wire.CountAnswer(len(here.hosted.arms.given))


def _drop_arms(here: CallContext, asked: wire.DropArms) -> wire.CountAnswer:
    """Take arms off the catalogue."""
    here.hosted.arms.drop(asked.arms)
    here.note("arms", {"drop": asked.arms[:100]})
    return wire.CountAnswer(len(here.hosted.arms.given))


def _erase(here: CallContext, asked: wire.Erase) -> wire.CountAnswer:
    """Remove what was recorded of decisions."""
    erased = here.agent.erase(*asked.ids)
    here.note("erase", {"decisions": erased})
    return wire.CountAnswer(erased)


def _describe(here: CallContext, _: None) -> wire.AgentAnswer:
    """Return an agent as it is now."""
    agent = here.agent
    return wire.AgentAnswer(
        here.hosted.name,
        agent.objectives,
        agent.feature_names,
        agent.theta,
        agent.intercept,
        agent.weights,
        agent.counters,
        agent.observations,
        len(here.hosted.arms.given),
    )
