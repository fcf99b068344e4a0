"""Lists: what a filter wants of a collection, in the order and by the pages that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from infra.sandbox import filters, verbs
from infra.sandbox.refused import Refused, invalid
from infra.sandbox.schema import camel
from infra.sandbox.service import Body, Call

USUAL = 500
"""Items of a page where nobody says how many."""
Item = TypeVar("Item")


def list_(call: Call) -> Any:
    """GET of a collection."""
    return listed(call, call.cloud.store.items(call.service.host, call.inside))


def everywhere(call: Call) -> Any:
    """The same where `-` in the place of a location is every location."""
    if call.word("locations") != "-":
        return list_(call)
    before, _, after = call.inside.partition("/locations/-/")
    every = call.cloud.store.every(call.service.host, f"{before}/locations/")
    return listed(call, [(name, body) for _, name, body in every if name.rpartition("/")[0].split("/", 4)[4:] == [after]])


def listed(call: Call, found: Iterable[tuple[str, Body]]) -> Body:
    """The answer that lists *found*, names and bodies, as far as the call wants them."""

    def shown(item: tuple[str, Body]) -> Body:
        call.target, body = item
        return verbs.answered(call, body)

    return answer(call, list(found), shown)


def answer(call: Call, found: list[Item], shown: Callable[[Item], Body]) -> Body:
    """A page of *found*, each as *shown* says, in the service's own shape of a list."""
    if not (call.query.get("filter") or call.query.get("orderBy")):
        items, more = page(call, found)
        bodies, count = [shown(item) for item in items], len(found)
    else:
        wanted = ordered(call, filtered(call, [shown(item) for item in found]))
        bodies, more = page(call, wanted)
        count = len(wanted)
    field = plural(call)
    whole: Body = call.service.listed(call, bodies, count) if call.service.listed else {field: bodies} if bodies else {}
    return whole | more


def filtered(call: Call, bodies: list[Body]) -> list[Body]:
    """Those that the call's filter wants."""
    terms = filters.parsed(call.query.get("filter", ""))
    known = _fields(call)
    for term in terms:
        _check_field(call, "filter", term["key"], known)
    return [body for body in bodies if filters.fits(body, terms, part=call.service.finds_parts)]


def ordered(call: Call, bodies: list[Body]) -> list[Body]:
    """In the order of `orderBy`: fields by commas, each with `desc` behind it or not."""
    known = _fields(call)
    for part in reversed(call.query.get("orderBy", "").split(",")):
        words = part.split()
        if not words:
            continue
        if len(words) > 2 or words[1:] not in ([], ["asc"], ["desc"]):
            raise invalid(f"Invalid order_by: {part.strip()}", "order_by")
        _check_field(call, "orderBy", words[0], known)
        bodies = sorted(bodies, key=lambda body: str(filters.value(body, words[0]) or ""), reverse=words[1:] == ["desc"])
    return bodies


def _check_field(call: Call, parameter: str, key: str, known: Mapping[str, Any]) -> None:
    """What is no field has a meaning of its own, such as `endpoint_id`: an answer as if it had none would not be true."""
    first = key.partition(".")[0]
    if known and first not in known and camel(first) not in known:
        said = f"The sandbox does not read {key} in {parameter} of {call.method.id} yet: {call.query.get(parameter)}"
        raise Refused(501, said, status="UNIMPLEMENTED")


def _fields(call: Call) -> Mapping[str, Any]:
    """Fields of one item of the list."""
    schemas = call.method.document.schemas
    items = schemas[call.method.response].get("properties", {}).get(plural(call), {}).get("items", {})
    found: Mapping[str, Any] = schemas.get(items.get("$ref", ""), {}).get("properties", {})
    return found


def page(call: Call, found: list[Item], usual: int = USUAL) -> tuple[list[Item], Body]:
    """
    One page, and where the next one begins.

    Raises:
        Refused: The call names no page that there can be.
    """
    size = int(call.query.get("maxResults") or call.query.get("pageSize") or 0)
    token = call.query.get("pageToken") or "0"
    if size < 0 or not (token.isascii() and token.isdecimal()):
        raise invalid("The page size or the page token is invalid.", "pageToken")
    begin, end = int(token), int(token) + (size or usual)
    return found[begin:end], {"nextPageToken": str(end)} if end < len(found) else {}


def plural(call: Call) -> str:
    """Field of a list's answer that holds the items: the one list in its schema."""
    properties = call.method.document.schemas[call.method.response].get("properties", {})
    lists = [key for key, schema in properties.items() if schema.get("type") == "array"]
    word = call.collection.rpartition("/")[2]
    return word if word in lists else next((key for key in lists if key != "unreachable"), "items")
