"""Numbers of pictures: by a real backbone of KerasHub as its preset says, and which folders are taken for one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.workloads.jobs import QUICK, ROOT
from workloads import vision
from workloads.contract import InputError
from workloads.files import FilesError, Folder

FILES = {
    "config.json": json.dumps({"module": "keras_hub.src.models.vit.vit_backbone", "class_name": "ViTBackbone", "config": {}}).encode(),
    "model.weights.h5": b"weights",
    "image_converter.json": b"{}",
}
BACKBONE = """
import sys
sys.modules["tensorflow"] = sys.modules["tensorflow_text"] = None  # its import takes seconds, and nothing here is of it
import keras, keras_hub
import numpy as np
from workloads import vision
from workloads.contract import InputError
from workloads.files import Folder
keras.utils.set_random_seed(0)
place = sys.argv[1]
model = keras_hub.models.VGGBackbone(stackwise_num_repeats=[1], stackwise_num_filters=[4], image_shape=(16, 16, 3))
model.save_to_preset(place)
shift = (-1.0, -0.5, 0.25)
keras_hub.layers.VGGImageConverter(image_size=(16, 16), scale=1 / 127.5, offset=shift).save_to_preset(place)

extractor = vision.pretrained(Folder(place))
pictures = np.random.default_rng(0).random((70, 16, 16, 3), np.float32)
found = extractor(list(pictures))
wanted = np.asarray(model(pictures * 2 + np.float32(shift), training=False)).mean(axis=(1, 2))
assert extractor.edge == 16 and extractor.name.startswith("VGGBackbone-"), extractor.name
np.testing.assert_allclose(found, wanted, atol=1e-5)
assert np.ptp(found, axis=0).min() > 1e-3

Folder(place).write("model.weights.h5", b"nothing")
other = vision.pretrained(Folder(place))
assert other.key != extractor.key
try:
    other(list(pictures))
except InputError as error:
    assert "cannot be read as a preset of VGGBackbone" in str(error), error
else:
    raise AssertionError("weights that are none were read")
"""


def test_a_backbone_measures_as_its_preset_says(tmp_path: Path) -> None:
    """
    Of weights, scaling and size that are saved: what the model itself answers, the mean of it, on two devices, and for more than a batch.

    The backbone is small and its weights are drawn: no package that is installed has real ones.
    """
    told = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    told |= {"XLA_FLAGS": f"--xla_force_host_platform_device_count=2 {QUICK}"}
    ended = subprocess.run([sys.executable, "-c", BACKBONE, str(tmp_path)], env=told, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(str(tmp_path / "preset"))
    for name, content in FILES.items():
        found.write(name, content)
    return found


def test_nothing_is_loaded_before_a_picture_needs_it(folder: Folder) -> None:
    """Only its files are listed: what it is follows from them, and another weight is another model."""
    before = vision.extractor({"vision": folder.location})
    folder.write("model.weights.h5", b"other weights")
    after = vision.extractor({"vision": folder.location})

    assert before.key.startswith("ViTBackbone-")
    assert before.key != after.key
    assert vision.extractor({}).name == "plain: colours and edges, no vision model"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", None, r"has no config\.json: it is no preset of KerasHub"),
        ("config.json", b"{", r"config\.json is no JSON"),
        ("config.json", b"[]", "'' of '' is no model of keras_hub"),
        ("config.json", FILES["config.json"].replace(b"keras_hub", b"os"), "'ViTBackbone' of 'os' is no model"),
        ("config.json", FILES["config.json"].replace(b"ViTB", b"../../x"), "is no model"),
        ("model.weights.h5", None, r"lacks model\.weights\.h5 or model\.weights\.json"),
        ("image_converter.json", None, r"lacks image_converter\.json: save the classifier with its preprocessor"),
    ],
)
def test_refuses(folder: Folder, name: str, content: bytes | None, said: str) -> None:
    """Before anything heavy is imported."""
    folder.delete(name) if content is None else folder.write(name, content)

    with pytest.raises((InputError, FilesError), match=said):
        vision.pretrained(folder)


def test_plain_numbers_tell_pictures_apart() -> None:
    """Colours and directions of edges: the same for the same picture, whatever stands beside it."""
    red, blue = (np.broadcast_to(np.float32(colour), (vision.PLAIN_EDGE, vision.PLAIN_EDGE, 3)) for colour in ([1, 0, 0], [0, 0, 1]))
    striped = np.where(np.arange(vision.PLAIN_EDGE)[:, None, None] % 8 < 4, red, blue + np.float32(0.5))
    found = vision.plain()([red, blue, striped, striped.swapaxes(0, 1), red])

    assert found.shape == (5, 83)
    assert found[0].tobytes() == found[4].tobytes()
    assert len({row.tobytes() for row in found}) == 4


@pytest.mark.parametrize("error", [RuntimeError, NotImplementedError, IndexError, MemoryError])
def test_whatever_a_decoder_trips_over_is_of_that_picture(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file of AVIF or DDS ends in other errors than one of PNG."""
    from PIL import Image

    def trips(file: object) -> None:
        raise error("damaged")

    monkeypatch.setattr(Image, "open", trips)
    with pytest.raises(vision.PictureError, match=f"{error.__name__}: damaged"):
        vision.square(b"x", 16)
