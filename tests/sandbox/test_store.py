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


def fail(store: Store) -> None:
    with store.transaction():
        store.put("tpu", "a/b", {})
        raise ValueError("no")


def test_what_fails_leaves_nothing_within_another_too() -> None:
    store = Store()
    with pytest.raises(ValueError, match="no"):
        fail(store)
    assert store.get("tpu", "a/b") is None
    with store.transaction():
        store.put("tpu", "a/a", {})
        with pytest.raises(ValueError, match="no"):
            fail(store)
        store.put("tpu", "a/c", {})
    assert [name for _, name, _ in store.every()] == ["a/a", "a/c"]


def test_timers_are_due_in_their_order_and_go_with_what_they_are_of() -> None:
    store = Store()
    for name, at in (("a/late", 30.0), ("a/early", 10.0), ("a/gone/x", 5.0), ("a/moved", 1.0), ("a/moved", 20.0)):
        store.set_timer("tpu", name, at)
    store.delete("tpu", "a/gone")
    store.set_timer("tpu", "a/late", None)
    assert store.timer(9.0) is None
    assert store.timer(50.0) == {"service": "tpu", "name": "a/early", "at": 10.0}
    store.set_timer("tpu", "a/early", None)
    assert store.timer(50.0) == {"service": "tpu", "name": "a/moved", "at": 20.0}


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
