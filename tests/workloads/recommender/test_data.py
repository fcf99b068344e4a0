"""Click logs and products: what is read, what is refused, and what is made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workloads.contract import InputError
from workloads.files import Folder
from workloads.recommender.data import CLICK_COLUMNS, HISTORY, histories, main, read_clicks, read_products, write_example

PRODUCTS = "item,category,price,picture\na,shoes,10,a.png\nb,shoes,,\nc,,1000,c.png\n"
CLICKS = "user,item,time,ad,clicked,purchased\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """With three products."""
    folder = Folder(str(tmp_path))
    folder.write("products.csv", PRODUCTS.encode())
    return folder


def test_reads_products(folder: Folder) -> None:
    """Row 0 is what is not known; a price that is not known is the mean."""
    products = read_products(folder)

    assert products.names == ("", "a", "b", "c")
    assert products.categories == ("", "shoes")
    assert products.category.tolist() == [0, 1, 1, 0]
    assert products.pictures == ("", "a.png", "", "c.png")
    assert products.price.tolist() == pytest.approx([0, -1, 0, 1])


def test_reads_clicks_of_all_files_in_the_order_of_time(folder: Folder) -> None:
    """Names become rows; columns may stand in any order, and others beside them."""
    folder.write("1.csv", (CLICKS + "u2,b,3,0,1,1\nu1,zz,1,1,0,0\n").encode())
    folder.write("deep/2.csv", b"\xef\xbb\xbfextra,purchased,clicked,ad,time,item,user\nx,0,1,0,2.5,a,u2\n")
    folder.delete("products.csv")
    folder.write("p/products.csv", PRODUCTS.encode())
    products = read_products(folder.child("p"))
    folder.child("p").delete("products.csv")
    clicks = read_clicks(folder, products)

    assert clicks.users == ("", "u1", "u2")
    assert clicks.user.tolist() == [1, 2, 2]
    assert clicks.item.tolist() == [0, 1, 2]
    assert clicks.purchased.tolist() == [0, 0, 1]
    assert clicks.history[:, 0].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("user,item\n", "lacks the columns time, ad, clicked, purchased"),
        ("", "lacks the columns user"),
        (CLICKS, "no row in any file"),
        (CLICKS + "u,a,1,0,1\n", "line 2 has fewer columns"),
        (CLICKS + "u,a,noon,0,1,0\n", "is no number"),
        (CLICKS + "u,a,nan,0,1,0\n", "time is a number"),
        (CLICKS + "u,a,1,0,2,0\n", "are 0 or 1"),
        (CLICKS + "u,a,1,0,-1,0\n", "are 0 or 1"),
        (CLICKS + "u,a,1,0,0.5,0\n", "is no number"),
        (CLICKS + "u,a,1,0,99999999999,0\n", "is no number"),
        (CLICKS + "u,a,1,0,0,1\n", "1 rows are purchased and not clicked"),
    ],
)
def test_refuses_clicks(folder: Folder, text: str, said: str) -> None:
    """By file, and with what is wrong."""
    products = read_products(folder)
    folder.delete("products.csv")
    folder.write("1.csv", text.encode())

    with pytest.raises(InputError, match=said):
        read_clicks(folder, products)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item\n", "lacks the columns category, price, picture"),
        (PRODUCTS + "a,,,\n", "an item is there twice"),
        (PRODUCTS + ",,,\n", "an item is there twice or has no name"),
        (PRODUCTS + "d,,cheap,\n", "price 'cheap' of 'd' is no number"),
    ],
)
def test_refuses_products(folder: Folder, text: str, said: str) -> None:
    """By file, and with what is wrong."""
    folder.write("products.csv", text.encode())

    with pytest.raises(InputError, match=said):
        read_products(folder)


def test_refuses_a_folder_without_logs(folder: Folder) -> None:
    """And a file that is no text."""
    products = read_products(folder)
    folder.delete("products.csv")
    with pytest.raises(InputError, match=r"has no \*\.csv"):
        read_clicks(folder, products)
    folder.write("1.csv", b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is no UTF-8"):
        read_clicks(folder, products)


def test_histories_hold_what_was_clicked_before() -> None:
    """The last one first; of the same person; never the row itself, nor a product that is not known."""
    user = np.array([1, 1, 2, 1, 1, 0, 1], np.int32)
    item = np.array([5, 6, 7, 8, 0, 9, 3], np.int32)
    clicked = np.array([1, 0, 1, 1, 1, 1, 0], np.int32)
    found = histories(user, item, clicked)

    assert [row[row > 0].tolist() for row in found] == [[], [5], [], [5], [8, 5], [], [8, 5]]


def test_histories_agree_with_the_plain_way() -> None:
    """A loop over the rows says the same."""
    random = np.random.default_rng(0)
    user, item, clicked = (random.integers(0, high, 500).astype(np.int32) for high in (7, 20, 2))
    before: dict[int, list[int]] = {}
    wanted = []
    for row in range(500):
        last = before.setdefault(int(user[row]), [])
        known = last[::-1][:HISTORY] if user[row] else []
        wanted.append(known + [0] * (HISTORY - len(known)))
        if clicked[row] and item[row]:
            last.append(int(item[row]))

    assert histories(user, item, clicked).tolist() == wanted


def test_what_is_made_up_is_the_same_each_time_and_can_be_read(tmp_path: Path) -> None:
    """With pictures of several motifs, and of all kinds of rows."""
    folders = [Folder(str(tmp_path / name)) for name in ("one", "two")]
    for folder in folders:
        write_example(folder, users=20, items=12, rows=300)
    clicks = read_clicks(folders[0].child("clicks"), read_products(folders[0].child("pictures")))

    assert len(folders[0].names()) == 14
    assert all(folders[0].read(name) == folders[1].read(name) for name in folders[0].names())
    assert folders[0].child("clicks").read("clicks-00000.csv").decode().splitlines()[0] == ",".join(CLICK_COLUMNS)
    assert 0 < clicks.purchased.sum() < clicks.clicked.sum() < len(clicks) == 300


def test_made_up_folders_are_filled_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two folders that training reads. Where something is already, nothing is made up: it may be a shop's own."""
    clicks, pictures = str(tmp_path / "clicks"), str(tmp_path / "else" / "pictures")
    words = [clicks, pictures, "--users", "20", "--items", "12", "--rows", "300"]
    assert main(words) == 0
    assert len(read_clicks(Folder(clicks), read_products(Folder(pictures)))) == 300
    assert "300 rows of 20 made-up people" in capsys.readouterr().err
    assert main(words) == 2
    assert "nothing is made up beside them" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "a"), str(tmp_path / "b"), "--rows", "0"])
    assert not (tmp_path / "a").exists()
