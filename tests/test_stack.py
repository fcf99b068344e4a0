"""The stack file: what it accepts, and what it refuses, all at once and in words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from infra import stack_kinds
from infra.errors import SpecError
from infra.stack import StackSpec

Write = Callable[..., Path]


def refused(path: Path) -> dict[str, str]:
    """Path -> message of every problem of a file."""
    with pytest.raises(SpecError) as caught:
        StackSpec.load(path, "Pulumi.try.yaml")
    return {problem.path: problem.message for problem in caught.value.problems}


def refusal(path: Path) -> str:
    with pytest.raises(SpecError) as caught:
        StackSpec.load(path, "Pulumi.try.yaml")
    return str(caught.value)


def test_loads_the_least_stack(base: dict[str, Any], stack_file: Write) -> None:
    """Project, version, region, environment, owner and one budget are enough."""
    spec = StackSpec.load(stack_file(base))
    assert (spec.project, spec.region, spec.environment, spec.owner) == ("tw-shop-ml", "us-east5", "dev", "ml-team")
    assert str(spec.budgets["monthly"].amount) == "350000 USD"


def test_every_file_in_stacks_loads() -> None:
    """The project's own stacks are in order, and name their schema in the first line."""
    for path in sorted((Path(__file__).parent.parent / "stacks").glob("Pulumi.*.yaml")):
        stack_kinds.load(path)
        assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=stack.schema.json\n")


def test_the_engine_hands_over_the_same(base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write) -> None:
    """What the engine hands over as text gives the same spec as the file: dates, numbers and words that look like numbers."""
    base["accelform:owner"] = "2026"
    base["accelform:tpu_slices"] = {"eval": a_slice}
    base["accelform:budgets"] |= {
        "free": {
            "amount": "300 USD",
            "period": {"from": "2026-12-01", "until": "2027-02-28"},
            "spend": "before-credits",
        }
    }
    from_file = StackSpec.load(stack_file(base))
    as_text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in base.items()}
    as_text["accelform:budgets"] = as_text["accelform:budgets"].replace('"2026-12-01"', '"2026-12-01 00:00:00 +0000 UTC"')
    assert StackSpec.from_engine(as_text | {"pulumi:tags": "{}"}, "the engine") == from_file


def test_fails_with_all_problems_of_a_file_at_once(stack_file: Write) -> None:
    """One run names every problem: where, what, got, allowed, fix."""
    path = stack_file(
        {
            "gcp:project": "My First Project",
            "accelform:schema": 1,
            "accelform:region": "us-east5",
            "accelform:enviroment": "dev",
            "accelform:owner": "",
            "accelform:tpu_slices": {"eval": {"accelerator_type": "v6e-8", "zone": "us-east5-c", "provisioning": "spot"}},
            "accelform:endpoints": {"recommend": {"callers": ["allUsers"], "rollout": {}}},
            "accelform:budgets": {"monthly": {"amount": "350"}},
            "region": "us-east5",
        }
    )
    assert refusal(path) == snapshot("""\
Pulumi.try.yaml:1: environment: is missing
  allowed: `dev`: everything can be destroyed with its data. `staging` and `prod`: buckets, repository, clusters and node pools are protected. The rest that it decides: `accelform explain environment`.
  fix: write it: it has no default
Pulumi.try.yaml:3: budgets.monthly.amount: "350" is not an amount of money above 0 with its currency
  allowed: an amount, a space, the ISO 4217 code of the billing account's currency: 350 USD
Pulumi.try.yaml:6: endpoints.recommend.callers.0: "allUsers" is no IAM member in small letters (serviceAccount:, user:, group:, domain:, principal://iam.googleapis.com/, never the public)
  allowed: for example serviceAccount:storefront@tw-shop-web.iam.gserviceaccount.com
Pulumi.try.yaml:7: endpoints.recommend.rollout.traffic_percent: is missing
  allowed: Percent of the traffic that the new version gets, step by step, up to 100.
  fix: write it: it has no default
Pulumi.try.yaml:7: endpoints.recommend.rollout.hold_minutes: is missing
  allowed: Minutes that each step is held while the guards are read. Google's metrics are late by some minutes.
  fix: write it: it has no default
Pulumi.try.yaml:7: endpoints.recommend.rollout.guards: is missing
  allowed: What must hold of the new version: the first that does not sends all traffic back.
  fix: write it: it has no default
Pulumi.try.yaml:8: enviroment: is not a key here
  allowed: project, schema, kind, region, environment, owner, usage, exceptions, foundation, notify, network, storage, tpu_slices, gpu_vms, clusters, node_pools, allow_replace, images, jobs, models, endpoints, budgets, may_be_down, spend_caps, monitoring, confirmed
  fix: did you mean `environment`?
Pulumi.try.yaml:9: owner: "" is not a label value (1 to 63 of a-z, 0-9, _ and -)
  allowed: for example ml-team
Pulumi.try.yaml:13: tpu_slices.eval.zone: "us-east5-c" is said to offer v6e-8 by one weak source only
  allowed: us-east5-a, us-east5-b, us-central1-ai1a, us-central1-b, us-east1-d (nearest first)
  fix: set one of these zones; a zone of another region belongs in that region's stack file; or, if you know that it is there, write `accelform:confirmed: [{what: v6e-8, zone: us-east5-c, because: how you know}]`
Pulumi.try.yaml:13: tpu_slices.eval.max_run_minutes: is missing
  allowed: Minutes after which Compute Engine deletes the machine, or `unlimited`: it then costs money until somebody removes it.
  fix: write it: it has no default
Pulumi.try.yaml:14: gcp:project: "My First Project" is not a project id for a stack (6 to 30 of a-z, 0-9 and -, a letter first, no - at the end, without goog: buckets carry it)
  allowed: for example tw-shop-ml
Pulumi.try.yaml:15: region: is not a key of this project
  allowed: gcp:project and keys that begin with accelform:
  fix: did you mean `accelform:region`?\
""")


