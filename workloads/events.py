"""
The curve, the metrics and the settings of a run, as files that TensorBoard reads.

Each try of a run writes one file of events: into the folder `AIP_TENSORBOARD_LOG_DIR`, which Vertex AI names in a custom job that has a
`baseOutputDirectory`, else into `logs/` of the run's folder. Vertex AI takes metrics of an experiment in this form: a custom job with
`tensorboard` brings the files there while they are written, and `tb-gcp-uploader` brings those of a run elsewhere.
Source: Google's pages "Use Vertex AI TensorBoard with custom training" and "Upload logs to Vertex AI TensorBoard", read 2026-11.

The file is sent whole each time: a bucket's objects do not grow. TensorBoard's own writer is not used, as it loads TensorFlow.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping
from typing import Any

from workloads.contract import TrainSettings
from workloads.files import Folder

LOGS = "logs"
VARIABLE = "AIP_TENSORBOARD_LOG_DIR"


class Events:
    """What one try tells TensorBoard. Only the first host writes."""

    def __init__(self, settings: TrainSettings, *, writes: bool = True, environment: Mapping[str, str] | None = None) -> None:
        given = os.environ if environment is None else environment
        named = given.get(VARIABLE, "").strip()
        self.folder = Folder(named) if named else Folder(settings.output).child(LOGS)
        # TensorBoard reads files in the order of their names, and takes those that have this word in it.
        self.name = f"events.out.tfevents.{int(time.time())}.{settings.run_id}.{settings.attempt}"
        self._writes = writes
        self._content = io.BytesIO()
        self._event(file_version="brain.Event:2")

    def goes_on(self, step: int) -> None:
        """What an earlier try told of later steps than *step* is not shown any more: this one does them again."""
        from tensorboard.compat.proto import event_pb2

        self._event(step=step + 1, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START))

    def add(self, step: int, values: Mapping[str, float | None]) -> None:
        """Points of curves, by their names. One that is not known is left out."""
        from tensorboard.compat.proto import summary_pb2

        known = {name: value for name, value in values.items() if value is not None}
        points = [summary_pb2.Summary.Value(tag=name, simple_value=value) for name, value in known.items()]
        if points:
            self._event(step=step, summary=summary_pb2.Summary(value=points))

    def settings(self, values: Mapping[str, str | float | bool]) -> None:
        """What the run was told, for the table that compares runs."""
        from google.protobuf import struct_pb2
        from tensorboard.compat.proto import summary_pb2
        from tensorboard.plugins.hparams import metadata, plugin_data_pb2

        begun = plugin_data_pb2.SessionStartInfo(start_time_secs=time.time())
        for name, value in values.items():
            kind = "bool_value" if isinstance(value, bool) else "string_value" if isinstance(value, str) else "number_value"
            begun.hparams[name].CopyFrom(struct_pb2.Value(**{kind: value}))
        told = {
            metadata.SESSION_START_INFO_TAG: plugin_data_pb2.HParamsPluginData(session_start_info=begun),
            metadata.SESSION_END_INFO_TAG: plugin_data_pb2.HParamsPluginData(
                session_end_info=plugin_data_pb2.SessionEndInfo(end_time_secs=time.time())
            ),
        }
        self._event(
            summary=summary_pb2.Summary(
                value=[
                    summary_pb2.Summary.Value(tag=tag, metadata=metadata.create_summary_metadata(data), tensor=metadata.NULL_TENSOR)
                    for tag, data in told.items()
                ]
            )
        )

    def send(self) -> None:
        """Writes all that was told so far."""
        if self._writes:
            self.folder.write(self.name, self._content.getvalue())

    def _event(self, **what: Any) -> None:
        if not self._writes:
            return
        from tensorboard.compat.proto import event_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        RecordWriter(self._content).write(event_pb2.Event(wall_time=time.time(), **what).SerializeToString())
