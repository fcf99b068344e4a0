"""Every picture once, whatever happens between two tries."""

from __future__ import annotations

import argparse
import io
import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workloads.jobs import Job, finished
from workloads import devices, embed_images, embeddings, vision
from workloads.contract import RESTART_EXIT, InputError, TrainSettings
from workloads.files import Folder
from workloads.recommender.data import write_example

SHARD = 4


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, signals: None) -> None:
    """Devices are not looked at: this process has some already."""
    monkeypatch.setattr(devices, "start", lambda settings: None)


def picture(number: int, mode: str = "RGB", form: str = "PNG") -> bytes:
    from PIL import Image

    random = np.random.default_rng(number)
    file = io.BytesIO()
    Image.fromarray(random.integers(0, 255, (40, 60, 3), np.uint8)).convert(mode).save(file, form)
    return file.getvalue()


@pytest.fixture
def settings(tmp_path: Path) -> TrainSettings:
    """Eight good pictures of several kinds, and three that are none."""
    folder = Folder(str(tmp_path / "pictures"))
    for number, (mode, form) in enumerate([("RGB", "PNG"), ("L", "PNG"), ("RGBA", "PNG"), ("CMYK", "JPEG"), ("P", "GIF"), ("1", "BMP")]):
        folder.write(f"a/{number}.bin", picture(number, mode, form))
    folder.write("b.png", picture(6))
    folder.write("z.png", picture(7))
    folder.write("c-empty.png", b"")
    folder.write("d-cut.png", picture(8)[:-200])
    folder.write("e-text.jpg", b"<html>not found</html>")
    return TrainSettings("r", str(tmp_path / "out"), str(tmp_path / "ck"), "cpu", 1, data={"pictures": folder.location})


def run(settings: TrainSettings, **more: Any) -> int:
    return embed_images.run(settings, argparse.Namespace(**{"shard": SHARD, "embeddings": None} | more))


def kept(settings: TrainSettings) -> Folder:
    return Folder(settings.output).child("embeddings").child("plain-1")


def embedded(folder: Folder) -> dict[str, Any]:
    """Numbers by picture, as the package that the format is of reads them; a picture that is there twice is an error."""
    import safetensors

    found: dict[str, Any] = {}
    for name in folder.names():
        with safetensors.safe_open(f"{folder.location}/{name}", "numpy") as file:
            names, array = json.loads(file.metadata()["about"])["names"], file.get_tensor("embeddings")
        assert len(names) == len(array)
        assert not found.keys() & set(names)
        found |= dict(zip(names, array, strict=True))
    return found


def report(settings: TrainSettings) -> Any:
    return Folder(settings.output).read_json("report.json")


def test_each_picture_once_and_the_rest_set_aside(settings: TrainSettings) -> None:
    """With the reason, by name. The list of products is no picture, and is not asked for one."""
    Folder(settings.data["pictures"]).write("products.csv", b"item,category,price,picture\n")
    assert run(settings) == 0

    assert report(settings)["metrics"] == {"pictures": 11, "embedded": 8, "set_aside": 3}
    assert sorted(report(settings)["set_aside"]) == ["c-empty.png", "d-cut.png", "e-text.jpg"]
    assert report(settings)["set_aside"]["e-text.jpg"] == "no kind of picture that is known"
    found = embedded(kept(settings))
    assert sorted(found) == [*(f"a/{number}.bin" for number in range(6)), "b.png", "z.png"]
    alone = vision.plain()([vision.square(picture(7), vision.PLAIN_EDGE)])[0]
    np.testing.assert_allclose(found["z.png"], alone, atol=1e-6)
    assert len({array.tobytes() for array in found.values()}) == 8
    assert len(kept(settings).names()) == report(settings)["shards"] == 4


def test_a_later_try_makes_only_what_is_missing(settings: TrainSettings) -> None:
    """What is whole stays as it is; what is missing, or damaged, becomes what it would have been."""
    assert run(settings) == 0
    folder = kept(settings)
    first, second, *others = folder.names()
    before = {name: folder.read(name) for name in folder.names()}
    folder.delete(first)
    folder.write(second, before[second][:40])

    assert run(settings) == 0
    assert report(settings)["shards_made_by_this_try"] == 2
    assert {name: folder.read(name) for name in folder.names()} == before
    assert others


