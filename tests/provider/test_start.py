"""A plugin's process imports the protocol without the SDK around it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from infra.provider import start

LIGHT = "import sys; from infra.provider import start; start.lightly(); from pulumi.runtime.proto import provider_pb2_grpc; import httpx"


def test_leaves_out_what_only_programs_and_people_need() -> None:
    """The SDK's own code does not run, nor do the packages of httpx's command line; both are installed here."""
    code = f"{LIGHT}; sys.exit(not {{'pulumi.resource', 'pulumi.runtime.settings', 'click', 'rich'}}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert (
        subprocess.run([sys.executable, "-c", "import pulumi.resource, pulumi.runtime.settings, click, rich"], check=False).returncode == 0
    )


def test_speaks_the_same_protocol() -> None:
    """A message written by the light import is read by the plain one."""
    from pulumi.runtime.proto import provider_pb2

    code = (
        f"{LIGHT}; from pulumi.runtime.proto import provider_pb2 as p; sys.stdout.buffer.write(p.ReadRequest(id='a').SerializeToString())"
    )
    written = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    assert provider_pb2.ReadRequest.FromString(written).id == "a"


def test_fails_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said by name."""
    monkeypatch.setattr(start, "PACKAGES", ("no_sdk",))
    with pytest.raises(ImportError, match="the Pulumi SDK has no package no_sdk"):
        start.lightly()
