"""
Click logs and products: the files that a shop brings, and made-up ones with real structure.

Folder `clicks`: what servers logged (`workloads.recommender.reports`), and `*.csv` with the columns
`user,item,time,ad,clicked,purchased`, one row for each time that a product was shown to somebody.
`user` and `item` are texts without a comma; `time` is a number that grows, such as seconds since 1970; `ad` says whether the place was
paid for; the last three are 0 or 1, and what was purchased was clicked.
Folder `pictures`: `products.csv` with `item,category,price,picture`; `picture` is the name of a file in that folder, or empty.

What is made up: people have tastes in a space of eight numbers, products have a place in it, and both come in groups. A product's picture
shows its place: motif and colours come from it. So pictures tell of products that nobody has clicked yet. They are made up by

    python -m workloads.recommender.data CLICKS PICTURES [--users N] [--items N] [--rows N] [--seed N]

into two folders, of a bucket or of this machine: to try things with, before a shop's own are there.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from workloads import tables
from workloads.contract import InputError
from workloads.files import PARALLEL, FilesError, Folder
from workloads.recommender import reports
from workloads.say import say

HISTORY = 8
"""Products clicked last that are known of a person when something is shown to them."""
CLICK_COLUMNS = ("user", "item", "time", "ad", "clicked", "purchased")
PRODUCT_COLUMNS = ("item", "category", "price", "picture")
ROWS_PER_FILE = 200_000
PICTURE_PIXELS = 64
MOTIF_PIXELS = 256
MOTIFS: dict[str, Callable[[Any, Any], Any]] = {
    "stripes": lambda x, y: np.sin(20 * x),
    "bars": lambda x, y: np.sin(20 * y),
    "rings": lambda x, y: np.sin(30 * np.hypot(x, y)),
    "rays": lambda x, y: np.sin(12 * np.arctan2(y, x)),
    "checks": lambda x, y: np.sign(np.sin(12 * x) * np.sin(12 * y)),
    "dots": lambda x, y: np.sign(np.cos(16 * x) + np.cos(16 * y) - 1),
    "waves": lambda x, y: np.sin(14 * y + 2 * np.sin(6 * x)),
    "slopes": lambda x, y: np.sin(10 * (x + y)),
}
"""A pattern of each group of products, of -1 to 1 over the square of -1 to 1."""
TASTES = 8

Ints = np.ndarray[Any, np.dtype[np.int32]]
Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Products:
    """Products by row. Row 0 is the product that is not known."""

    names: tuple[str, ...]
    category: Ints
    categories: tuple[str, ...]
    """Category 0 is none."""
    price: Floats
    """Logarithm of the price, with mean 0 and deviation 1; 0 where it is unknown."""
    pictures: tuple[str, ...]
    """File in the folder of `products.csv`; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Clicks:
    """Rows of the log in the order of time."""

    user: Ints
    """Row of the person; 0 is nobody known."""
    item: Ints
    ad: Ints
    clicked: Ints
    purchased: Ints
    history: Ints
    """Products that the person clicked before, the last one first: rows by `HISTORY`; 0 where there are no more."""
    users: tuple[str, ...]
    """Name of each person, by row."""

    def __len__(self) -> int:
        return len(self.user)

    def take(self, rows: Any) -> Clicks:
        """Some of the rows."""
        columns = (self.user, self.item, self.ad, self.clicked, self.purchased, self.history)
        user, item, ad, clicked, purchased, history = (column[rows] for column in columns)
        return Clicks(user, item, ad, clicked, purchased, history, self.users)


def read_products(folder: Folder) -> Products:
    """
    Reads `products.csv`.

    Raises:
        InputError: It is not as said above.
    """
    rows = tables.rows(folder, "products.csv", PRODUCT_COLUMNS)
    names = ("", *(row[0] for row in rows))
    if len(set(names)) != len(names):
        double = sorted({name for name in names if names.count(name) > 1})[:3] if len(names) < 10_000 else []
        raise InputError(f"{folder.location}/products.csv: an item is there twice or has no name {double}")
    categories = ("", *sorted({row[1] for row in rows} - {""}))
    number = {name: index for index, name in enumerate(categories)}
    prices = np.array([0.0, *(_price(folder, row) for row in rows)], np.float64)
    known = prices > 0
    logs = np.log(np.where(known, prices, 1.0))
    deviation = logs[known].std() if known.any() else 0.0
    price = np.where(known, (logs - logs[known].mean()) / (deviation or 1.0), 0.0) if known.any() else logs
    return Products(
        names=names,
        category=np.array([0, *(number[row[1]] for row in rows)], np.int32),
        categories=categories,
        price=price.astype(np.float32),
        pictures=("", *(row[3] for row in rows)),
    )


