"""What stands outlives the process that made it."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.sandbox.store import Store


def test_is_there_after_it_was_closed_and_after_a_kill(tmp_path: Path) -> None:
    store = Store(tmp_path / "cloud.sqlite")
    store.put("tpu", "projects/p/nodes/a", {"x": 1})
    store.set_fact("ids", 7)
    again = Store(tmp_path / "cloud.sqlite")  # the first one was never closed
    assert again.get("tpu", "projects/p/nodes/a") == {"x": 1}
    assert again.next("ids") == 8
    store.close()
    again.close()


def test_a_request_that_fails_leaves_nothing() -> None:
    store = Store()
    store.begin()
    store.put("tpu", "a/b", {})
    store.rollback()
    assert store.get("tpu", "a/b") is None


def test_a_delete_takes_what_is_inside_and_nothing_beside() -> None:
    store = Store()
    for name in ("b/shop", "b/shop/o/one", "b/shop-two", "b/shop_/o/x"):
        store.put("storage", name, {})
    store.delete("storage", "b/shop")
    assert [name for _, name, _ in store.every()] == ["b/shop-two", "b/shop_/o/x"]


@pytest.mark.parametrize("name", ["b/100%", "b/a_b", "b/it's"])
def test_names_are_no_patterns(name: str) -> None:
    store = Store()
    store.put("storage", name, {"ok": True})
    store.put("storage", "b/other/o/x", {})
    store.delete("storage", name)
    assert [found for _, found, _ in store.every()] == ["b/other/o/x"]
