"""Pub/Sub."""

from __future__ import annotations

from infra.local.gcp.iam import IamMember
from infra.local.gcp.resource_type import Codec, Field, Policy, ResourceType, Update

URL = "projects/{project}/topics/{topic}"

IN_FULL = Codec(lambda value, names: value if "/" in value else f"projects/{names['project']}/topics/{value}")

TOPIC = ResourceType(
    "gcp:pubsub/topic:Topic",
    "pubsub",
    "projects/{project}/topics/{name}",
    collection="projects/{project}/topics/{name}",
    create_method="PUT",
    url_only=("name",),
    fields=(Field("tags", unread=True),),
    updates=(Update(mask=True, wrap="topic"),),
)

SUBSCRIPTION = ResourceType(
    "gcp:pubsub/subscription:Subscription",
    "pubsub",
    "projects/{project}/subscriptions/{name}",
    collection="projects/{project}/subscriptions/{name}",
    create_method="PUT",
    url_only=("name",),
    defaults={"messageRetentionDuration": "604800s"},
    fields=(
        Field("deadLetterPolicy", always=True),
        Field("topic", codec=IN_FULL),
        Field("expirationPolicy.ttl", unread=True),
        Field("tags", unread=True),
    ),
    updates=(Update(mask=True, wrap="subscription"),),
)

TOPIC_IAM_MEMBER = ResourceType(
    "gcp:pubsub/topicIAMMember:TopicIAMMember",
    "pubsub",
    URL,
    policy=Policy("topic", URL, get=("GET", ":getIamPolicy"), set=("POST", ":setIamPolicy")),
    lifecycle=IamMember,
)

ROWS = (TOPIC, SUBSCRIPTION, TOPIC_IAM_MEMBER)
