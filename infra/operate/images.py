"""
Images of the workloads, built from this checkout and pushed to the stack's repository; what comes of it is a reference by digest.

The source is one archive with the same bytes for the same files: it names the tag, so that what was built is found again. The stack's
repository lets no tag move: a second build of the same files would fail at its end, so it is not begun.

A build in Cloud Build asks for verified provenance: it fails where Google could not write that down. Begun by a call and no trigger, it has
that of SLSA version 0.1. A list of what is inside (SBOM) is no option of a build: `infra.operate.sbom` makes it. Sources: discovery
document cloudbuild v1, revision in the package; Google's page "Generate and validate build provenance", read 2026-11.
"""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from infra.errors import AccelformError, ExitCode, MachineError, Problem, SpecError, nearest
from infra.provider import google_client
from infra.provider.google import Google
from infra.provider.server import ProviderError

ROOT = Path(__file__).parents[2]
FOLDER = "workloads/images"
API = "cloudbuild.v1"
BUILDER = "gcr.io/cloud-builders/docker"
"""Google's builder: it is on the machine already that builds."""
BUILD_SECONDS = 3600
"""The longest that a build may take: the training image installs 3 GB."""
TOOLS = ("docker", "podman", "buildah")
PLATFORM = "linux/amd64"
"""Of every machine that an image may run on. A laptop with Arm's processor would build for itself, and the machine could not start it."""
SAME = "built before, from the same files: nothing was built now"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
SOURCES = ".accelform/sources"
"""Folder of the models bucket that sources are uploaded to. Each is deleted when its build has ended."""
LEFT_SECONDS = 24 * 60 * 60.0
"""A source that is older is of a build whose command was killed."""

Tool = Literal["docker", "podman", "buildah"]
Say = Callable[[str], None]


class BuildError(AccelformError):
    """A build did not end well."""

    exit_code = ExitCode.CLOUD


@dataclass(frozen=True, slots=True)
class Built:
    """One image that is in its repository."""

    name: str
    reference: str
    """`REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME@sha256:...`, as a stack file takes it."""
    tag: str
    """Its tag, which is of the source."""
    said: str = ""
    """What the builder says besides."""


def names(root: Path = ROOT) -> list[str]:
    """Images that this checkout has."""
    return sorted(path.parent.name for path in (root / FOLDER).glob("*/Dockerfile"))


def check(wanted: Sequence[str], root: Path = ROOT) -> None:
    """
    Raises:
        MachineError: This is no checkout.
        SpecError: A name is none of an image.
    """
    known = names(root)
    if not known or not (root / "requirements").is_dir():
        raise MachineError(f"{root}: no Dockerfiles are here\n  fix: build images in a checkout of the repository")
    others = [name for name in wanted if name not in known]
    unknown = [Problem(ascii(name)[:60], "is no image", ", ".join(nearest(name, known) or known)) for name in others]
    if unknown or not wanted:
        raise SpecError("accelform image build", unknown or [Problem("NAME", "is missing", ", ".join(known))])


def archive(name: str, root: Path = ROOT) -> bytes:
    """
    What an image is built from, as tar.gz: files that its Dockerfile copies, and that file. The same files are the same bytes.

    Raises:
        MachineError: A file cannot be read, or is not there.
    """
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for path in _files(name, root):
            entry = tarfile.TarInfo(path.relative_to(root).as_posix())
            try:
                content = path.read_bytes()
            except OSError as error:
                said = f"{path}: cannot be read, and the image {name} is built of it: {error.strerror}"
                raise MachineError(f"{said}\n  fix: git checkout {entry.name}") from None
            entry.size, entry.mode = len(content), 0o755 if path.suffix == ".sh" else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _files(name: str, root: Path) -> Iterator[Path]:
    dockerfile = root / FOLDER / name / "Dockerfile"
    copied = re.findall(r"^COPY (\S+) ", dockerfile.read_text(encoding="utf-8"), re.MULTILINE)
    found = {dockerfile}
    for source in copied:
        found |= {path for path in (root / source).rglob("*") if path.is_file()} if (root / source).is_dir() else {root / source}
    return iter(sorted(path for path in found if not _is_aside(path.relative_to(root))))


def _is_aside(path: Path) -> bool:
    """What tools and people leave beside the code: bytecode, and whatever is hidden, such as `.env` with somebody's secrets."""
    return "__pycache__" in path.parts or path.suffix == ".pyc" or any(part.startswith(".") for part in path.parts)


