"""GitHub's part in a test: a fresh clone for each job, its steps in order, artifacts between jobs, and a `gh` that keeps a file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from infra.local.home import Home
from infra.sandbox import process

ROOT = Path(__file__).parents[2]
SECONDS = 180
PARTS = ("Pulumi.yaml", "pyproject.toml", "README.md", "requirements", "infra", "workloads")
INSTALL = "install"
"""Step that is not run: the test's own environment stands in for what it would install."""

GH = r"""
import json, os, pathlib, re, sys
path, arguments = pathlib.Path(os.environ["GH_FILE"]), sys.argv[1:]
state = json.loads(path.read_text()) if path.exists() else {"comments": [], "issues": [], "labels": [], "calls": []}
option = lambda name: arguments[arguments.index(name) + 1] if name in arguments else None
text = lambda: pathlib.Path(option("--body-file") or option("--field").partition("=@")[2]).read_text()
assert os.environ["GH_TOKEN"]
state["calls"].append(arguments[:2])
match arguments:
    case ["api", "--paginate", address, "--jq", query]:
        assert address == "repos/shop/ml/issues/7/comments"
        begin = re.search(r'startswith\("(.*?)"\)', query)[1]
        print("\n".join(str(n) for n, one in enumerate(state["comments"]) if one["user"] == "github-actions[bot]" and one["body"].startswith(begin)))
    case ["api", "--method", "POST", "repos/shop/ml/issues/7/comments", *_]:
        state["comments"].append({"user": "github-actions[bot]", "body": text()})
    case ["api", "--method", "PATCH", address, *_]:
        state["comments"][int(address.removeprefix("repos/shop/ml/issues/comments/"))]["body"] = text()
    case ["issue", "list", *_]:
        assert option("--label") == "accelform-drift"
        title = os.environ["TITLE"]
        print("\n".join(str(n) for n, one in enumerate(state["issues"]) if one["open"] and one["title"] == title))
    case ["label", "create", name, *_]:
        state["labels"].append(name)
    case ["issue", "create", *_]:
        assert option("--label") in state["labels"]
        state["issues"].append({"open": True, "title": option("--title"), "body": text()})
    case ["issue", "edit", number, *_]:
        state["issues"][int(number)]["body"] = text()
    case ["issue", "close", number, *_]:
        state["issues"][int(number)]["open"] = False
    case _:
        sys.exit(f"gh: {arguments}")
path.write_text(json.dumps(state))
"""


@dataclass
class Job:
    """How a job ended."""

    outcomes: dict[str, str] = field(default_factory=dict)
    """Of each step that runs something, by name: `success`, `failure` or `skipped`."""
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    said: str = ""

    @property
    def passed(self) -> bool:
        return "failure" not in self.outcomes.values()


