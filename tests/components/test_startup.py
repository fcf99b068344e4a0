"""The start script of a job's host, run for real: docker, curl and the metadata server are small scripts that write down what they are asked."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.components.gpu_host import driver_script
from infra.components.job_machine import STARTUP

CONTAINER = {
    "image": "asia-east1-docker.pkg.dev/p/r/train@sha256:0",
    "command": ["python", "-m", "workloads.entry", "train_recommender"],
    "args": ["--note", 'it\'s $HOME\n2 "lines"'],
    "env": {"WL_CHIPS": "4", "WL_ATTEMPT": "9"},
}
RUN = {"env": {"WL_ATTEMPT": "2", "WL_RUN_ID": "20261201T180000Z"}, "state": "gs://models/.accelform/jobs/s/train/runs/R 1/try-2"}
CURL = """#!/bin/bash
url=${@: -1}
case $url in
  *instance/attributes/*)
    key=${url##*/}
    echo "$key" >>"$FAKE/asked"
    if [[ -e $FAKE/late/$key ]]; then
      left=$(<"$FAKE/late/$key")
      ((left > 0)) && { echo $((left - 1)) >"$FAKE/late/$key"; exit 22; }
    fi
    cat "$FAKE/metadata/$key" 2>/dev/null || exit 22 ;;
  */preempted) cat "$FAKE/preempted" 2>/dev/null ;;
  */token) echo '{"access_token": "secret-token"}' ;;
  *upload*)
    [[ -e $FAKE/deaf ]] && { rm "$FAKE/deaf"; exit 22; }
    printf '%s\\0' "$@" >"$FAKE/upload" ;;
esac
"""
DOCKER = """#!/bin/bash
case $1 in
  login) cat >"$FAKE/password"; echo "${@: -1}" >"$FAKE/registry" ;;
  pull) [[ ! -e $FAKE/nopull ]] ;;
  stop) echo "$*" >"$FAKE/stopped"; kill -TERM "$(<"$FAKE/container")" ;;
  run)
    printf '%s\\0' "${@:2}" >"$FAKE/run"
    trap 'echo saved >"$FAKE/saved"; kill $!; exit "$(cat "$FAKE/killed" 2>/dev/null || echo 143)"' TERM
    if [[ -p $FAKE/hold ]]; then
      echo $$ >"$FAKE/container"
      echo up >"$FAKE/up"
      cat <>"$FAKE/hold" &
      wait $!
    fi
    exit "$(<"$FAKE/code")" ;;
