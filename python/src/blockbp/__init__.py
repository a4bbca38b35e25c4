"""Conditional and Markov random fields on any graph, learned by block belief propagation."""

from __future__ import annotations

from typing import Any

from ._chain import ChainCRF
from ._graph import Graph, GraphCRF
from ._grid import GridCRF
from ._run import BlockbpError, BlockbpWarning, ConvergenceWarning, binary

__all__ = ["BlockbpError", "BlockbpWarning", "ChainCRF", "ConvergenceWarning", "Graph", "GraphCRF", "GridCRF", "binary"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._run import version

        return version()
    raise AttributeError(f"module 'blockbp' has no attribute {name!r}")