def test_pictures_that_come_go_and_change(settings: TrainSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that is there now is in the result once, as it is now, and none that is gone. What stays is not measured again."""
    assert run(settings) == 0
    before = embedded(kept(settings))
    pictures = Folder(settings.data["pictures"])
    pictures.write("a/3b.png", picture(20))
    pictures.write("z.png", picture(21))
    pictures.write("c-empty.png", picture(22))
    for name in ("b.png", "d-cut.png", "e-text.jpg"):
        pictures.delete(name)
    measured: list[str] = []
    square = embeddings.Embeddings._square
    monkeypatch.setattr(embeddings.Embeddings, "_square", lambda self, name: measured.append(name) or square(self, name))

    assert run(settings) == 0
    after = embedded(kept(settings))
    assert sorted(after) == [*(f"a/{number}.bin" for number in range(4)), "a/3b.png", "a/4.bin", "a/5.bin", "c-empty.png", "z.png"]
    assert report(settings)["metrics"] == {"pictures": 9, "embedded": 9, "set_aside": 0}
    assert sorted(measured) == ["a/3b.png", "c-empty.png", "z.png"]
    assert before["a/1.bin"].tobytes() == after["a/1.bin"].tobytes()
    assert before["z.png"].tobytes() != after["z.png"].tobytes()


def test_a_folder_that_is_kept_over_runs(settings: TrainSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later run measures nothing that an earlier one did; another model has its own, and plain measurements do not go beside it."""
    stays = str(tmp_path / "stays")
    assert run(settings, embeddings=stays) == 0
    later = replace(settings, run_id="s", output=str(tmp_path / "later"))
    assert run(later, embeddings=stays) == 0
    assert report(later)["shards_made_by_this_try"] == 0
    assert report(later)["metrics"] == report(settings)["metrics"]
    assert Folder(later.output).names() == ["report.json"]

    other = str(tmp_path / "other")
    Folder(other).write("ViTBackbone-0/shard-00000-of-00001.safetensors", b"")
    with pytest.raises(InputError, match="has what ViTBackbone-0 made of pictures: name that model's folder, WL_DATA_VISION"):
        run(later, embeddings=other)


def test_a_notice_ends_it_between_two_shards(settings: TrainSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 143, and the next try goes on."""
    make = embeddings.Embeddings.make

    def taken_away(self: Any, number: int) -> Any:
        made = make(self, number)
        signal.raise_signal(signal.SIGTERM)
        return made

    monkeypatch.setattr(embeddings.Embeddings, "make", taken_away)
    assert run(settings) == RESTART_EXIT
    assert kept(settings).names() == ["shard-00000-of-00004.safetensors"]
    monkeypatch.setattr(embeddings.Embeddings, "make", make)
    assert run(settings) == 0
    assert report(settings)["shards_made_by_this_try"] == 3


def test_workers_of_which_one_dies(settings: TrainSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Three side by side, of which one dies in the middle of writing. The others end well and report nothing; begun again it does what it
    left, and reports. Each picture is measured once, but for those that it was at; who looked later sees no other pictures.
    """
    shared = replace(settings, hosts=3, chips=3)
    measured: dict[str, list[str]] = {}
    square, write = embeddings.Embeddings._square, Folder.write

    def seen(self: Any, name: str) -> Any:
        measured.setdefault(name, []).append(name)
        return square(self, name)

    def dies(self: Folder, name: str, content: bytes) -> None:
        if name == "shard-00003-of-00004.safetensors":
            raise KeyboardInterrupt
        write(self, name, content)

    def worker(number: int) -> int:
        monkeypatch.setenv("JOB_COMPLETION_INDEX", str(number))
        return run(shared)

    monkeypatch.setattr(embeddings.Embeddings, "_square", seen)
    monkeypatch.setattr(Folder, "write", dies)
    with pytest.raises(KeyboardInterrupt):
        worker(0)
    monkeypatch.setattr(Folder, "write", write)
    Folder(settings.data["pictures"]).write("a/late.png", picture(30))
    assert worker(2) == worker(1) == 0
    assert not Path(settings.output, "report.json").exists()
    assert len(kept(settings).names()) == 3

    assert worker(0) == 0
    assert report(settings)["metrics"] == {"pictures": 11, "embedded": 8, "set_aside": 3}
    assert len(embedded(kept(settings))) == 8
    again = embeddings.Embeddings(
        kept(settings), Folder(settings.data["pictures"]), Folder(settings.data["pictures"]).digests(), vision.plain()
    )
    lost = [name for name, times in measured.items() if len(times) == 2]
    assert 0 < len(lost) < len(measured) == 11
    assert len(again) == 12
    assert Folder(settings.output).find("pictures.json") is None


@pytest.mark.soak
def test_processes_side_by_side_of_which_one_is_killed(tmp_path: Path, compiled: Path) -> None:
    """
    Three at once, one ended by SIGKILL after its first shard: the others end well. Begun again, it does the rest, and reports.

    `.venv/bin/python -m pytest -n 0 -m soak tests/workloads/test_embed_images.py`
    """
    write_example(Folder(str(tmp_path)), users=5, items=120, rows=20)
    job = Job(tmp_path / "job", compiled, workload="embed_images", chips=3, data=tmp_path)
    processes = job.start("--shard", "2", hosts=3)
    said = processes[0].stderr
    assert said is not None
    assert any("is made" in line for line in said)
    processes[0].kill()
    assert [one.returncode for one in finished(processes)] == [-signal.SIGKILL, 0, 0]
    assert not (job.output / "report.json").exists()

    again = job.start("--shard", "2", hosts=3)
    assert [one.returncode for one in finished(again)] == [0, 0, 0]
    assert job.report["metrics"] == {"pictures": 120, "embedded": 120, "set_aside": 0}
    assert len(embedded(Folder(str(job.output / "embeddings" / "plain-1")))) == 120


def test_a_primary_replica_ends_last(settings: TrainSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vertex AI takes its end for that of the job: it waits until the others' shards are there, and reports."""

    def spec(pool: str) -> str:
        return json.dumps({"cluster": {"workerpool0": ["a:1"], "workerpool1": ["b:1"]}, "task": {"type": pool, "index": 0}})

    waited = []

    def meanwhile() -> None:
        waited.append(Path(settings.output, "report.json").exists())
        monkeypatch.setenv("CLUSTER_SPEC", spec("workerpool1"))
        assert run(shared) == 0
        monkeypatch.setenv("CLUSTER_SPEC", spec("workerpool0"))

    shared = replace(settings, hosts=2, chips=2)
    monkeypatch.setattr(embed_images, "_wait", meanwhile)
    monkeypatch.setenv("CLUSTER_SPEC", spec("workerpool0"))
    assert run(shared) == 0
    assert waited == [False]
    assert report(settings)["metrics"] == {"pictures": 11, "embedded": 8, "set_aside": 3}


def test_a_picture_that_is_back_too_late_keeps_nobody(settings: TrainSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    It is away while the second worker is at it, and there again once that one is done: the first one ends all the same, whether it waits as
    a primary replica or looks once, and says what was set aside. The next run has the picture.
    """
    pictures = Folder(settings.data["pictures"])
    shared = replace(settings, hosts=2, chips=2)
    shards = embeddings.Embeddings(kept(settings), pictures, pictures.digests(), vision.plain(), shard=SHARD).shards
    gone = shards[1][0]
    content = pictures.read(gone)
    find = Folder.find
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    monkeypatch.setattr(Folder, "find", lambda self, name: None if name == gone else find(self, name))
    assert run(shared) == 0
    monkeypatch.setattr(Folder, "find", find)
    assert pictures.read(gone) == content
    monkeypatch.delenv("JOB_COMPLETION_INDEX")
    cluster = {"workerpool0": ["a:1"], "workerpool1": ["b:1"]}
    monkeypatch.setenv("CLUSTER_SPEC", json.dumps({"cluster": cluster, "task": {"type": "workerpool0", "index": 0}}))
    monkeypatch.setattr(embed_images, "_wait", lambda: pytest.fail("it waits"))

    assert run(shared) == 0
    assert report(settings)["set_aside"][gone] == "it went away while it was read"
    monkeypatch.delenv("CLUSTER_SPEC")
    assert run(settings) == 0
    assert gone not in report(settings)["set_aside"]


def test_a_worker_alone_waits_for_nobody(settings: TrainSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also as the one replica of a custom job, which would wait until the job's time is over, and be paid for."""
    monkeypatch.setenv("CLUSTER_SPEC", json.dumps({"cluster": {"workerpool0": ["a:1"]}, "task": {"type": "workerpool0", "index": 0}}))
    monkeypatch.setattr(embeddings.Embeddings, "whole_shards", lambda self: None)
    monkeypatch.setattr(embed_images, "_wait", lambda: pytest.fail("it waits"))
    with pytest.raises(InputError, match="begin again"):
        run(settings)


@pytest.mark.parametrize(("data", "said"), [({}, "WL_DATA_PICTURES is missing"), ({"pictures": "nowhere"}, "no file")])
def test_refuses(data: dict[str, str], said: str, tmp_path: Path) -> None:
    """Before anything is written."""
    given = {name: str(tmp_path / folder) for name, folder in data.items()}
    settings = TrainSettings("r", str(tmp_path / "out"), "ck", "cpu", 1, data=given)

    with pytest.raises(InputError, match=said):
        run(settings)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [["--shard", "0"], ["--shard", "x"]])
def test_fails_for_odd_arguments(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        embed_images.parser("embed_images").parse_args(arguments)
