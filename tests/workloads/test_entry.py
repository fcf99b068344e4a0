"""The command line of containers."""

from __future__ import annotations

import signal

import pytest

from workloads import devices, entry
from workloads.contract import RESTART_EXIT
from workloads.recommender import train


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
def test_says_what_is_wrong(arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong names and arguments are refused before anything heavy is imported."""
    assert entry.main(arguments) == code
    assert said in capsys.readouterr().err


def test_a_notice_before_there_is_anything_to_save(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends it with 143, also as the first process of a container."""
    before = signal.getsignal(signal.SIGTERM)
    for name, text in {"RUN_ID": "r", "OUTPUT": "o", "CHECKPOINTS": "c", "ACCELERATOR_TYPE": "cpu", "CHIPS": "1"}.items():
        monkeypatch.setenv(f"WL_{name}", text)
    monkeypatch.setattr(devices, "start", lambda settings: signal.raise_signal(signal.SIGTERM))
    monkeypatch.setattr(train, "run", lambda settings, options: 0)
    try:
        with pytest.raises(SystemExit) as ended:
            entry.main(["train_recommender"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == RESTART_EXIT
