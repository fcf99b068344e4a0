"""
What a machine tells the program that runs on it: the environment, in one schema that infrastructure writes and programs read.

Locations are folders: `gs://BUCKET/NAME`, or a path on this machine. Nothing here imports more than the standard library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

RESTART_EXIT = 143
"""Exit code of a program that saved its work and wants to be begun again: 128 + SIGTERM, as shells and Kubernetes have it."""
ABORTED_EXIT = 134
"""Exit code that JAX itself gives a program of several hosts when another one is gone, 128 + SIGABRT: it leaves the program no say. Beside
other hosts it is to be taken for 143, for one host alone it is a failure."""
DEVICES_EXIT = 78
"""Exit code where the devices seen are not those declared: EX_CONFIG of sysexits.h. To begin again would not help."""
CONTRACT_EXIT = 2
"""Exit code where the environment or the command line is not what the program takes. The same."""
ARTEFACT_EXIT = 65
"""Exit code where a model's files are not whole, or not what the program reads: EX_DATAERR. To begin again would not help either."""

REPORT = "report.json"
"""In a run's folder: its metrics, and what they are of."""
ARTEFACT = "model"
"""In a run's folder: the folder of what it trained."""

PREFIX = "WL_"
SIMULATED = "WL_SIMULATED_TPU"
"""With `1`, devices of this machine's processor stand for chips, which are counted nevertheless; the program says so. It is no setting of
a run but a permission of the machine, and only a machine of the local cloud gives it."""
DATA_PREFIX = "WL_DATA_"


class ContractError(Exception):
    """The environment is not what a machine of ours says: every problem of it, a line each."""


class InputError(Exception):
    """What a program was given to work on is not what it needs. A sentence for the user."""


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """What a training program is told. Field `run_id` is the variable `WL_RUN_ID`, and so on."""

    run_id: str
    """One night's run, such as `20261201T180000Z`; the same for each of its tries."""
    output: str
    """Folder of what this run makes: the artefact, and `report.json` with its metrics."""
    checkpoints: str
    """Folder of this run's checkpoints: a later try goes on from the last whole one."""
    accelerator_type: str
    """Cloud TPU accelerator type, such as `v5litepod-4`, or a GPU's, such as `nvidia-l4`; `cpu` for this machine's processor, where
    somebody asked for that."""
    chips: int
    """Chips of all hosts together, or GPUs; with `cpu`, devices of the processor."""
    hosts: int = 1
    """Hosts that run the same program, one process each."""
    attempt: int = 1
    """Number of this try of the run, from 1."""
    save_every_steps: int = 200
    """Steps between two checkpoints at most."""
    coordinator: str = ""
    """`HOST:PORT` of process 0, where the platform does not tell JAX by itself."""
    process_id: int = 0
    """Number of this process, with `coordinator` only."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Folder by name: `WL_DATA_CLICKS` is `clicks`."""

    def environment(self) -> dict[str, str]:
        """These settings as variables: what the infrastructure writes."""
        found = {f"{PREFIX}{name.upper()}": str(getattr(self, name)) for name in self.__slots__ if name != "data"}
        return found | {f"{DATA_PREFIX}{name.upper().replace('-', '_')}": folder for name, folder in self.data.items()}

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> TrainSettings:
        """
        Reads the environment.

        Raises:
            ContractError: A variable is missing, unknown, or no whole number where one is wanted.
        """
        given = os.environ if environment is None else environment
        numbers = {name for name in cls.__slots__ if cls.__annotations__[name] == "int"}
        required = ("run_id", "output", "checkpoints", "accelerator_type", "chips")
        problems = [f"{PREFIX}{name.upper()} is missing" for name in required if not given.get(f"{PREFIX}{name.upper()}")]
        values: dict[str, object] = {}
        data: dict[str, str] = {}
        for variable, text in given.items():
            name = variable.removeprefix(PREFIX).lower()
            if not variable.startswith(PREFIX) or variable == SIMULATED:
                continue
            if variable.startswith(DATA_PREFIX):
                data[variable.removeprefix(DATA_PREFIX).lower()] = text
            elif name == "data" or name not in cls.__slots__:
                problems.append(f"{variable} is none of the contract's")
            elif name in numbers and not (text.isascii() and text.isdigit() and len(text) < 13):
                problems.append(f"{variable}={text!r} is no whole number")
            else:
                values[name] = int(text) if name in numbers else text
        if problems:
            raise ContractError("\n".join(problems))
        return cls(**values, data=data)  # type: ignore[arg-type]


