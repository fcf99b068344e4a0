"""The form of a row of the table: what one resource type is called at Google, and which calls make, read, change and delete it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infra.local.gcp.lifecycle import Lifecycle

Names = Mapping[str, Any]
"""What a URL's placeholders stand for: project, region, name and the like."""

BY_TYPE = object()
"""The zero of the property's own type: false, 0, the empty string, no elements, null."""


@dataclass(frozen=True, slots=True)
class Codec:
    """A value in the program's form and in Google's."""

    encode: Callable[[Any, Names], Any] = lambda value, _: value
    decode: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True, slots=True)
class Field:
    """What is special about one property. One without a row has the same name on both sides, and is not sent while it is empty."""

    path: str
    """Dotted, through lists: `bootDisk.initializeParams.size`."""
    rest: str = ""
    """Google's name, dotted, within the object that holds it. (default: the same name)"""
    always: bool = False
    """Whether it is sent while it is empty, too."""
    zero: Any = BY_TYPE
    """What is then sent."""
    codec: Codec = Codec()
    canonical: Callable[[Any], Any] = lambda value: value
    """The one form of a plain value that can be said in several."""
    unread: bool = False
    """Google need not answer with it: then what the program wrote stands."""
    absent: Any = BY_TYPE
    """The output where Google's answer has nothing. (default: the zero of an input's type; of what is no input, the empty string)"""


@dataclass(frozen=True, slots=True)
class Update:
    """One call of an update."""

    only: tuple[str, ...] = ()
    """The inputs it changes. (default: all that no other call does)"""
    method: str = "PATCH"
    suffix: str = ""
    """After the resource's URL, such as `/setLabels`."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Placeholders are filled in from the new inputs."""
    mask: bool = False
    """Whether the query says what changed."""
    body: bool = True
    changed_only: bool = False
    """Whether the body holds only what changed."""
    wrap: str = ""
    zeros: Mapping[str, Any] = field(default_factory=dict)
    """What is sent for what is empty."""
    kept: tuple[str, ...] = ()
    """Properties of the state, such as a fingerprint, that go along."""
    reads_first: bool = False
    """Whether the resource is read first, so that the kept ones are fresh."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How an IAM policy is read and written whole."""

    parent: str
    """The input that says whose policy it is."""
    full: str
    """What the output says of it."""
    get: tuple[str, str]
    """Method and suffix to the URL."""
    set: tuple[str, str]
    get_query: Mapping[str, str] = field(default_factory=dict)
    get_body: Mapping[str, Any] | None = None
    wrapped: bool = True
    set_extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource type."""

    token: str
    service: str
    """The provider's name of the API: the `x` of `xCustomEndpoint`."""
    url: str
    """Of one resource, under the API's endpoint."""
    id: str = ""
    """Pulumi's id. (default: the URL)"""
    imported_by: tuple[str, ...] = ()
    """Forms of an id that are taken at an import besides the id, and the names in it."""
    collection: str = ""
    """Where it is created. (default: the URL without its last part)"""
    create_method: str = "POST"
    create_query: Mapping[str, str] = field(default_factory=dict)
    create_wrap: str = ""
    named_by_google: bool = False
    """Whether the answer to the create says the name."""
    read_query: Mapping[str, str] = field(default_factory=dict)
    delete_query: Mapping[str, str] = field(default_factory=dict)
    updates: tuple[Update, ...] = ()
    labels: str = "labels"
    """The input that labels are in, here and at Google."""
    url_only: tuple[str, ...] = ()
    """Inputs that stand in the URL, and not in the body."""
    virtual: Mapping[str, Any] = field(default_factory=dict)
    """Inputs that are the provider's own, with what their output is while they are not set."""
    unsupported: tuple[str, ...] = ()
    """Inputs that the official provider acts upon and this one does not: they are refused."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What Check fills in, by dotted path."""
    unless: Mapping[str, str] = field(default_factory=dict)
    """Path of such a default -> the input beside which it is not filled in, if that is true."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """What the create's body always has."""
    fields: tuple[Field, ...] = ()
    computed: tuple[str, ...] = ()
    """Inputs that Google fills in where they are not written: to write one no more changes nothing."""
    sets: tuple[str, ...] = ()
    """Lists whose order says nothing."""
    mask_names: Mapping[str, str] = field(default_factory=dict)
    policy: Policy | None = None
    """Of IAM members only."""
    lifecycle: type[Lifecycle] | None = None
    """What a row cannot say. (default: the plain one)"""

    @property
    def noun(self) -> str:
        """What it is called in errors, such as `Network`."""
        return self.token.rpartition(":")[2]

    @property
    def by_path(self) -> dict[str, Field]:
        return {one.path: one for one in self.fields}

    @property
    def id_template(self) -> str:
        return self.id or self.url

    @property
    def created_in(self) -> str:
        return self.collection or self.url.rpartition("/")[0]

    def names_of(self, id: str) -> dict[str, str]:
        """What an id says; nothing where it is not one of this type."""
        for form in (self.id_template, *self.imported_by):
            pattern = re.sub(r"\\\{(\w+)\\\}", lambda name: f"(?P<{name[1]}>{'.+' if name[1] in IN_FULL else '[^/]+'})", re.escape(form))
            if match := re.fullmatch(pattern, id):
                return match.groupdict()
        return {}


IN_FULL = ("keyRing", "parent")
"""Placeholders that stand for a name with slashes of its own: what holds the resource, in full."""


def placeholders(template: str) -> list[str]:
    """The names in braces, in order."""
    return re.findall(r"\{(\w+)\}", template)


def last(value: Any) -> Any:
    """The short name at the end of a link."""
    return value.rpartition("/")[2] if isinstance(value, str) else value


LAST = Codec(decode=last)
REGION = Codec(lambda value, names: f"projects/{names['project']}/global/regions/{last(value)}", last)
"""The odd form is what the official provider sends."""
ZONE = Codec(lambda value, names: f"projects/{names['project']}/global/zones/{last(value)}", last)
INT64 = Codec(lambda value, _: str(value), int)
"""Google's JSON has 64-bit numbers as strings. Some ids stay strings in the state: that is the SDK's choice."""
ONE_OF_LIST = Codec(lambda value, _: [value], lambda value: value[0] if value else None)
"""A list at Google that the provider has as one value."""
