"""`accelform image build`: refusals before anything is done, and what it writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.cli import images as command
from infra.cli.app import main
from infra.operate import images
from infra.operate.images import Built

Run = Callable[..., tuple[int, str, str]]
DIGEST = "ab" * 32


@pytest.fixture
def run(base: dict[str, Any], stack_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command on one stack that has a job, but no image yet: the file is refused by all other commands."""
    path = stack_file(base | {"accelform:jobs": {"train": {"workload": "train_recommender"}}})

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["accelform", "image", "build", *arguments, "--stacks", str(path.parent)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Who was asked to build; nothing is built."""
    asked: list[Any] = []

    def build(builder: Any, names: list[str], say: Callable[[str], None]) -> Iterator[Built]:
        asked.append(builder)
        for name in names:
            yield Built(name, f"us-east5-docker.pkg.dev/tw-shop-ml/try-images/{name}@sha256:{DIGEST}", f"{name}:src-1", "said")

    monkeypatch.setattr(images, "build", build)
    monkeypatch.setattr(command, "stack_sandbox", lambda stack, *, cloud: "" if cloud else "http://sandbox")
    return asked


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sreve"], "'sreve': is no image"),
        (["serve", "--with", "kaniko", "--cloud"], "--with: 'kaniko' builds no images"),
        (["serve", "--with", "docker"], "--with: pushes to Artifact Registry, and the sandbox's repository keeps no image"),
        (["serve", "--service-account", "me@example.com", "--cloud"], "is no e-mail address of a service account"),
        (
            ["serve", "--service-account", "a@b.iam.gserviceaccount.com", "--with", "docker", "--cloud"],
            "--service-account: is of Cloud Build",
        ),
        (["serve", "--stack", "nowhere"], "nowhere"),
        ([""], "is no image"),
    ],
)
def test_fails_before_anything_is_built(run: Run, built: list[Any], arguments: list[str], says: str) -> None:
    """A sentence, exit code 2, and nobody was asked."""
    code, _, err = run(*arguments)

    assert code == 2
    assert says in err
    assert built == []


def test_writes_what_came_of_it(run: Run, built: list[Any], tmp_path: Path) -> None:
    """Beside the reference stands that the sandbox built nothing; of Google's there is no such note."""
    code, out, err = run("serve", "runner")
    text = (tmp_path / "Pulumi.try.yaml").read_text()

    assert (code, out) == (0, "")
    assert f"    serve: us-east5-docker.pkg.dev/tw-shop-ml/try-images/serve@sha256:{DIGEST} # sandbox: nothing was built\n" in text
    assert "written to" in err
    assert vars(built[0])["_prefix"] == "us-east5-docker.pkg.dev/tw-shop-ml/try-images"
    assert vars(built[0])["_bucket"] == "tw-shop-ml-try-models"


def test_prints_for_machines(run: Run, built: list[Any], tmp_path: Path) -> None:
    """One object: what was built, and which keys changed."""
    code, out, _ = run("serve", "--cloud", "--json")
    said = json.loads(out)

    assert code == 0
    assert [one["name"] for one in said["images"]] == said["written"] == ["serve"]
    assert "sandbox" not in (tmp_path / "Pulumi.try.yaml").read_text()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"accelform:images": ["serve"]}, "images: is no mapping of names"),
        ({"accelform:storage": {"images": {"existing": "images"}}}, "storage.images.existing: 'images' is no repository of us-east5"),
        ({"accelform:storage": {"images": {"existing": "projects/p/locations/us/repositories/r"}}}, "is no repository of us-east5"),
        (
            {"accelform:storage": {"images": {"existing": "projects/example.com:shop/locations/us-east5/repositories/r"}}},
            "'projects/example.com:shop/locations/us-east5/repositories/r' is no repository of us-east5",
        ),
        ({"gcp:project": "example.com:shop"}, "gcp:project: is no name that a stack file takes"),
    ],
)
def test_fails_before_a_build_for_a_file_that_could_not_take_it(
    base: dict[str, Any], stack_file: Callable[..., Path], built: list[Any], change: dict[str, Any], says: str
) -> None:
    """Nobody waits for a build whose end cannot be written, or goes to a place that is none."""
    path = stack_file(base | change)
    with pytest.raises(command.SpecError, match=says):
        command.build(["serve"], "try", path.parent, tool=None, account=None, cloud=True, as_json=False)
    assert built == []


def test_fails_for_a_file_that_says_no_place(stack_file: Callable[..., Path], built: list[Any]) -> None:
    """Project and region are all that is needed of it, and they are needed."""
    path = stack_file({"gcp:project": 3, "accelform:schema": 1})

    with pytest.raises(command.SpecError, match=r"accelform:region: is missing"):
        command.build(["serve"], str(path), path.parent, tool=None, account=None, cloud=True, as_json=False)
    assert built == []