class GitHub:
    """A repository of GitHub with its machines."""

    def __init__(self, folder: Path, stacks: Mapping[str, Mapping[str, Any]]) -> None:
        self.folder, self.origin, self.clone, self.artifacts = folder, folder / "origin.git", folder / "clone", folder / "artifacts"
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "gh").write_text(f"#!{sys.executable}\n{GH}", encoding="utf-8")
        (self.bin / "gh").chmod(0o700)
        work = folder / "work"
        for name in PARTS:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, work / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, work / name)
        (work / ".gitignore").write_text(".venv\n.accelform/\n", encoding="utf-8")
        self.work = work
        for stack, config in stacks.items():
            self.write(stack, config)
        self.git(work, "init", "-q", "-b", "main")
        self.commit("first")
        subprocess.run(["git", "clone", "-q", "--bare", str(work), str(self.origin)], check=True)
        subprocess.run(["git", "clone", "-q", str(self.origin), str(self.clone)], check=True)
        self.git(work, "remote", "add", "origin", str(self.origin))

    def git(self, folder: Path, *arguments: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@shop.example", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()

    def write(self, stack: str, config: Mapping[str, Any]) -> None:
        path = self.work / "stacks" / f"Pulumi.{stack}.yaml"
        path.parent.mkdir(exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump({"config": dict(config)}, file)

    def commit(self, message: str) -> None:
        self.git(self.work, "add", "-A")
        self.git(self.work, "commit", "-q", "-m", message)

    def push(self, branch: str = "main") -> None:
        self.git(self.work, "push", "-q", "--force", "origin", f"HEAD:{branch}")

    def checkout(self, ref: str) -> None:
        """A clone as `actions/checkout` makes it, at a ref of the origin; what a sandbox keeps in it stays."""
        self.git(self.clone, "fetch", "-q", "origin")
        self.git(self.clone, "checkout", "-q", "--detach", "--force", ref)
        self.git(self.clone, "clean", "-q", "-f", "-d", "-x", "-e", ".accelform")

    def merged(self, branch: str) -> None:
        """The clone at GitHub's own merge of a branch into `main`, which is what a request's workflow runs on."""
        self.checkout("origin/main")
        self.git(self.clone, "merge", "-q", "--no-ff", "-m", "merge", f"origin/{branch}")

    def gh(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.folder / "gh.json").read_text(encoding="utf-8"))
        return data

    def sandbox_env(self) -> dict[str, str]:
        """What Google's tokens and the bucket of states are to a job on GitHub, the sandbox is here."""
        done = self._accelform("env", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return {key: value for key, value in json.loads(done.stdout).items() if value is not None}

    def _accelform(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = os.environ | {"PYTHONPATH": str(self.clone), "PYTHONSAFEPATH": "1"}
        command = [f"{sys.prefix}/bin/accelform", *arguments]
        return subprocess.run(command, cwd=self.clone, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)

    def job(self, workflow: str, name: str, values: Mapping[str, str], sandbox: Mapping[str, str]) -> Job:
        """
        Runs the steps of a job in the clone.

        Args:
            values: What GitHub's expressions come to, by their text; one that is not here is a mistake.
            sandbox: Environment of the jobs that ask Google for a token.
        """
        data = YAML(typ="safe", pure=True).load(
            (self.clone / ".github" / "workflows" / f"accelform-{workflow}.yml").read_text(encoding="utf-8")
        )
        job, done = data["jobs"][name], Job()
        (self.clone / ".venv").symlink_to(sys.prefix)
        own = {key: self._value(text, values) for key, text in job.get("env", {}).items()}
        ids: dict[str, str] = {}
        for number, step in enumerate(job["steps"]):
            label = step.get("name") or step["uses"].partition("@")[0]
            outcome = "skipped"
            if self._runs(step.get("if"), passed=done.passed, ids=ids, env=own):
                outcome = self._step(step, own, values, sandbox, done, number)
            ids[step.get("id", label)] = done.outcomes[label] = outcome
        for path in ("report", "comment.md", "issue.md"):  # the next job's machine has none of it
            shutil.rmtree(self.clone / path, ignore_errors=True)
            (self.clone / path).unlink(missing_ok=True) if not (self.clone / path).is_dir() else None
        (self.clone / ".venv").unlink()
        return done

    def _step(
        self, step: dict[str, Any], own: Mapping[str, str], values: Mapping[str, str], sandbox: Mapping[str, str], done: Job, number: int
    ) -> str:
        action = step.get("uses", "").partition("@")[0]
        if action == "actions/upload-artifact":
            shutil.copytree(self.clone / step["with"]["path"], self.artifacts, dirs_exist_ok=True)
        elif action == "actions/download-artifact" and self.artifacts.exists():
            shutil.copytree(self.artifacts, self.clone / step["with"]["path"], dirs_exist_ok=True)
        if action or step.get("name") == INSTALL:
            return "success"
        output, summary = self.folder / f"output-{number}", self.folder / f"summary-{number}"
        output.write_text("", encoding="utf-8")
        summary.write_text("", encoding="utf-8")
        env = dict(os.environ) | dict(own) | {key: self._value(text, values) for key, text in step.get("env", {}).items()} | dict(sandbox)
        env |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_REPOSITORY": "shop/ml"}
        env |= {"GH_FILE": str(self.folder / "gh.json"), "PATH": f"{self.bin}{os.pathsep}{env['PATH']}"}
        env |= {"PYTHONPATH": str(self.clone), "PYTHONSAFEPATH": "1"}
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.clone,
            env=env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        done.said += ran.stdout + ran.stderr
        done.summary += summary.read_text(encoding="utf-8")
        for key, mark, text in re.findall(r"^(\w+)<<(\w+)\n(.*?)\n\2$", output.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE):
            assert mark
            done.outputs[key] = text
        return "failure" if ran.returncode else "success"

    @staticmethod
    def _value(text: object, values: Mapping[str, str]) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], str(text))

    @staticmethod
    def _runs(condition: str | None, *, passed: bool, ids: Mapping[str, str], env: Mapping[str, str]) -> bool:
        """Whether a step runs. Without a condition it does where all before it have passed."""
        if condition is None:
            return passed
        for one in condition.removeprefix("${{").removesuffix("}}").split("&&"):
            match re.fullmatch(r"(?:(!cancelled\(\))|steps\.([\w-]+)\.outcome == '(\w+)'|env\.(\w+) == '(\w+)')", one.strip()):
                case re.Match() as found:
                    never, step, outcome, key, value = found.groups()
                    if not never and ((ids.get(step, "skipped") != outcome) if step else (env[key] != value)):
                        return False
                case None:
                    raise AssertionError(one)
        return True

    def end(self) -> None:
        process.stop(Home.of(self.clone).sandbox)