esac
"""


TOOLS = {
    "curl": CURL,
    "docker": DOCKER,
    "sleep": "#!/bin/bash\n",
    "apt-get": '#!/bin/bash\necho "$*" >>"$FAKE/apt"\n',
    "python3": f'#!/bin/bash\nexec {sys.base_prefix}/bin/python3 -I -S "$@"\n',
}


class Host:
    """A host whose outer world is a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in TOOLS.items():
            path = folder / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        for inner in ("metadata", "late"):
            (folder / inner).mkdir()
        self.tell("accelform-container", json.dumps(CONTAINER))
        self.tell("accelform-run", json.dumps(RUN))
        (folder / "code").write_text("0")

    @property
    def told(self) -> dict[str, str]:
        """Environment of the script: no device of this machine is touched."""
        return {"FAKE": str(self.folder), "TMPDIR": str(self.folder), "DEVICES": str(self.folder / "dev")}

    def tell(self, key: str, value: str) -> None:
        (self.folder / "metadata" / key).write_text(value)

    def boot(self) -> subprocess.Popen[str]:
        environment = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", **self.told}
        return subprocess.Popen(["bash", STARTUP], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self) -> str:
        with self.boot() as process:
            return process.communicate(timeout=30)[0]

    def words(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().split("\0")[:-1] if path.exists() else []

    @property
    def said(self) -> dict[str, Any]:
        """What the host wrote, but for when; empty where it wrote nothing."""
        words = self.words("upload")
        if not words:
            return {}
        body = json.loads(words[words.index("--data") + 1])
        assert len(body.pop("ended")) == len("2026-12-01T18:00:00Z")
        return body


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_runs_the_container_and_says_that_it_ended_well(host: Host) -> None:
    """The image by its digest, with the template's and the run's variables, the run's own last; then one object, with the account's token."""
    output = host.run()
    run = host.words("run")
    image = run.index(CONTAINER["image"])
    variables = [run[index + 1] for index, word in enumerate(run[:image]) if word == "--env"]
    assert dict(one.split("=", 1) for one in variables) == {"WL_CHIPS": "4", "WL_ATTEMPT": "2", "WL_RUN_ID": "20261201T180000Z"}
    assert {"--privileged", "--net=host", "--ipc=host", "--log-driver=gcplogs"} <= set(run[:image])
    assert run[run.index("--stop-timeout") + 1] == "25"
    assert run[run.index("--ulimit") + 1] == "memlock=-1:-1"
    assert run[run.index("--entrypoint") + 1] == "python"
    assert run[image + 1 :] == ["-m", "workloads.entry", "train_recommender", *CONTAINER["args"]]
    assert host.said == {"host": 0, "exit_code": 0}
    upload = host.words("upload")
    name = ".accelform%2Fjobs%2Fs%2Ftrain%2Fruns%2FR%201%2Ftry-2%2Fhost-0.json"
    assert upload[-1] == f"https://storage.googleapis.com/upload/storage/v1/b/models/o?uploadType=media&name={name}"
    assert "Authorization: Bearer secret-token" in upload
    assert (host.folder / "registry").read_text().strip() == "https://asia-east1-docker.pkg.dev"
    assert (host.folder / "password").read_text().strip() == "secret-token"
    assert "secret-token" not in output


@pytest.mark.parametrize("code", [1, 143])
def test_says_the_exit_code(code: int, host: Host) -> None:
    """Whatever the container ended with, the runner hears; and a lost answer of the store is asked for again."""
    (host.folder / "code").write_text(str(code))
    (host.folder / "deaf").touch()
    host.run()
    assert host.said == {"host": 0, "exit_code": code}


def test_shows_the_gpus_to_the_container(host: Host) -> None:
    """Their driver is installed before the image is pulled, and its files are the container's; a variable of the job goes first."""
    host.tell("accelform-container", json.dumps(CONTAINER | {"gpus": 2, "env": {"LD_LIBRARY_PATH": "/own"}}))
    host.tell("accelform-gpu-driver", 'echo installed >>"$FAKE/driver"')
    host.run()
    run = host.words("run")
    options = run[: run.index(CONTAINER["image"])]
    assert [options[index + 1] for index, word in enumerate(options) if word == "--volume"] == [
        "/var/lib/nvidia/lib64:/usr/local/nvidia/lib64:ro",
        "/var/lib/nvidia/bin:/usr/local/nvidia/bin:ro",
    ]
    variables = [options[index + 1] for index, word in enumerate(options) if word == "--env"]
    assert variables.index("LD_LIBRARY_PATH=/usr/local/nvidia/lib64") < variables.index("LD_LIBRARY_PATH=/own")
    assert (host.folder / "driver").read_text() == "installed\n"
    assert host.said == {"host": 0, "exit_code": 0}


@pytest.mark.parametrize("script", ["exit 1", None], ids=["fails", "is not there"])
def test_a_driver_that_is_not_to_be_installed_ends_the_try(script: str | None, host: Host) -> None:
    """The container does not run: it would take the processor, or fail as if the program were wrong."""
    host.tell("accelform-container", json.dumps(CONTAINER | {"gpus": 1}))
    if script:
        host.tell("accelform-gpu-driver", script)
    output = host.run()
    assert "the driver of the GPUs is not to be installed" in output
    assert host.words("run") == []
    assert host.said == {"host": 0, "exit_code": 125}


@pytest.mark.parametrize(("failures", "tries"), [(0, 1), (5, 6), (6, 6)])
def test_the_driver_is_made_to_run_where_it_is_installed(failures: int, tries: int, host: Host) -> None:
    """
    What is under /var may not be run: it is mounted anew, before anything of it is. A machine that does not reach the driver yet tries
    again, whether it stands or is made for a job, and the sixth failure is one.
    """
    (host.folder / "failures").write_text(str(failures))
    for name, then in (("cos-extensions", 'left=$(<"$FAKE/failures"); echo $((left - 1)) >"$FAKE/failures"; ((left < 1))'), ("mount", "")):
        tool = host.folder / "bin" / name
        tool.write_text(f'#!/bin/bash\necho "{name} $*" >>"$FAKE/driver"\n{then}\n')
        tool.chmod(0o755)
    smi = host.folder / "nvidia" / "bin" / "nvidia-smi"
    smi.parent.mkdir(parents=True)
    smi.write_text('#!/bin/bash\necho "nvidia-smi $*" >>"$FAKE/driver"\n')
    smi.chmod(0o755)
    script = driver_script().replace("/var/lib/nvidia", str(smi.parents[1]))
    host.tell("accelform-container", json.dumps(CONTAINER | {"gpus": 1}))
    host.tell("accelform-gpu-driver", script)
    host.run()
    place = smi.parents[1]
    mounted = [f"mount --bind {place} {place}", f"mount -o remount,exec {place}", "nvidia-smi -L"]
    done = (host.folder / "driver").read_text().splitlines()
    assert done == ["cos-extensions install gpu"] * tries + (mounted if failures < tries else [])
    assert host.said == {"host": 0, "exit_code": 0 if failures < tries else 125}


def test_waits_for_its_metadata(host: Host) -> None:
    """What is of the run may be there later than the machine."""
    for key in ("accelform-run", "accelform-container"):
        (host.folder / "late" / key).write_text("3")
    host.run()
    assert host.said == {"host": 0, "exit_code": 0}
    assert (host.folder / "asked").read_text().split().count("accelform-run") == 4


def test_ends_without_a_word_where_no_run_is_said(host: Host) -> None:
    """It would not know where to write it. The runner, or the machine's run limit, ends it."""
    (host.folder / "metadata" / "accelform-run").unlink()
    assert "no run was said" in host.run()
    assert (host.said, host.words("run")) == ({}, [])


def test_gives_the_chips_to_an_image_that_is_not_root(host: Host) -> None:
    """Those of v2 to v4 and those of later ones; what else is a device stays as it was."""
    (host.folder / "dev" / "vfio").mkdir(parents=True)
    chips = [host.folder / "dev" / name for name in ("accel0", "accel3", "vfio/0", "vfio/vfio")]
    for path in (*chips, host.folder / "dev" / "sda"):
        path.touch(mode=0o600)
    host.run()
    assert {path.stat().st_mode & 0o777 for path in chips} == {0o666}
    assert (host.folder / "dev" / "sda").stat().st_mode & 0o777 == 0o600
    assert host.said == {"host": 0, "exit_code": 0}


def test_says_where_the_image_cannot_be_pulled(host: Host) -> None:
    """Else the runner would wait for a machine that does nothing."""
    (host.folder / "nopull").touch()
    assert "cannot be pulled" in host.run()
    assert (host.said, host.words("run")) == ({"host": 0, "exit_code": 125}, [])


def test_installs_docker_where_the_image_has_none(host: Host) -> None:
    """Without docker on the machine the distribution's is installed: here one that installs nothing, and that is said."""
    (host.folder / "bin" / "docker").unlink()
    for tool in ("bash", "sed", "grep", "head", "date", "cat", "mktemp", "rm"):
        (host.folder / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    environment = {"PATH": str(host.folder / "bin"), **host.told}
    output = subprocess.run([STARTUP], env=environment, capture_output=True, text=True, timeout=30, check=False).stdout
    assert "installing docker" in output
    assert "docker.io" in (host.folder / "apt").read_text()
    assert host.said == {"host": 0, "exit_code": 125}


def test_hands_on_that_the_machine_stops(host: Host) -> None:
    """SIGTERM reaches the container with its notice; what it then ends with is said: 143, so it wants to be begun again."""
    for name in ("hold", "up"):
        os.mkfifo(host.folder / name)
    with host.boot() as process:
        assert (host.folder / "up").read_text() == "up\n"  # opens once the container is there
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=30)
    assert "told to stop" in output
    assert (host.folder / "stopped").read_text() == "stop --time 25 accelform\n"
    assert (host.folder / "saved").exists()
    assert host.said == {"host": 0, "exit_code": 143}


def test_what_was_killed_as_the_machine_went_has_not_failed(host: Host) -> None:
    """It did not save in time, or had not taken SIGTERM yet: no word, as of a machine that was taken away, and the run begins again."""
    (host.folder / "killed").write_text("137")
    for name in ("hold", "up"):
        os.mkfifo(host.folder / name)
    with host.boot() as process:
        assert (host.folder / "up").read_text() == "up\n"
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=30)
    assert "the container ended with 137 as the machine goes" in output
    assert host.said == {}


