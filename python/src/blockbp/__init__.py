"""Conditional and Markov random fields on any graph, learned by block belief propagation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _run

if TYPE_CHECKING:
    from ._chain import ChainCRF as ChainCRF
    from ._graph import Graph as Graph, GraphCRF as GraphCRF
    from ._grid import GridCRF as GridCRF
    from ._network import Inference as Inference, Network as Network, Samples as Samples, infer as infer, sample as sample
    from ._nodes import NodeCRF as NodeCRF
    from ._run import BlockbpError as BlockbpError, BlockbpWarning as BlockbpWarning
    from ._run import ConvergenceWarning as ConvergenceWarning, binary as binary
    from ._sklearn import scorer as scorer
    from ._spins import IsingModel as IsingModel, PottsModel as PottsModel

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
if not TYPE_CHECKING:  # which sees the names above
    __all__ = sorted(name for names in _PARTS.values() for name in names)


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
    return [*(name for names in _PARTS.values() for name in names), "__version__"]
