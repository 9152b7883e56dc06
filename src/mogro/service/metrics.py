"""What a monitoring system reads: counts, latencies, and how agents are doing."""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mogro.service.hosted_agent import HostedAgent

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """Counts of requests, and a view of the agents at the moment of asking."""

    def __init__(self, agents: Mapping[str, HostedAgent]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "mogro_requests", "Answers.", ["call", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "mogro_request_seconds",
            "From the first byte to the answer.",
            ["call"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._registry.register(_Agents(agents))

    def count_request(self, call: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(call, str(status)).inc()
        self._seconds.labels(call).observe(seconds)

    def text(self) -> bytes:
        """Return all of them, as Prometheus reads them."""
        return generate_latest(self._registry)


class _Agents(Collector):
    """The counters of the agents themselves: they survive a restart."""

    def __init__(self, agents: Mapping[str, HostedAgent]) -> None:
        self._agents = agents

    def collect(self) -> Iterator[Metric]:
        """Ask every agent."""
        events = CounterMetricFamily(
            "mogro_events", "What has happened to an agent.", labels=["agent", "kind"]
        )
        decisions = GaugeMetricFamily("mogro_held", "Decisions held.", labels=["agent", "kind"])
        queue = GaugeMetricFamily("mogro_waiting", "Calls that wait.", labels=["agent"])
        commits = CounterMetricFamily("mogro_commits", "Commits.", labels=["agent"])
        alarms = GaugeMetricFamily("mogro_alarms", "Alarms.", labels=["agent", "alarm"])
        price = GaugeMetricFamily("mogro_price", "Of a budget.", labels=["agent", "objective"])
        room = GaugeMetricFamily("mogro_room", "In a budget.", labels=["agent", "objective"])
        for name, hosted_agent in self._agents.items():
            for status in hosted_agent.agent.budgets:
                price.add_metric([name, status.budget.objective], status.price)
                room.add_metric([name, status.budget.objective], status.room)
            for kind, number in hosted_agent.agent.counters.items():
                family = decisions if kind in ("pending", "completed") else events
                family.add_metric([name, kind], number)
            queue.add_metric([name], hosted_agent.writer.size)
            commits.add_metric([name], hosted_agent.writer.commits)
            alarm_names = [alarm.name for alarm in hosted_agent.alarms()]
            for alarm in sorted(set(alarm_names)):
                alarms.add_metric([name, alarm], alarm_names.count(alarm))
        yield from (events, decisions, queue, commits, alarms, price, room)

    def describe(self) -> Iterator[Metric]:
        """Describe nothing at registration, which would ask all agents."""
        return iter(())
