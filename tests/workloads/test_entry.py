"""The command line of containers."""

from __future__ import annotations

import pytest

from workloads import entry


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
