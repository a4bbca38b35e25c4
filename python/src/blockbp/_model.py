"""Reads what a training leaves: the model, and how it went."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Model:
    """A model file in memory.

    Attributes
    ----------
    schema : dict
        Types, states and features; see the model files of docs/reference/formats.md.
    weights : dict of str to float64 ndarray
        ``node.TYPE`` [states, features] and ``edge.TYPE`` [states, states, features].
    status : str
        How the training ended; empty where the file does not say.
    about : dict
        What the estimator said of itself; empty of a model that the command has learned.
    """

    def __init__(self, data: bytes) -> None:
        try:
            size = int.from_bytes(data[:8], "little")
            header = json.loads(data[8 : 8 + size])
            meta = header.pop("__metadata__")
            if meta["format"] != "blockbp-model":
                raise KeyError("format")
            self.schema: dict[str, Any] = json.loads(meta["schema"])
            self.recipe: dict[str, Any] = json.loads(meta["recipe"])
            self.status: str = json.loads(meta.get("training", "{}")).get("status", "")
            self.about = _about(self.recipe.get("about", ""))
            self.weights: dict[str, NDArray[np.float64]] = {}
            for name, tensor in header.items():
                begin, end = tensor["data_offsets"]
                values = np.frombuffer(data[8 + size + begin : 8 + size + end], "<f8")
                self.weights[name] = values.reshape(tensor["shape"]).copy()
        except (KeyError, ValueError, TypeError) as err:
            raise ValueError(f"this is no model of blockbp: {err!r}") from err

    def states(self) -> list[str]:
        """Return the names of the states of the first type of nodes."""
        return list(self.schema["node_types"][0]["states"])

    def features(self, side: str, number: int = 0) -> list[str]:
        """Return the names of the features of a type of nodes or edges."""
        types = self.schema[side + "_types"]
        if not types:
            return []
        names = types[number].get("feature_names")
        return list(names) if names else [str(k) for k in range(types[number].get("features", 0))]

    def coefficients(self) -> dict[str, NDArray[np.float64]]:
        """Return the weights by short names: ``node`` and ``edge`` of single types."""
        names = {"node.node": "node", "edge.edge": "edge"}
        return {names.get(k, k): v for k, v in self.weights.items() if not k.startswith("counting.")}


def _about(text: str) -> dict[str, Any]:
    try:
        about = json.loads(text)
    except ValueError:
        return {}  # somebody else's
    return about if isinstance(about, dict) else {}
