"""
A model that training exported as `accelform-model/1` (`workloads.recommender.export`): its folder says what goes in, what comes out, and
what it answers to an example. Neither Keras nor the model's own code is needed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workloads.contract import HEADER
from workloads.serving.engine import ArtefactError, InstanceError, ParametersError

FORMAT = "accelform-model/1"
SIZES = (1, 4, 16, 64)
"""
Instances that are computed at once: others are filled up to the next of these, and cut after the last. Each is compiled when the server
warms itself, a quarter of a second of a processor each for a small model.
"""
TOLERANCE = 1e-3
"""How much an answer to the example may differ from training's, as a part of it: other machines round otherwise."""
_AGREED = 0.9
"""Part of the names in the example's answer that must be the same: of those whose scores are all but equal, either may come first."""


@dataclass(frozen=True, slots=True)
class _Input:
    name: str
    dtype: Any
    length: int | None
    """Numbers of an instance, where it is a list."""
    rows: Mapping[str, int] | None
    """Row of each name, where names go in."""
    default: object

    def numbers(self, instance: Mapping[str, object]) -> Any:
        """
        What an instance says of it, as numbers.

        Raises:
            InstanceError: It is not of its kind.
        """
        value = instance.get(self.name, self.default)
        if value is None:
            raise InstanceError(f"{self.name} is missing")
        if self.length is None:
            return self._number(value)
        if not isinstance(value, list):
            raise InstanceError(f"{self.name} is no list")
        found = np.zeros(self.length, self.dtype)
        kept = value[: self.length]
        found[: len(kept)] = [self._number(one) for one in kept]
        return found

    def _number(self, value: object) -> float | int:
        if self.rows is not None:
            if not isinstance(value, str):
                raise InstanceError(f"{self.name} is no text: {_short(value)}")
            return self.rows.get(value, 0)
        whole = np.issubdtype(self.dtype, np.integer)
        if not isinstance(value, int if whole else (int, float)):
            raise InstanceError(f"{self.name} is no {'whole ' if whole else ''}number: {_short(value)}")
        # As Python's own: NumPy's cannot be compared with whole numbers of any length.
        bounds = np.iinfo(self.dtype) if whole else np.finfo(self.dtype)
        least, most = (int(bounds.min), int(bounds.max)) if whole else (float(bounds.min), float(bounds.max))
        if not least <= value <= most:
            raise InstanceError(f"{self.name} is too large: {_short(value)}")
        return value


@dataclass(frozen=True, slots=True)
class _Output:
    name: str
    names: Sequence[str] | None
    """Name of each row, where rows come out."""
    length: int | None

    def said(self, numbers: Any, k: int | None) -> object:
        """What the numbers of one instance say, the first *k* of them."""
        kept = numbers if self.length is None or k is None else numbers[:k]
        if self.names is None:
            return kept.tolist()
        return self.names[int(kept)] if self.length is None else [self.names[row] for row in kept]


