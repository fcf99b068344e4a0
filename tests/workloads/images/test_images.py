"""The images: their Dockerfiles, what is copied into them, what is installed, and what they run."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from infra.operate.images import archive
from tests.workloads.images.dockerfile import executed, instructions, problems
from workloads.job import PROGRAMS

ROOT = Path(__file__).parents[3]
IMAGES = ROOT / "workloads" / "images"
NAMES = sorted(path.parent.name for path in IMAGES.glob("*/Dockerfile"))
GOOD = f"""FROM registry.example/python:3.12.1-slim@sha256:{64 * "0"}
RUN ["python", "-m", "pip", "install", "--require-hashes", "--only-binary", ":all:", "-r", "x"]
USER 10001:10001
ENTRYPOINT ["python"]
"""


def said(name: str) -> list[tuple[str, str]]:
    return instructions((IMAGES / name / "Dockerfile").read_text())


def lock(name: str) -> dict[str, Version]:
    """Versions by name in an image's lock."""
    text = (ROOT / "requirements" / f"image-{name}.lock").read_text()
    return {one: Version(version) for one, version in re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE)}


def asked(name: str) -> list[Requirement]:
    lines = (IMAGES / name / "requirements.in").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


def test_there_is_one_image_for_each_name_that_programs_say() -> None:
    """A program's image is there, and the runner's."""
    assert sorted({program.image for program in PROGRAMS.values()} | {"runner"}) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_dockerfile_keeps_the_rules(name: str) -> None:
    """Pinned by digest, not root, exec form, wheels by hash."""
    assert problems((IMAGES / name / "Dockerfile").read_text()) == []


def test_the_rules_let_a_good_one_pass() -> None:
    """What the next test spoils is good."""
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("good", "bad", "says"),
    [
        ("python:3.12.1-slim@sha256:" + 64 * "0", "python:latest", "FROM"),
        ("@sha256:" + 64 * "0", "", "not by registry, tag and digest"),
        ("registry.example/", "", "not by registry, tag and digest"),
        ('ENTRYPOINT ["python"]', "ENTRYPOINT python", "not in exec form"),
        ('ENTRYPOINT ["python"]', 'CMD ["python"]', "ENTRYPOINT: not said once"),
        ("USER 10001:10001", "USER root", "USER"),
        ("USER 10001:10001", "USER 0:0", "USER"),
        ("USER 10001:10001\n", "", "USER"),
        ('"--require-hashes", ', "", "not by hash"),
        ('"--only-binary", ":all:", ', "", "wheels only"),
        ("USER", 'RUN ["apt-get", "install", "gcc"]\nUSER', "apt"),
        ("USER", "ADD https://example.com/x /x\nUSER", "ADD"),
        ("USER", "ENV API_TOKEN=x\nUSER", "a secret in a layer"),
        ("USER", "ENV HOME /tmp\nUSER", "not NAME=VALUE"),
        ("USER", "COPY --chown=1:1 workloads workloads\nUSER", "not one source and one target"),
        ("USER", "COPY * /app\nUSER", "not one source and one target"),
        ("USER", "COPY ../secret secret\nUSER", "not one source and one target"),
        ("USER", "COPPY a b\nUSER", "is none of"),
        ("FROM", "WORKDIR /app\nFROM", "not the first"),
        ("ENTRYPOINT", "COPY a b\nENTRYPOINT", "which that user may not"),
        ("USER 10001:10001", "USER nobody", "not a number"),
    ],
)
def test_fails_what_breaks_a_rule(good: str, bad: str, says: str) -> None:
    """Each rule bites."""
    assert any(says in problem for problem in problems(GOOD.replace(good, bad)))


@pytest.mark.parametrize("name", NAMES)
def test_an_image_has_python_and_files_that_are_there(name: str) -> None:
    """One base for all, Python 3.12 or later, and every file that is copied is in this project."""
    bases = {rest for one in NAMES for word, rest in said(one) if word == "FROM"}
    (version,) = {re.search(r"python:(\d+)\.(\d+)", base)[0] for base in bases}  # type: ignore[index]
    copied = [rest.split()[0] for word, rest in said(name) if word == "COPY"]

    assert len(bases) == 1
    assert version >= "python:3.12"
    assert f"requirements/image-{name}.lock" in copied
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert ("infra" in copied) == (name == "runner")


@pytest.mark.parametrize("name", NAMES)
def test_what_an_image_runs_is_there(name: str) -> None:
    """Its entry point is a module of what is copied; its first argument a program of that image."""
    entry = next(executed(rest) for word, rest in said(name) if word == "ENTRYPOINT")
    command = next((executed(rest) for word, rest in said(name) if word == "CMD"), None)

    assert entry is not None
    assert entry[:2] == ["python", "-m"]
    assert importlib.util.find_spec(entry[2]) is not None
    if name == "runner":
        assert command is None
    else:
        assert command is not None
        assert PROGRAMS[command[0]].image == name
        assert PROGRAMS[command[0]].command == (*entry, *command)


