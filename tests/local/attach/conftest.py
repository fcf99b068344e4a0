"""A sandbox that listens in this process, and programs that stand for those of this project."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from infra.local.attach import Attached
from infra.sandbox.cloud import Cloud
from infra.sandbox.server import Server, bound
from infra.sandbox.store import Store

PROJECT = "shop-prod"
ZONE = "us-east5-a"
COMPUTE = f"compute.googleapis.com/compute/v1/projects/{PROJECT}"
STATE = "gs://shop-models/jobs/nightly/runs/R1/try-1"
ENTRY = """
import json, os, signal, sys, time
from pathlib import Path
shown = {name: os.environ[name] for name in os.environ if name.startswith(("WL_", "STORAGE_", "JAX_", "XLA_", "LD_", "GOOGLE_", "AIP_"))}
print("told " + json.dumps(shown), flush=True)
what, *rest = sys.argv[2:]
if what == "exit":
    sys.exit(int(rest[0]))
if what == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if what == "saves":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
print("waits", flush=True)
while not Path(rest[0]).exists():
    time.sleep(0.01)
"""
SERVE = """
import json, os, sys
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer  # HTTPServer asks a name server for this machine's name
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200 if self.path == os.environ["AIP_HEALTH_ROUTE"] else 404, b"{}")
    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != os.environ["AIP_PREDICT_ROUTE"]:
            self.answer(404, b"no such route")
        elif b"bad" in sent:
            self.answer(400, b"bad instance")
        else:
            said = [[os.environ["AIP_STORAGE_URI"], one] for one in json.loads(sent)["instances"]]
            self.answer(200, json.dumps({"predictions": said}).encode())
    def answer(self, code, content):
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def log_message(self, *said):
        pass
TCPServer(("127.0.0.1", int(os.environ["AIP_HTTP_PORT"])), Handler).serve_forever()
"""


class Shop:
    """A sandbox, and what a job's runner does in it."""

    def __init__(self, cloud: Cloud, base: str) -> None:
        self.cloud = cloud
        self.base = base
        self.said: list[str] = []
        self.http = httpx.Client(timeout=30, trust_env=False, verify=False)

    def ask(self, http: str, path: str, body: Any = None, **query: str) -> Any:
        answer = self.http.request(http, f"{self.base}/{path}", json=body, params=query)
        assert answer.status_code < 400, answer.text
        return answer.json() if answer.content else None

    def make(self, name: str, *words: str, hosts: int = 1, **more: Any) -> None:
        """A machine of a job that runs `python -m workloads.entry train_recommender WORDS`, until it is RUNNING."""
        container = {
            "image": "us-east5-docker.pkg.dev/shop-prod/images/train:1",
            "command": ["python", "-m", "workloads.entry", "train_recommender"],
            "args": list(words),
            "env": {"WL_RUN_ID": "none", "WL_CHIPS": str(4 * hosts), "WL_HOSTS": str(hosts), "LD_PRELOAD": "/evil.so"},
        } | more.pop("container", {})
        run = {"env": {"WL_RUN_ID": "R1"}, "state": STATE}
        items = {"accelform-container": json.dumps(container), "accelform-run": json.dumps(run)} | more.pop("metadata", {})
        body = {
            "name": name,
            "machineType": f"zones/{ZONE}/machineTypes/ct6e-standard-4t",
            "disks": [{"boot": True, "autoDelete": True, "initializeParams": {"diskSizeGb": "100"}}],
            "networkInterfaces": [{"network": "global/networks/default"}],
            "labels": {"accelform-run": "r1"},
            "metadata": {"items": [{"key": key, "value": value} for key, value in items.items()]},
        } | more
        self.wait(self.ask("POST", f"{COMPUTE}/zones/{ZONE}/instances", body))

    def wait(self, operation: Any) -> None:
        while operation["status"] != "DONE":
            operation = self.ask("GET", f"{COMPUTE}/zones/{ZONE}/operations/{operation['name']}")

    def host(self, number: int = 0) -> Any:
        """What a host said of its end; None where it said nothing."""
        name = f"jobs%2Fnightly%2Fruns%2FR1%2Ftry-1%2Fhost-{number}.json"
        answer = self.http.get(f"{self.base}/storage.googleapis.com/storage/v1/b/shop-models/o/{name}?alt=media")
        return answer.json() if answer.status_code == 200 else None

    def attached(self, **more: Any) -> Attached:
        return Attached(self.base, self.said.append, **more)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    programs = tmp_path / "programs" / "workloads"
    programs.mkdir(parents=True)
    (programs / "__init__.py").write_text("")
    (programs / "entry.py").write_text(ENTRY)
    (programs / "serve.py").write_text(SERVE)
    monkeypatch.setenv("PYTHONPATH", str(programs.parent))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/real/key.json")
    cloud = Cloud(Store(tmp_path / "cloud.sqlite"))
    cloud.projects.make(PROJECT)
    listener = bound(0)
    listener.listen(128)
    server = uvicorn.Server(uvicorn.Config(Server(cloud), log_level="warning", lifespan="off", ws="none", interface="asgi3"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    shop = Shop(cloud, f"http://127.0.0.1:{listener.getsockname()[1]}")
    shop.ask("POST", "storage.googleapis.com/storage/v1/b", {"name": "shop-models", "location": "us-east5"}, project=PROJECT)
    yield shop
    shop.http.close()
    server.should_exit = True
    thread.join()
    listener.close()
    cloud.store.close()
