"""Where things are kept: buckets, repositories, file shares, secrets, keys, tables, messages, logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from infra.catalog import prices
from infra.catalog.places import region_of, regions
from infra.catalog.prices import Item, PriceUnknown
from infra.cost.context import Context, elsewhere, short, whole
from infra.cost.line import ALWAYS, LineItem, columns, free, listed, scaled, under_ceiling, unknown
from infra.cost.usage import Range
from infra.declared import UNKNOWN, Declared

BUCKET = "gcp:storage/bucket:Bucket"
CLASSES: Mapping[str, Item] = {
    "STANDARD": "storage-standard",
    "NEARLINE": "storage-nearline",
    "COLDLINE": "storage-coldline",
    "ARCHIVE": "storage-archive",
}
RETRIEVAL: Mapping[str, Item] = {
    "NEARLINE": "storage-nearline-retrieval",
    "COLDLINE": "storage-coldline-retrieval",
    "ARCHIVE": "storage-archive-retrieval",
}
OPERATIONS: Mapping[str, tuple[Item, Item]] = {
    "STANDARD": ("storage-class-a", "storage-class-b"),
    "NEARLINE": ("storage-nearline-class-a", "storage-nearline-class-b"),
    "COLDLINE": ("storage-coldline-class-a", "storage-coldline-class-b"),
    "ARCHIVE": ("storage-archive-class-a", "storage-archive-class-b"),
}
OF_THE_STACK = {(BUCKET, "data"): "data_gib", (BUCKET, "models"): "models_gib", (BUCKET, "state"): "state_gib"}
LOG_DAYS_INCLUDED = 30
"""Days that a log is kept at the price of its ingestion. Source: the row `logging` of the price table."""
TEN_THOUSANDS = Decimal("0.1")
GIB_OF_A_TIB = 1024


def _kept(resource: Declared, field: str | None, context: Context) -> Range | None:
    if field is None:
        return context.given(resource.name, "gib")
    context.instead(resource.name, "gib", field)
    return context.assume(field)


def storage_class(resource: Declared) -> str | None:
    """Of a bucket; None where it is not known, or no price table has it."""
    said = resource.get("storageClass")
    return "STANDARD" if said is None else said if isinstance(said, str) and said in CLASSES else None


def bucket(resource: Declared, context: Context) -> Iterator[LineItem]:
    """What lies there, and what is read back from a colder class. Operations are assumed for all buckets together."""
    field, kind = OF_THE_STACK.get((BUCKET, resource.name)), storage_class(resource)
    amount = _kept(resource, field, context)
    back = context.given(resource.name, "retrieved_gib") if kind in RETRIEVAL else None
    if why := elsewhere(resource, context.region):
        yield unknown(resource.name, "Bucket", why)
        return
    if kind is None:
        yield unknown(resource.name, "Bucket", f"no price of storage class {resource.get('storageClass')}")
        return
    if resource.get("autoclass.enabled") not in (None, False):
        yield unknown(resource.name, "Bucket", "with Autoclass it is not known what lies in which class")
        return
    if amount is None:
        say = f"say usage.resources.{resource.name}.gib"
        yield unknown(resource.name, "Bucket", f"no assumption says how much bucket {resource.name} holds: {say}")
    else:
        yield context.metered(resource.name, f"{resource.name} bucket", CLASSES[kind], context.region, columns(amount))
    if kind in RETRIEVAL:
        if back is None:
            say = f"say usage.resources.{resource.name}.retrieved_gib"
            yield unknown(resource.name, "retrieval", f"no assumption says how much is read back: {say}")
        else:
            yield listed(resource.name, "retrieval", RETRIEVAL[kind], context.region, columns(back))


def operations(buckets: list[Declared], context: Context) -> Iterator[LineItem]:
    """Writes and reads of all buckets. Which bucket they are on is not assumed: high is the price of the coldest class in the stack."""
    classes = [kind for one in buckets if (kind := storage_class(one))]
    for index, (what, item, field) in enumerate(
        (
            ("bucket writes", OPERATIONS["STANDARD"][0], "storage_class_a_thousands"),
            ("bucket reads", OPERATIONS["STANDARD"][1], "storage_class_b_thousands"),
        )
    ):
        line = listed("", what, item, context.region, columns(context.assume(field)))
        try:
            dearest = max(
                (prices.price(OPERATIONS[kind][index], context.region) for kind in classes), key=lambda one: one.usd, default=None
            )
        except PriceUnknown as error:
            yield unknown("", what, str(error))
            continue
        if line.price and dearest and dearest.usd > line.price.usd:
            line = under_ceiling(line, dearest, "high: as if all were on the coldest class of the stack")
        yield line


def repository(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A repository of Artifact Registry."""
    amount = _kept(resource, "images_gib" if resource.name == "images" else None, context)
    if why := elsewhere(resource, context.region):
        yield unknown(resource.name, "Repository", why)
        return
    if amount is None:
        say = f"say usage.resources.{resource.name}.gib"
        yield unknown(resource.name, "Repository", f"no assumption says how much repository {resource.name} holds: {say}")
        return
    yield context.metered(resource.name, resource.name, "registry-storage", context.region, columns(amount))


