"""
Serves a model: `python -m workloads.serve WORKLOAD`. All else is said by the environment (`workloads.contract.ServeSettings`).

Exit codes: 0 after a signal; 65 where the model's files are not whole, or not this program's; 1 where they could not be had for another
reason; 2 where the environment is not the contract's, or the port is taken.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from workloads.contract import ARTEFACT_EXIT, CONTRACT_EXIT, ContractError, ServeSettings
from workloads.files import DeniedError, FilesError, Folder
from workloads.job import PROGRAMS
from workloads.serving.app import App
from workloads.serving.clicks import ClickLog
from workloads.serving.engine import ArtefactError, Engine
from workloads.serving.metrics import Metrics
from workloads.serving.server import Server, config, listening
from workloads.serving.state import State

WORKLOADS = {one.name: one.module for one in PROGRAMS.values() if one.kind == "serve"}
"""Module of each program that serves."""


class Program(Protocol):
    """What such a module has. Its import is quick: what is heavy is imported by `load`, when the port is open."""

    def load(self, folder: Path) -> Engine:
        """
        An engine of a folder that is whole.

        Raises:
            ArtefactError: It is not what this program reads.
        """
        ...

    def click(self, report: object, now: float) -> Mapping[str, object]:
        """
        Fields of a report in the log.

        Raises:
            InstanceError: It is none.
        """
        ...


_log = logging.getLogger("workloads.serving")


class _JsonLines(logging.Formatter):
    """A line of JSON each: Cloud Logging reads severity and message from it."""

    def format(self, record: logging.LogRecord) -> str:
        said = record.getMessage()
        if record.exc_info:
            said = f"{said}\n{self.formatException(record.exc_info)}"
        return json.dumps({"severity": record.levelname, "logger": record.name, "message": said}, ensure_ascii=False)


def main(arguments: list[str] | None = None) -> int:
    """Serves until a signal. Answers the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 1 or given[0] not in WORKLOADS:
        _say(f"wanted is one of: {', '.join(WORKLOADS)}; got: {' '.join(given) or 'nothing'}")
        return CONTRACT_EXIT
    # Of Python 3.11's end, at every import of Google's client: nothing that a log needs.
    warnings.filterwarnings("ignore", message="You are using a Python version", category=FutureWarning)
    try:
        settings = ServeSettings.read()
    except ContractError as wrong:
        _say(f"the environment is not what a machine of ours says:\n{wrong}")
        return CONTRACT_EXIT
    return run(importlib.import_module(WORKLOADS[given[0]]), settings)


def run(module: Program, settings: ServeSettings) -> int:
    """Serves by the engine of *module*."""
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    state, metrics = State(), Metrics(settings.variant, settings.version)
    # Until the server itself takes signals: nothing is to be drained yet.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        listener = listening(settings)
    except (OSError, OverflowError) as wrong:
        _say(f"port {settings.port} is not to be had: {wrong}")
        return CONTRACT_EXIT
    try:
        clicks = ClickLog(settings.clicks, module.click)
    except OSError as wrong:
        _say(f"clicks cannot be logged to {settings.clicks}: {wrong}")
        return CONTRACT_EXIT
    app = App(settings, state, metrics, clicks)

    def started() -> None:
        threading.Thread(target=_load, args=(module, settings, state, metrics, server), daemon=True).start()

    server = Server(config(app, settings), state, settings.lameduck_seconds, started)
    server.run([listener])
    app.close()
    clicks.close()
    if state.failure:
        _say(state.failure)
    return state.exit_code


def _load(module: Program, settings: ServeSettings, state: State, metrics: Metrics, server: Server) -> None:
    """Fetches the model, checks and loads it. Where that cannot be, the server ends, and says why."""
    began = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory(prefix="model-") as fetched:
            Folder(settings.model).download(Path(fetched))
            engine = module.load(Path(fetched))
        engine.warm()
    except DeniedError as wrong:
        state.failed(f"the model could not be had: {wrong}", 1)
    except FilesError as wrong:
        state.failed(f"the model's files are not whole: {wrong}", ARTEFACT_EXIT)
    except ArtefactError as wrong:
        state.failed(f"{settings.model}: {wrong}", ARTEFACT_EXIT)
    except Exception as wrong:
        _log.exception("the model could not be loaded")
        state.failed(f"{settings.model}: the model could not be loaded: {type(wrong).__name__}: {wrong}", 1)
    else:
        metrics.version = settings.version or engine.version
        metrics.load_seconds.set(time.perf_counter() - began)
        state.engine = engine
        _log.info("ready after %.1f s: version %s of %s", time.perf_counter() - began, metrics.version, settings.model)
        return
    server.end()


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    ended = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # A prediction that lasts longer than the drain's time, or a model that is still being loaded, must not keep the process.
    os._exit(ended)
