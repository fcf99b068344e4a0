"""Two things under one name are told by the keys that make them."""

from __future__ import annotations

from infra import twice
from infra.declared import Declared

CHAIN = "urn:pulumi:s::accelform::accelform:service:Service"
FIRST, SECOND = (Declared("accelform:service:Service", name, {}, urn=f"{CHAIN}::{name}") for name in ("b-c", "c"))


def an_object(name: str, parent: Declared) -> Declared:
    kind = "kubernetes:core/v1:Service"
    return Declared(kind, name, {}, urn=f"{CHAIN}${kind}::{name}", parent=parent.urn)


def test_two_keys_that_read_the_same_are_told_once() -> None:
    """`b-c` in namespace `a` and `c` in `a-b`: whatever they make is called the same."""
    made = [FIRST, SECOND, *(an_object(name, key) for key in (FIRST, SECOND) for name in ("service-a-b-c", "service-a-b-c-leaders"))]
    [found] = twice.problems(made)
    assert (found.message, found.fix) == (
        "b-c (Service) and c (Service) would both make service-a-b-c (Service)",
        "rename one of the two keys",
    )


def test_what_is_there_once_is_not_told() -> None:
    assert list(twice.problems([FIRST, SECOND, an_object("service-a-b-c", FIRST), an_object("service-a-c", SECOND)])) == []
