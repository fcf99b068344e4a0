"""A cluster and what lives in it, in one program, under the real engine: up, nothing to do, changed in place, made anew, gone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from ruamel.yaml import YAML

from infra.local.engine import find, plugin
from infra.local.home import Home
from infra.sandbox import process
from infra.sandbox.endpoints import provider_config
from tests.engine.region import Ran

PROJECT = "tw-shop-ml"
SECONDS = 120
PROGRAM = '''
"""A cluster, and a provider that knows where it is once the cluster is there."""

import json

import pulumi
from pulumi_gcp import container

config = pulumi.Config()
cluster = container.Cluster(
    "main",
    name="main",
    location="us-central1",
    initial_node_count=1,
    node_locations=["us-central1-a"],
    node_config={"machine_type": "e2-standard-4"},
    deletion_protection=False,
    control_plane_endpoints_config={"dns_endpoint_config": {"allow_external_traffic": True}},
)


def kubeconfig(name):
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "main",
            "clusters": [{"name": "main", "cluster": {"server": f"{config.require('sandbox')}/{name}"}}],
            "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main"}}],
            "users": [{"name": "main", "user": {}}],
        }
    )


both = pulumi.Output.all(cluster.id, cluster.control_plane_endpoints_config)
where = both.apply(lambda both: both[1]["dns_endpoint_config"]["endpoint"])
provider = pulumi.ProviderResource(
    "kubernetes",
    "in-main",
    {"kubeconfig": where.apply(kubeconfig), "clusterIdentifier": "main"},
    pulumi.ResourceOptions(version="4.34.2", depends_on=[cluster]),
)


def declared(kind, name, api_version="v1", needs=(), **body):
    module = api_version if "/" in api_version else f"core/{api_version}"
    props = {"apiVersion": api_version, "kind": kind, **body}
    props.setdefault("metadata", {})["name"] = name
    opts = pulumi.ResourceOptions(provider=provider, version="4.34.2", depends_on=list(needs))
    return pulumi.CustomResource(f"kubernetes:{module}:{kind}", f"{kind.lower()}-{name}", props, opts)


shop = declared("Namespace", "shop")
inside = {"namespace": "shop"}
settings = declared("ConfigMap", "settings", needs=[shop], metadata=dict(inside), data={"greeting": config.require("greeting")})
declared("Secret", "key", needs=[shop], metadata=dict(inside), stringData={"key": config.require_secret("key")})
labels = {"app": "web"}
pod = {"containers": [{"name": "main", "image": config.require("image"), "resources": {"requests": {"cpu": "100m"}}}]}
web = declared(
    "Deployment",
    "web",
    "apps/v1",
    needs=[settings],
    metadata=dict(inside),
    spec={"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
)
once = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
ends = {"annotations": {"sandbox.accelform/seconds": "20"}}
declared("Job", "once", "batch/v1", needs=[shop], metadata=inside | ends, spec={"template": {"spec": once}})
release = {
    "chart": "oci://registry.k8s.io/kueue/charts/kueue",
    "version": config.require("kueue"),
    "name": "kueue",
    "namespace": "kueue-system",
    "createNamespace": True,
    "values": {},
}
kueue = pulumi.CustomResource(
    "kubernetes:helm.sh/v3:Release", "kueue", release, pulumi.ResourceOptions(provider=provider, version="4.34.2")
)
declared("ResourceFlavor", "spot", "kueue.x-k8s.io/v1beta2", needs=[kueue], spec={})
pulumi.export("server", where)
'''


class Shop:
    """The program's project, in a home and before a sandbox of its own."""

    def __init__(self, folder: Path, engine: find.Engine) -> None:
        self.home = Home.of(folder)
        self.home.prepare()
        self.engine = engine
        self.folder = folder / "shop"
        self.folder.mkdir()
        (self.folder / "__main__.py").write_text(PROGRAM, encoding="utf-8")
        (self.folder / "Pulumi.yaml").write_text("name: shop\nruntime: python\n", encoding="utf-8")
        for package in plugin.EVERY:
            plugin.placed(package, self.home.pulumi_home, engine)
        self.sandbox = process.start(self.home.sandbox, [PROJECT])
        self._server = ""
        self.pulumi("stack", "init", "try")

    def write(self, **config: str) -> None:
        path = self.folder / "Pulumi.try.yaml"
        before = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")) if path.exists() else {}
        own = {"shop:sandbox": self.sandbox.base} | {f"shop:{key}": value for key, value in config.items()}
        gcp = {"gcp:project": PROJECT} | {f"gcp:{key}": value for key, value in provider_config(self.sandbox.base).items()}
        with path.open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump(before | {"config": own | gcp}, file)

    def pulumi(self, *arguments: str) -> Ran:
        done = subprocess.run(
            [str(self.engine.path), *arguments, "--non-interactive"],
            cwd=self.folder,
            env=self.home.env(self.engine),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    def planned(self) -> dict[str, set[str]]:
        """What a preview would do: step -> names."""
        found: dict[str, set[str]] = {}
        for step in self.pulumi("preview", "--json").json["steps"]:
            if step["op"] != "same":
                found.setdefault(step["op"], set()).add(step["urn"].rpartition("::")[2])
        return found

    def get(self, path: str) -> dict[str, Any]:
        """What the cluster has there."""
        if not self._server:
            self._server = self.pulumi("stack", "output", "server").out.strip()
        return dict(httpx.get(f"{self.sandbox.base}/{self._server}/{path}", trust_env=False).raise_for_status().json())

    def left(self) -> list[str]:
        """What stands in the sandbox, once what goes by itself has gone."""
        process.ask(self.sandbox, "POST", "clock", {"seconds": 60})
        return [one["name"] for one in process.ask(self.sandbox, "GET", "resources")["resources"] if not one["own"]]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """Where an engine is."""
    engine = find.find()
    if engine is None:
        pytest.skip("there is no engine on this machine: python -m infra.local.engine.build")
    monkeypatch.setenv("ACCELFORM_OFFLINE", "1")
    yield Shop(tmp_path, engine)
    process.stop(Home.of(tmp_path).sandbox)


@pytest.mark.soak
def test_a_cluster_and_what_lives_in_it_come_up_stay_change_and_go(shop: Shop) -> None:
    """
    Before the cluster is there nothing of it is asked. A second preview and a refresh find nothing. An image changes in place; what a map
    says makes it anew, deleted first. A destroy takes the objects away before the cluster, and leaves nothing.
    """
    first = {"greeting": "hello", "key": "geheim", "image": "web:1", "kueue": "0.14.2"}
    shop.write(**first)
    assert len(shop.planned()["create"]) == 10
    shop.pulumi("up", "--yes", "--skip-preview")
    web = shop.get("apis/apps/v1/namespaces/shop/deployments/web")
    assert web["status"]["readyReplicas"] == 1
    state = next((shop.home.state / ".pulumi" / "stacks").rglob("try.json")).read_text(encoding="utf-8")
    assert "geheim" not in state
    shop.pulumi("preview", "--expect-no-changes")
    shop.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes")

    shop.write(**first | {"greeting": "good day", "image": "web:2", "kueue": "0.15.0"})
    assert shop.planned() == {"update": {"deployment-web", "kueue"}, "replace": {"configmap-settings"}}
    shop.pulumi("up", "--yes", "--skip-preview")
    web = shop.get("apis/apps/v1/namespaces/shop/deployments/web")
    assert web["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"
    assert shop.get("api/v1/namespaces/shop/configmaps/settings")["data"] == {"greeting": "good day"}

    shop.pulumi("destroy", "--yes", "--skip-preview")
    assert shop.left() == []
