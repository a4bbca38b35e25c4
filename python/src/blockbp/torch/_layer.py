"""PairwiseCRF, the layer."""

from __future__ import annotations

import math
import os
from typing import Any

import torch
from torch import Tensor, nn

from . import _file
from ._field import LINEAR, Field, Messages, Value
from .._arrays import is_tuple
from ._graph import Graph, grid, listed, tensors

COUNTING = ("auto", "trw", "convex", "cover", "bethe")
# The potential of a state that a label rules out. −∞ would make differences of messages NaN.
FORBIDDEN = -1e4
# By how much messages may move after all sweeps of a step, in nats, where value and gradient want them settled.
FAR = 0.3


class PairwiseCRF(nn.Module):
    """A conditional random field over the nodes of graphs, behind a network that scores the states of each node.

    Parameters
    ----------
    states : int
        The number of states, or classes, K.
    edge_features : int
        The number of features of every edge; 0: edges have none, and share one table of weights.
    counting : str or (Tensor [nodes], Tensor [edges])
        Entropy counting numbers: "auto" is "trw", tree-reweighted, best in most uses; "convex", "cover", "bethe"; or
        those of the nodes and edges of the one graph that is used. docs/explanation/equations.md says what they are.
    directed : bool
        Whether edges lead from their first to the second end. Otherwise weights of states (a, b) and (b, a) are equal.
    device, dtype
        Of the weights: float32 or float64.

    Attributes
    ----------
    weight : Parameter [K, K, edge_features or 1]
        The weights of edges: [state of the first end, state of the second end, feature]. They begin at 0.

    Notes
    -----
    Arguments that several methods have:

    * unary [nodes, K]: the potentials of nodes, such as what a network gives. Potentials are logarithms.
    * graph: a Graph; an edge_index [2, edges]; or (rows, columns) of a grid of pixels, of one or more pictures of this
      size behind each other. A batch of graphs is their union: Graph.union, or as torch_geometric makes it.
    * edge_x [edges, edge_features], in the order of the edges; networks may give them too.
    * state [edges, 2, K]: messages to the first and the second ends to begin with, as forward returns them, or zeros or
      None for none. It belongs to the edges, in their order, so that states of instances can be stored one by one and
      joined by torch.cat. Where labels are hidden it is [edges, 4, K]: also those of the labels' own messages.
    * sweeps, tol, damp: how often all nodes are visited; the change of a message, in nats, at which that ends sooner;
      and how much of the old messages to keep, such as 0.5 where messages circle.
    """

    def __init__(
        self,
        states: int,
        edge_features: int = 0,
        counting: str | tuple[Tensor, Tensor] = "auto",
        directed: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if states < 2 or edge_features < 0:
            raise ValueError(f"states={states}, edge_features={edge_features}: want at least 2 states and 0 features")
        if isinstance(counting, str) and counting not in COUNTING:
            raise ValueError(f"counting={counting!r}: want {', '.join(COUNTING)}, or (c_s [nodes], c_e [edges])")
        self.states, self.edge_features, self.counting, self.directed = states, edge_features, counting, directed
        self.weight = nn.Parameter(torch.zeros(states, states, max(1, edge_features), device=device, dtype=dtype))

    def extra_repr(self) -> str:
        """Say what print shows of the layer."""
        counting = self.counting if isinstance(self.counting, str) else "given"
        return f"{self.states}, {self.edge_features}, counting={counting!r}, directed={self.directed}"

    def forward(
        self,
        unary: Tensor,
        graph: Graph | Tensor | tuple[int, int],
        edge_x: Tensor | None = None,
        labels: Tensor | None = None,
        state: Tensor | None = None,
        *,
        sweeps: int | None = None,
        tol: float = 0.03,
        damp: float = 0.0,
        block: Tensor | None = None,
        loss: str = "likelihood",
    ) -> tuple[Tensor, Tensor]:
        """Return the loss, a float64 scalar, and the state to go on from.

        The loss is the sum over all nodes, in nats: divide it by their number, so that one learning rate serves graphs
        of all sizes. Where the state is kept, a few sweeps a step are enough; a warning says where messages lag. With
        tol=0 all sweeps are done, and nothing is said: one is enough with "convex", and else with little momentum. With
        "likelihood" it is the variational bound on log Z less the score of the labels. Unless the counting numbers are
        "bethe" or given and negative it is at least what it is when messages have settled, at any messages; with hidden
        labels it bounds nothing until then. Its gradient is beliefs less labels.

        With loss="truncated" it is the sum of −log of the beliefs of the labels after all sweeps, by default 5, not 30,
        whatever tol is. Autograd goes through them, and keeps all. It is for a second stage, after one by likelihood.

        Parameters
        ----------
        labels : int Tensor [nodes]
            States from 0; −1 hides a label.
        block : bool Tensor [nodes], optional
            The nodes that the sweeps visit: block belief propagation, where each step settles another block. All
            messages elsewhere stay as they are in state, and all beliefs are read anew.
        """
        if loss not in ("likelihood", "truncated"):
            raise ValueError(f"loss={loss!r}: want 'likelihood' or 'truncated'")
        tensors(labels=labels, state=state, block=block)
        field = self._field(unary, graph, edge_x, through=loss == "truncated")
        sweeps = sweeps if sweeps is not None else 5 if loss == "truncated" else 30
        truth = self._labels(labels, field)
        hidden = bool((truth < 0).any()) and loss == "likelihood"
        free, clamped = self._begin(state, field, hidden)
        if loss == "truncated":
            free = field.settle(free, sweeps, 0.0, damp, block, 0.0)
            beliefs = torch.log_softmax(field.logits(free), 0)
            total = nn.functional.nll_loss(beliefs.T, truth, ignore_index=-1, reduction="sum")
            return _finite(total.double(), field), self._end(field, [free])
        by_edge, far = edge_x is not None and edge_x.requires_grad, math.inf if field.numbers.exact else FAR
        with torch.no_grad():
            free = field.settle(free, sweeps, tol, damp, block, far)
            plus, ends = field.value(free, by_edge), [free]
            if hidden:
                known = field.clamped(truth, FORBIDDEN)
                clamped = known.settle(clamped, sweeps, tol, damp, block, far)
                minus, ends = known.value(clamped, by_edge), [free, clamped]
            else:
                minus = self._scored(field, truth, by_edge)
        return self._difference(field, plus, minus), self._end(field, ends)

    def marginals(
        self,
        unary: Tensor,
        graph: Graph | Tensor | tuple[int, int],
        edge_x: Tensor | None = None,
        state: Tensor | None = None,
        *,
        sweeps: int = 100,
        tol: float = 1e-3,
        damp: float = 0.0,
    ) -> Tensor:
        """Return the beliefs of the nodes, [nodes, K], with a warning where messages have not settled."""
        with torch.no_grad():
            field, messages = self._settled(unary, graph, edge_x, state, sweeps=sweeps, tol=tol, damp=damp)
            return _finite(torch.softmax(field.logits(messages), 0).T.contiguous(), field)

    def decode(self, *arguments: Any, **options: Any) -> Tensor:
        """Return the most likely state of every node, each by itself: [nodes]. The arguments are those of marginals."""
        return self.marginals(*arguments, **options).argmax(-1)

    def log_partition_bound(self, *arguments: Any, **options: Any) -> Tensor:
        """Return an upper bound of log Z, a float64 scalar, of all graphs together: exact on trees once settled.

        With "bethe", or given numbers, it is an approximation, and no bound. The arguments are those of marginals.
        """
        with torch.no_grad():
            field, messages = self._settled(*arguments, **options)
            return _finite(field.value(messages, False).value, field)

    def to_blockbp(self, path: str | os.PathLike[str], head: nn.Linear | nn.Conv2d | None = None) -> None:
        """Write a model file for the command and the estimators of blockbp.

        Its node features are the inputs of head, the last layer of the network, linear or a convolution of 1 × 1, and
        a last one that is 1 if head has a bias; without head they are the unary potentials. ``predict`` takes them.
        """
        _file.write(path, self, head)

    @classmethod
    def from_blockbp(cls, path: str | os.PathLike[str], dtype: torch.dtype = torch.float64) -> tuple[PairwiseCRF, nn.Linear]:
        """Read a model file, and return the layer and the linear layer that makes its unary potentials of features."""
        options, weight, node = _file.read(path)
        crf = cls(**options, dtype=dtype)
        head = nn.Linear(node.shape[1], node.shape[0], bias=False, dtype=dtype)
        with torch.no_grad():
            crf.weight.copy_(weight)
            head.weight.copy_(node)
        return crf, head

    def symmetric(self) -> Tensor:
        """Return the weights as potentials have them: of edges without direction, the mean of both ways round."""
        return self.weight if self.directed else (self.weight + self.weight.transpose(0, 1)) / 2

    def _field(self, unary: Tensor, graph: Any, edge_x: Tensor | None, through: bool = False) -> Field:
        """Check the arguments against each other, and bring edges into the order of colours."""
        tensors(unary=unary, edge_x=edge_x)
        if unary.ndim != 2 or unary.shape[1] != self.states:
            fix = "; of [N, K, rows, columns] give unary.movedim(1, -1).reshape(-1, K)" if unary.ndim == 4 else ""
            raise ValueError(f"unary has the shape {list(unary.shape)}, want [nodes, {self.states}]{fix}")
        if unary.dtype not in LINEAR or unary.dtype != self.weight.dtype:
            raise ValueError(f"unary is {unary.dtype}, and the weights are {self.weight.dtype}: want both float32, by "
                             "unary.float() and crf.float(), or both in float64")
        graph = self._graph(unary, graph)
        wanted = (graph.edges, self.edge_features)
        if edge_x is None and self.edge_features:
            raise ValueError(f"edge_x is missing: want {list(wanted)}, or PairwiseCRF({self.states}) without features")
        if edge_x is not None and (edge_x.shape != wanted or not self.edge_features):
            raise ValueError(f"edge_x has the shape {list(edge_x.shape)}, want "
                             + (f"{list(wanted)}, a row for each edge" if self.edge_features else "None: edge_features is 0"))
        numbers = graph.numbers("trw" if self.counting == "auto" else self.counting, unary.dtype)
        x = None if edge_x is None else edge_x.to(unary.dtype).index_select(0, graph.order)
        return Field(graph, numbers, unary.T.contiguous(), self.symmetric(), x, through)

    def _graph(self, unary: Tensor, graph: Any) -> Graph:
        if is_tuple(graph):
            if len(graph) != 2 or min(graph) < 1:
                raise ValueError(f"graph={tuple(graph)}, want (rows, columns), at least 1, of all pictures")
            pictures, rest = divmod(len(unary), graph[0] * graph[1])
            if rest or not pictures:
                raise ValueError(f"unary has {len(unary)} rows, want a multiple of {graph[0]}·{graph[1]}, of a grid")
            graph = grid(*graph, pictures, unary.device)
        if isinstance(graph, Tensor):
            graph = Graph(len(unary), graph)
        if not isinstance(graph, Graph):
            raise ValueError(f"graph is {type(graph).__name__}, want a Graph, edge_index [2, edges] or (rows, columns)")
        if graph.nodes != len(unary):
            raise ValueError(f"unary has {len(unary)} rows, want {graph.nodes}, one for each node of the graph")
        if graph.edge_index.device != unary.device:
            raise ValueError(f"the graph is on {graph.edge_index.device}, unary on {unary.device}: give graph.to(unary.device)")
        return graph

    def _labels(self, labels: Tensor | None, field: Field) -> Tensor:
        nodes = field.graph.nodes
        if labels is None or labels.shape != (nodes,) or labels.is_floating_point():
            got = "missing" if labels is None else f"{labels.dtype} of shape {list(labels.shape)}"
            raise ValueError(f"labels are {got}, want integers of shape [{nodes}]; of pictures give labels.reshape(-1)")
        if len(wrong := ((labels < -1) | (labels >= self.states)).nonzero()):
            at = int(wrong[0])
            raise ValueError(f"labels[{at}] is {int(labels[at])}, want a state from 0 to {self.states - 1}, or -1 to hide it")
        return labels.long()

    def _begin(self, state: Tensor | None, field: Field, hidden: bool) -> tuple[Messages, Messages]:
        """Return the messages of a state, free ones and those with labels clamped, for each slice of edges."""
        g, k = field.graph, self.states
        kept = field.unary.new_zeros(g.edges, 4, k) if state is None else state
        if kept.shape not in ((g.edges, 2, k), (g.edges, 4, k)):
            raise ValueError(f"state has the shape {list(kept.shape)}, want [{g.edges}, 2, {k}], as forward returns it")
        if hidden and kept.shape[1] == 2:
            kept = torch.cat([kept, torch.zeros_like(kept)], 1)
        sets = kept.detach().to(field.unary).index_select(0, g.order).movedim(0, -1)
        free, clamped = ([[sets[i][:, part], sets[i + 1][:, part]] for part in g.slices if len(sets) > i] for i in (0, 2))
        return free, clamped if hidden else []

    def _end(self, field: Field, ends: list[Messages]) -> Tensor:
        """Return messages as a state."""
        g = field.graph
        kept = field.unary.new_empty(g.edges, 2 * len(ends), self.states)
        for i, messages in enumerate(ends):
            for part, pair in zip(g.slices, messages):
                for end in (0, 1):
                    kept[part, 2 * i + end] = pair[end].detach().T
        return kept.index_select(0, g.inverse)

    def _settled(
        self, unary: Tensor, graph: Any, edge_x: Tensor | None = None, state: Tensor | None = None,
        *, sweeps: int = 100, tol: float = 1e-3, damp: float = 0.0,
    ) -> tuple[Field, Messages]:
        tensors(state=state)
        field = self._field(unary, graph, edge_x)
        return field, field.settle(self._begin(state, field, False)[0], sweeps, tol, damp, None, tol)

    def _scored(self, field: Field, labels: Tensor, by_edge: bool) -> Value:
        """Return the score of labels that are all known, and its derivatives."""
        node = torch.zeros_like(field.unary).scatter_(0, labels[None], 1)
        pair, k = labels[field.graph.ends[0]] * self.states + labels[field.graph.ends[1]], self.states
        x = node.new_ones(len(pair), 1) if field.edge_x is None else field.edge_x
        weight = node.new_zeros(k * k, x.shape[1]).index_add(0, pair, x).reshape(field.weight.shape)
        score = (node * field.unary).sum(dtype=torch.float64) + (weight.double() * field.weight.double()).sum()
        return Value(score, node, weight, field.weight.reshape(k * k, -1)[pair] if by_edge else None)

    def _difference(self, field: Field, plus: Value, minus: Value) -> Tensor:
        """Return a difference of free energies, with the differences of their derivatives as its gradient."""
        loss = _finite(plus.value - minus.value, field)
        pairs = [(field.unary, plus.node - minus.node), (field.weight, plus.weight - minus.weight)]
        if plus.edge is not None and minus.edge is not None and field.edge_x is not None:
            pairs.append((field.edge_x, plus.edge - minus.edge))
        for x, gradient in pairs:
            if x.requires_grad:
                linear = (x * gradient).sum()
                loss = loss + (linear - linear.detach())
        return loss


def _finite(result: Tensor, field: Field) -> Tensor:
    """Return a result, or say which input makes it not finite."""
    if bool(torch.isfinite(result).all()):
        return result
    edge_x = None if field.edge_x is None else field.edge_x[field.graph.inverse]
    for name, x in (("unary", field.unary.T), ("weight", field.weight), ("edge_x", edge_x)):
        if x is not None and len(wrong := (~torch.isfinite(x)).nonzero()):
            at = listed(wrong[0])
            forbidden = f"; for a forbidden state give {FORBIDDEN:g}" if name == "unary" else ""
            raise ValueError(f"{name}{at} is {float(x[tuple(at)].detach())}, want a finite number{forbidden}")
    raise ValueError("the result is not finite, its inputs are: state is damaged, or potentials are beyond the dtype")