@pytest.mark.parametrize(("preempted", "said"), [("TRUE", {}), ("FALSE", {"host": 0, "exit_code": 137})])
def test_a_container_that_docker_killed_before_the_script_was_told(preempted: str, said: dict[str, Any], host: Host) -> None:
    """The metadata server knows of it; else it was killed for its memory, which is a failure."""
    (host.folder / "code").write_text("137")
    (host.folder / "preempted").write_text(preempted)
    host.run()
    assert host.said == said


@pytest.mark.parametrize(
    ("metadata", "number", "told"),
    [
        ({"agent-worker-number": "3", "worker-network-endpoints": "a,b,c,d"}, 3, {}),
        (
            {"tpu-env": "TYPE: 'V6E'\nTPU_WORKER_ID: '1'\nTOPOLOGY: '2x4'\n", "worker-network-endpoints": "host-1wjb,host-1z9d"},
            1,
            {"WL_COORDINATOR": "host-1wjb:8476", "WL_PROCESS_ID": "1"},
        ),
        (
            {"tpu-env": "WORKER_ID: '2'\n", "worker-network-endpoints": "x:y:10.0.0.2,x:y:10.0.0.3,x:y:10.0.0.4"},
            2,
            {"WL_COORDINATOR": "10.0.0.2:8476", "WL_PROCESS_ID": "2"},
        ),
        ({"tpu-env": "WORKER_ID: '0'\n", "worker-network-endpoints": "alone"}, 0, {}),
    ],
    ids=["a node tells JAX by itself", "a slice of Compute Engine", "triples", "one host"],
)
def test_knows_its_number_and_its_peers(metadata: dict[str, str], number: int, told: dict[str, str], host: Host) -> None:
    """The object is named by the host's number; JAX is told its peers where the platform does not."""
    for key, value in metadata.items():
        host.tell(key, value)
    host.run()
    assert host.said == {"host": number, "exit_code": 0}
    variables = dict(one.split("=", 1) for one in host.words("run") if one.startswith(("WL_COORDINATOR=", "WL_PROCESS_ID=")))
    assert variables == told
