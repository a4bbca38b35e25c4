"""Conditional and Markov random fields on any graph, learned by block belief propagation."""

from __future__ import annotations

from typing import Any

from ._chain import ChainCRF
from ._graph import Graph, GraphCRF
from ._grid import GridCRF
from ._network import Inference, Network, Samples, infer, sample
from ._run import BlockbpError, BlockbpWarning, ConvergenceWarning, binary
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
    "PottsModel",
    "Samples",
    "binary",
    "infer",
    "sample",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._run import version

        return version()
    raise AttributeError(f"module 'blockbp' has no attribute {name!r}")
