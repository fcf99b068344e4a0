"""One environment, one project: what is refused of any kind of file, and what is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra import stack_kinds
from infra.errors import SpecError

Write = Callable[..., Path]
WORDS = "prod, and in the same project, tw-shop-ml, dev is that of "


@pytest.fixture
def prod(base: dict[str, Any]) -> dict[str, Any]:
    return base | {"accelform:environment": "prod"}


def refused(path: Path) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        stack_kinds.load(path)
    return [(problem.path, problem.message) for problem in caught.value.problems]


def test_two_environments_in_one_project_are_refused_with_their_files(
    base: dict[str, Any], prod: dict[str, Any], stack_file: Write
) -> None:
    """Each of the two is, whatever their kinds are; one problem names every file."""
    stack_file(base, "a")
    stack_file(base | {"accelform:kind": "foundation"}, "once")
    wrong = stack_file(prod, "b")
    assert refused(wrong) == [("environment", f"{WORDS}Pulumi.a.yaml, Pulumi.once.yaml")]
    stack_file(prod | {"accelform:environment": "staging"}, "c")
    assert refused(wrong) == [("environment", f"{WORDS}Pulumi.a.yaml, Pulumi.once.yaml; staging is that of Pulumi.c.yaml")]
    assert [path for path, _ in refused(wrong.parent / "Pulumi.once.yaml")] == ["environment"]
    with pytest.raises(SpecError) as caught:
        stack_kinds.load(wrong)
    assert caught.value.problems[0].line


def test_the_engine_refuses_it_too(base: dict[str, Any], prod: dict[str, Any], stack_file: Write) -> None:
    folder = stack_file(base, "a").parent
    config = {key: value if isinstance(value, str) else json.dumps(value) for key, value in prod.items()}
    with pytest.raises(SpecError, match="one project each"):
        stack_kinds.from_engine(config, "the engine", folder)


def test_what_lives_in_a_cluster_is_of_its_environment(base: dict[str, Any], stack_file: Write) -> None:
    stack_file(base | {"accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "standard"}}}, "there")
    own = {key: base[key] for key in ("gcp:project", "accelform:schema", "accelform:owner")}
    apps = own | {"accelform:kind": "apps", "accelform:region": "us-central1", "accelform:region_stack": "there"}
    wrong = stack_file(apps | {"accelform:environment": "prod"}, "in-it")
    assert ("environment", f"{WORDS}Pulumi.there.yaml") in refused(wrong)


@pytest.mark.parametrize(
    "other",
    [
        "config:\n  gcp:project: tw-shop-ml\n  accelform:environment: 'dev' # as ever\n",
        "config: {gcp:project: tw-shop-ml, accelform:environment: dev}\n",
        "config:\n  gcp:project: tw-shop-ml\n  'accelform:environment':\n    dev\n",
    ],
)
def test_however_it_is_written(other: str, base: dict[str, Any], prod: dict[str, Any], stack_file: Write) -> None:
    """The file that says so in another form is read whole."""
    path = stack_file(prod, "b")
    (path.parent / "Pulumi.odd.yaml").write_text(other, encoding="utf-8")
    assert refused(path) == [("environment", f"{WORDS}Pulumi.odd.yaml")]
    assert stack_kinds.load(stack_file(base, "b"))


def test_the_same_environment_and_another_project_are_fine(base: dict[str, Any], prod: dict[str, Any], stack_file: Write) -> None:
    """What cannot be read says no project, nor does one that only names it."""
    stack_file(base, "a")
    path = stack_file(base, "b")
    stack_file(prod | {"gcp:project": "tw-shop-prod", "accelform:owner": "tw-shop-ml"}, "c")
    (path.parent / "Pulumi.broken.yaml").write_text("config: [tw-shop-ml", encoding="utf-8")
    (path.parent / "Pulumi.bytes.yaml").write_bytes(b"\xff tw-shop-ml")
    (path.parent / "Pulumi.list.yaml").write_text("config: [tw-shop-ml]\n", encoding="utf-8")
    (path.parent / "Pulumi.no.yaml").write_text("config:\n  gcp:project: tw-shop-ml\n  accelform:environment: [prod]\n", encoding="utf-8")
    (path.parent / "Pulumi.folder.yaml").mkdir()
    assert stack_kinds.load(path).environment == "dev"


@pytest.mark.parametrize("odd", [["dev"], {"dev": 1}, [], {}, None, 7, float("nan"), True])
def test_an_environment_and_a_kind_of_any_type_are_refused_in_words(base: dict[str, Any], stack_file: Write, odd: object) -> None:
    """In the file itself, and in that of the foundation which it names."""
    assert "environment" in [path for path, _ in refused(stack_file(base | {"accelform:environment": odd}, "a"))]
    assert "kind" in [path for path, _ in refused(stack_file(base | {"accelform:kind": odd}, "b"))]
    stack_file(base | {"accelform:kind": odd}, "once")
    region = stack_file({key: value for key, value in base.items() if key != "accelform:budgets"} | {"accelform:foundation": "once"}, "c")
    assert "foundation" in [path for path, _ in refused(region)]
