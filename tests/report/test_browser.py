"""The pages in a real browser, at the width of a phone and of a desk. Skipped where there is none: `make browser`."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.check import Checked
from infra.declared import Declared
from infra.report.index import index
from infra.report.page import page
from tests.report.conftest import HOSTILE

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--virtual-time-budget=5000", "--dump-dom"),
)
PROBE = """
const problems = [];
addEventListener("error", (event) => problems.push(`error: ${event.message}`));
addEventListener("unhandledrejection", (event) => problems.push(`rejected: ${event.reason}`));
addEventListener("securitypolicyviolation", (event) => problems.push(`violation: ${event.violatedDirective} ${event.blockedURI}`));
const say = console.error;
console.error = (...told) => { problems.push(`console: ${told.join(" ")}`); say(...told); };
addEventListener("load", () => setTimeout(() => {
  const wide = [...document.querySelectorAll("main *")].filter((one) => !one.closest(".scroll, .plot") && one.getBoundingClientRect().right > innerWidth);
  parent.postMessage({
    name: location.hash.slice(1),
    title: document.title,
    asked: performance.getEntriesByType("resource").map((one) => one.name).filter((name) => !name.startsWith("data:")),
    cut: [...document.querySelectorAll(".bartext")].filter((one) => one.getBoundingClientRect().right > one.closest(".plot").getBoundingClientRect().right).length,
    empty: [...document.querySelectorAll(".plot")].filter((one) => !one.querySelector(".barlayer path, .scatterlayer .point")).length,
    overhang: Math.max(0, ...[...document.querySelectorAll(".plot")].map((one) => one.offsetWidth - one.parentElement.clientWidth)),
    places: document.querySelectorAll(".plot").length,
    plots: document.querySelectorAll(".plot .main-svg:first-child").length,
    problems,
    scroll: document.documentElement.scrollWidth,
    wide: wide.map((one) => one.outerHTML.slice(0, 80)),
  }, "*");
}, 300));
"""
"""What a page tells of itself. It runs first in a copy of the page, whose policy names its hash too."""
HOST = """<!doctype html><body><script>
const told = [];
addEventListener("message", (event) => { told.push(event.data); document.body.dataset.told = JSON.stringify(told); });
</script>"""


def probed(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(PROBE.encode()).digest()).decode()
    allowed = text.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)
    return allowed.replace('<meta name="generator"', f'<script>{PROBE}</script><meta name="generator"', 1)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[dict[str, tuple[str, int]]], dict[str, Any]]:
    """Opens pages, each by its name at a width, side by side in one browser; answers what each tells."""
    if BROWSER is None or subprocess.run([BROWSER, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("no Chromium on PATH that starts: `make browser` installs one where it can")

    def open_(pages: dict[str, tuple[str, int]]) -> dict[str, Any]:
        frames = []
        for name, (text, width) in pages.items():
            path = tmp_path / f"{name}.html"
            path.write_text(probed(text), encoding="utf-8")
            frames.append(f'<iframe src="{path.as_uri()}#{name}" style="width:{width}px;height:900px;border:0"></iframe>')
        host = tmp_path / "host.html"
        host.write_text(HOST + "".join(frames), encoding="utf-8")
        command = [str(BROWSER), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", host.as_uri()]
        dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        found = re.search(r'data-told="([^"]*)"', dom)
        assert found, dom[-500:]
        return {one.pop("name"): one for one in json.loads(html.unescape(found[1]))}

    return open_


def test_draws_every_plot_without_an_error_a_call_or_a_scroll(
    checked: Callable[..., Checked], a_slice: dict[str, Any], opened: Callable[[dict[str, tuple[str, int]]], dict[str, Any]]
) -> None:
    """With names that try every way out, and the longest names that there are."""
    group = Declared("accelform:tpu_slice:TpuSlice", HOSTILE, {}, urn="urn:of:group")
    node = Declared(
        "gcp:compute/instance:Instance", HOSTILE, {"machineType": "ct5lp-hightpu-8t", "zone": "us-east5-a"}, "urn:of:node", "urn:of:group"
    )
    long = Declared("gcp:storage/bucket:Bucket", "b" * 200, {"location": "us-east5", "name": "x" * 200})
    one = checked(
        {"accelform:tpu_slices": {"eval": a_slice, "e" * 20: a_slice}, "accelform:usage": {"data_gib": 10**12}}, group, node, long
    )
    text = page(one)
    several = index([one, checked(stack="other")], {"try": "try.html", "other": "other.html"})
    wrong = '<p style="width:500px">wide</p><img src="https://example.com/x.png"><script>1</script></main>'
    spoilt = several.replace("</main>", wrong)
    told = opened({"phone": (text, 390), "desk": (text, 1280), "list": (several, 390), "spoilt": (spoilt, 390)})
    assert sorted(told) == ["desk", "list", "phone", "spoilt"]
    for name, width in (("phone", 390), ("desk", 1280)):
        assert told[name]["problems"] == []
        assert told[name]["asked"] == []
        assert told[name]["title"] == "try: Accelform report"
        assert told[name]["places"] == told[name]["plots"] == 3
        assert told[name]["empty"] == 0
        assert told[name]["cut"] == told[name]["overhang"] == 0
        assert told[name]["wide"] == []
        assert told[name]["scroll"] <= width
    assert (told["list"]["problems"], told["list"]["scroll"], told["list"]["wide"]) == ([], 390, [])
    # The probe sees a foreign image, a foreign script and a box that is too wide: what is held above can fail.
    assert [one.split()[1] for one in told["spoilt"]["problems"]] == ["img-src", "script-src-elem"]
    assert told["spoilt"]["scroll"] > 390
    assert len(told["spoilt"]["wide"]) == 1
