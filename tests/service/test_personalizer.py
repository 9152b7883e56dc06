"""Rank and Reward as Azure Personalizer had them."""

from pathlib import Path

from tests.service.running import running

AGENT = {
    "arms": {
        "taste": {"type": "category", "values": ["salty", "sweet"]},
        "grams": {"type": "number"},
    },
    "context": {"time": {"type": "category", "values": ["morning", "evening"]}},
    "objectives": [{"name": "reward"}, {"name": "other"}],
}
RANK = {
    "eventId": "75269AD0",
    "contextFeatures": [{"time": "morning"}, {"device": {"mobile": True, "os": "x"}}],
    "actions": [
        {"id": "pasta", "features": [{"taste": "salty"}, {"nutrition": {"grams": 3}}]},
        {"id": "ice", "features": [{"taste": "sweet", "unknown": 1}]},
        {"id": "soup", "features": []},
    ],
    "excludedActions": ["soup"],
}
PLACE = "/personalizer/v1.1-preview.3"


def test_rank_and_reward(tmp_path: Path) -> None:
    plain = {"agents": {"shop": AGENT}, "personalizer": {"agent": "shop", "objective": "reward"}}
    with running(tmp_path, plain) as service:
        answer = service.ask("POST", f"{PLACE}/rank", RANK)
        assert answer.status == 201
        made = answer.json
        assert made["eventId"] == "75269AD0"
        assert made["rewardActionId"] in ("pasta", "ice")
        assert made["ranking"][0]["id"] == made["rewardActionId"]
        chances = {each["id"]: each["probability"] for each in made["ranking"]}
        assert abs(sum(chances.values()) - 1) < 1e-9
        assert chances["soup"] == 0
        assert service.ask("POST", f"{PLACE}/rank", RANK).json == made
        event = f"{PLACE}/events/75269AD0"
        assert service.ask("POST", f"{event}/activate").status == 204
        assert service.ask("POST", f"{event}/reward", {"value": 0.5}).status == 204
        assert service.ask("POST", f"{event}/reward", {"value": 0.7}).status == 409
        assert service.ask("POST", f"{PLACE}/events/none/reward", {"value": 1}).status == 404
        record = service.service.agents["shop"].agent.decision("75269AD0")
        assert record.rewards == {"reward": 0.5}
        assert service.ask("POST", f"{PLACE}/rank", {"actions": []}).status == 422


def test_it_is_an_option(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        assert service.ask("POST", f"{PLACE}/rank", RANK).status == 404


def test_an_event_may_have_slashes_in_its_id(tmp_path: Path) -> None:
    plain = {"agents": {"shop": AGENT}, "personalizer": {"agent": "shop", "objective": "reward"}}
    with running(tmp_path, plain) as service:
        asked = {**RANK, "eventId": "a/b c"}
        assert service.ask("POST", f"{PLACE}/rank", asked).json["eventId"] == "a/b c"
        event = f"{PLACE}/events/a%2Fb%20c"
        assert service.ask("POST", f"{event}/activate").status == 204
        assert service.ask("POST", f"{event}/reward", {"value": 0.5}).status == 204
