"""The command line of containers."""

from __future__ import annotations

import importlib
import signal
from typing import Any

import pytest

from workloads import devices, entry
from workloads.contract import RESTART_EXIT, InputError
from workloads.files import FilesError
from workloads.recommender import train


@pytest.fixture
def contract(monkeypatch: pytest.MonkeyPatch, signals: None) -> None:
    """An environment as a machine has it."""
    for name, text in {"RUN_ID": "r", "OUTPUT": "o", "CHECKPOINTS": "c", "ACCELERATOR_TYPE": "cpu", "CHIPS": "1"}.items():
        monkeypatch.setenv(f"WL_{name}", text)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "usage: python -m workloads.entry"),
        (["--help"], 0, "train_recommender"),
        (["train_recomender"], 2, "'train_recomender' is no workload; there are:"),
        ([""], 2, "'' is no workload"),
        (["train_recommender", "--steps", "0"], 2, "0: at least 1"),
        (["train_recommender", "--steps", "NaN"], 2, "invalid"),
        (["train_recommender", "--wat"], 2, "unrecognized arguments"),
        (["train_recommender", "--help"], 0, ""),
    ],
)
def test_says_what_is_wrong(arguments: list[str], code: int, said: str, signals: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong names and arguments are refused before anything heavy is imported."""
    assert entry.main(arguments) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("error", [InputError, FilesError])
def test_a_users_mistake_is_a_sentence(
    error: type[Exception], contract: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a code that says that to begin again would not help."""

    def run(settings: object, options: object) -> int:
        raise error("the pictures are none")

    monkeypatch.setattr(devices, "start", lambda settings: None)
    monkeypatch.setattr(train, "run", run)

    assert entry.main(["train_recommender"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "train_recommender: the pictures are none"


@pytest.mark.parametrize(("where", "what"), [(devices, "start"), (importlib, "import_module")])
def test_a_notice_before_there_is_anything_to_save(where: Any, what: str, contract: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends it with 143, also as the first process of a container, and while libraries are imported."""
    monkeypatch.setattr(where, what, lambda _: signal.raise_signal(signal.SIGTERM))
    monkeypatch.setattr(train, "run", lambda settings, options: 0)
    with pytest.raises(SystemExit) as ended:
        entry.main(["train_recommender"])
    assert ended.value.code == RESTART_EXIT
