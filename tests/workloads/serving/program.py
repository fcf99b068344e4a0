"""A model that repeats what it is asked, served as any other: for tests of the server alone, without JAX."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from workloads import serve
from workloads.contract import ServeSettings
from workloads.serving.engine import ArtefactError, InstanceError, ParametersError


class Echo:
    """Repeats instances. It refuses the text `bad`, fails at the text `broken`, and takes no parameters."""

    def __init__(self, version: str) -> None:
        self.version = version

    def warm(self) -> None:
        """Nothing is compiled."""

    def predict(self, instances: Sequence[object], parameters: Mapping[str, object]) -> list[object]:
        if parameters:
            raise ParametersError("none are known")
        if "broken" in instances:
            raise RuntimeError("a secret of the model")
        return [InstanceError("it is bad") if one == "bad" else {"echo": one} for one in instances]


class Program:
    """What a module that serves has."""

    @staticmethod
    def load(folder: Path) -> Echo:
        text = (folder / "version.txt").read_text()
        if not text:
            raise ArtefactError("version.txt is empty")
        return Echo(text)

    @staticmethod
    def click(report: object, now: float) -> Mapping[str, object]:
        if not isinstance(report, dict):
            raise InstanceError("no object")
        return {**report, "time": round(now)}


if __name__ == "__main__":
    ended = serve.run(Program, ServeSettings.read())  # type: ignore[arg-type]
    sys.stdout.flush()
    os._exit(ended)