def read_clicks(folder: Folder, products: Products) -> Clicks:
    """
    Reads all CSV files of the folder, and what servers logged.

    Raises:
        InputError: One is not as said above, or there is none.
    """
    files = [name for name in folder.names() if name.endswith((".csv", *reports.SUFFIXES))]
    if not files:
        raise InputError(f"{folder.location} has no *.csv with click logs")
    rows = [row for name in files for row in (tables.rows if name.endswith(".csv") else reports.rows)(folder, name, CLICK_COLUMNS)]
    if not rows:
        raise InputError(f"{folder.location}: no row in any file")
    columns = list(zip(*rows, strict=True))
    try:
        time = np.array(columns[2], np.float64)
        flags = np.array(columns[3:], np.int32)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{folder.location}: time, ad, clicked or purchased is no number: {error}") from None
    if not np.isfinite(time).all() or not np.isin(flags, (0, 1)).all():
        raise InputError(f"{folder.location}: time is a number, and ad, clicked and purchased are 0 or 1, in every row")
    if (flags[2] > flags[1]).any():
        raise InputError(f"{folder.location}: {int((flags[2] > flags[1]).sum())} rows are purchased and not clicked")
    users = ("", *sorted(set(columns[0]) - {""}))
    user_row = {name: row for row, name in enumerate(users)}
    item_row = {name: row for row, name in enumerate(products.names)}
    order = np.argsort(time, kind="stable")
    user = np.array([user_row[name] for name in columns[0]], np.int32)[order]
    item = np.array([item_row.get(name, 0) for name in columns[1]], np.int32)[order]
    ad, clicked, purchased = flags[:, order]
    return Clicks(user, item, ad, clicked, purchased, histories(user, item, clicked), users)


def histories(user: Ints, item: Ints, clicked: Ints) -> Ints:
    """Of each row, what the person clicked before it. A product that is not known is left out."""
    count = len(user)
    order = np.argsort(user, kind="stable")
    useful = ((clicked == 1) & (item > 0) & (user > 0))[order]
    ends = np.cumsum(useful) - useful
    clicks = item[order][useful]
    starts_at = np.flatnonzero(np.r_[True, user[order][1:] != user[order][:-1]])
    first = np.repeat(ends[starts_at], np.diff(np.r_[starts_at, count]))
    found = np.zeros((count, HISTORY), np.int32)
    for place in range(HISTORY):
        position = ends - 1 - place
        there = position >= first
        found[order[there], place] = clicks[position[there]]
    return found


def write_example(folder: Folder, *, users: int = 1500, items: int = 600, rows: int = 40_000, seed: int = 0, pictures: bool = True) -> None:
    """Makes up the two folders `clicks` and `pictures` in *folder*: the same for the same arguments."""
    random = np.random.default_rng(seed)
    groups = len(MOTIFS)
    centres = random.normal(size=(groups, TASTES))
    group = random.integers(0, groups, items)
    place = centres[group] + 0.5 * random.normal(size=(items, TASTES))
    taste = centres[random.integers(0, groups, users)] + 0.6 * random.normal(size=(users, TASTES))
    popularity = 0.3 * np.log(1.0 / (1.0 + random.permutation(items)))
    price = np.exp(3.0 + 0.8 * random.normal(size=items))
    _write_products(folder.child("pictures"), group, place, price, pictures)
    # Cosines times two: what is liked differs from person to person, and no product is liked by all.
    affinity = 2.0 * (taste / np.linalg.norm(taste, axis=1, keepdims=True)) @ (place / np.linalg.norm(place, axis=1, keepdims=True)).T
    user = random.integers(0, users, rows)
    # Much of what a shop shows was chosen for the person, by somebody who knows them a little; the rest is what sells.
    chosen = _drawn(np.exp(2.5 * affinity + popularity), user, random)
    item = np.where(random.random(rows) < 0.7, chosen, _drawn(np.exp(popularity)[None], np.zeros_like(user), random))
    ad = (random.random(rows) < 0.2).astype(int)
    liking = affinity[user, item]
    clicked = random.random(rows) < _sigmoid(1.5 * liking - 2.0 - 0.7 * ad)
    purchased = clicked & (random.random(rows) < _sigmoid(0.5 * liking - 0.9 * (np.log(price[item]) - 3.0) - 2.0))
    clicks = folder.child("clicks")
    for number, begin in enumerate(range(0, rows, ROWS_PER_FILE)):
        part = range(begin, min(begin + ROWS_PER_FILE, rows))
        table = ((f"u{user[row]}", f"p{item[row]}", row, ad[row], int(clicked[row]), int(purchased[row])) for row in part)
        clicks.write(f"clicks-{number:05}.csv", _csv(CLICK_COLUMNS, table))


