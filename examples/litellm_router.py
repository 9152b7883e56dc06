"""Route the requests of LiteLLM by a service that learns which model is worth its price.

``Strategy`` is what LiteLLM calls a custom routing strategy. For every request it asks the service
which deployment to use, and after the answer it tells quality and cost. With LiteLLM installed the
program runs its Router, and the "models" are answers that LiteLLM makes up (``mock_response``);
without, a loop stands in for the Router that calls the same hook in the same way. Nothing leaves
this machine.

Run with ``python examples/litellm_router.py``. It needs ``pip install '.[serve]'``.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from socket import create_server
from typing import Any

import mogro

try:
    from mogro.service.client import RemoteAgent, ServiceError
except ImportError:
    sys.exit("This needs the service: pip install '.[serve]' in a checkout.")

SERVICE = """
port = {port}
log = "changes"
[agents.models]
seed = 7
epsilon = 0.05
objectives = [{{name = "quality", unit = 0.1}}, {{name = "cost", direction = "min", unit = 0.01}}]
arms.model = {{type = "category", values = ["small", "large"]}}
context.length = {{type = "category", values = ["short", "long"]}}
[agents.models.catalogue]
small = {{model = "small"}}
large = {{model = "large"}}
"""
MODEL_LIST: list[dict[str, Any]] = [
    {
        "model_name": "assistant",
        "litellm_params": {"model": f"openai/{name}", "api_key": "none", "mock_response": name},
        "model_info": {"id": name},
    }
    for name in ("small", "large")
]
PRICES = {"small": 0.001, "large": 0.02}  # dollars a request


class Strategy:
    """Asks a service which deployment a request should go to."""

    def __init__(self, agent: RemoteAgent, deployments: list[dict[str, Any]]) -> None:
        self.agent = agent
        self.deployments = {each["model_info"]["id"]: each for each in deployments}

    def get_available_deployment(
        self,
        model: str,
        messages: list[dict[str, str]] | None = None,
        input: str | list[Any] | None = None,  # noqa: A002
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return one of the deployments; the hook of LiteLLM."""
        kwargs = {} if request_kwargs is None else request_kwargs
        request = kwargs.get("metadata", {}).get("request", uuid.uuid4().hex)
        words = sum(len(message["content"].split()) for message in messages or [])
        try:
            length = "long" if words >= 20 else "short"
            decision = self.agent.decide(context={"length": length}, id=request)
        except ServiceError:  # better any answer than none
            return self.deployments["small"]
        return self.deployments[decision.arm]

    async def async_get_available_deployment(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return one of the deployments; for LiteLLM's asynchronous calls."""
        return self.get_available_deployment(*args, **kwargs)


def make_router(strategy: Strategy) -> Any:
    """Return LiteLLM's Router with the strategy, or what stands in for it."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would fetch prices
    try:
        from litellm import Router  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return StandIn(strategy)
    router = Router(model_list=MODEL_LIST, num_retries=0)
    router.set_custom_routing_strategy(strategy)
    return router


class StandIn:
    """Calls the hook as LiteLLM's Router does, and gives the made-up answer."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    def completion(self, model: str, messages: list[dict[str, str]], **kwargs: Any) -> Any:
        """Return what the chosen deployment says."""
        chosen = self.strategy.get_available_deployment(model, messages, request_kwargs=kwargs)
        return {"choices": [{"message": {"content": chosen["litellm_params"]["mock_response"]}}]}


def judge(words: int, model: str, rng: random.Random) -> float:
    """Return how good an answer is: the small model fails at long requests."""
    skill = 0.9 if model == "large" or words < 20 else 0.3
    return min(max(rng.gauss(skill, 0.1), 0.0), 1.0)


def play(url: str, requests: int) -> Counter[tuple[str, str]]:
    """Route requests, and return which model got the short and the long ones, in the end."""
    rng, chosen = random.Random(0), Counter[tuple[str, str]]()
    with mogro.connect(url) as agent:
        router = make_router(Strategy(agent, MODEL_LIST))
        agent.set_weights({"quality": 1.0, "cost": 0.5})
        for number in range(requests):
            words, request = rng.randint(1, 60), f"request {number}"
            messages = [{"role": "user", "content": "word " * words}]
            answer = router.completion("assistant", messages, metadata={"request": request})
            model = answer["choices"][0]["message"]["content"]
            agent.reward(request, {"quality": judge(words, model, rng), "cost": PRICES[model]})
            if number >= requests // 2:
                chosen["long" if words >= 20 else "short", model] += 1
    return chosen


def main(requests: int = 600) -> None:
    """Start a service, route requests by it, and say what it has learned."""
    with create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "router.toml"
        file.write_text(SERVICE.format(port=port))
        command = [sys.executable, "-c", "from mogro.cli import main; main()", "serve", str(file)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as service:
            try:
                wait(f"http://127.0.0.1:{port}")
                chosen = play(f"http://127.0.0.1:{port}", requests)
            finally:
                service.terminate()
    for kind in ("short", "long"):
        total = sum(chosen[kind, model] for model in PRICES)
        shares = ", ".join(f"{model} {chosen[kind, model] / total:.0%}" for model in PRICES)
        print(f"{kind} requests: {shares}")


def wait(url: str) -> None:
    """Return once a service answers."""
    for _ in range(300):
        try:
            mogro.connect(url, retries=0).close()
        except ServiceError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(url)


if __name__ == "__main__":
    main()
