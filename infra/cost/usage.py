"""Assumptions that a cost estimate needs and no declaration tells."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from infra.spec import Spec, problem

COLUMNS = ("low", "expected", "high")
HOURS = Decimal(730)
"""Hours of a month: 365 days / 12."""
QUANTITY_MAX = 10**12
"""A slip of the exponent is refused: amounts stay within the digits that Decimal keeps."""


class Range:
    """A quantity a month: one number, or `{low: 1, expected: 5, high: 20}`."""

    __slots__ = COLUMNS

    def __init__(self, low: Decimal, expected: Decimal, high: Decimal) -> None:
        self.low = low
        self.expected = expected
        self.high = high

    @classmethod
    def parse(cls, value: Any) -> Range:
        if isinstance(value, cls):
            return value
        if isinstance(value, dict):
            if set(value) != set(COLUMNS):
                raise problem("is not a range", allowed="low, expected and high, each once; or one number")
            low, expected, high = (_number(value[column]) for column in COLUMNS)
        else:
            low = expected = high = _number(value)
        if not low <= expected <= high:
            raise problem("does not rise", allowed="low <= expected <= high")
        return cls(low, expected, high)

    def __iter__(self) -> Any:
        return iter((self.low, self.expected, self.high))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Range({self.low}, {self.expected}, {self.high})"

    def plain(self) -> Any:
        """As it would stand in the stack file."""
        if self.low == self.high:
            return _plain(self.low)
        return {column: _plain(getattr(self, column)) for column in COLUMNS}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(cls.plain)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        number = {"type": "number", "minimum": 0}
        return {
            "anyOf": [
                number,
                {
                    "type": "object",
                    "properties": dict.fromkeys(COLUMNS, number),
                    "required": list(COLUMNS),
                    "additionalProperties": False,
                },
            ]
        }


def _number(value: Any) -> Decimal:
    number = Decimal(str(value)) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None
    if number is None or not number.is_finite() or not 0 <= number <= QUANTITY_MAX:
        raise problem("is not a quantity", allowed=f"a number from 0 to {QUANTITY_MAX:,}, or {{low: 1, expected: 5, high: 20}}")
    return number


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _range(low: int, expected: int, high: int) -> Range:
    return Range(Decimal(low), Decimal(expected), Decimal(high))


def _hours(value: Range | None) -> Range | None:
    if value is not None and value.high > HOURS:
        raise problem("is more than a month has", allowed=f"0 to {HOURS} hours")
    return value


class ResourceUsage(Spec):
    """What one resource is assumed to do in a month. Say only what you know: what is not said is at its least, or unknown, never 0."""

    nodes: Range | None = None
    """
    Nodes of a node pool, or machines of a managed group: the average over the month, within the declared minimum and maximum.
    One number is what is expected; low and high stay at the minimum and the maximum.
    """
    replicas: Range | None = None
    """Replicas of a model on Vertex AI: the average over the month, within the declared minimum and maximum."""
    instances: Range | None = None
    """Instances of a Cloud Run service: the average over the month, within the declared minimum and maximum."""
    hours_month: Annotated[Range | None, AfterValidator(_hours)] = None
    """Hours a month that a machine stands, or that the tasks of a Cloud Run job run."""
    run_minutes: Range | None = None
    """Minutes of machine that one run of a job takes, at most its `max_run_minutes`: all of them are counted where nothing is said. Of the
    sweep: minutes that it runs."""
    runs_month: Range | None = None
    """Runs of a job in a month, where not its schedule alone says so: one without a schedule has none."""
    gib: Range | None = None
    """GiB that are stored: in a bucket or a repository that the component `storage` does not make, in a table of BigQuery."""
    retrieved_gib: Range | None = None
    """GiB that are read from a bucket of a colder class than Standard, which bills each of them."""
    traffic_gib: Range | None = None
    """GiB through a forwarding rule, in and out; GiB that a topic is sent or a subscription delivers."""
    requests_thousands: Range | None = None
    """Thousands of requests to a Cloud Run service or past a security policy, of accesses to a secret, of operations with a key."""
    pod_vcpus: Range | None = None
    """vCPUs that the pods of an Autopilot cluster request: the average over the month."""
    pod_memory_gib: Range | None = None
    """GiB of memory that the pods of an Autopilot cluster request: the average over the month."""
    pod_storage_gib: Range | None = None
    """GiB of ephemeral storage that the pods of an Autopilot cluster request: the average over the month."""


PER_RESOURCE = tuple(ResourceUsage.model_fields)
DEFAULTS = {"traffic_gib": _range(1, 10, 100), "requests_thousands": _range(1, 100, 1000)}
"""What is assumed of each such resource where the stack file says nothing: those of a small shop, not facts."""


class Usage(Spec):
    """Assumptions for the cost estimate, a month. Its defaults are those of a small shop, not facts: set what you know."""

    data_gib: Range = _range(1, 10, 100)
    """GiB in the data bucket."""
    models_gib: Range = _range(0, 5, 50)
    """GiB in the models bucket, checkpoints included."""
    images_gib: Range = _range(0, 10, 40)
    """GiB in the image repository."""
    state_gib: Range = _range(0, 1, 10)
    """GiB in a foundation's state bucket, older versions included."""
    storage_class_a_thousands: Range = _range(1, 10, 100)
    """Thousands of class A operations (writes, lists) on both buckets."""
    storage_class_b_thousands: Range = _range(1, 100, 1000)
    """Thousands of class B operations (reads) on both buckets."""
    nat_data_gib: Range = _range(1, 20, 200)
    """GiB through NAT, both directions."""
    internet_egress_gib: Range = _range(0, 1, 20)
    """GiB that leave Google Cloud for the internet, worldwide except Australia and China."""
    egress_australia_gib: Range = _range(0, 0, 0)
    """GiB that leave for the internet in Australia."""
    egress_china_gib: Range = _range(0, 0, 0)
    """GiB that leave for the internet in China, Hong Kong excepted."""
    logs_gib: Range = _range(0, 1, 20)
    """GiB of logs that are ingested."""
    resources: dict[str, ResourceUsage] = {}
    """What one resource does, by the name that its line of `accelform cost` begins with. What changes nothing is refused."""
