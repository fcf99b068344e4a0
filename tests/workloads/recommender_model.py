"""The smallest model that training could have exported: vectors that are written down, so that answers can be told by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from workloads.files import Folder
from workloads.recommender import export

ITEMS = ("", "shoe", "sock", "kettle", "cup", "spoon")
USERS = ("", "ann", "bob")
FOUND = 4


def answer(weights: Any, inputs: Any) -> dict[str, Any]:
    """Likes what the person likes, and a little what they clicked last."""
    import jax
    import jax.numpy as jnp

    person = weights["person"][inputs["user"]] + 0.1 * weights["product"][inputs["history"][:, 0]]
    scores = person @ weights["product"].T
    score, item = jax.lax.top_k(scores.at[:, 0].set(-1e9), FOUND)
    click = jax.nn.sigmoid(score - 0.5 * inputs["ad"][:, None].astype(jnp.float32))
    return {"item": item.astype(jnp.int32), "score": score, "click": click, "purchase": click * 0.1}


def write(folder: Path, run_id: str = "20261201T180000Z") -> Path:
    """Exports it as training does, whole."""
    source = folder / "exported"
    source.mkdir()
    weights = {
        "product": np.array([[0, 0], [1.0, 0], [0.9, 0], [0, 1.0], [0, 0.9], [0, 0.8]], np.float32),
        "person": np.array([[0.1, 0], [1.0, 0.2], [0.2, 1.0]], np.float32),
    }
    export.write(source, run_id=run_id, function=answer, weights=weights, users=USERS, items=ITEMS, history=8, found=FOUND)
    Folder(str(folder / "model")).upload(source)
    return folder / "model"
