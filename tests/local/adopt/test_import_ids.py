"""Ids of an import are those that the official provider's own pages have."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from infra.local.adopt.import_ids import OTHERWISE, import_id
from infra.local.gcp.types import TABLE

SAID_IN_WORDS = {
    "gcp:compute/instanceGroupManager:InstanceGroupManager": "projects/{project}/zones/{zone}/instanceGroupManagers/{name}",
    "gcp:serviceaccount/account:Account": "projects/{project}/serviceAccounts/{email}",
    "gcp:storage/bucket:Bucket": "{name}",
}
"""Types whose page has no example that can be read off. Source: the provider's own pages on them, in public copies, read 2026-11."""
NAMED_IN_FULL = {"gcp:monitoring/notificationChannel:NotificationChannel"}
"""What the page calls the name is `projects/P/notificationChannels/N`."""


def shape(form: str) -> str:
    return re.sub(r"\{\{?%?\w+\}?\}", "{}", form)


@cache
def page(token: str) -> str:
    """The SDK's text on a type, read as a file: to import all of the SDK takes seconds."""
    found = find_spec("pulumi_gcp")
    assert found is not None
    assert found.origin is not None
    module, name = token.split(":")[1].partition("/")[0].lower(), token.rpartition(":")[2]
    texts = (path.read_text(encoding="utf-8") for path in sorted((Path(found.origin).parent / module).glob("*.py")))
    return next(text for text in texts if f"\nclass {name}(pulumi.CustomResource)" in text)


OTHERS = sorted(token for token, row in TABLE.items() if row.policy is None and token not in NAMED_IN_FULL and token not in SAID_IN_WORDS)


@pytest.mark.parametrize("token", OTHERS)
def test_a_type_is_imported_as_its_page_says(token: str) -> None:
    """By one of the forms of the page."""
    forms = {shape(form) for form in re.findall(r'pulumi import \S+ default "?([^"\n]+)"?', page(token))}
    assert shape(OTHERWISE.get(token, TABLE[token].id_template)) in forms


def test_grants_are_imported_as_their_pages_say() -> None:
    """By resource, role and member, with spaces between: those whose pages have a form say so."""
    grants = [token for token, row in TABLE.items() if row.policy is not None]
    said = [token for token in grants if "IAM member imports use space-delimited identifiers" in page(token)]
    assert {"gcp:artifactregistry/repositoryIamMember:RepositoryIamMember", "gcp:cloudrunv2/jobIamMember:JobIamMember"} <= set(said)


def test_forms_that_no_example_has() -> None:
    """They are the state's own ids."""
    assert {token: TABLE[token].id_template for token in SAID_IN_WORDS} == SAID_IN_WORDS


@pytest.mark.parametrize(
    ("token", "id", "outputs", "wanted"),
    [
        ("gcp:container/nodePool:NodePool", "projects/p/locations/us-east5/clusters/c/nodePools/n", {}, "p/us-east5/c/n"),
        ("gcp:storage/bucket:Bucket", "shop-data", {}, "shop-data"),
        (
            "gcp:projects/iAMMember:IAMMember",
            "p/roles/viewer/user:a@b.c",
            {"project": "p", "role": "roles/viewer", "member": "user:a@b.c", "condition": None},
            "p roles/viewer user:a@b.c",
        ),
        (
            "gcp:storage/bucketIAMMember:BucketIAMMember",
            "x",
            {"bucket": "b/shop", "role": "roles/viewer", "member": "user:a@b.c", "condition": {"title": "until May"}},
            "b/shop roles/viewer user:a@b.c until May",
        ),
    ],
)
def test_ids(token: str, id: str, outputs: dict[str, object], wanted: str) -> None:
    """Pools without words between, grants with their condition's title."""
    assert import_id(TABLE[token], id, outputs) == wanted