def tag(source: bytes) -> str:
    """Tag of what is built from a source."""
    return f"src-{hashlib.sha256(source).hexdigest()[:16]}"


def pushed(google: Google, prefix: str, name: str, tag: str) -> str:
    """Digest of what a repository has under a tag; empty where it has nothing, or does not say."""
    host, project, repository = prefix.split("/")
    location = host.removesuffix("-docker.pkg.dev")
    where = f"projects/{project}/locations/{location}/repositories/{repository}/packages/{name}/tags/{tag}"
    try:
        found = google.call("artifactregistry.v1", "projects.locations.repositories.packages.tags.get", name=where)
    except ProviderError:
        return ""
    said = str(found.get("version", "")).rpartition("/")[2]
    return said if DIGEST.fullmatch(said) else ""


def account_of(google: Google, project: str, email: str) -> str:
    """The address of an account, where there is one; else empty: Cloud Build then takes the project's own."""
    try:
        google.call("iam.v1", "projects.serviceAccounts.get", name=f"projects/{project}/serviceAccounts/{email}")
    except ProviderError:
        return ""
    return email


class CloudBuild:
    """
    Google's builder, in the stack's region.

    Args:
        google: Google's APIs.
        bucket: Bucket of the stack's region that sources are put in.
        prefix: What an image's name begins with.
        account: E-mail address of the account that builds: it reads the source, pushes, and writes logs. (default: the project's own for
            builds, which may be allowed to do more, or less)
    """

    def __init__(self, google: Google, project: str, region: str, bucket: str, prefix: str, account: str = "", root: Path = ROOT) -> None:
        self._google, self._project, self._region, self._bucket = google, project, region, bucket
        self._prefix, self._account, self._root = prefix, account, root

    def build(self, name: str, say: Say) -> Built:
        """
        Raises:
            BuildError: It did not end well.
            ProviderError: Cloud Build or Cloud Storage refused.
        """
        google_client.quickly()
        from googleapiclient.http import MediaInMemoryUpload

        source = archive(name, self._root)
        image = f"{self._prefix}/{name}:{tag(source)}"
        if digest := pushed(self._google, self._prefix, name, tag(source)):
            return Built(name, f"{self._prefix}/{name}@{digest}", image, SAME)
        self._clear()
        key = f"{SOURCES}/{name}-{tag(source)}.tar.gz"
        say(f"{name}: {len(source) / 1e6:.1f} MB of source to gs://{self._bucket}/{key}")
        body = MediaInMemoryUpload(source, mimetype="application/gzip")
        kept = self._google.call("storage.v1", "objects.insert", bucket=self._bucket, name=key, media_body=body)
        try:
            return self._built(name, image, self._body(name, image, key, str(kept["generation"])), say)
        finally:
            self._delete(key, kept["generation"])

    def _built(self, name: str, image: str, wanted: dict[str, Any], say: Say) -> Built:
        parent = f"projects/{self._project}/locations/{self._region}"
        begun = self._google.call(API, "projects.locations.builds.create", parent=parent, body=wanted)
        build = begun["metadata"]["build"]
        say(f"{name}: build {build['id']} in {self._region}; its log: {build.get('logUrl', 'unknown')}")
        # Google names operations of builds in two ways: under the location, and as `operations/build/PROJECT/ID`.
        method = "projects.locations.operations.get" if begun["name"].startswith("projects/") else "operations.get"

        def ask() -> dict[str, Any]:
            return self._google.call(API, method, name=begun["name"])

        try:
            self._google.awaited(begun["name"], begun, lambda one: bool(one.get("done")), ask, BUILD_SECONDS + 600)
        except KeyboardInterrupt:
            say(f"{name}: build {build['id']} is cancelled")
            with suppress(ProviderError):
                self._google.call(API, "projects.locations.builds.cancel", name=f"{parent}/builds/{build['id']}", body={})
            raise
        ended = self._google.call(API, "projects.locations.builds.get", name=f"{parent}/builds/{build['id']}")
        found = [one["digest"] for one in ended.get("results", {}).get("images", []) if one["name"] == image]
        if ended["status"] != "SUCCESS" or not found:
            detail = ended.get("failureInfo", {}).get("detail") or ended.get("statusDetail") or "the log says why"
            raise BuildError(f"{name}: the build ended with {ended['status']}: {detail}\n  log: {ended.get('logUrl', 'unknown')}")
        return Built(name, f"{self._prefix}/{name}@{found[0]}", image, str(ended.get("statusDetail", "")))

    def _clear(self) -> None:
        """Deletes what killed commands have left of sources."""
        with suppress(ProviderError):  # nobody waits for that
            for one in self._google.pages("storage.v1", "objects.list", "items", bucket=self._bucket, prefix=f"{SOURCES}/"):
                if self._google.time() - dt.datetime.fromisoformat(one["timeCreated"]).timestamp() > LEFT_SECONDS:
                    self._delete(one["name"], one["generation"])

    def _delete(self, key: str, generation: str) -> None:
        """That generation for good: without it a bucket with versions would keep it."""
        with suppress(ProviderError):  # the next build deletes it
            self._google.call("storage.v1", "objects.delete", bucket=self._bucket, object=key, generation=generation)

    def _body(self, name: str, image: str, key: str, generation: str) -> dict[str, Any]:
        return {
            "source": {"storageSource": {"bucket": self._bucket, "object": key, "generation": generation}},
            "steps": [{"name": BUILDER, "args": ["build", "--file", f"{FOLDER}/{name}/Dockerfile", "--tag", image, "."]}],
            "images": [image],
            "timeout": f"{BUILD_SECONDS}s",
            "tags": ["accelform", name],
            "options": {"requestedVerifyOption": "VERIFIED", "sourceProvenanceHash": ["SHA256"], "logging": "CLOUD_LOGGING_ONLY"},
            **({"serviceAccount": f"projects/{self._project}/serviceAccounts/{self._account}"} if self._account else {}),
        }


