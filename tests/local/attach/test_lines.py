"""Lines of processes, as Google's own agents would bring them to Cloud Logging."""

from __future__ import annotations

from infra.local.attach.lines import Lines, Speaker

RUNNER = Speaker("shop-prod", "run.googleapis.com/stdout", {"type": "cloud_run_job"}, {})
HOST = Speaker("shop-prod", "gcplogs-docker-driver", {"type": "gce_instance"}, {}, {"name": "vm"})


def test_line_of_json_says_how_bad_it_is() -> None:
    """As a runner prints it; what is no object with a message is text."""
    assert RUNNER.entry('{"severity": "ERROR", "message": "m", "at": 1}') == {"jsonPayload": {"message": "m", "at": 1}, "severity": "ERROR"}
    for line in ("m", "", "{", '{"severity": "ERROR"}', "[1]", '{"a":' * 100_000):
        assert RUNNER.entry(line) == {"textPayload": line, "severity": "DEFAULT"}
    assert RUNNER.entry('{"severity": 7, "message": "m"}')["severity"] == "DEFAULT"


def test_line_of_a_machine_names_it() -> None:
    """The driver sends each line as it is."""
    line = '{"severity": "ERROR", "message": "m"}'
    assert HOST.entry(line) == {"jsonPayload": {"message": line, "instance": {"name": "vm"}}}


def test_lines_are_handed_on_once_and_heard_at_once() -> None:
    heard: list[str] = []
    sent: list[list[str]] = []
    lines = Lines(HOST, lambda speaker, line: heard.append(line))
    lines.add("one")
    lines.add("two")
    assert heard == ["one", "two"]
    for _ in range(2):
        lines.send(lambda speaker, new: sent.append(new))
    assert sent == [["one", "two"]]
