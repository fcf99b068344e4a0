"""What files of events say, read by TensorBoard's own reader, which holds each record against its checksum."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def events(file: Path) -> Iterator[Any]:
    """Each event of a file."""
    from tensorboard.compat.proto import event_pb2
    from tensorboard.compat.tensorflow_stub.errors import OutOfRangeError
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New

    reader = PyRecordReader_New(str(file))
    while True:
        try:
            reader.GetNext()
        except OutOfRangeError:
            return
        yield event_pb2.Event.FromString(reader.record())


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Points by name, as TensorBoard shows them: a try that goes on from a step takes away what was told of later ones."""
    found: dict[str, list[tuple[int, float]]] = {}
    for file in sorted(folder.glob("*tfevents*")):
        for event in events(file):
            if event.HasField("session_log"):
                found = {name: [point for point in points if point[0] < event.step] for name, points in found.items()}
            for value in event.summary.value:
                if value.HasField("simple_value"):
                    found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found
