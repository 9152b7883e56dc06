"""The page in a real Chromium: log in, drag the trade-off, apply it, see decisions follow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.service.browser import Browser, browser, missing
from tests.service.running import Running, running

from mogro.service.keys import add_key

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing() or "there is a browser"),
]

XSS = "<img src=x onerror=window.hacked=1>\"'&</script><script>window.hacked=2</script>"
AGENT: dict[str, Any] = {
    "seed": 7,
    "epsilon": 0.3,
    "arms": 2,
    "objectives": [{"name": "click"}, {"name": f"price{XSS}", "direction": "min"}],
    "catalogue": {f"cheap{XSS}": [1.0, 0.0], "good": [0.0, 1.0], "both": [0.6, 0.6]},
}
PRICE = f"price{XSS}"
FRONT = "return document.querySelectorAll('#picture .dot').length"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, str]]:
    folder = tmp_path_factory.mktemp("shop")
    key = add_key(folder / "shop.keys.json", XSS, [], [])
    worth = {f"cheap{XSS}": (0.1, 1.0), "good": (0.9, 4.0), "both": (0.5, 3.2)}
    with running(folder, {"agents": {"shop": AGENT}}) as service:
        with service.connect(key=key) as agent:
            for visit in range(60):
                decision = agent.decide(id=f"{XSS}{visit}")
                click, price = worth[decision.arm]
                agent.reward(decision.id, {"click": click, PRICE: price})
        yield service, key


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def log_in(window: Browser, shop: tuple[Running, str]) -> None:
    service, key = shop
    window.open(f"{service.url}/")
    if window.run("return location.pathname") == "/login":
        window.type("#key", key)
        window.click("button")
    window.wait(lambda: window.run(FRONT))


def test_log_in_drag_apply_and_see_decisions_follow(
    window: Browser, shop: tuple[Running, str]
) -> None:
    service, key = shop
    window.resize(1280, 1000)
    window.open(f"{service.url}/page/shop")
    assert window.run("return location.pathname") == "/login"
    window.type("#key", "wrong")
    window.click("button")
    window.wait(lambda: "no key of this service" in window.text("[role=alert]"))
    log_in(window, shop)
    assert window.run("return location.pathname") == "/page/shop"
    assert "draws weights of its own" in window.text("#now")
    window.complaints()  # of the wrong key
    box = window.run(
        "const r = document.querySelector('#picture .dot').getBoundingClientRect();"
        "return [r.x + r.width / 2, r.y + r.height / 2]"
    )
    window.drag("#picture .handle", box)
    window.wait(lambda: "decisions" in window.text("#words"))
    assert "good" not in window.text("#comparison")
    assert PRICE in window.text("#comparison")
    window.click("#apply")
    window.wait(lambda: "Applied" in window.text("#words"))
    weights = service.service.agents["shop"].agent.weights
    assert weights == {"click": 1.0, PRICE: 0.0}
    with service.connect(key=key) as agent:
        arms = [agent.decide(id=f"after {n}") for n in range(20)]
        assert {arm.arm for arm in arms if not (arm.uniform or arm.exploring)} == {"good"}
    window.wait(lambda: "click 100 %" in window.text("#now"))
    window.wait(lambda: "weights" in window.text("#changes"))
    window.run(
        "const s = document.getElementById('weight-0'); s.value = 30;"
        "s.dispatchEvent(new Event('input'))"
    )
    assert window.run("return document.getElementById('weight-1').value") == "70"
    assert not window.complaints()


def test_nothing_of_others_is_run(window: Browser, shop: tuple[Running, str]) -> None:
    log_in(window, shop)
    window.complaints()
    window.type("#id", f"{XSS}3")
    window.click("#lookup button")
    window.wait(lambda: XSS in window.text("#decision"))
    assert f"cheap{XSS}" in window.text("#arms_table")
    assert PRICE in window.text("#objectives")
    assert window.run("return window.hacked ?? null") is None
    assert window.run("return document.querySelectorAll('img, [style], style').length") == 0
    assert not window.complaints()


@pytest.mark.parametrize(("width", "height"), [(1280, 1000), (390, 844)])
def test_the_page_fits(
    window: Browser, shop: tuple[Running, str], width: int, height: int, tmp_path: Path
) -> None:
    window.resize(width, height)
    log_in(window, shop)
    wide, small = window.run(
        "return [document.documentElement.scrollWidth, Math.min(...[...document.querySelectorAll("
        "'#picture text')].map((t) => t.getBoundingClientRect().height))]"
    )
    assert wide <= width
    assert small >= 8  # pixels
    window.screenshot(tmp_path / "page.png")


def test_the_trade_off_by_keyboard(window: Browser, shop: tuple[Running, str]) -> None:
    window.resize(1280, 1000)
    log_in(window, shop)
    now = "return document.querySelector('#picture .handle').getAttribute('aria-valuenow')"
    window.run("document.querySelector('#picture .handle').focus()")
    before = int(window.run(now))
    keys = "\ue014" if before < 20 else "\ue012"  # right, left
    window.type("#picture .handle", keys)
    assert abs(int(window.run(now)) - before) == 1
    assert window.run("return document.activeElement.getAttribute('role')") == "slider"
    window.click("#reset")
    assert int(window.run(now)) == before
    window.type("#filter", "good")
    rows = "document.querySelectorAll('#arms_table tbody tr')"
    assert window.run(f"return [...{rows}].filter((r) => !r.hidden).length") == 1
    labels = window.run(
        "return [...document.querySelectorAll('input')].every((i) => i.labels.length > 0)"
    )
    assert labels
    window.click("#logout")
    window.wait(lambda: window.run("return location.pathname") == "/login")
