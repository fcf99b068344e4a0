"""Which folders are taken as trained models: told by their files, before anything heavy is imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workloads.contract import InputError
from workloads.files import FilesError, Folder
from workloads.finetune.presets import fetch

FILES = {
    "config.json": json.dumps({"module": "keras_hub.src.models.bert.bert_backbone", "class_name": "BertBackbone", "config": {}}).encode(),
    "model.weights.h5": b"weights",
    "tokenizer.json": b"{}",
    "assets/tokenizer/vocabulary.txt": b"[PAD]\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(str(tmp_path / "preset"))
    for name, content in FILES.items():
        found.write(name, content)
    return found


def test_a_preset_is_brought_here_as_it_is(folder: Folder, tmp_path: Path) -> None:
    """All files, and a fingerprint that another weight changes."""
    preset = fetch(folder, tmp_path / "here")
    folder.write("model.weights.h5", b"other weights")

    assert (preset.kind.name, preset.kind.column) == ("BERT", "text")
    assert {name: (tmp_path / "here" / name).read_bytes() for name in FILES} == FILES
    assert fetch(folder, tmp_path / "there").fingerprint != preset.fingerprint


def test_checksums_are_kept_where_there_are_some(folder: Folder, tmp_path: Path) -> None:
    """What an earlier run saved is not taken where it was changed."""
    whole = Folder(str(tmp_path / "whole"))
    whole.upload(Path(folder.location))
    assert fetch(whole, tmp_path / "here").fingerprint == fetch(folder, tmp_path / "other").fingerprint
    whole.write("tokenizer.json", b"[]")

    with pytest.raises(FilesError, match=r"tokenizer\.json is not what its checksum says"):
        fetch(whole, tmp_path / "there")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", None, r"has no config\.json: it is no preset of KerasHub"),
        ("config.json", b"{", r"config\.json is no JSON"),
        ("config.json", b"[]", "'' of '' is not taken"),
        (
            "config.json",
            FILES["config.json"].replace(b"Bert", b"Gemma"),
            r"'GemmaBackbone' .* BertBackbone \(BERT\) and ViTBackbone \(ViT\)",
        ),
        ("config.json", FILES["config.json"].replace(b"keras_hub.src", b"os.keras_hub"), "is not taken"),
        ("config.json", FILES["config.json"].replace(b"Bert", b"ViT"), r"lacks image_converter\.json: save the classifier"),
        ("model.weights.h5", None, r"lacks model\.weights\.h5 or model\.weights\.json"),
        ("tokenizer.json", None, r"lacks tokenizer\.json"),
    ],
)
def test_refuses(folder: Folder, tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    """With what is taken."""
    folder.delete(name) if content is None else folder.write(name, content)

    with pytest.raises((InputError, FilesError), match=said):
        fetch(folder, tmp_path / "here")