def filestore(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A Filestore instance is billed by its capacity, used or not."""
    tier, place, gib = resource.get("tier"), resource.get("location"), resource.get("fileShares.capacityGb")
    if not isinstance(place, str):
        place = resource.get("zone")
    if not isinstance(place, str) or not whole(gib):
        yield unknown(resource.name, "Filestore", "its location or capacity is not known yet")
    elif tier not in ("BASIC_HDD", "STANDARD"):
        yield unknown(resource.name, "Filestore", f"no price of tier {tier}")
    else:
        region = place.lower() if place.lower() in regions() else region_of(place.lower())
        yield listed(resource.name, f"Filestore {tier}", "filestore-basic-hdd", region, scaled(ALWAYS, gib))


HELD = "gcp:secretmanager/secret:Secret"


def secret(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A secret itself has no price; its versions, and who reads them, do."""
    said = context.per_resource(resource.name, "requests_thousands")
    yield context.metered(resource.name, "secret accesses", "secret-operations", context.region, scaled(columns(said), TEN_THOUSANDS))


def secret_version(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A version is billed in each place where its secret is replicated by the user's own choice; automatic replication counts as one."""
    owner = context.referred(resource, "secret", [HELD])
    replicas = [] if owner is None else owner.get("replication.userManaged.replicas")
    if owner is None or replicas is UNKNOWN:
        yield unknown(resource.name, "SecretVersion", "its secret, or in how many places it is kept, is not known yet")
        return
    places = len(replicas) if isinstance(replicas, list | tuple) and replicas else 1
    yield context.metered(resource.name, "secret version", "secret-version", context.region, scaled(ALWAYS, places))


def key(resource: Declared, context: Context) -> Iterator[LineItem]:
    """A key of Cloud KMS: its first version, and the operations with it."""
    level, algorithm = (resource.get(f"versionTemplate.{one}") for one in ("protectionLevel", "algorithm"))
    hsm = level == "HSM" and algorithm == "EC_SIGN_P256_SHA256"
    requests = context.per_resource(resource.name, "requests_thousands")
    if level not in (None, "SOFTWARE") and not hsm:
        yield unknown(resource.name, "CryptoKey", f"no price of a key of protection level {level} with algorithm {algorithm}")
        return
    version: Item = "kms-hsm-key-version" if hsm else "kms-key-version"
    used: Item = "kms-hsm-operations" if hsm else "kms-operations"
    rotates = resource.get("rotationPeriod") is not None
    note = "one version; each rotation adds one that is billed until it is destroyed" if rotates else ""
    yield listed(resource.name, "key version", version, context.region, ALWAYS, note)
    yield listed(resource.name, "key operations", used, context.region, scaled(columns(requests), TEN_THOUSANDS))


DATASET = "gcp:bigquery/dataset:Dataset"


def dataset(resource: Declared, context: Context) -> Iterator[LineItem]:
    yield free(resource.name, short(resource), "its tables are billed, and queries to the project that asks")


def table(resource: Declared, context: Context) -> Iterator[LineItem]:
    """Active logical storage of a table; a view holds nothing."""
    if resource.get("view") is not None:
        yield free(resource.name, short(resource), "a view holds nothing; queries are billed to the project that asks")
        return
    amount = context.given(resource.name, "gib")
    owner = context.referred(resource, "datasetId", [DATASET])
    place = None if owner is None else owner.get("location")
    if not isinstance(place, str):
        yield unknown(resource.name, short(resource), "its dataset, or where that stands, is not known yet")
    elif amount is None:
        yield unknown(resource.name, short(resource), f"no assumption says how much it holds: say usage.resources.{resource.name}.gib")
    else:
        yield context.metered(resource.name, "table", "bigquery-storage", place.lower(), columns(amount), "as active logical storage")


def topic(resource: Declared, context: Context) -> Iterator[LineItem]:
    """What is published."""
    yield from _messages(resource, "messages published", "pubsub-messages", context)
    if resource.get("messageRetentionDuration") is not None:
        yield unknown(resource.name, "kept messages", "no price of messages that a topic keeps")


def subscription(resource: Declared, context: Context) -> Iterator[LineItem]:
    """What is delivered, by pull or push, or written to BigQuery or a bucket."""
    to_bigquery, to_bucket = resource.get("bigqueryConfig") is not None, resource.get("cloudStorageConfig") is not None
    item: Item = "pubsub-bigquery" if to_bigquery else "pubsub-storage" if to_bucket else "pubsub-messages"
    yield from _messages(resource, "messages delivered", item, context)
    if resource.get("retainAckedMessages") not in (None, False):
        kept = context.given(resource.name, "gib")
        if kept is None:
            say = f"say usage.resources.{resource.name}.gib"
            yield unknown(resource.name, "kept messages", f"no assumption says how much it keeps: {say}")
        else:
            yield listed(resource.name, "kept messages", "pubsub-retained", context.region, columns(kept))


def _messages(resource: Declared, what: str, item: Item, context: Context) -> Iterator[LineItem]:
    said = columns(context.per_resource(resource.name, "traffic_gib"))
    yield context.metered(resource.name, what, item, context.region, scaled(said, ONE_GIB))


ONE_GIB = Decimal(1) / GIB_OF_A_TIB
"""In TiB; exact, as 1024 is a power of two."""


def log_bucket(resource: Declared, context: Context) -> Iterator[LineItem]:
    """What a log bucket takes in is in the logs of the whole stack."""
    days = resource.get("retentionDays")
    if days is None or (whole(days) and days <= LOG_DAYS_INCLUDED):
        yield free(resource.name, short(resource), f"{LOG_DAYS_INCLUDED} days are in the price of the logs")
    else:
        yield unknown(resource.name, short(resource), f"no price of logs that are kept longer than {LOG_DAYS_INCLUDED} days")


LINES = {
    BUCKET: bucket,
    "gcp:artifactregistry/repository:Repository": repository,
    "gcp:filestore/instance:Instance": filestore,
    HELD: secret,
    "gcp:secretmanager/secretVersion:SecretVersion": secret_version,
    "gcp:kms/cryptoKey:CryptoKey": key,
    DATASET: dataset,
    "gcp:bigquery/table:Table": table,
    "gcp:pubsub/topic:Topic": topic,
    "gcp:pubsub/subscription:Subscription": subscription,
    "gcp:logging/projectBucketConfig:ProjectBucketConfig": log_bucket,
}