class LocalBuild:
    """
    A builder of this machine, which pushes with its own login.

    Args:
        tool: Its program.
        prefix: What an image's name begins with.
        google: Where it is asked whether the same files were built before. (default: nowhere)

    Raises:
        MachineError: The program is not here.
    """

    def __init__(self, tool: Tool, prefix: str, root: Path = ROOT, google: Google | None = None) -> None:
        if shutil.which(tool) is None:
            others = [one for one in TOOLS if shutil.which(one)]
            instead = f"--with {others[0]}" if others else "leave --with out: Cloud Build builds"
            raise MachineError(f"{tool} is not on this machine\n  fix: install it, or {instead}")
        self._tool, self._prefix, self._root, self._google = tool, prefix, root, google

    def build(self, name: str, say: Say) -> Built:
        """
        Raises:
            BuildError: The program failed.
        """
        source = archive(name, self._root)
        image = f"{self._prefix}/{name}:{tag(source)}"
        if self._google and (digest := pushed(self._google, self._prefix, name, tag(source))):
            return Built(name, f"{self._prefix}/{name}@{digest}", image, SAME)
        with tempfile.TemporaryDirectory(prefix="accelform-image-") as place:
            folder = Path(place) / "context"
            with tarfile.open(fileobj=io.BytesIO(source)) as tar:
                tar.extractall(folder, filter="data")
            file = str(folder / FOLDER / name / "Dockerfile")
            say(f"{name}: {self._tool} builds {image}")
            self._run("build", "--platform", PLATFORM, "--file", file, "--tag", image, str(folder))
            written = Path(place) / "digest"
            say(f"{name}: {self._tool} pushes it")
            if self._tool == "docker":
                # Its last line: `TAG: digest: sha256:... size: N`.
                found = DIGEST.findall(self._run("push", image))
            else:
                self._run("push", "--digestfile", str(written), image)
                found = DIGEST.findall(written.read_text()) if written.exists() else []
        if not found:
            raise BuildError(f"{name}: {self._tool} did not say the digest of what it pushed")
        return Built(name, f"{self._prefix}/{name}@{found[-1]}", image)

    def _run(self, *arguments: str) -> str:
        ended = subprocess.run([self._tool, *arguments], capture_output=True, text=True, errors="replace", check=False)
        if ended.returncode:
            last = "\n".join(f"  {line}" for line in (ended.stderr or ended.stdout).strip().splitlines()[-10:])
            raise BuildError(f"{self._tool} {arguments[0]} ended with {ended.returncode}\n{last}")
        return ended.stdout


def build(builder: CloudBuild | LocalBuild, wanted: Sequence[str], say: Say) -> Iterator[Built]:
    """
    Builds images one after the other.

    Raises:
        BuildError: One did not end well. Those before it are built.
    """
    for name in dict.fromkeys(wanted):
        try:
            yield builder.build(name, say)
        except ProviderError as error:
            raise BuildError(f"{name}: {error}") from None