def _drawn(weights: Any, row: Any, random: Any) -> Any:
    """A column for each of the rows, as often as its weight in that row says."""
    heights = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    heights[:, -1] = 1.0
    ladder = (heights + np.arange(len(heights))[:, None]).ravel()
    return np.searchsorted(ladder, row + random.random(len(row)), side="right") - row * weights.shape[1]


def _write_products(folder: Folder, group: Any, place: Any, price: Any, pictures: bool) -> None:
    names = [f"p{item}.png" if pictures else "" for item in range(len(group))]
    table = ((f"p{item}", f"group {group[item]}", f"{price[item]:.2f}", names[item]) for item in range(len(group)))
    folder.write("products.csv", _csv(PRODUCT_COLUMNS, table))
    if not pictures:
        return
    from PIL import Image

    motifs = [_motif(number) for number in range(len(MOTIFS))]
    for item, name in enumerate(names):
        picture = _tinted(motifs[group[item]], place[item])
        file = io.BytesIO()
        Image.fromarray(picture).save(file, "PNG", compress_level=1)
        folder.write(name, file.getvalue())


def _motif(number: int) -> Any:
    """A pattern between two colours of its own, three of 0 to 1."""
    y, x = np.mgrid[-1 : 1 : MOTIF_PIXELS * 1j, -1 : 1 : MOTIF_PIXELS * 1j]
    pattern = 0.5 + 0.5 * list(MOTIFS.values())[number](x, y)
    dark, bright = np.random.default_rng(number).random((2, 3)) * 0.5 + [[0.0], [0.5]]
    return (dark + pattern[:, :, None] * (bright - dark)).astype(np.float32)


def _tinted(motif: Any, place: Any) -> Any:
    """A square of the motif: its first two numbers say where, the next three in which colours, the sixth how bright."""
    height, width = (edge - PICTURE_PIXELS * 2 for edge in motif.shape[:2])
    top, left = int(_sigmoid(place[0]) * height), int(_sigmoid(place[1]) * width)
    square = motif[top : top + PICTURE_PIXELS * 2 : 2, left : left + PICTURE_PIXELS * 2 : 2]
    tint = 0.5 + _sigmoid(place[2:5])
    return (np.clip(square * tint * (0.6 + 0.8 * _sigmoid(place[5])), 0, 1) * 255).astype(np.uint8)


def _sigmoid(value: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-value))


def _csv(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return file.getvalue().encode()


def _price(folder: Folder, row: list[str]) -> float:
    try:
        return float(row[2] or 0)
    except ValueError:
        raise InputError(f"{folder.location}/products.csv: price {row[2]!r} of {row[0]!r} is no number") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes clicks and products up. Exit code 2: a folder has something already, or is none."""
    parser = argparse.ArgumentParser(prog="python -m workloads.recommender.data", description="Makes clicks and products up.")
    parser.add_argument("clicks", help="folder of the click logs: gs://BUCKET/NAME, or a path")
    parser.add_argument("pictures", help="folder of products and their pictures")
    for name, default in (("users", 400), ("items", 240), ("rows", 20_000), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
    options = parser.parse_args(arguments)
    if min(options.users, options.items, options.rows) < 1 or options.seed < 0:
        parser.error("users, items and rows are 1 or more, and seed is 0 or more")
    # Of Python 3.11's end, at every import of Google's client.
    warnings.filterwarnings("ignore", message="You are using a Python version", category=FutureWarning)
    try:
        to = {name: Folder(getattr(options, name)) for name in ("clicks", "pictures")}
        if full := [folder.location for folder in to.values() if folder.names()]:
            say(f"{' and '.join(full)}: has files already, and nothing is made up beside them")
            return 2
        with tempfile.TemporaryDirectory(prefix="accelform-data-") as place:
            made = Folder(place)
            write_example(made, users=options.users, items=options.items, rows=options.rows, seed=options.seed)
            files = [(made.child(name), file, folder) for name, folder in to.items() for file in made.child(name).names()]
            with ThreadPoolExecutor(PARALLEL) as pool:
                list(pool.map(lambda one: one[2].write(one[1], one[0].read(one[1])), files))
    except FilesError as error:
        say(str(error))
        return 2
    where = " and ".join(folder.location for folder in to.values())
    say(f"{where}: {options.rows} rows of {options.users} made-up people and {options.items} made-up products")
    return 0


if __name__ == "__main__":
    sys.exit(main())
