"""The sandbox and Google's cloud never share a state."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tests.engine.region import STACK, Region

Make = Callable[[dict[str, Any]], Region]


def test_a_run_here_never_uses_what_leads_elsewhere_and_touches_no_state_of_the_other_cloud(base: dict[str, Any], region: Make) -> None:
    """
    Another backend, credentials, endpoints, a token and proxies in the environment are left alone; nor does it need a UTF-8 locale. A state
    that says it is of a project in Google's cloud is refused by our commands before the first call.
    """
    here = region(base)
    ran = here.started(
        "up",
        "--json",
        PULUMI_BACKEND_URL="gs://somebody-elses-state",
        PULUMI_ACCESS_TOKEN="x",
        PULUMI_CONFIG_PASSPHRASE="theirs",
        GOOGLE_APPLICATION_CREDENTIALS="/nowhere/key.json",
        GOOGLE_COMPUTE_CUSTOM_ENDPOINT="https://compute.googleapis.com/compute/v1/",
        GOOGLE_CREDENTIALS="{}",
        http_proxy="http://127.0.0.1:9",
        HTTPS_PROXY="http://127.0.0.1:9",
        ALL_PROXY="http://127.0.0.1:9",
        no_proxy="example.com",
        LC_ALL="C",
        PYTHONUTF8="0",
    )
    assert ran.code == 0, ran.out + ran.err

    state = next((here.home.state / ".pulumi" / "stacks").rglob(f"{STACK}.json"))
    text = state.read_text(encoding="utf-8")
    assert '"cloud":"sandbox"' in text
    state.write_text(text.replace('"cloud":"sandbox"', '"cloud":"123456789012"'), encoding="utf-8")
    here.ask("DELETE", "calls")
    for command in ("up", "down", "recover", "env"):
        ran = here.accelform(command)
        assert ran.code == 5, ran.out + ran.err
        assert "123456789012" in ran.err
    assert here.ask("GET", "calls")["calls"] == []
    assert here.accelform("down", "--force").code == 0


def test_a_program_that_would_mix_the_clouds_stops_before_its_first_call(base: dict[str, Any], region: Make) -> None:
    """The prepared shell's endpoints with a project of the user's own: refused by the program itself, in a sentence."""
    here = region(base)
    shell = here.shell()
    here.ask("DELETE", "calls")
    state = here.folder / "other-state"
    state.mkdir()
    mixed = shell | {"PULUMI_BACKEND_URL": state.as_uri(), "PULUMI_OPTION_CWD": str(here.folder), "PULUMI_CONFIG_PASSPHRASE": "x"}
    del mixed["PULUMI_CONFIG_PASSPHRASE_FILE"]
    made = here._run(["pulumi", "stack", "init", STACK], mixed)
    assert made.code == 0, made.err
    ran = here._run(["pulumi", "preview", "--stack", STACK, "--non-interactive"], mixed)
    assert ran.code != 0
    assert "is on this machine, and nothing says that this is a sandbox run" in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err
    assert here.ask("GET", "calls")["calls"] == []
    assert os.environ.get("PULUMI_OPTION_CWD") is None