class Exported:
    """A loaded model."""

    def __init__(self, signature: Mapping[str, Any], folder: Path) -> None:
        import jax
        from jax import export
        from safetensors.numpy import load_file

        vocabularies: dict[str, list[str]] = {}

        def vocabulary(name: str | None) -> list[str] | None:
            if name is not None and name not in vocabularies:
                vocabularies[name] = [str(one) for one in json.loads((folder / name).read_text(encoding="utf-8"))]
            return None if name is None else vocabularies[name]

        def length(said: Mapping[str, Any]) -> int | None:
            return int(said["shape"][1]) if len(said["shape"]) > 1 else None

        self.version = str(signature["run_id"])
        if not HEADER.fullmatch(self.version):
            raise ValueError(f"run_id {ascii(self.version)[:60]} cannot be said in a header")
        self._inputs = []
        for said in signature["inputs"]:
            names = vocabulary(said.get("vocabulary"))
            rows = None if names is None else {name: row for row, name in enumerate(names)}
            self._inputs.append(_Input(said["name"], np.dtype(said["dtype"]), length(said), rows, said.get("default")))
        self._outputs = [_Output(said["name"], vocabulary(said.get("vocabulary")), length(said)) for said in signature["outputs"]]
        self._example = signature["example"]
        files = signature["files"]
        exported = export.deserialize(bytearray((folder / files["function"]).read_bytes()))
        self._call = jax.jit(exported.call)
        self._weights = jax.device_put(load_file(folder / files["weights"]))
        self._known = {one.name for one in self._inputs}
        self._most = max((one.length for one in self._outputs if one.length), default=0)

    def warm(self) -> None:
        """
        Compiles for each number of instances, and holds the answer to the example against training's.

        Raises:
            ArtefactError: It is another one.
        """
        try:
            answers = self.predict(self._example["instances"], {})
            for place, (wanted, got) in enumerate(zip(self._example["predictions"], answers, strict=True)):
                if isinstance(got, InstanceError):
                    raise ArtefactError(f"it refuses instance {place} of its own example: {got}")
                if problem := _difference(wanted, got):  # type: ignore[arg-type]
                    raise ArtefactError(f"it does not answer its own example as in training: instance {place}: {problem}")
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as wrong:  # also jax's, of shapes that do not go together
            raise ArtefactError(f"its example is none of it: {type(wrong).__name__}: {wrong}") from None
        for size in SIZES:
            self._arrays([self._row(self._example["instances"][0])] * size)

    def predict(self, instances: Sequence[object], parameters: Mapping[str, object]) -> list[object]:
        """
        Answers of the instances, in their order. The parameter `k` says how many of the best are wanted.

        Raises:
            ParametersError: `k` is no whole number of 1 to what the model finds, or another parameter was sent.
        """
        k = self._k(parameters)
        answers: list[object] = []
        rows: list[dict[str, Any]] = []
        for instance in instances:
            try:
                rows.append(self._row(instance))
                answers.append(None)
            except InstanceError as problem:
                answers.append(problem)
        computed = iter(self._all(rows, k))
        return [next(computed) if answer is None else answer for answer in answers]

    def _k(self, parameters: Mapping[str, object]) -> int | None:
        if others := [name for name in parameters if name != "k"]:
            raise ParametersError(f"{', '.join(_short(name) for name in others[:5])}: not known; k is")
        k = parameters.get("k")
        if k is not None and (not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= self._most):
            raise ParametersError(f"k is {_short(k)}: wanted is a whole number of 1 to {self._most}")
        return k

    def _row(self, instance: object) -> dict[str, Any]:
        """
        Numbers of an instance.

        Raises:
            InstanceError: They cannot be had.
        """
        if not isinstance(instance, dict):
            raise InstanceError(f"it is no object with {', '.join(sorted(self._known))}")
        if unknown := sorted(set(instance) - self._known):
            raise InstanceError(f"{', '.join(_short(name) for name in unknown[:5])}: not known; {', '.join(sorted(self._known))} are")
        return {one.name: one.numbers(instance) for one in self._inputs}

    def _all(self, rows: list[dict[str, Any]], k: int | None) -> list[object]:
        found: list[object] = []
        for begin in range(0, len(rows), SIZES[-1]):
            part = rows[begin : begin + SIZES[-1]]
            arrays = self._arrays(part)
            found += [{one.name: one.said(arrays[one.name][place], k) for one in self._outputs} for place in range(len(part))]
        return found

    def _arrays(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Outputs of rows, at most the largest size of them."""
        size = next(size for size in SIZES if size >= len(rows))
        filled = rows + rows[:1] * (size - len(rows))
        inputs = {one.name: np.array([row[one.name] for row in filled], one.dtype) for one in self._inputs}
        return {name: np.asarray(array) for name, array in self._call(self._weights, inputs).items()}


def load(folder: Path) -> Exported:
    """
    Loads a model of a folder that is whole.

    Raises:
        ArtefactError: It is of another format, or not what its signature says.
    """
    try:
        signature = json.loads((folder / "signature.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ArtefactError(f"there is no signature.json: it is no {FORMAT}") from None
    except ValueError as wrong:
        raise ArtefactError(f"signature.json is no JSON: {wrong}") from None
    found = signature.get("format") if isinstance(signature, dict) else None
    if found != FORMAT:
        raise ArtefactError(f"it is of format {_short(found)}, and this program reads {FORMAT}")
    import jax

    jax.devices()
    try:
        return Exported(signature, folder)
    except Exception as wrong:  # libraries of flat buffers and of weights have errors of their own for what is none
        said = f"exported by jax {signature.get('jax', 'unknown')}, read by jax {jax.__version__}"
        raise ArtefactError(f"it is not what its signature says ({said}): {type(wrong).__name__}: {wrong}") from None


def _difference(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> str:
    """Where two answers differ by more than rounding; empty where they do not."""
    if set(wanted) != set(got):
        return f"it says {', '.join(sorted(got))} instead of {', '.join(sorted(wanted))}"
    columns = {name: (_listed(wanted[name]), _listed(got[name])) for name in wanted}
    same: list[bool] = []
    for name, (one, other) in columns.items():
        if len(one) != len(other):
            return f"{len(other)} of {name} instead of {len(one)}"
        if any(isinstance(value, str) for value in one):
            same = [left == right for left, right in zip(one, other, strict=True)]
            if sum(same) < _AGREED * len(same):
                return f"{len(same) - sum(same)} of {len(same)} of {name} are others"
    for name, (one, other) in columns.items():
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            agreed = place >= len(same) or same[place]
            if agreed and not isinstance(left, str) and not math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                return f"{name}[{place}] is {right:.6g} instead of {left:.6g}"
    return ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _short(value: object) -> str:
    """A value that somebody sent, so that it fits in a sentence."""
    try:
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    except RecursionError:  # a body may be nested a little deeper than what writes it again
        text = "something nested too deeply"
    return text if len(text) <= 60 else f"{text[:57]}..."