@pytest.mark.parametrize(
    "key",
    [
        "gcp:project",
        "accelform:schema",
        "accelform:region",
        "accelform:environment",
        "accelform:owner",
        "accelform:budgets",
    ],
)
def test_fails_without_what_has_no_default(key: str, base: dict[str, Any], stack_file: Write) -> None:
    """Project, version, region, environment, owner and budgets are never defaulted."""
    del base[key]
    assert refused(stack_file(base)) == {key.removeprefix("accelform:"): "is missing"}


@pytest.mark.parametrize("key", ["accelerator_type", "zone", "provisioning", "max_run_minutes"])
def test_fails_without_what_a_machine_must_say(key: str, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write) -> None:
    """Accelerator type, zone, provisioning and run limit are never defaulted."""
    del a_slice[key]
    base["accelform:tpu_slices"] = {"eval": a_slice}
    assert refused(stack_file(base)) == {f"tpu_slices.eval.{key}": "is missing"}


def test_fails_without_callers(base: dict[str, Any], stack_file: Write) -> None:
    """Who may call an endpoint is never defaulted; nobody is written `[]`."""
    base["accelform:endpoints"] = {"recommend": {}}
    assert refused(stack_file(base)) == {"endpoints.recommend.callers": "is missing"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("never_stop", ["endpoints.recommend"]),
    ],
)
def test_fails_on_what_is_not_available_yet(key: str, value: object, base: dict[str, Any], stack_file: Write) -> None:
    """A key of the full form is refused as not available yet, and not as unknown."""
    base[f"accelform:{key}"] = value
    assert refused(stack_file(base))[key].startswith("is not available yet")


def test_fails_on_nested_keys_that_are_not_available_yet(base: dict[str, Any], stack_file: Write) -> None:
    """Budget actions are refused where they stand."""
    base["accelform:budgets"]["monthly"]["actions"] = [{"at": 0.9, "do": "pause-jobs"}]
    assert all(message.startswith("is not available yet") for message in refused(stack_file(base)).values())


@pytest.mark.parametrize(
    ("key", "fix"),
    [
        ("accelform:regoin", "did you mean `region`?"),
        ("aws:region", "did you mean `accelform:region`?"),
        ("gcp:region", "did you mean `accelform:region`?"),
        ("region", "did you mean `accelform:region`?"),
        ("accelform:project", "write `gcp:project`"),
    ],
)
def test_fails_on_a_foreign_or_misspelt_key(key: str, fix: str, base: dict[str, Any], stack_file: Write) -> None:
    """A key that nobody reads is refused, with the key that was meant."""
    base[key] = "us-east5"
    assert fix in refusal(stack_file(base))


def test_fails_on_a_key_beside_config(base: dict[str, Any], stack_file: Write) -> None:
    """Only the engine's own keys stand at the top."""
    path = stack_file(base, region="us-east5")
    assert "is not a key of a stack file" in refusal(path)
    assert "is not a key of a stack file" in refusal(stack_file(base, environment=["shared"]))
    StackSpec.load(stack_file(base, secretsprovider="gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/k"))


