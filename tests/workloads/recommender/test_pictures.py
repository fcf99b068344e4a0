"""Numbers of products' pictures: what embed_images made, or made the same way and kept."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workloads import devices, embed_images, vision
from workloads.contract import InputError, TrainSettings
from workloads.files import Folder
from workloads.recommender.data import read_products
from workloads.recommender.pictures import features

SHADES = {"a.png": 10, "b.png": 100, "c.png": 250}
PRODUCTS = "item,category,price,picture\na,,1,a.png\nb,,1,b.png\nc,,1,c.png\nd,,1,\ne,,1,missing.png\nf,,1,broken.png\nb2,,1,b.png\n"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signals: None) -> TrainSettings:
    """A shop of six pictures, and a model in a folder that measures how bright they are."""
    from PIL import Image

    pictures = Folder(str(tmp_path / "pictures"))
    for name, shade in SHADES.items():
        file = io.BytesIO()
        Image.new("RGB", (8, 8), (shade, shade, shade)).save(file, "PNG")
        pictures.write(name, file.getvalue())
    pictures.write("broken.png", b"no")
    pictures.write("products.csv", PRODUCTS.encode())
    brightness = vision.Measure(4, lambda some: some.mean(axis=(1, 2, 3))[:, None] * [1.0, 2.0])
    measures = vision.Extractor("Bright-1", "a model of brightness", lambda: brightness)
    monkeypatch.setattr(vision, "pretrained", lambda folder: measures)
    monkeypatch.setattr(devices, "start", lambda settings: None)
    data = {"pictures": pictures.location, "vision": "models/bright"}
    return TrainSettings("r", str(tmp_path / "out"), str(tmp_path / "ck"), "cpu", 1, data=data)


def of(settings: TrainSettings, kept: str | None = None) -> tuple[Any, str]:
    pictures = Folder(settings.data["pictures"])
    return features(settings, kept, pictures, read_products(pictures))


def test_they_are_of_the_products_in_their_order(settings: TrainSettings) -> None:
    """Mean 0 and deviation 1 over pictures that can be read; zeros where there is none. A picture may be of two products."""
    numbers, by = of(settings)

    shades = np.array([SHADES[name] for name in ("a.png", "b.png", "c.png", "b.png")], float)
    assert numbers.shape == (8, 2)
    np.testing.assert_allclose(numbers[[1, 2, 3, 7], 1], (shades - shades.mean()) / shades.std(), atol=1e-5)
    assert not numbers[[0, 4, 5, 6]].any()
    assert by == "a model of brightness; 4 of 7 products have a picture that can be read"


@pytest.mark.parametrize("first", ["embed_images", "training"])
def test_who_comes_later_measures_nothing(first: str, settings: TrainSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training reads what embed_images made, and another try what the first one made: nothing is decoded."""
    kept = str(tmp_path / "kept") if first == "embed_images" else None
    if kept:
        options = embed_images.parser("embed_images").parse_args(["--embeddings", kept])
        assert embed_images.run(settings, options) == 0
    else:
        before = of(settings)
    monkeypatch.setattr(vision, "square", lambda content, edge: pytest.fail("a picture is read again"))

    numbers, by = of(settings, kept)

    assert numbers[1:4].any(axis=1).all()
    assert by.startswith("a model of brightness; 4 of 7")
    if not kept:
        np.testing.assert_array_equal(numbers, before[0])


def test_without_the_model_nothing_plain_goes_beside_its_numbers(settings: TrainSettings, tmp_path: Path) -> None:
    """Somebody forgot to name it: said, and not hidden in a worse model."""
    kept = str(tmp_path / "kept")
    of(settings, kept)
    forgotten = TrainSettings("r", settings.output, "ck", "cpu", 1, data={"pictures": settings.data["pictures"]})

    with pytest.raises(InputError, match="has what Bright-1 made of pictures: name that model's folder, WL_DATA_VISION"):
        of(forgotten, kept)


def test_a_shop_without_pictures(settings: TrainSettings) -> None:
    """Has zeros, and says so."""
    pictures = Folder(settings.data["pictures"])
    for name in pictures.names():
        if name != "products.csv":
            pictures.delete(name)

    numbers, by = of(settings)

    assert (numbers.shape, numbers.any()) == ((8, 1), False)
    assert by.endswith("0 of 7 products have a picture that can be read")