@pytest.mark.parametrize("name", NAMES)
def test_an_image_is_built_of_what_is_sent(name: str) -> None:
    """Whatever is copied is in the archive that a builder gets, and is not empty; what is installed is that image's own lock."""
    with tarfile.open(fileobj=io.BytesIO(archive(name))) as tar:
        sent = {entry.name: entry.size for entry in tar.getmembers()}
    copied = dict(rest.split() for word, rest in said(name) if word == "COPY")
    (install,) = [executed(rest) or [] for word, rest in said(name) if word == "RUN"]

    for source in copied:
        assert source in sent or any(one.startswith(f"{source}/") for one in sent), source
    assert {sent[one] > 0 for one in sent if not one.endswith("__init__.py")} == {True}
    assert copied[f"requirements/image-{name}.lock"] == install[install.index("--requirement") + 1]
    assert install[:4] == ["python", "-m", "pip", "install"]
    assert not [one for one in sent if Path(one).suffix in (".pem", ".key", ".env") or Path(one).name.startswith(".")]


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_point_without_an_environment_says_what_it_wants(name: str, tmp_path: Path) -> None:
    """As a process, like in a container that was told nothing, of the files that it gets: a sentence and a code, no traceback."""
    with tarfile.open(fileobj=io.BytesIO(archive(name))) as tar:
        tar.extractall(tmp_path, filter="data")
    entry = next(executed(rest) or [] for word, rest in said(name) if word == "ENTRYPOINT")
    ended = subprocess.run(
        [sys.executable, *entry[1:]],
        env={"PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1", "PATH": os.environ["PATH"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 2
    assert (ended.stdout + ended.stderr).strip()
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_has_all_that_is_asked_for_by_hash(name: str) -> None:
    """Each line that is asked for is in the lock, in its range; each version has hashes; none is a development's build."""
    versions = lock(name)
    text = (ROOT / "requirements" / f"image-{name}.lock").read_text()

    assert [
        str(one) for one in asked(name) if versions.get(one.name) not in [v for v in [versions.get(one.name)] if v and v in one.specifier]
    ] == []
    assert text.count("==") == len(re.findall(r"^\S+==\S+ \\\n    --hash=sha256:", text, re.MULTILINE))
    assert [f"{one} {version}" for one, version in versions.items() if version.is_devrelease or "nightly" in one] == []


def test_what_is_asked_for_is_what_the_project_declares() -> None:
    """Ranges of the images are the project's own, or inside of them."""
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    declared = {
        one.name: one.specifier
        for line in (*extras["serve"], *extras["train"], "uvicorn>=0.38,<1", "httptools>=0.7,<1")
        for one in [Requirement(line)]
    }
    for name in ("serve", "train"):
        for one in asked(name):
            if one.name in declared:
                assert lock(name)[one.name] in declared[one.name], one
    missing = {Requirement(line).name for line in extras["serve"]} - {one.name for one in asked("serve")}
    assert missing == set()


def test_a_serving_image_has_no_training_library() -> None:
    """Keras' hub brings TensorFlow: 1.9 of 3.1 GB."""
    assert not {"keras", "keras-hub", "keras-rs", "tensorflow", "tensorflow-text", "torch", "orbax-checkpoint", "pulumi"} & set(
        lock("serve")
    )


def test_what_one_image_exports_the_other_reads() -> None:
    """Both have the same jax, the one that these tests ran with where they run on the Python of the lock."""
    for one in ("jax", "jaxlib", "flatbuffers", "safetensors", "numpy"):
        assert lock("train")[one] == lock("serve")[one], one


def test_libtpu_is_the_one_that_jax_was_released_with() -> None:
    """jax names it by its own metadata; a driver of another release fails when it is initialised."""
    if lock("train")["jax"] != Version(importlib.metadata.version("jax")):
        pytest.skip("another jax is installed here than in the image")
    (pair,) = [
        one
        for one in map(Requirement, importlib.metadata.requires("jax") or [])
        if one.name == "libtpu" and one.marker and one.marker.evaluate({"extra": "tpu"})
    ]

    assert lock("train")["libtpu"] in pair.specifier


@pytest.mark.parametrize("name", ["serve", "train", "tf"])
def test_images_hold_the_versions_that_are_tested(name: str) -> None:
    """What the tests install for Python 3.11 is what the images hold."""
    text = (ROOT / "requirements" / "dev.lock").read_text()
    lines = re.findall(r"^([a-z0-9._-]+)==([^\s;]+)( ; [^\\\n]*)?", text, re.MULTILINE)
    tested = {one: Version(version) for one, version, marker in lines if not marker or "< '3.12'" in marker or "platform" in marker}
    others = {one: (version, tested[one]) for one, version in lock(name).items() if one in tested and tested[one] != version}

    assert others == {}