MODEL = {
    "image": "us-east5-docker.pkg.dev/tw-shop-ml/try-images/serve@sha256:" + "0" * 64,
    "port": 8080,
    "predict_route": "/predict",
    "health_route": "/health",
}


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"image": MODEL["image"].replace("us-east5", "us")}, "image", "stands in another region"),
        ({"image": "us-east5-docker.pkg.dev/p/r/serve:latest"}, "image", "by its digest"),
        ({"image": "gcr.io/p/serve@sha256:" + "0" * 64}, "image", "no image of Artifact Registry"),
        ({"artifact": "recommender/7"}, "artifact", "is neither a folder of a bucket nor none"),
        ({"port": 70000}, "port", "is too large"),
        ({"predict_route": "predict"}, "predict_route", "begins with /"),
        ({"health_route": ""}, "health_route", "begins with /"),
        ({"env": {"1A": "x"}}, "env.1A", "is no name of a variable"),
        ({"env": {"A": 8}}, "env.A", "is not text"),
        ({"aliases": ["1"]}, "aliases.0", "is no alias"),
        ({"aliases": ["a1", "a1"]}, "aliases", "twice"),
        ({"first_aliases": ["candidate"]}, "first_aliases", "candidate is in aliases too"),
        ({"first_aliases": ["default"]}, "first_aliases", "default is Google's own"),
        ({"keep_versions": 1.5}, "keep_versions", "is not a whole number"),
        ({"shared_memory_mib": -1}, "shared_memory_mib", "is too small"),
        ({"workload": "serve"}, "workload", "is no workload that serves"),
        ({"workload": "serve_recommender"}, "workload", "is said besides image"),
        ({"image": None}, "image", "is missing"),
        ({"image": None, "workload": "serve_recommender", "command": ["x"]}, "command", "goes not with workload"),
        ({"accept_if": "x >> 1"}, "accept_if", "is no condition: column 4: '>' stands there"),
        ({"accept_if": "x > 1"}, "accept_if", "does nothing: no job registers this model"),
    ],
)
def test_fails_on_a_model_that_cannot_be(change: dict[str, Any], path: str, said: str, base: dict[str, Any], stack_file: Write) -> None:
    base["accelform:models"] = {"recommender": MODEL | change}
    assert said in refused(stack_file(base))[f"models.recommender.{path}"]


def test_a_models_routes_and_port_have_no_default(base: dict[str, Any], stack_file: Write) -> None:
    """Vertex AI would make up paths of its own for each endpoint."""
    base["accelform:models"] = {"recommender": {"image": MODEL["image"]}}
    assert sorted(refused(stack_file(base))) == [f"models.recommender.{key}" for key in ("health_route", "port", "predict_route")]


def test_a_model_needs_vertex_ai(base: dict[str, Any], stack_file: Write) -> None:
    assert "aiplatform.googleapis.com" not in StackSpec.load(stack_file(base)).services()
    base["accelform:models"] = {"recommender": MODEL}
    assert "aiplatform.googleapis.com" in StackSpec.load(stack_file(base)).services()


@pytest.mark.parametrize("version", [0, 2])
def test_fails_on_another_version_of_the_file(version: int, base: dict[str, Any], stack_file: Write) -> None:
    """A file of another version is not judged by this version's keys."""
    base |= {"accelform:schema": version, "accelform:something": "new"}
    assert list(refused(stack_file(base))) == ["schema"]


def test_fails_on_a_key_twice(stack_file: Write, tmp_path: Path) -> None:
    """YAML's last-one-wins is refused, with the line."""
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text("config:\n  accelform:region: us-east5\n  accelform:region: asia-east1\n", encoding="utf-8")
    assert "Pulumi.try.yaml:3" in refusal(path)


@pytest.mark.parametrize("text", ["", "- a\n", "config: [\n", "config: 3\n", "config:\n", "\x00"])
def test_fails_on_what_is_no_stack_file(text: str, tmp_path: Path) -> None:
    """An empty file, a list, broken YAML and binary data are refused in a sentence."""
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text(text, encoding="utf-8")
    assert refusal(path).startswith("Pulumi.try.yaml")


