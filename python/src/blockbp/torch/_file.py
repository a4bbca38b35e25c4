"""Model files of the layer."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .. import _model
from .._run import ModelError

if TYPE_CHECKING:
    from ._layer import PairwiseCRF

# The checksum stands in the file as eight digits, and is computed with zeros in their place.
CHECKSUM = "crc32c:00000000"


def write(path: str | os.PathLike[str], crf: PairwiseCRF, head: nn.Linear | nn.Conv2d | None) -> None:
    """Write the weights of a layer, and of the linear layer in front of it."""
    k = crf.states
    if head is not None and head.weight[0].numel() != head.weight.shape[1]:
        raise ValueError(f"head has the kernel {list(head.weight.shape[2:])}, want a linear layer, or a kernel [1, 1]")
    node = torch.eye(k) if head is None else head.weight.flatten(1)
    if node.shape[0] != k:
        raise ValueError(f"head gives {node.shape[0]} scores, want {k}, one for each state")
    names = [str(j) for j in range(node.shape[1])]
    bias: Tensor | None = getattr(head, "bias", None)
    if bias is not None:
        node, names = torch.cat([node, bias[:, None]], 1), [*names, "bias"]
    edges: dict[str, Any] = {"name": "edge", "u": 0, "v": 0, "features": max(1, crf.edge_features)}
    if not crf.edge_features:
        edges["feature_names"] = ["constant"]
    if not crf.directed:
        edges["symmetric"] = True
    nodes = {"name": "node", "states": [str(j) for j in range(k)], "features": len(names), "feature_names": names}
    form = "dense" if crf.edge_features else "constant"
    tensors = {"node.node": node, "edge.edge": crf.symmetric()}
    if isinstance(crf.counting, str):
        counting = "trw" if crf.counting == "auto" else crf.counting
    else:
        counting = "numbers"
        tensors["counting.node"], tensors["counting.edge"] = crf.counting
    meta = {
        "checksum": CHECKSUM,
        "counting": counting,
        "format": "blockbp-model",
        "format_version": "3",
        "recipe": json.dumps({"kind": "npz", "node_form": "dense", "edge_form": form}),
        "schema": json.dumps({"node_types": [nodes], "edge_types": [edges]}),
        "seed": "1",
    }
    Path(path).write_bytes(_sealed(meta, tensors))


def _sealed(meta: dict[str, str], tensors: dict[str, Tensor]) -> bytes:
    """Return a safetensors file of float64, with its checksum."""
    header: dict[str, Any] = {"__metadata__": meta}
    data = b""
    for name in sorted(tensors):
        values = tensors[name].detach().cpu().double().numpy().astype("<f8")
        begin, data = len(data), data + values.tobytes()
        header[name] = {"dtype": "F64", "shape": list(values.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    whole = len(text).to_bytes(8, "little") + text + data
    return whole.replace(CHECKSUM.encode(), f"crc32c:{_crc32c(whole):08x}".encode(), 1)


def _crc32c(data: bytes) -> int:
    """Return the checksum of Castagnoli, bit-reflected."""
    crc = 0xFFFFFFFF
    table: list[int] = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (0x82F63B78 if entry & 1 else 0)
        table.append(entry)
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensor, Tensor]:
    """Return the options of a layer, its weights [K, K, features], and those of nodes [K, features]."""
    with _model.failures(path):
        model = _model.Model(_model.read(path))
        nodes, edges = model.schema["node_types"], model.schema["edge_types"]
        if model.edges:
            raise ModelError(f"{os.fspath(path)!r} was trained with edges={model.edges!r}, which the layer has not")
        if len(nodes) != 1 or len(edges) != 1 or any(t.get("copies") or t.get("forbidden") for t in (*nodes, *edges)):
            raise ModelError(f"{os.fspath(path)!r} has several types, weights of its own for each node, or forbidden states, "
                             "which this layer does not have")
        if model.counting == "near-bethe":
            raise ModelError(f"{os.fspath(path)!r} has counting numbers near-bethe, which this layer has not: use trw")
        weights = {name: torch.as_tensor(values) for name, values in model.weights.items()}
        numbers = tuple(weights[name] for name in ("counting.node", "counting.edge") if name in weights)
        constant = model.recipe.get("edge_form") == "constant"
        options = {
            "states": len(nodes[0]["states"]),
            "edge_features": 0 if constant else edges[0]["features"],
            "counting": numbers or model.counting,
            "directed": not edges[0].get("symmetric", False),
        }
        return options, weights["edge." + edges[0]["name"]], weights["node." + nodes[0]["name"]]
