"""Reads what a training leaves: the model, and how it went."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import is_mapping
from ._run import BlockbpError, Folder, ModelError, run

MODEL = "model.safetensors"


def read(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a model file in which the binary has found nothing wrong.

    So the checksum and all else is verified by what writes such files, and not here again.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise ModelError(f"{os.fspath(path)!r} is no regular file: want a model")
    data = Path(path).read_bytes()
    with Folder(len(data)) as folder:
        Path(folder / MODEL).write_bytes(data)
        try:
            run(["check", MODEL], folder, says=lambda part: repr(os.fspath(path)) if "at" in part else part["text"])
        except ValueError as err:
            raise ModelError(str(err)) from err
    return data


@contextlib.contextmanager
def failures(path: str | os.PathLike[str]) -> Generator[None]:
    """Make every failure but to open the file a BlockbpError: a sound one may hold anything, such as another class."""
    try:
        yield
    except (BlockbpError, OSError):
        raise
    except Exception as err:
        raise ModelError(f"{os.fspath(path)!r} holds no model that this class can use: {err!r}") from err


class Model:
    """A sound model file in memory.

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
    counting : str
        The rule of its counting numbers.
    edges : str
        "none" of models of nodes alone, "balanced" where potentials of edges go by degrees, too; else empty.
    """

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        meta = header.pop("__metadata__")
        self.schema: dict[str, Any] = json.loads(meta["schema"])
        self.recipe: dict[str, Any] = json.loads(meta["recipe"])
        self.status = str(json.loads(meta.get("training", "{}")).get("status", ""))
        self.about = _about(self.recipe.get("about", ""))
        self.counting = str(meta.get("counting", ""))
        self.edges = str(meta.get("edges", ""))
        self.weights: dict[str, NDArray[np.float64]] = {}
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            values = np.frombuffer(data[8 + size + begin : 8 + size + end], "<f8")
            self.weights[name] = values.reshape(tensor["shape"]).copy()

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
        about: Any = json.loads(text)
    except ValueError:
        return {}  # somebody else's
    return dict(about) if is_mapping(about) else {}