def test_fails_on_an_unknown_region_with_the_nearest(base: dict[str, Any], stack_file: Write) -> None:
    """A region that does not exist, and a zone in its place, are refused with what was meant."""
    base["accelform:region"] = "asia-est1"
    assert "asia-east1" in refusal(stack_file(base))
    base["accelform:region"] = "asia-east1-b"
    assert "allowed: asia-east1" in refusal(stack_file(base))


def test_fails_on_a_zone_of_another_region_with_those_of_its_own(base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write) -> None:
    """Where the region has the slice, in which zones; where it has not, which regions do."""
    base["accelform:tpu_slices"] = {"eval": a_slice | {"zone": "us-east1-d"}}
    assert "allowed: us-east5-a, us-east5-b" in refusal(stack_file(base))
    base["accelform:tpu_slices"] = {"eval": a_slice | {"accelerator_type": "v4-8", "zone": "us-central2-b"}}
    assert "fix: us-east5 is not known to have v4-8: write a stack file for one of us-central2" in refusal(stack_file(base))
    base["accelform:tpu_slices"] = {"eval": a_slice | {"accelerator_type": "v4", "zone": "us-central2-b"}}
    assert "allowed: a zone of us-east5" in refusal(stack_file(base))


@pytest.mark.parametrize(
    ("accelerator_type", "allowed"),
    [("v4-8", "us-central2-b (where v4-8 is)"), ("v4", "Zone of the stack's region"), (["v4-8"], "Zone of the stack's region")],
)
def test_fails_without_a_zone_with_those_that_have_it(
    accelerator_type: Any, allowed: str, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write
) -> None:
    """No zone is guessed; what is beside it says which may be meant."""
    base["accelform:tpu_slices"] = {
        "eval": {**{key: a_slice[key] for key in a_slice if key != "zone"}, "accelerator_type": accelerator_type}
    }
    said = refusal(stack_file(base))
    assert "tpu_slices.eval.zone: is missing\n" in said
    assert f"  allowed: {allowed}" in said


def test_accepts_an_ai_zone(base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write) -> None:
    """A zone's region is its name less the last dash part, whatever that part looks like."""
    a_slice |= {"zone": "us-south1-ai1b", "provisioning": "flex-start", "max_run_minutes": 60}
    base |= {"accelform:region": "us-south1", "accelform:tpu_slices": {"eval": a_slice}}
    assert StackSpec.load(stack_file(base)).tpu_slices["eval"].zone == "us-south1-ai1b"


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"zone": "asia-east1-c"}, "zone", "is not in the stack's region"),
        ({"zone": "us-east5-c"}, "zone", "by one weak source only"),
        ({"accelerator_type": "v4-8"}, "zone", "does not offer v4-8"),
        ({"accelerator_type": "v5e-4"}, "accelerator_type", "is not a TPU accelerator type"),
        ({"accelerator_type": "v6e-12"}, "accelerator_type", "is not a TPU accelerator type"),
        ({"accelerator_type": "v6e-16 "}, "accelerator_type", "is not a TPU accelerator type"),
        ({"accelerator_type": "v5p-17920"}, "accelerator_type", "larger than the 6144-chip limit"),
        ({"accelerator_type": "v6e-16", "hosts": 4}, "hosts", "is not a key"),
        ({"accelerator_type": "tpu7x-16"}, "zone", "does not offer tpu7x-16"),
        ({"accelerator_type": "v6e-64", "provisioning": "flex-start"}, "max_run_minutes", "runs for a limited time"),
        ({"accelerator_type": "v5p-16", "provisioning": "flex-start", "way": "tpu-api"}, "provisioning", "cannot be flex-start"),
        ({"provisioning": "preemptible"}, "provisioning", "is not one of the words here"),
        ({"provisioning": "flex-start"}, "max_run_minutes", "a flex-start machine runs for a limited time"),
        ({"provisioning": "flex-start", "max_run_minutes": 20000}, "max_run_minutes", "runs for a limited time"),
        ({"max_run_minutes": 60.5}, "max_run_minutes", "is no run limit"),
        ({"max_run_minutes": "60"}, "max_run_minutes", "is no run limit"),
        ({"max_run_minutes": True}, "max_run_minutes", "is no run limit"),
        ({"max_run_minutes": 172801}, "max_run_minutes", "is no run limit"),
        ({"provisioning": "reservation", "reservation": "two words"}, "reservation", "is not a reservation"),
        ({"provisioning": "reservation"}, "reservation", "is missing"),
        ({"reservation": "nightly"}, "reservation", "cannot consume a reservation"),
        ({"way": "tpu-api", "max_run_minutes": 60}, "max_run_minutes", "has no run limit"),
        ({"way": "tpu-api", "provisioning": "flex-start"}, "provisioning", "cannot be flex-start"),
        ({"way": "tpu-api", "boot_disk_gib": 200}, "boot_disk_gib", "makes its own boot disk"),
        ({"way": "tpu-api", "provisioning": "reservation", "reservation": "r"}, "reservation", "without a name"),
        ({"boot_disk_gib": 5}, "boot_disk_gib", "is too small"),
        ({"zones": ["us-east5-a"]}, "zones", "is not possible: a standing slice stands in one zone"),
    ],
)
def test_fails_on_a_machine_that_cannot_be(
    change: dict[str, Any], path: str, said: str, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write
) -> None:
    """What cannot be had, or cannot be combined, is refused before anything is declared."""
    base["accelform:tpu_slices"] = {"eval": a_slice | change}
    assert said in refused(stack_file(base))[f"tpu_slices.eval.{path}"]


