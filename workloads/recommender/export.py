"""
What training hands to serving: a folder that needs neither Keras nor this package's model to be run.

    signature.json       what goes in and comes out, and which file is what (below)
    function.jaxexport   the computation, by `jax.export` for tpu, cuda and cpu, for any number of instances at once
    weights.safetensors  what it was trained to, among them a vector for each product
    items.json           name of each product, by row, as a list; row 0 is "" and stands for what is not known
    users.json           name of each person, the same way
    checksums.json       {"files": {NAME: {"sha256": HEX, "bytes": N}}} of all others; written last, so without it the folder is not whole

`signature.json`:

    {"format": "accelform-model/1", "name": "recommender", "run_id": "...",
     "inputs":  [{"name": "user", "dtype": "int32", "shape": ["batch"], "vocabulary": "users.json", "default": ""},
                 {"name": "history", "dtype": "int32", "shape": ["batch", 8], "vocabulary": "items.json", "default": []},
                 {"name": "ad", "dtype": "int32", "shape": ["batch"], "default": 0}],
     "outputs": [{"name": "item", "dtype": "int32", "shape": ["batch", 50], "vocabulary": "items.json"},
                 {"name": "score", "dtype": "float32", "shape": ["batch", 50]},
                 {"name": "click", ...}, {"name": "purchase", ...}],
     "files": {"function": "function.jaxexport", "weights": "weights.safetensors"},
     "platforms": ["cpu", "cuda", "tpu"], "jax": "0.10.2",
     "example": {"instances": [{"user": "u1", "history": ["p3"], "ad": 0}], "predictions": [{"item": ["p3", ...], "score": [...], ...}]}}

To serve: `exported = jax.export.deserialize(function)`; `exported.call(weights, inputs)`, where *weights* is a dictionary of all arrays
of the weights file by name, and *inputs* one of arrays by name, all with the same first dimension, which is `batch`; the answer is a
dictionary of arrays by name. An input with a `vocabulary` takes names and gets their rows, 0 for a name that is not in the list; one of two
dimensions is filled up with 0 behind, and cut behind. An output with a `vocabulary` is rows, and is given as names.
`example` is an answer of the trained model itself: a server that gives another one to the same instances (beyond 1e-3) is not this model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "accelform-model/1"
PLATFORMS = ("cpu", "cuda", "tpu")
FUNCTION = "function.jaxexport"
WEIGHTS = "weights.safetensors"
SIGNATURE = "signature.json"


def write(
    target: Path,
    *,
    run_id: str,
    function: Any,
    weights: dict[str, Any],
    users: Sequence[str],
    items: Sequence[str],
    history: int,
    found: int,
) -> Any:
    """
    Writes all files but the checksums into *target*, and answers the exported function, read back from its file.

    Args:
        function: From weights by name and inputs by name to outputs by name.
        found: Products of an answer.
    """
    import jax
    import safetensors.numpy
    from jax import export

    (batch,) = export.symbolic_shape("batch")
    inputs = {"user": (batch,), "history": (batch, history), "ad": (batch,)}
    shapes = {name: jax.ShapeDtypeStruct(shape, np.int32) for name, shape in inputs.items()}
    held = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    specs = {name: jax.ShapeDtypeStruct(array.shape, array.dtype) for name, array in held.items()}
    content = export.export(jax.jit(function), platforms=PLATFORMS)(specs, shapes).serialize()
    (target / FUNCTION).write_bytes(content)
    safetensors.numpy.save_file(held, target / WEIGHTS)
    (target / "items.json").write_text(json.dumps(list(items)), encoding="utf-8")
    (target / "users.json").write_text(json.dumps(list(users)), encoding="utf-8")
    exported = export.deserialize(bytearray((target / FUNCTION).read_bytes()))
    signature = {
        "format": FORMAT,
        "name": "recommender",
        "run_id": run_id,
        "inputs": [
            {"name": "user", "dtype": "int32", "shape": ["batch"], "vocabulary": "users.json", "default": ""},
            {"name": "history", "dtype": "int32", "shape": ["batch", history], "vocabulary": "items.json", "default": []},
            {"name": "ad", "dtype": "int32", "shape": ["batch"], "default": 0},
        ],
        "outputs": [
            {"name": "item", "dtype": "int32", "shape": ["batch", found], "vocabulary": "items.json"},
            *({"name": name, "dtype": "float32", "shape": ["batch", found]} for name in ("score", "click", "purchase")),
        ],
        "files": {"function": FUNCTION, "weights": WEIGHTS},
        "platforms": list(PLATFORMS),
        "jax": jax.__version__,
        "example": _example(exported, held, users, items, history),
    }
    (target / SIGNATURE).write_text(json.dumps(signature, indent=1) + "\n", encoding="utf-8")
    return exported


def _example(exported: Any, weights: dict[str, Any], users: Sequence[str], items: Sequence[str], history: int) -> dict[str, Any]:
    """Two instances and what the model says to them: somebody known who clicked something, and nobody known."""
    user, clicked = min(1, len(users) - 1), min(1, len(items) - 1)
    inputs = {"user": np.array([user, 0], np.int32), "history": np.zeros((2, history), np.int32), "ad": np.array([0, 1], np.int32)}
    inputs["history"][0, 0] = clicked
    answer = {name: np.asarray(array) for name, array in exported.call(weights, inputs).items()}
    predictions = [
        {name: [items[row] for row in array[place]] if name == "item" else array[place].tolist() for name, array in answer.items()}
        for place in (0, 1)
    ]
    instances = [{"user": users[user], "history": [items[clicked]], "ad": 0}, {"user": "", "history": [], "ad": 1}]
    return {"instances": instances, "predictions": predictions}