ROUTE = re.compile(r"/[!-~]*")
HEADER = re.compile(r"(?:[!-~](?:[ -~]{0,198}[!-~])?)?")
"""What a header of HTTP can say: printable letters of ASCII, at most 200, no space at either end."""
CLICKS_TO_STDOUT = "stdout"
_VERTEX = {"port": "AIP_HTTP_PORT", "health_route": "AIP_HEALTH_ROUTE", "predict_route": "AIP_PREDICT_ROUTE", "model": "AIP_STORAGE_URI"}
"""Variables that Vertex AI sets in a container that serves, by field. Source: Google's page "Custom container requirements"."""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """
    What a server is told. Vertex AI's own variables `AIP_*` have precedence.

    Field `drain_seconds` is the variable `WL_DRAIN_SECONDS`, and so on.
    """

    model: str
    """Folder of the artefact: `AIP_STORAGE_URI`, else `WL_MODEL`."""
    port: int = 8080
    """Port of all addresses of the machine: `AIP_HTTP_PORT`, else `WL_PORT`, else `PORT`."""
    health_route: str = "/health"
    """`AIP_HEALTH_ROUTE`, else `WL_HEALTH_ROUTE`: 200 where this server should get requests, else 503."""
    predict_route: str = "/predict"
    """`AIP_PREDICT_ROUTE`, else `WL_PREDICT_ROUTE`."""
    variant: str = ""
    """Which of the models that serve side by side this is: a label of each metric, and a header of each answer. (default: the id of the
    deployed model, where Vertex AI says one)"""
    version: str = ""
    """Version of the model, the same. (default: the version that the artefact names itself)"""
    lameduck_seconds: float = 3.0
    """After SIGTERM: how long requests are still taken while health says 503, so that who sends them hears of it."""
    drain_seconds: float = 8.0
    """After that: how long requests that were taken may last. Together at most 15 on spot machines: GKE ends them then."""
    max_request_bytes: int = 10_000_000
    """Bytes of one request's body. Vertex AI itself takes 1.5 MB: Google's page "gcloud ai endpoints predict", read 2026-11."""
    max_instances: int = 1000
    """Instances of one request."""
    max_in_flight: int = 256
    """Requests that are taken at one time. Others are answered 429."""
    threads: int = 2
    """Requests that are computed at one time. Others wait."""
    clicks: str = CLICKS_TO_STDOUT
    """Where clicks are logged, a line each: `stdout`, or a folder of this machine."""

    def environment(self) -> dict[str, str]:
        """These settings as variables, Vertex AI's own among them: what a machine outside of Vertex AI writes."""
        return {_VERTEX.get(name, f"{PREFIX}{name.upper()}"): str(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> ServeSettings:
        """
        Reads the environment.

        Raises:
            ContractError: A variable is missing, unknown, or not of its kind.
        """
        given = os.environ if environment is None else environment
        problems = [
            f"{variable} is none of the contract's"
            for variable in given
            if variable.startswith(PREFIX) and variable.removeprefix(PREFIX).lower() not in cls.__slots__
        ]
        values: dict[str, object] = {}
        for name in cls.__slots__:
            names = [*([_VERTEX[name]] if name in _VERTEX else []), f"{PREFIX}{name.upper()}", *(["PORT"] if name == "port" else [])]
            variable = next((one for one in names if given.get(one)), "")
            if not variable:
                continue
            text, kind = given[variable], cls.__annotations__[name]
            if kind == "int":
                allowed = range(1, 65536) if name == "port" else range(1, 10**12)
                if not (text.isascii() and text.isdigit() and len(text) < 13 and int(text) in allowed):
                    problems.append(f"{variable}={text[:40]!r} is no whole number of {allowed[0]} to {allowed[-1]}")
                else:
                    values[name] = int(text)
            elif kind == "float":
                if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,6})?", text):
                    problems.append(f"{variable}={text[:40]!r} is no number of seconds, such as 3 or 0.5, below 10000")
                else:
                    values[name] = float(text)
            elif name.endswith("_route") and not ROUTE.fullmatch(text):
                problems.append(f"{variable}={text[:40]!r} is no path of HTTP: it begins with /")
            elif name in ("variant", "version") and not HEADER.fullmatch(text):
                problems.append(f"{variable}={ascii(text)[:42]} goes into a header: at most 200 printable characters of ASCII")
            elif name == "clicks" and text.startswith("gs://"):
                problems.append(f"{variable}={text[:80]!r} is a bucket: say {CLICKS_TO_STDOUT}, and let a log sink bring the lines there")
            else:
                values[name] = text
        if not any(given.get(variable) for variable in ("AIP_STORAGE_URI", "WL_MODEL")):
            problems.append("AIP_STORAGE_URI is missing, and WL_MODEL too: one of them names the folder of the model's files")
        values.setdefault("variant", given.get("AIP_DEPLOYED_MODEL_ID", ""))
        if problems:
            raise ContractError("\n".join(problems))
        return cls(**values)  # type: ignore[arg-type]