def test_fails_on_compute_engine_for_an_old_generation(base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write) -> None:
    """v4 is no Compute Engine machine."""
    a_slice |= {
        "accelerator_type": "v4-8",
        "zone": "us-central2-b",
        "way": "compute-engine",
        "provisioning": "on-demand",
    }
    base |= {"accelform:region": "us-central2", "accelform:tpu_slices": {"eval": a_slice}}
    assert "tpu_slices.eval.way" in refused(stack_file(base))


def test_fails_with_the_right_name_of_a_wrong_one(base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write) -> None:
    """A wrong name that people write is answered with the right one; a far one with the nearest zones."""
    base["accelform:tpu_slices"] = {"eval": a_slice | {"accelerator_type": "v5e-4"}}
    assert "fix: set v5litepod-4" in refusal(stack_file(base))
    base["accelform:tpu_slices"] = {"eval": a_slice | {"zone": "us-east5-c"}}
    assert "allowed: us-east5-a, us-east5-b" in refusal(stack_file(base))


@pytest.mark.parametrize(
    ("budget", "path", "said"),
    [
        ({"amount": "350"}, "amount", "is not an amount of money"),
        ({"amount": 350}, "amount", "is not an amount of money"),
        ({"amount": "0 USD"}, "amount", "is not an amount of money"),
        ({"amount": "350 usd"}, "amount", "is not an amount of money"),
        ({"thresholds": [1.0, 0.5]}, "thresholds", "must rise"),
        ({"thresholds": []}, "thresholds", "is too little"),
        (
            {"period": {"from": "2027-03-01", "until": "2027-02-28"}, "spend": "after-credits"},
            "period.until",
            "is before",
        ),
        ({"period": {"from": "2026-12-01", "until": "2027-02-28"}}, "spend", "is missing"),
        (
            {
                "period": {"from": "2026-12-01", "until": "2027-02-28"},
                "spend": "after-credits",
                "forecast_thresholds": [1.0],
            },
            "forecast_thresholds",
            "Google forecasts months only",
        ),
        ({"mail_billing_admins": False}, "mail_billing_admins", "nobody would get the mail"),
        ({"scope": "stack"}, "", "none counts the whole project, every month"),
        (
            {"period": {"from": "2026-12-01", "until": "2027-02-28"}, "spend": "after-credits"},
            "",
            "none counts the whole project, every month",
        ),
        ({"thresholds": [2.0]}, "thresholds", "the first mail would come after the amount is spent"),
        ({"period": {"from": 1764547200, "until": "2027-02-28"}, "spend": "after-credits"}, "period.from", "is not a date"),
        ({"amount": "0350 USD"}, "amount", "is not an amount of money"),
        ({"amount": "350 XYZ"}, "amount", "has no currency in use: XYZ is no such code of ISO 4217"),
    ],
)
def test_fails_on_a_budget_that_would_mislead(
    budget: dict[str, Any], path: str, said: str, base: dict[str, Any], stack_file: Write
) -> None:
    """A budget that nobody hears of, that reads 0, or whose currency is not said, is refused."""
    base["accelform:budgets"] = {"monthly": {"amount": "350 USD"} | budget}
    where = f"budgets.monthly.{path}" if path else "budgets"
    assert said in refused(stack_file(base))[where]


