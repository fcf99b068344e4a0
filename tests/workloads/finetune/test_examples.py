"""Examples are read as they are documented, and what is wrong with them is told."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from workloads.contract import InputError
from workloads.files import Folder
from workloads.finetune.examples import SHOWN, read_examples, read_pictures


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path))


def many(count: int = 60) -> bytes:
    """Reviews of two kinds."""
    return "".join(f"a review {number},{'good' if number % 3 else 'bad'}\n" for number in range(count)).encode()


def test_csv_and_jsonl_are_one_list(folder: Folder) -> None:
    """Columns in any order, others passed over, labels by the alphabet; a number and a truth are labels in JSON."""
    folder.write("a.csv", b'label,stars,text\nb,5,"one, two"\n' + b"".join(b"b,1,t%d\n" % one for one in range(40)))
    folder.write("b.jsonl", b'{"text": "three", "label": 7}\n\n{"text": "four", "label": true, "x": []}\n' + many_lines("c"))
    folder.write("notes.txt", b"nothing")

    found = read_examples(folder, "text")

    assert found.inputs[0] == "one, two"
    assert found.inputs[41:43] == ("three", "four")
    assert found.classes == ("7", "b", "c", "true")
    assert [found.classes[label] for label in found.labels[[0, 41, 42, 43]]] == ["b", "7", "true", "c"]


def many_lines(label: str) -> bytes:
    return "".join(json.dumps({"text": f"line {number}", "label": label}) + "\n" for number in range(40)).encode()


def test_what_is_held_out_depends_on_the_text_alone(folder: Folder) -> None:
    """About a tenth, each example on one side; more examples in another order change no side, and a double is on its twin's."""
    folder.write("a.csv", b"text,label\n" + many(400))
    few = read_examples(folder, "text")
    folder.write("0.csv", b"text,label\n" + many(400) + b"another,good\n")
    more = read_examples(folder, "text")

    assert sorted([*few.train, *few.test]) == list(range(400))
    assert 20 <= len(few.test) <= 60
    assert {more.inputs[row] for row in more.test} - {"another"} == {few.inputs[row] for row in few.test}
    assert not {more.inputs[row] for row in more.test} & {more.inputs[row] for row in more.train}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", many(), r"has no \*\.csv or \*\.jsonl with the columns text and label"),
        ("a.csv", b"", "lacks the columns text, label"),
        ("a.csv", b"text,stars\nx,1\n", "lacks the columns label; its first line is 'text,stars'"),
        ("a.csv", b"text,label\n\xff,x\n", "is no UTF-8"),
        ("a.csv", b"text,label\nx\n", "line 2 has fewer columns"),
        ("a.csv", b"text,label\n" + b"x" * 200_000 + b",a\n", "is no CSV: field larger"),
        ("a.csv", b"text,label\n  ,a\nx,b\n", r"row 1 has no text"),
        ("a.csv", b"text,label\ny,a\nx, \n", r"row 2 has no label"),
        ("a.csv", b"text,label\n", "0 examples of 0 classes"),
        ("a.csv", b"text,label\nx,a\ny,a\n", "2 examples of 1 classes"),
        ("a.csv", b"text,label\nx,a\ny,b\n", "is held out"),
        ("a.jsonl", b'{"text": "x", "label": "a"}\n{"text"\n', "line 2 is no JSON"),
        ("a.jsonl", b"[" * 100_000, "line 1 is no JSON"),
        ("a.jsonl", b"[1]\n", "line 1 is no object"),
        ("a.jsonl", b'{"text": 3, "label": "a"}\n', "line 1 has no text"),
        ("a.jsonl", b'{"text": "x", "label": NaN}\n', "line 1 has no label"),
        ("a.jsonl", b'{"text": "x", "label": null}\n', "line 1 has no label"),
        ("a.jsonl", b"\xff\n", "is no UTF-8"),
    ],
)
def test_refuses(folder: Folder, name: str, content: bytes, said: str) -> None:
    """With where it is."""
    folder.write(name, content)

    with pytest.raises(InputError, match=said):
        read_examples(folder, "text")


def test_a_class_that_is_only_held_out_is_named(folder: Folder) -> None:
    """It would be measured and never learned."""
    folder.write("a.csv", b"text,label\n" + many(400))
    held = read_examples(folder, "text")
    folder.write("b.csv", f"text,label\n{held.inputs[held.test[0]]},rare\n".encode())

    with pytest.raises(InputError, match=r"all examples of \['rare'\] are held out"):
        read_examples(folder, "text")


def picture(size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "PNG")
    return file.getvalue()


def test_pictures_are_squares_of_one_size(folder: Folder) -> None:
    """Whatever they were; in the order of the names."""
    folder.write("red.png", picture((40, 20), (255, 0, 0)))
    folder.write("deep/blue.png", picture((7, 90), (0, 0, 200)))

    found = read_pictures(folder, ("deep/blue.png", "red.png"), 8)

    assert found.dtype == np.uint8
    assert (found[0] == [0, 0, 200]).all()
    assert (found[1] == [255, 0, 0]).all()


def test_pictures_that_are_none_are_named(folder: Folder) -> None:
    """The first few, and how many more."""
    names = tuple(f"{number}.png" for number in range(SHOWN + 2))
    folder.write("0.png", b"<html>")

    with pytest.raises(InputError) as refused:
        read_pictures(folder, names, 8)

    lines = str(refused.value).splitlines()
    assert lines[0].endswith("0.png: no kind of picture that is known")
    assert lines[1].endswith("1.png is not there")
    assert lines[-1] == "and 2 more"
