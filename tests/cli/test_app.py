"""The command line as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Accelform = Callable[..., Any]


def test_help_names_every_command_and_loads_nothing_heavy() -> None:
    """Help needs no SDK: neither pulumi nor google, pydantic or rich."""
    program = "import sys; sys.argv = ['accelform', '--help']\nfrom infra.cli.app import main\ntry: main()\nexcept SystemExit: pass\nprint('LOADED', *{name.split('.')[0] for name in sys.modules})"
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    for command in ("check", "cost", "explain", "init", "doctor"):
        assert f"\n  {command}" in out
    assert not {"pulumi", "pulumi_gcp", "google", "pydantic", "rich", "ruamel"} & set(out.partition("LOADED")[2].split())


def test_help_takes_less_than_a_third_of_a_second() -> None:
    """`accelform --help`, as a whole process: goal 0.3 s of CPU."""
    command = [sys.executable, "-c", "from infra.cli.app import main; main()", "--help"]
    subprocess.run(command, check=True, capture_output=True)
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    assert after.children_user + after.children_system - before.children_user - before.children_system < 0.3


def test_fails_on_an_unknown_option_with_the_code_of_a_wrong_command_line(accelform: Accelform) -> None:
    """A wrong command line ends with 2, as a wrong stack file does."""
    assert accelform("check", "--nonsense").code == 2


def test_doctor_looks_at_this_machine(accelform: Accelform) -> None:
    """What is installed is named with its version."""
    data = accelform("doctor", "--json").data
    found = {one["check"]: one for one in data["findings"]}
    assert found["pulumi-gcp"]["message"] == "10.2.0"
    assert all(one["level"] != "failed" or one["fix"] for one in data["findings"])


def test_doctor_cloud_without_credentials_ends_with_the_clouds_code(
    accelform: Accelform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A project that cannot be looked at is not ready."""
    import google.auth

    def none(**ignored: Any) -> Any:
        raise google.auth.exceptions.DefaultCredentialsError("none")

    monkeypatch.setattr(google.auth, "default", none)
    data = accelform("doctor", "--cloud", "us-east5", "--json").data
    assert data["exit_code"] == 6
    assert any(one["about"] == "project tw-shop-dev, for stack us-east5" for one in data["findings"])


def test_machines_get_json_where_a_command_is_refused(accelform: Accelform) -> None:
    """A refusal with --json is JSON on standard output, and nothing else."""
    ran = accelform("check", "nowhere", "--json")
    assert (ran.code, ran.err) == (2, "")
    assert ran.data["exit_code"] == 2
    assert ran.data["problems"][0]["path"] == "nowhere"
    assert accelform("explain", "nonsense", "--json").data["exit_code"] == 2


def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    """`accelform explain | head -1` ends quietly."""
    command = f"set -o pipefail; {sys.executable} -c 'from infra.cli.app import main; main()' explain | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=Path(__file__).parents[2], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments", [["doctor", "us-east5"], ["explain", "rules", "us-east5"], ["check", "stacks"], ["check", "a" * 5000]]
)
def test_fails_on_arguments_that_would_do_nothing(arguments: list[str], accelform: Accelform) -> None:
    """What would be ignored, and what no file system takes, is refused in a sentence."""
    assert accelform(*arguments).code == 2