def test_fails_on_a_currency_that_is_none(base: dict[str, Any], stack_file: Write) -> None:
    """The code is one of ISO 4217; those that look like it are named."""
    base["accelform:budgets"] = {"monthly": {"amount": "350 UDS"}}
    assert "allowed: the code of the billing account's currency; nearest: UZS, USD, AUD" in refusal(stack_file(base))


def test_fails_on_six_addresses(base: dict[str, Any], stack_file: Write) -> None:
    """A budget takes five e-mail channels."""
    base["accelform:notify"] = [f"email:person{number}@shop.example" for number in range(6)]
    assert "is too much" in refused(stack_file(base))["notify"]
    base["accelform:notify"] = ["slack:#ml"]
    assert "is neither an e-mail channel" in refused(stack_file(base))["notify.0"]


@pytest.mark.parametrize(
    ("storage", "path"),
    [
        ({"data": {"existing": "shop-clicks"}}, "data.location"),
        ({"data": {"location": "us-east5"}}, "data.location"),
        ({"data": {"existing": "shop-clicks", "location": "US"}}, "data.location"),
        ({"data": {"existing": "gs://shop-clicks", "location": "us-east5"}}, "data.existing"),
        ({"data": {"existing": "192.168.1.1", "location": "us-east5"}}, "data.existing"),
        ({"data": {"existing": "my-google-data", "location": "us-east5"}}, "data.existing"),
        ({"data": {"existing": "one", "location": "us-east5"}, "models": {"existing": "one", "location": "us-east5"}}, "models.existing"),
        (
            {"models": {"existing": "m-1", "location": "us-east5", "keep_noncurrent_days": 3}},
            "models.keep_noncurrent_days",
        ),
        ({"images": {"existing": "images"}}, "images.existing"),
        ({"images": {"existing": "projects/others/locations/us/repositories/images"}}, "images.existing"),
        (
            {"images": {"existing": "projects/others/locations/us-east5/repositories/i", "keep_versions": 3}},
            "images.keep_versions",
        ),
    ],
)
def test_fails_on_storage_that_others_own_elsewhere(storage: dict[str, Any], path: str, base: dict[str, Any], stack_file: Write) -> None:
    """What others own must be named in full, stand in the region, and keep its owner's rules."""
    base["accelform:storage"] = storage
    assert list(refused(stack_file(base))) == [f"storage.{path}"]


@pytest.mark.parametrize(
    ("network", "path"),
    [
        ({"existing": "ml"}, "existing"),
        ({"existing": "projects/host/regions/asia-east1/subnetworks/ml"}, "existing"),
        ({"existing": "projects/host/regions/us-east5/subnetworks/ml", "cidr": "10.1.0.0/20"}, "cidr"),
        ({"cidr": "8.8.8.0/24"}, "cidr"),
        ({"cidr": "10.0.0.1/20"}, "cidr"),
        ({"cidr": "10.0.0.0/30"}, "cidr"),
        ({"cidr": "127.0.0.0/8"}, "cidr"),
        ({"cidr": "10.0.0.0/255.255.240.0"}, "cidr"),
        ({"existing": "projects/x$(rm -rf)/regions/us-east5/subnetworks/a"}, "existing"),
    ],
)
def test_fails_on_a_network_that_cannot_be(
    network: dict[str, Any], path: str, base: dict[str, Any], a_slice: dict[str, Any], stack_file: Write
) -> None:
    """A subnet of another region, a public range and a range without room are refused."""
    base |= {"accelform:network": network, "accelform:tpu_slices": {"eval": a_slice}}
    assert list(refused(stack_file(base))) == [f"network.{path}"]


