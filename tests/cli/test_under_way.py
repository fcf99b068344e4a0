"""What an update says of itself while it runs."""

from __future__ import annotations

from infra.cli.under_way import UnderWay, lasted
from infra.local.engine.events import Step

CLUSTER = "gcp:container/cluster:Cluster"
BUCKET = "gcp:storage/bucket:Bucket"
TPU = "gcp:tpu/v2Vm:V2Vm"


def step(op: str, type_: str, name: str, *, done: bool = False, failed: bool = False) -> Step:
    return Step(op, type_, name, done, failed, f"urn::{type_}::{name}")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


AHEAD = [
    step("create", BUCKET, "data"),
    step("create", CLUSTER, "main"),
    step("same", BUCKET, "models"),
    step("create", "accelform:storage:Storage", "storage"),
    step("create", TPU, "eval"),
]


def test_tells_what_runs_how_long_it_usually_takes_and_what_is_next() -> None:
    """Groups and what stays are not counted; the longest is named, with its own seconds."""
    clock = Clock()
    way = UnderWay("try: up", AHEAD, cloud=True, clock=clock)
    assert way.begins() == "try: up: 3 to do; a person waits for Cluster main: usually 3 to 9 min"
    clock.now += 4
    assert way.line() == "try: up: the engine gets ready, 4 s"
    way.take(step("create", BUCKET, "data"))
    assert way.line() == "try: up: 0 of 3 done, 4 s; 1 run; next: Cluster main and 1 more"
    way.take(step("create", CLUSTER, "main"))
    way.take(step("create", BUCKET, "data", done=True))
    way.take(step("create", "accelform:storage:Storage", "storage", done=True))
    clock.now += 250
    assert way.line() == "try: up: 1 of 3 done, 4 min 14 s; Cluster main: 4 min 10 s, usually 3 to 9 min; next: V2Vm eval"
    way.take(step("create", TPU, "eval"))
    assert way.line() == "try: up: 1 of 3 done, 4 min 14 s; Cluster main: 4 min 10 s, usually 3 to 9 min and 1 more run"
    way.take(step("create", CLUSTER, "main", done=True))
    assert way.line() == "try: up: 2 of 3 done, 4 min 14 s; V2Vm eval: 0 s, no usual time known"
    way.take(step("create", TPU, "eval", done=True, failed=True))
    assert way.line() == "try: up: 2 of 3 done, 4 min 14 s"


def test_in_the_sandbox_usual_times_are_those_of_google_cloud() -> None:
    """Its clock is virtual: a cluster is there at once."""
    way = UnderWay("try: up", AHEAD, cloud=False, clock=Clock())
    assert "Cluster main: in Google Cloud usually 3 to 9 min" in way.begins()


def test_a_replaced_resource_is_one_and_a_preview_knows_no_total() -> None:
    clock = Clock()
    way = UnderWay("try: up", [step("replace", CLUSTER, "main"), step("delete-replaced", CLUSTER, "main")], cloud=True, clock=clock)
    for op in ("delete-replaced", "replace", "create-replacement"):
        way.take(step(op, CLUSTER, "main"))
        assert way.line().startswith("try: up: 0 of 1 done")
        way.take(step(op, CLUSTER, "main", done=True))
    assert way.line() == "try: up: 1 of 1 done, 0 s"
    nothing = UnderWay("try: preview", [], cloud=True, clock=clock)
    assert nothing.begins() == ""
    nothing.take(step("create", BUCKET, "data", done=True))
    assert nothing.line() == "try: preview: 1 done, 0 s"


def test_logs_get_what_ends_what_fails_and_what_will_take_long() -> None:
    way = UnderWay("try: up", AHEAD, cloud=True)
    assert way.log(step("create", CLUSTER, "main")) == "try: up: create of Cluster main begins, usually 3 to 9 min"
    assert way.log(step("create", BUCKET, "data")) == ""
    assert way.log(step("same", CLUSTER, "main", done=True)) == ""
    assert way.log(step("create", BUCKET, "data", done=True)) == f"try: up: create {BUCKET} data"
    assert way.log(step("create", BUCKET, "data", done=True, failed=True)) == f"try: up: failed to create {BUCKET} data"


def test_time_is_told_in_minutes_and_seconds() -> None:
    assert [lasted(seconds) for seconds in (0, 59.4, 60, 250.2, 3600)] == ["0 s", "59 s", "1 min 0 s", "4 min 10 s", "60 min 0 s"]
