"""
What every spec is: frozen data, checked at once, that refuses keys it does not know.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    StringConstraints,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from infra.currencies import CURRENCIES, is_currency
from infra.errors import nearest


class Spec(BaseModel):
    """Base of all specs. Docstrings of fields are their descriptions in the schema and in `accelform explain`."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    later: ClassVar[dict[str, str]] = {}
    """Keys of the stack file's full form that this version does not accept, and what each will do."""
    never: ClassVar[dict[str, str]] = {}
    """Keys that somebody may look for and that Google has nothing for, and why."""

    @classmethod
    def choices(cls, key: str, beside: Mapping[str, object]) -> str:
        """What a required key that is missing may be, by what stands beside it; empty where its description says all."""
        return ""

    @classmethod
    @cache
    def descriptions(cls) -> dict[str, str]:
        """
        What the docstrings below the fields say: field -> text.

        Read when somebody asks: pydantic's `use_attribute_docstrings` reads all at the start of every command, which takes a third of what
        importing all specs takes.
        """
        found: dict[str, str] = {}
        for base in reversed(cls.__mro__):
            if issubclass(base, Spec):
                [body] = [one.body for one in _classes(base.__module__) if one.name == base.__name__]
                for field, said in pairwise(body):
                    match field, said:
                        case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                            found[name] = inspect.cleandoc(text)
        return found

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        made = handler(schema)
        properties = handler.resolve_ref_schema(made)["properties"]
        for name, said in cls.descriptions().items():
            if name in cls.model_fields:
                properties[cls.model_fields[name].alias or name]["description"] = said
        return made


def _classes(module: str) -> list[ast.ClassDef]:
    return [one for one in ast.parse(inspect.getsource(sys.modules[module])).body if isinstance(one, ast.ClassDef)]


def problem(message: str, *, allowed: Iterable[object] | str = "", fix: str = "") -> PydanticCustomError:
    """A refusal that a validator raises; the value got is added where the file's problems are put together."""
    words = allowed if isinstance(allowed, str) else ", ".join(str(item) for item in allowed)
    return PydanticCustomError("accelform", "{message}", {"message": message, "allowed": words, "fix": fix})


def pattern(expression: str, message: str, example: str) -> BeforeValidator:
    """A refusal of strings that do not match, in words instead of a regular expression."""
    compiled = re.compile(expression)

    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise problem(f"{message}, as text", allowed=f"for example {example}")
        if not compiled.fullmatch(value):
            raise problem(message, allowed=f"for example {example}")
        return value

    return BeforeValidator(check)


ProjectId = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(
        r"(?!.*goog)[a-z][a-z0-9-]{4,28}[a-z0-9]",
        "is not a project id for a stack (6 to 30 of a-z, 0-9 and -, a letter first, no - at the end, without goog: buckets carry it)",
        "tw-shop-ml",
    ),
]
"""Source: https://cloud.google.com/resource-manager/docs/creating-managing-projects, read 2026-11."""

Name = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(
        r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?",
        "is not a name (1 to 40 of a-z, 0-9 and -, a letter first, no - at the end)",
        "recommend",
    ),
]
"""A name that a user gives to a thing: it becomes a part of physical names and a label value."""

Label = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(r"[a-z0-9][a-z0-9_-]{0,62}", "is not a label value (1 to 63 of a-z, 0-9, _ and -)", "ml-team"),
]
"""An empty label value is refused: the provider shows it as a change at every preview."""

WholeNumber = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
YesNo = Annotated[bool, Strict()]
"""Numbers and booleans as the file writes them: text that looks like one is refused, and `true` is not 1."""

Sentence = Annotated[
    str,
    StringConstraints(strict=True, max_length=200),
    pattern(r"[^\x00-\x1f\x7f]*", "is not a line of text", "What a shopper may want next"),
]
"""A line for people to read."""


def _why(value: str) -> str:
    if len(value.split()) < 2:
        raise problem("does not say why", allowed="a sentence for whoever reads the file next", fix="write the reason")
    return value


Because = Annotated[Sentence, AfterValidator(_why)]
"""A reason: the only thing that a rule takes in its place."""

Member = Annotated[
    str,
    StringConstraints(strict=True),
    pattern(
        r"(?:serviceAccount|user|group):[a-z0-9._%+'-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}|domain:(?:[a-z0-9-]+\.)+[a-z]{2,}"
        r"|principal(?:Set)?://(?:iam|cloudresourcemanager)\.googleapis\.com/[\w./@:-]+",
        "is no IAM member in small letters (serviceAccount:, user:, group:, domain:, principal://iam.googleapis.com/, never the public)",
        "serviceAccount:storefront@tw-shop-web.iam.gserviceaccount.com",
    ),
]
"""An IAM member. Source: https://cloud.google.com/iam/docs/principal-identifiers, read 2026-11."""


def distinct(value: list[str]) -> list[str]:
    """Refuses a list that names somebody twice: two resources would have one name."""
    if twice := sorted({item for item in value if value.count(item) > 1}):
        raise problem(f"names somebody twice: {', '.join(twice)}", fix="name each once")
    return value


class Money:
    """An amount with its currency, written `350 USD`. Exact: a Decimal."""

    __slots__ = ("amount", "currency")

    def __init__(self, amount: Decimal, currency: str) -> None:
        self.amount = amount
        self.currency = currency

    @classmethod
    def parse(cls, value: Any) -> Self:
        if isinstance(value, cls):
            return value
        match = re.fullmatch(r"((?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?) ([A-Z]{3})", value) if isinstance(value, str) else None
        try:
            amount = Decimal(match[1]) if match else Decimal(0)
        except InvalidOperation:  # pragma: no cover - the pattern admits only what Decimal reads
            amount = Decimal(0)
        if match is None or amount <= 0:
            raise problem(
                "is not an amount of money above 0 with its currency",
                allowed="an amount, a space, the ISO 4217 code of the billing account's currency: 350 USD",
            )
        if not is_currency(match[2]):
            close = nearest(match[2], sorted(CURRENCIES))
            raise problem(
                f"has no currency in use: {match[2]} is no such code of ISO 4217",
                allowed=f"the code of the billing account's currency; nearest: {', '.join(close) or 'none'}",
            )
        return cls(amount, match[2])

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"

    def __repr__(self) -> str:
        return f"Money({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and (self.amount, self.currency) == (other.amount, other.currency)

    def __hash__(self) -> int:
        return hash((self.amount, self.currency))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(str))

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^[0-9]{1,15}(\.[0-9]{1,9})? [A-Z]{3}$", "examples": ["350 USD"]}
