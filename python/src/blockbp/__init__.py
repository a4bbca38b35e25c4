"""Conditional and Markov random fields on any graph, learned by block belief propagation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _run

if TYPE_CHECKING:
    from ._chain import ChainCRF
    from ._graph import Graph, GraphCRF
    from ._grid import GridCRF
    from ._network import Inference, Network, Samples, infer, sample
    from ._nodes import NodeCRF
    from ._run import BlockbpError, BlockbpWarning, ConvergenceWarning, binary
    from ._sklearn import scorer
    from ._spins import IsingModel, PottsModel

__all__ = [
    "BlockbpError",
    "BlockbpWarning",
    "ChainCRF",
    "ConvergenceWarning",
    "Graph",
    "GraphCRF",
    "GridCRF",
    "Inference",
    "IsingModel",
    "Network",
    "NodeCRF",
    "PottsModel",
    "Samples",
    "binary",
    "infer",
    "sample",
    "scorer",
]

# Where what is public stands. A part is imported when it is first asked for.
_PARTS = {
    "_chain": ("ChainCRF",),
    "_graph": ("Graph", "GraphCRF"),
    "_grid": ("GridCRF",),
    "_network": ("Inference", "Network", "Samples", "infer", "sample"),
    "_nodes": ("NodeCRF",),
    "_run": ("BlockbpError", "BlockbpWarning", "ConvergenceWarning", "binary"),
    "_sklearn": ("scorer",),
    "_spins": ("IsingModel", "PottsModel"),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        return _run.version()
    for part, names in _PARTS.items():
        if name in names:
            value = globals()[name] = getattr(import_module("." + part, __name__), name)
            return value
    raise AttributeError(f"module 'blockbp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