@pytest.mark.parametrize("stack", ["Prod", "prod_1", "1st", "a-", "a" * 41, "google-shop", "", "a/b"])
def test_fails_on_a_stack_name_that_makes_no_resource_names(stack: str, base: dict[str, Any], stack_file: Write) -> None:
    """Upper case, underscores, lengths and words that Google refuses are refused before anything is named after them."""
    spec = StackSpec.load(stack_file(base))
    with pytest.raises(SpecError, match="cannot be a part of resource names"):
        spec.placement(stack)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("notify", "email:a@b.example", "is not a list"),
        ("notify", ["email:a@b.example", "email:a@b.example"], "names somebody twice"),
        ("network", [], "is not a mapping of keys"),
        ("tpu_slices", ["v6e-1"], "is not a mapping of names"),
        ("tpu_slices", {"Eval": {}}, "is not a name"),
        ("tpu_slices", {1: {}}, "has a key that is not text: 1"),
        ("storage", {"data": {"keep_noncurrent_days": True}}, "is not a whole number"),
        ("endpoints", {"recommend": {"callers": [], "dedicated": "yes"}}, "is not true or false"),
        ("endpoints", {"recommend": {"callers": [], "description": "two\nlines"}}, "is not a line of text"),
        ("budgets", {"m": {"amount": "1 USD", "thresholds": [True]}}, "is not a number"),
        ("budgets", {}, "is missing"),
        ("schema", True, "is not the version"),
        ("schema", "1.0", "is not the version"),
        ("region", None, "is not a Google Cloud region"),
        ("endpoints", {"recommend": None}, "is not a mapping of keys"),
        ("storage", {"data": {"keep_noncurrent_days": "long"}}, "is not a whole number"),
        ("endpoints", {"recommend": {"callers": [], "dedicated": "perhaps"}}, "is not true or false"),
        ("budgets", {"m": {"amount": "1 USD", "spend": "after-credits", "period": {"from": "soon", "until": "later"}}}, "is not a date"),
        ("usage", {"data_gib": "much"}, "is not a quantity"),
        ("owner", 7, "is not a label value"),
    ],
)
def test_fails_on_a_wrong_type_in_words(key: str, value: object, said: str, base: dict[str, Any], stack_file: Write) -> None:
    """A value of another type is refused in the file's own words, without a name of a class."""
    base[f"accelform:{key}"] = value
    text = refusal(stack_file(base))
    assert said in text
    assert "Spec" not in text.replace("Pulumi.try.yaml", "")


def test_reads_anchors_and_merges_as_the_engine_does(base: dict[str, Any], tmp_path: Path) -> None:
    """YAML's own way of saying a thing once works, with line numbers."""
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text(
        "config:\n  gcp:project: tw-shop-ml\n  accelform:schema: 1\n  accelform:region: us-east5\n  accelform:environment: dev\n"
        "  accelform:owner: ml-team\n  accelform:budgets: {monthly: {amount: 350 USD}}\n  accelform:tpu_slices:\n"
        "    one: &one\n      accelerator_type: v6e-1\n      zone: us-east5-a\n      provisioning: spot\n      max_run_minutes: unlimited\n"
        "    two:\n      <<: *one\n      zone: us-east5-c\n",
        encoding="utf-8",
    )
    text = refusal(path)
    assert "Pulumi.try.yaml:16: tpu_slices.two.zone" in text
    path.write_text(path.read_text(encoding="utf-8").replace("us-east5-c", "us-east5-b"), encoding="utf-8")
    assert StackSpec.load(path).tpu_slices["two"].zone == "us-east5-b"


def test_fails_on_a_file_that_holds_itself(tmp_path: Path) -> None:
    """An alias inside its own anchor is refused."""
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text("config: &all\n  accelform:storage: *all\n", encoding="utf-8")
    assert "storage: null is not a mapping of keys" in refusal(path)


def test_fails_on_nesting_without_end(tmp_path: Path) -> None:
    """A file that is nested too deeply is a sentence, not a crash. In a process of its own: the interpreter is shaken afterwards."""
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text("config: " + "[" * 700 + "]" * 700 + "\n", encoding="utf-8")
    command = [sys.executable, "-c", "from infra.cli.app import main; main()", "check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "is nested too deeply" in done.stdout) == (2, True)


def test_a_file_that_the_engine_wrote_anew_passes(base: dict[str, Any], stack_file: Write) -> None:
    """`pulumi stack init` puts the version into quotes."""
    assert StackSpec.load(stack_file(base | {"accelform:schema": "1"}, encryptionsalt="v1:abc")).schema_version == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("accelform:owner: !foo ml-team", "has the tag !foo"),
        ("accelform:notify: !foo [a]", "has the tag !foo"),
        ('accelform:owner: !!int "x"', "is not YAML"),
        ('accelform:owner: !!bool "x"', "is not YAML"),
        ("accelform:owner: !!binary aGk=", "is a bytes"),
        ("accelform:owner: !!omap [a: b]", "owner"),
        ("accelform:owner: !!set {a}", "owner"),
        ("accelform:owner: 0100", "is not written in plain digits"),
        ("accelform:owner: 0x1F", "is not written in plain digits"),
        ("accelform:owner: 1_000", "is not written in plain digits"),
        ("accelform:owner: 00", "is not written in plain digits"),
        ("accelform:owner: 0x0", "is not written in plain digits"),
        ("accelform:owner: 0", "is not a label value"),
        ("accelform:owner: " + "9" * 5000, "is not YAML"),
        ("2026-01-01: x", "has a key that is not text: 2026-01-01"),
        ("null: x", "has a key that is not text: None"),
        ('"": x', "is not a key of this project"),
    ],
)
def test_fails_on_yaml_that_the_engine_would_read_otherwise(line: str, said: str, tmp_path: Path) -> None:
    """Tags, other bases, numbers without end and keys that are not text are refused with their line."""
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text(f"config:\n  gcp:project: tw-shop-ml\n  {line}\n", encoding="utf-8")
    assert said in refusal(path)


