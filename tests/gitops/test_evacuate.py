"""The files of a pull request that leaves a region."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from infra.apps import AppsSpec
from infra.catalog import egress
from infra.cost.usage import Range
from infra.errors import SpecError
from infra.gitops import evacuate
from infra.gitops.evacuated_file import UNDECIDED, Move, apps_file, ranges, region_file
from infra.stack import StackSpec
from infra.stack_file import FileSpec

ROOT = Path(__file__).parents[2]
HUNDRED = Range(Decimal(100), Decimal(100), Decimal(100))


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    """The example stacks, in a folder of their own."""
    return Path(shutil.copytree(ROOT / "stacks", tmp_path / "stacks"))


def raiser(error: BaseException) -> Any:
    def raises(*args: object) -> None:
        raise error

    return raises


def lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()}


def moved(path: Path, to: str, said: dict[tuple[str, ...], Any] | None = None, kind: type[FileSpec] = StackSpec) -> Any:
    """One file, written for another region without a check."""
    spec = kind.load(path)
    old = spec.region_stack if isinstance(spec, AppsSpec) else path.name.split(".")[1]
    move = Move(spec.project, old, "there", spec.region, to)
    text = path.read_text(encoding="utf-8")
    if isinstance(spec, AppsSpec):
        return apps_file(text, spec, move, said or {})
    assert isinstance(spec, StackSpec)
    return region_file(text, spec, move, ["10.0.0.0/20", "10.0.16.0/23"], said or {})


def test_a_region_is_written_for_another(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what follows from the region is another, and the check passes; the month, the way of the data and the order are told."""
    found = evacuate.plan("asia-east1", stacks, "asia-northeast1", gib={"data": HUNDRED})
    (file,) = found.files
    old = (stacks / "Pulumi.asia-east1.yaml").read_text(encoding="utf-8")
    assert found.is_decided
    assert (file.stack, file.problems, list(file.undecided)) == ("asia-northeast1", [], [])
    image = "asia-northeast1-docker.pkg.dev/tw-shop-ml/asia-northeast1-images"
    assert lines(file.text) - lines(old) == {
        "accelform:region: asia-northeast1 # everything below lives here",
        "zones: [asia-northeast1-b] # tried in this order, never out of the region",
        "accelform:network: {cidr: 10.0.16.0/20}",
        *(f"{name}: {image}/{name}@sha256:{64 * '0'}" for name in ("runner", "train", "serve")),
    }
    assert len(file.text.splitlines()) == len(old.splitlines()) + 1  # comments, gaps and order stay
    assert file.cost is not None
    assert file.cost.before is not None
    assert file.cost.after is not None
    assert file.cost.usd_month[1] == file.cost.after.total[1] - file.cost.before.total[1]

    data, models = found.copies[:2]
    rate = egress.between("asia-east1", "asia-northeast1", "storage")
    assert (data.usd, models.gib, models.usd) == ((100 * rate.usd_low, 100 * rate.usd, 100 * rate.usd_high), None, None)
    command = (
        "gcloud storage rsync --recursive --exclude='^\\.accelform/' gs://tw-shop-ml-asia-east1-data gs://tw-shop-ml-asia-northeast1-data"
    )
    assert data.commands == (command,)
    assert list(found.stays) == [
        "gs://tw-shop-ml-asia-east1-data",
        "gs://tw-shop-ml-asia-east1-models",
        "asia-east1-docker.pkg.dev/tw-shop-ml/asia-east1-images",
    ]
    before = set(stacks.iterdir())
    with monkeypatch.context() as stopped:
        stopped.setattr("os.link", raiser(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            evacuate.write(found)
    assert set(stacks.iterdir()) == before  # whole or not at all
    evacuate.write(found)
    assert set(stacks.iterdir()) == {*before, file.path}
    assert StackSpec.load(file.path).region == "asia-northeast1"
    with pytest.raises(SpecError, match="is there already"):
        evacuate.plan("asia-east1", stacks, "asia-northeast1")


def test_what_is_not_there_is_left_to_a_person(stacks: Path) -> None:
    """A pool whose machine the region lacks, with the nearest that has it; and what the check of the written file says."""
    written = moved(stacks / "Pulumi.us-central1.yaml", "us-east4")
    (pool,) = written.undecided
    assert pool.path == "node_pools.a100-parts.zones"
    assert "no zone of us-east4 is known to have a2-highgpu-1g as spot; it has " in pool.why
    assert pool.nearest.startswith("a2-highgpu-1g on GKE in us-west4-b as spot, 1g.5gb, ")
    assert "accelform:network: {proxy_cidr: 10.0.18.0/23, cidr: 10.0.32.0/20}" in written.text
    path = stacks / "Pulumi.there.yaml"
    path.write_text(written.text, encoding="utf-8")
    with pytest.raises(SpecError, match=r"node_pools\.a100-parts\.zones: no zone of us-east4 is known to offer a2-highgpu-1g"):
        StackSpec.load(path)
    without = moved(stacks / "Pulumi.us-central1.yaml", "us-east4", {("node_pools", "a100-parts"): None, ("usage",): None})
    path.write_text(without.text, encoding="utf-8")
    assert sorted(StackSpec.load(path).node_pools) == ["l4", "t4"]


def test_a_person_decides_another_accelerator(stacks: Path) -> None:
    """Zones are then those that have it; of one that the region does not have either, nothing is guessed."""
    path = stacks / "Pulumi.asia-east1.yaml"
    job = ("jobs", "train-recommender")
    (undecided,) = moved(path, "us-east5").undecided
    assert undecided.path == "jobs.train-recommender.zones"
    other = moved(path, "us-east5", {(*job, "accelerator_type"): "v6e-4"})
    assert not other.undecided
    assert "zones: [us-east5-a, us-east5-b] # tried in this order" in other.text
    assert "accelerator_type: v6e-4 # 4 chips on 1 host" in other.text
    named = moved(path, "us-east5", {(*job, "accelerator_type"): "v6e-4", (*job, "zones"): ["us-east5-b"]})
    assert "zones: [us-east5-b] #" in named.text


def test_reservations_and_confirmations_stay_behind(stacks: Path) -> None:
    """A reservation is of one zone, and what was confirmed of a region says nothing of another; the engine's keys are the old stack's."""
    path = stacks / "Pulumi.us-east5.yaml"
    text = path.read_text(encoding="utf-8").replace("provisioning: spot", "provisioning: reservation\n      reservation: mine")
    confirmed = '  accelform:confirmed:\n    - { what: v6e-1, zone: us-east5-c, because: "Support told us so" }\n'
    slice_ = "    more: { accelerator_type: v6e-1, zone: us-east5-c, provisioning: spot, max_run_minutes: 60 }\n"
    text = text.replace("  accelform:tpu_slices:\n", f"{confirmed}  accelform:tpu_slices:\n{slice_}")
    path.write_text(f"{text}secretsprovider: gcpkms://old\nencryptedkey: abc\n", encoding="utf-8")
    written = moved(path, "us-central1")
    assert [one.path for one in written.undecided] == ["tpu_slices.try.reservation"]
    assert f"reservation: {UNDECIDED}" in written.text
    assert not {"confirmed", "secretsprovider", "encryptedkey", "us-east5"} & set(written.text.replace(":", " ").split())
    path.write_text(written.text, encoding="utf-8")
    with pytest.raises(SpecError, match=r"tpu_slices\.try\.reservation"):
        StackSpec.load(path)


def test_what_lives_in_the_cluster_goes_along(stacks: Path) -> None:
    """Its images, its region and the stack that it stands in."""
    path = stacks / "Pulumi.europe-west4-apps.yaml"
    written = moved(path, "us-central1", kind=AppsSpec)
    assert {
        "accelform:region: us-central1",
        "accelform:kind: apps # what lives in a cluster: it is taken away without the region",
    } <= lines(written.text)
    assert "accelform:region_stack: there # its file stands beside this one" in written.text
    assert "us-central1-docker.pkg.dev/tw-shop-dev/there-images/vllm-tpu@sha256:" in written.text
    assert "europe-west4-docker.pkg.dev" not in written.text


def test_ranges_are_read_of_odd_files_too() -> None:
    """Of a network of others nothing is taken; what is no range is none."""
    assert list(ranges({})) == ["10.0.0.0/20"]
    assert list(ranges({"accelform:network": {"cidr": "10.9.0.0/16", "proxy_cidr": "nonsense"}})) == ["10.9.0.0/16"]
    assert list(ranges({"accelform:network": {"existing": "projects/p/regions/r/subnetworks/s"}})) == []
    assert list(ranges({"accelform:network": 7})) == ["10.0.0.0/20"]


@pytest.mark.parametrize(
    ("region", "options", "words"),
    [
        ("us-eas4", {}, "--to: 'us-eas4' is no region of Google Cloud"),
        ("us-east5", {}, "--to: us-east5 is where stack us-east5 stands"),
        ("us-east1", {"stack": "us-east5"}, "--stack: us-east5 is the old one"),
        ("us-east1", {"stack": "Ü"}, "cannot be a part of resource names"),
        ("us-east1", {"said": ["x"]}, "--set: 'x' is none"),
        ("us-east1", {"said": ["a.b={"]}, "is no YAML"),
        ("us-east1", {"said": ["nope:a=1"]}, "--set: 'nope:a=1' is none"),
    ],
)
def test_fails_on_what_cannot_be(stacks: Path, region: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        evacuate.plan("us-east5", stacks, region, **options)


def test_fails_where_the_new_name_cannot_be_told(stacks: Path) -> None:
    """A stack that is not called after its region."""
    (stacks / "Pulumi.us-east5.yaml").rename(stacks / "Pulumi.try.yaml")
    with pytest.raises(SpecError, match="--stack: is missing: try does not have its region in its name"):
        evacuate.plan("try", stacks, "us-east1")


def test_the_command_says_all_of_it(stacks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For people and for machines; what is to be decided is exit code 3, and is written nevertheless."""
    from infra.cli.evacuate import run

    (stacks / "Pulumi.asia-east1.yaml").unlink()
    asked: dict[str, Any] = {"said": [], "gib": ["models=2"], "stack": None, "dry_run": True}
    assert run("us-east5", stacks, "asia-east1", **asked, as_json=False) == 0
    said = capsys.readouterr().out
    assert f"would write {stacks}/Pulumi.asia-east1.yaml, from that of us-east5:" in said
    assert "tpu_slices.try.zone: us-east5-a -> asia-east1-c: v6e-1 as spot" in said
    assert "2 GiB: " in said
    assert not (stacks / "Pulumi.asia-east1.yaml").exists()

    asked["said"] = ["tpu_slices.try.zone=us-east5-a"]
    assert run("us-east5", stacks, "asia-east1", **asked | {"dry_run": False}, as_json=True) == 3
    told = json.loads(capsys.readouterr().out)
    (file,) = told["files"]
    assert (told["decided"], file["cost"], [one["path"] for one in file["problems"]]) == (False, None, ["tpu_slices.try.zone"])
    assert (stacks / "Pulumi.asia-east1.yaml").read_text(encoding="utf-8") == file["text"]
    with pytest.raises(SpecError, match="--gib: 'data=NaN' is no size"):
        run("us-east5", stacks, "asia-south1", **asked | {"gib": ["data=NaN"]}, as_json=False)
