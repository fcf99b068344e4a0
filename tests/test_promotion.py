"""What goes from one environment's stack file into another's, and what stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra import promotion, stack_kinds
from infra.check import StackFile
from infra.errors import SpecError
from infra.operate.image_keys import NOTE
from infra.promotion import PROMOTED, Promotion, promote
from infra.stack_file import KINDS
from infra.yaml_file import read

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "docs" / "examples" / "environments"
Write = Callable[..., Path]


def image(project: str, stack: str, name: str, digit: str) -> str:
    return f"us-central1-docker.pkg.dev/{project}/{stack}-images/{name}@sha256:{64 * digit}"


@pytest.fixture
def shop(tmp_path: Path) -> Callable[..., Promotion]:
    """The example's two files, changed by words; and a promotion from the one to the other."""

    def asked(source: dict[str, str] | None = None, target: dict[str, str] | None = None, *, write: bool = True) -> Promotion:
        for name, words in (("staging", source), ("prod", target)):
            path = tmp_path / f"Pulumi.{name}.yaml"
            if not path.exists():
                text = (EXAMPLES / path.name).read_text(encoding="utf-8")
                for before, after in (words or {}).items():
                    assert text.count(before) == 1, before
                    text = text.replace(before, after)
                path.write_text(text, encoding="utf-8")
        return promote(
            StackFile("staging", tmp_path / "Pulumi.staging.yaml"), StackFile("prod", tmp_path / "Pulumi.prod.yaml"), write=write
        )

    return asked


def refused(asked: Callable[[], object]) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        asked()
    return [(problem.path, problem.message) for problem in caught.value.problems]