def test_fails_on_a_directive(tmp_path: Path) -> None:
    """`%YAML 1.1` would turn `yes` into true for one reader alone."""
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text("%YAML 1.1\n---\nconfig: {}\n", encoding="utf-8")
    assert "has the directive %YAML" in refusal(path)


def test_reads_a_merge_of_several_maps(base: dict[str, Any], stack_file: Write, tmp_path: Path) -> None:
    """A map that holds nothing but merges has no line of its own, and is read all the same."""
    path = tmp_path / "Pulumi.two.yaml"
    text = stack_file(base).read_text(encoding="utf-8")
    path.write_text(
        text.replace("accelform:budgets:", "accelform:usage: {<<: [{data_gib: 3}, {logs_gib: 1}]}\n  accelform:budgets:"), encoding="utf-8"
    )
    assert StackSpec.load(path).usage.data_gib.low == 3


@pytest.mark.parametrize(("text", "fine"), [("0", True), ("0.0", True), ("00", False), ("0x0", False), ("0_0", False), ("007", False)])
def test_a_single_zero_is_a_number(tmp_path: Path, text: str, fine: bool) -> None:
    """Nothing at all can be assumed, as 0; what only may mean 0 is refused."""
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text(f"config:\n  accelform:usage: {{data_gib: {text}}}\n", encoding="utf-8")
    with pytest.raises(SpecError) as error:
        StackSpec.load(path)
    assert ("usage.data_gib" not in {one.path for one in error.value.problems}) == fine


def test_fails_on_a_network_that_nothing_uses(base: dict[str, Any], stack_file: Write) -> None:
    """A key that would do nothing is refused."""
    base["accelform:network"] = {"cidr": "10.1.0.0/20"}
    assert refused(stack_file(base)) == {"network": "does nothing: the stack has no machine"}


@pytest.mark.parametrize(
    "member",
    [
        "allUsers",
        "principalSet://goog/public:all",
        "principal://x",
        "user:A@b.example",
        "user:a@b.example,allUsers",
        "domain:-.a",
        "user:a@b",
    ],
)
def test_fails_on_a_caller_that_is_everybody_or_nobody(member: str, base: dict[str, Any], stack_file: Write) -> None:
    """The public in any spelling, and what IAM would store otherwise, is refused."""
    base["accelform:endpoints"] = {"recommend": {"callers": [member]}}
    assert "is no IAM member" in refused(stack_file(base))["endpoints.recommend.callers.0"]


def test_fails_on_a_project_whose_buckets_could_not_be(base: dict[str, Any], stack_file: Write) -> None:
    """Cloud Storage refuses names that speak of Google, and every bucket carries the project's id."""
    base["gcp:project"] = "my-google-shop"
    assert "without goog" in refused(stack_file(base))["gcp:project"]


def test_fails_on_aliases_of_aliases(tmp_path: Path) -> None:
    """A few lines that stand for more than a machine holds are refused at once."""
    lines = ["x0: &x0 [a, b, c, d, e, f, g, h, i]"] + [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]" for n in range(1, 9)]
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert "holds more than" in refusal(path)


def test_no_message_steers_a_terminal(tmp_path: Path) -> None:
    """A key with control characters is shown as text."""
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text('config:\n  "accelform:\\e[31mX": 1\n', encoding="utf-8")
    assert "\x1b" not in refusal(path)
    assert "\\x1b[31mX" in refusal(path)


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 100_000, "true", "01x"])
def test_fails_on_what_the_engine_might_hand_over(text: str, base: dict[str, Any]) -> None:
    """Absurd configuration is refused in a sentence there too."""
    config = {key: json.dumps(value) if isinstance(value, dict) else str(value) for key, value in base.items()}
    with pytest.raises(SpecError):
        StackSpec.from_engine(config | {"accelform:schema": text}, "the engine")
