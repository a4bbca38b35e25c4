"""A layer of PyTorch that learns a network and a conditional random field together.

The network gives every node a score for each state, and the layer adds what edges say. Its loss is the convex
variational likelihood, whose gradient is belief minus label: no backward pass goes through message passing. A few
sweeps a step are enough, as the messages are kept from one epoch to the next.

>>> import torch
>>> from blockbp.torch import Graph, PairwiseCRF
>>> torch.manual_seed(0) and None
>>> labels = (torch.arange(12) // 4 + torch.arange(12)[:, None] // 6) % 2     # a picture [12, 12] of 2 classes
>>> picture = labels[..., None] + 0.7 * torch.randn(12, 12, 1)
>>> network, crf = torch.nn.Linear(1, 2), PairwiseCRF(2)
>>> optimizer = torch.optim.Adam([*network.parameters(), *crf.parameters()], 0.1)
>>> state = None
>>> for step in range(50):
...     unary = network(picture).reshape(-1, 2)                               # [nodes, states]
...     loss, state = crf(unary, (12, 12), labels=labels.reshape(-1), state=state)
...     optimizer.zero_grad()
...     (loss / labels.numel()).backward()
...     optimizer.step()
>>> found = crf.decode(network(picture).reshape(-1, 2), (12, 12)).reshape(12, 12)
>>> alone = network(picture).argmax(-1)
>>> bool((found == labels).sum() > (alone == labels).sum())
True
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ModuleNotFoundError("blockbp.torch needs PyTorch, which is not installed: pip install torch", name="torch")

from ._graph import Graph
from ._layer import PairwiseCRF

__all__ = ["Graph", "PairwiseCRF"]
