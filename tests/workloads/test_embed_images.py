"""Every picture once, whatever happens between two tries."""

from __future__ import annotations

import argparse
import io
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads import embed_images, vision
from workloads.contract import RESTART_EXIT, InputError, TrainSettings
from workloads.files import Folder

SHARD = 4


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """The program listens for SIGTERM: afterwards the tests' process does not."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


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


def run(settings: TrainSettings) -> int:
    return embed_images.run(settings, argparse.Namespace(shard=SHARD))


def embeddings(settings: TrainSettings) -> dict[str, Any]:
    """Numbers by picture; a picture that is there twice is an error."""
    import safetensors

    found: dict[str, Any] = {}
    for name in Folder(settings.output).names():
        if name.startswith("shard-"):
            with safetensors.safe_open(f"{settings.output}/{name}", "numpy") as file:
                names, array = json.loads(file.metadata()["about"])["names"], file.get_tensor("embeddings")
            assert len(names) == len(array)
            assert not found.keys() & set(names)
            found |= dict(zip(names, array, strict=True))
    return found


def test_each_picture_once_and_the_rest_set_aside(settings: TrainSettings) -> None:
    """With the reason, by name."""
    assert run(settings) == 0

    report = Folder(settings.output).read_json("report.json")
    assert report["metrics"] == {"pictures": 11, "embedded": 8, "set_aside": 3}
    assert sorted(report["set_aside"]) == ["c-empty.png", "d-cut.png", "e-text.jpg"]
    assert report["set_aside"]["e-text.jpg"] == "no kind of picture that is known"
    found = embeddings(settings)
    assert sorted(found) == [*(f"a/{number}.bin" for number in range(6)), "b.png", "z.png"]
    alone = vision.plain()([vision.square(picture(7), vision.PLAIN_EDGE)])[0]
    np.testing.assert_allclose(found["z.png"], alone, atol=1e-6)
    assert len({array.tobytes() for array in found.values()}) == 8


def test_a_later_try_makes_only_what_is_missing(settings: TrainSettings) -> None:
    """What is whole stays as it is, and what is missing becomes what it would have been."""
    assert run(settings) == 0
    output = Folder(settings.output)
    first, second = output.read("shard-00000.safetensors"), output.read("shard-00001.safetensors")
    output.delete("shard-00001.safetensors")

    assert run(settings) == 0
    assert output.read_json("report.json")["shards_made_by_this_try"] == 1
    assert output.read("shard-00000.safetensors") == first
    assert output.read("shard-00001.safetensors") == second


def test_pictures_that_come_and_go_between_tries(settings: TrainSettings) -> None:
    """Each that is there now is in the result once, and none that is gone."""
    assert run(settings) == 0
    pictures = Folder(settings.data["pictures"])
    pictures.write("a/3b.png", picture(20))
    for name in ("b.png", "c-empty.png", "d-cut.png", "e-text.jpg"):
        pictures.delete(name)

    assert run(settings) == 0
    assert sorted(embeddings(settings)) == ["a/0.bin", "a/1.bin", "a/2.bin", "a/3.bin", "a/3b.png", "a/4.bin", "a/5.bin", "z.png"]
    assert Folder(settings.output).read_json("report.json")["metrics"] == {"pictures": 8, "embedded": 8, "set_aside": 0}


def test_a_notice_ends_it_between_two_shards(settings: TrainSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 143, and the next try goes on."""
    make = embed_images._make

    def taken_away(*arguments: Any) -> None:
        make(*arguments)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(embed_images, "_make", taken_away)
    assert run(settings) == RESTART_EXIT
    assert Folder(settings.output).names() == ["shard-00000.safetensors"]
    monkeypatch.setattr(embed_images, "_make", make)
    assert run(settings) == 0
    assert Folder(settings.output).read_json("report.json")["shards_made_by_this_try"] == 2


@pytest.mark.parametrize(
    ("data", "shard", "said"), [({}, 1, "WL_DATA_PICTURES is missing"), ({"pictures": "nowhere"}, 1, "no file"), ({}, 0, "at least 1")]
)
def test_refuses(data: dict[str, str], shard: int, said: str, tmp_path: Path) -> None:
    """Before anything is written."""
    given = {name: str(tmp_path / folder) for name, folder in data.items()}
    settings = TrainSettings("r", str(tmp_path / "out"), "ck", "cpu", 1, data=given)

    with pytest.raises(InputError, match=said):
        embed_images.run(settings, argparse.Namespace(shard=shard))
    assert not (tmp_path / "out").exists()
