"""Manifests for the Pulumi Kubernetes Operator: each held by its schema, and by what the operator does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.catalog.manifests import faults
from infra.check import StackFile, stack_files
from infra.errors import SpecError
from infra.gitops import operator
from tests.gitops.conftest import Git, write

ASKED = operator.Asked("https://github.com/shop/ml.git", "main", "gs://shop-ml-base-state", "base-apply@shop-ml.iam.gserviceaccount.com")
GOOD: dict[str, str | None] = {
    "repository": ASKED.repository,
    "branch": "main",
    "state-url": ASKED.state_url,
    "account": ASKED.account,
    "namespace": "pulumi",
    "image": None,
    "secret": None,
}


def read(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(YAML(typ="safe", pure=True).load_all(operator.text(objects)))


def test_every_object_is_what_its_schema_says(checkout: tuple[Path, Git]) -> None:
    """What lives in a cluster waits for its region; who deletes the object deletes nothing; secrets stay with their key."""
    root, _ = checkout
    write(root, "europe", {"gcp:project": "shop-ml"}, secretsprovider="gcpkms://key", encryptedkey="x")
    write(root, "base", {"gcp:project": "shop-ml", "accelform:kind": "foundation"})
    files, left = operator.manifests(ASKED, stack_files([], root / "stacks"))
    assert (sorted(files), left) == (["access.yaml", "asia-apps.yaml", "asia.yaml", "europe.yaml"], ["base"])
    assert {name: [faults(one) for one in read(objects)] for name, objects in files.items() if any(map(faults, read(objects)))} == {}
    (apps,), (europe,) = read(files["asia-apps.yaml"]), read(files["europe.yaml"])
    assert apps["spec"]["prerequisites"] == [{"name": "asia"}]
    assert (europe["spec"]["secretsProvider"], europe["spec"]["stack"]) == ("gcpkms://key", "organization/accelform/europe")
    assert (europe["spec"]["destroyOnFinalize"], europe["spec"]["useLocalStackOnly"]) == (False, True)
    assert europe["spec"]["envRefs"]["PULUMI_OPTION_POLICY_PACK"] == {
        "type": "Literal",
        "literal": {"value": "/share/workspace/infra/policy"},
    }
    assert "gitAuth" not in europe["spec"]
    account, binding = read(files["access.yaml"])
    assert account["metadata"]["annotations"] == {"iam.gke.io/gcp-service-account": ASKED.account}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "accelform", "namespace": "pulumi"}]


def test_a_private_repository_is_read_with_a_secret(checkout: tuple[Path, Git]) -> None:
    asked = operator.Asked(ASKED.repository, "main", ASKED.state_url, ASKED.account, namespace="ops", secret="token")
    files, _ = operator.manifests(asked, stack_files([], checkout[0] / "stacks"))
    (asia,) = read(files["asia.yaml"])
    assert asia["spec"]["gitAuth"] == {"accessToken": {"type": "Secret", "secret": {"name": "token", "key": "accessToken"}}}
    assert asia["metadata"] == {"name": "asia", "namespace": "ops"}
    assert faults(asia) == []


def test_refuses_a_stack_whose_secrets_a_person_must_open(checkout: tuple[Path, Git]) -> None:
    """And a file that is none."""
    root, _ = checkout
    path = write(root, "asia", {"gcp:project": "shop-ml"}, encryptionsalt="v1:x")
    with pytest.raises(SpecError, match="behind a passphrase"):
        operator.manifests(ASKED, [StackFile("asia", path)])
    path.write_text("\t{", encoding="utf-8")
    with pytest.raises(SpecError):
        operator.manifests(ASKED, [StackFile("asia", path)])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("repository", None),
        ("repository", ""),
        ("repository", "https://user:pass word@x"),
        ("repository", "file:///etc"),
        ("state-url", "s3://bucket"),
        ("state-url", "gs://Bucket"),
        ("state-url", None),
        ("account", "someone@example.com"),
        ("account", None),
        ("branch", "a b"),
        ("namespace", "Pulumi"),
        ("namespace", "a" * 64),
        ("image", "bad image"),
        ("secret", "A\nb"),
        ("secret", ""),
    ],
)
def test_refuses_options_that_are_none(option: str, value: str | None) -> None:
    assert [one.path for one in operator.problems(GOOD | {option: value})] == [f"--{option}"]


def test_good_options_have_no_problem() -> None:
    """All wrong ones are told at once."""
    assert list(operator.problems(GOOD)) == []
    assert (
        list(operator.problems(GOOD | {"repository": "git@github.com:shop/ml.git", "image": f"x/y@sha256:{64 * 'a'}", "secret": "a.b"}))
        == []
    )
    assert len(list(operator.problems(dict.fromkeys(GOOD, "\x00")))) == len(GOOD)