def test_what_was_tried_goes_and_what_is_the_environments_stays(shop: Callable[..., Promotion], tmp_path: Path) -> None:
    """Only these lines change; a second time there is nothing to do, and the file is not touched."""
    found = shop()
    assert [one.key for one in found.changes] == [
        "images.train",
        "images.serve",
        "jobs.train-recommender.args",
        "models.recommender.accept_if",
    ]
    before = (EXAMPLES / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    wanted = before.replace(64 * "8", 64 * "2").replace(64 * "9", 64 * "3").replace('"10000"', '"20000"').replace("0.98 *", "0.99 *")
    path = tmp_path / "Pulumi.prod.yaml"
    assert path.read_text(encoding="utf-8") == wanted
    assert [(one.image, one.to) for one in found.copies] == [
        (
            image("tw-shop-staging", "staging", name, digit),
            f"us-central1-docker.pkg.dev/tw-shop-live/prod-images/{name}:promoted-{12 * digit}",
        )
        for name, digit in (("train", "2"), ("serve", "3"))
    ]
    written = path.stat().st_mtime_ns
    again = shop()
    assert (again.changes, again.copies, again.left) == ([], [], {})
    assert path.stat().st_mtime_ns == written
    assert sorted(one.name for one in tmp_path.iterdir()) == ["Pulumi.prod.yaml", "Pulumi.staging.yaml"]


def test_a_look_writes_nothing(shop: Callable[..., Promotion], tmp_path: Path) -> None:
    assert shop(write=False).changes
    assert (tmp_path / "Pulumi.prod.yaml").read_bytes() == (EXAMPLES / "Pulumi.prod.yaml").read_bytes()


def test_every_key_that_is_promoted_is_one() -> None:
    """Of the kind and the group that the list has it in; and of what a stack has under no name, nothing is."""
    known = {(kind or one, key.path) for kind, key in stack_kinds.every_key() for one in KINDS}
    for kind, groups in PROMOTED.items():
        for group, keys in groups.items():
            assert {(kind, f"{group}.<name>.{key}") for key in keys} <= known


@pytest.mark.parametrize(
    "sized", ["replicas", "zone", "provisioning", "amount", "gib", "schedule", "machine", "accelerator", "callers", "data"]
)
def test_no_size_no_place_and_no_budget_is_promoted(sized: str) -> None:
    assert not [key for groups in PROMOTED.values() for keys in groups.values() for key in keys if sized in key]


def test_what_is_not_said_any_more_goes(shop: Callable[..., Promotion], tmp_path: Path) -> None:
    """With its own comment; that of what comes next stays."""
    args = '      args: ["--steps", "20000"]\n'
    shop({args: ""}, {"      registers: recommender\n\n": "      # the champion's\n      registers: recommender\n\n"})
    text = (tmp_path / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert "args" not in text
    assert "      # the champion's\n      registers: recommender\n\n  accelform:models:" in text


def test_variables_are_promoted_one_by_one(shop: Callable[..., Promotion], tmp_path: Path) -> None:
    """Those that the other file alone has are its own; what names the first project is for nobody else."""
    env = '      env: { EPOCHS: "3", TABLE: tw-shop-staging.clicks.all, MODE: "off" }\n      args'
    found = shop({"      args": env}, {"      args": '      env: { EPOCHS: "2", LIVE: "1" } # of prod\n      args'})
    config = read(tmp_path / "Pulumi.prod.yaml").data["config"]
    assert config["accelform:jobs"]["train-recommender"]["env"] == {"EPOCHS": "3", "LIVE": "1", "MODE": "off"}
    assert list(found.left) == ["jobs.train-recommender.env.TABLE"]
    assert 'LIVE: "1", MODE: "off"} # of prod\n' in (tmp_path / "Pulumi.prod.yaml").read_text(encoding="utf-8")


def test_arguments_that_name_the_first_project_stay_behind(shop: Callable[..., Promotion]) -> None:
    found = shop({'"20000"': '"--out", "gs://tw-shop-staging-staging-data/x"'})
    assert "jobs.train-recommender.args" not in [one.key for one in found.changes]
    assert "which is staging's project" in found.left["jobs.train-recommender.args"]


def test_an_image_of_others_keeps_its_name(shop: Callable[..., Promotion], tmp_path: Path) -> None:
    """Its repository is nobody's own: both projects read it. A repository that the file names is its own."""
    shared = f"us-central1-docker.pkg.dev/shop-tools/all/train@sha256:{64 * '7'}"
    own = "  accelform:storage: { images: { existing: projects/tw-shop-tools/locations/us-central1/repositories/live } }\n"
    found = shop({image("tw-shop-staging", "staging", "train", "2"): shared}, {"  accelform:images:": f"{own}  accelform:images:"})
    images = read(tmp_path / "Pulumi.prod.yaml").data["config"]["accelform:images"]
    assert images["train"] == shared
    assert images["serve"] == f"us-central1-docker.pkg.dev/tw-shop-tools/live/serve@sha256:{64 * '3'}"
    assert [one.image.split("/")[3][:6] for one in found.copies] == ["runner", "serve@"]


def test_a_new_image_and_a_new_job(shop: Callable[..., Promotion], tmp_path: Path) -> None:
    """The image goes, where the first file says it; the job is told: its size and place are not known of the other project."""
    tune = (
        "    tune: { workload: finetune, accelerator_type: v5litepod-1, zones: [us-central1-a], provisioning: [spot], max_run_minutes: 30,"
    )
    tune += " data: { model: m/, examples: e/ } }\n"
    new = image("tw-shop-staging", "staging", "tf", "5")
    found = shop({"  accelform:jobs:\n": f"    tf: {new}\n  accelform:jobs:\n{tune}"})
    assert list(found.left) == ["jobs.tune"]
    text = (tmp_path / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert f"    tf: {image('tw-shop-live', 'prod', 'tf', '5')}\n\n  accelform:jobs:\n" in text


def test_what_was_never_built_is_not_promoted(shop: Callable[..., Promotion], tmp_path: Path) -> None:
    assert refused(lambda: shop({64 * "2": 64 * "0"})) == [("images.train", "is a placeholder: it was never built")]
    assert (tmp_path / "Pulumi.prod.yaml").read_bytes() == (EXAMPLES / "Pulumi.prod.yaml").read_bytes()


def test_a_build_of_the_sandbox_is_told(shop: Callable[..., Promotion]) -> None:
    found = shop({64 * "2": f"{64 * '2'} # {NOTE}"})
    assert list(found.left) == ["images.train: the note beside it"]


def test_an_outcome_that_would_be_wrong_is_not_written(shop: Callable[..., Promotion], tmp_path: Path) -> None:
    """Its problems are told, with what they come from."""
    runner = "  accelform:jobs:\n    train-recommender:\n      workload: train_recommender\n"
    tf = image("tw-shop-staging", "staging", "tf", "5")
    source = {
        runner: f"    tf: {tf}\n{runner.replace('train_recommender', 'finetune')}",
        "clicks: sample/clicks/": "model: m/, examples: e/",
    }
    found = refused(lambda: shop(source | {", pictures: sample/pictures/": ""}))
    assert found[0] == ("", "with what staging has, the file would be wrong, and nothing was written")
    assert len(found) > 1
    assert (tmp_path / "Pulumi.prod.yaml").read_bytes() == (EXAMPLES / "Pulumi.prod.yaml").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (
            {"accelform:environment: prod": "accelform:environment: dev"},
            ("environment", "staging comes after dev: a change goes the other way"),
        ),
        ({"accelform:environment: prod": "accelform:environment: production"}, ("environment", "production is none")),
        ({"accelform:environment: prod": "accelform:owner2: prod"}, ("environment", "is missing")),
        ({"  gcp:project: tw-shop-live\n": ""}, ("gcp:project", "is missing")),
        (
            {"  accelform:region: us-c": "  accelform:kind: foundation\n  accelform:region: us-c"},
            ("kind", "staging is of kind region, prod of kind foundation"),
        ),
        ({"  accelform:region: us-c": "  accelform:kind: apps\n  accelform:region: us-c"}, ("region_stack", "is missing")),
        ({"    train-recommender:\n": "    train-recommender: {}\n    other:\n"}, None),
        ({"      args: [": "      env: [a]\n      args: ["}, ("jobs.train-recommender.env", "is no mapping")),
    ],
    ids=str,
)
def test_fails_on_what_is_no_pair(target: dict[str, str], problem: tuple[str, str] | None, shop: Callable[..., Promotion]) -> None:
    source = {"      args: [": '      env: { A: "1" }\n      args: ['}
    found = refused(lambda: shop(source, target))
    assert problem in (None, found[0])


def test_fails_on_one_file_and_on_foundations(base: dict[str, Any], stack_file: Write) -> None:
    path = stack_file(base | {"accelform:kind": "foundation"}, "a")
    one = StackFile("a", path)
    assert refused(lambda: promote(one, one, write=True))[0] == ("", "is one file, named twice")
    other = StackFile("b", stack_file(base | {"accelform:kind": "foundation", "gcp:project": "tw-shop-web"}, "b"))
    assert "nothing of a foundation is promoted" in refused(lambda: promote(one, other, write=True))[0][1]


def test_what_lives_in_a_cluster(base: dict[str, Any], stack_file: Write) -> None:
    """Its images are in the repository of its region's stack; of a model the folder stays: each environment trains its own."""
    region = base | {"accelform:region": "us-central1", "accelform:clusters": {"main": {"mode": "autopilot"}}}
    own = {key: region[key] for key in ("accelform:schema", "accelform:region", "accelform:owner")}
    for name, environment, digit in (("try", "dev", "1"), ("live", "prod", "2")):
        project = f"tw-shop-{name}"
        there = {"gcp:project": project, "accelform:environment": environment}
        stack_file(region | there, name)
        service = {"namespace": "serving", "workload": "serve_recommender", "model": f"recommender/{digit}/", "cpu": 1, "memory_gib": 2}
        apps = own | there | {"accelform:kind": "apps", "accelform:region_stack": name, "accelform:namespaces": {"serving": {}}}
        apps["accelform:images"] = {"serve": image(project, name, "serve", digit)}
        apps["accelform:services"] = {"recommend": service | ({"env": {"WL_THREADS": "8"}} if name == "try" else {})}
        path = stack_file(apps, f"{name}-apps")
    found = promote(StackFile("try-apps", path.parent / "Pulumi.try-apps.yaml"), StackFile("live-apps", path), write=True)
    assert [(one.key, one.after) for one in found.changes] == [
        ("images.serve", image("tw-shop-live", "live", "serve", "1")),
        ("services.recommend.env.WL_THREADS", "8"),
    ]
    assert read(path).data["config"]["accelform:services"]["recommend"]["model"] == "recommender/2/"
    assert promotion.promote(StackFile("a", path.parent / "Pulumi.try-apps.yaml"), StackFile("live-apps", path), write=False).changes == []
