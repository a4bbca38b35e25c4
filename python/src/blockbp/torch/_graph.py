"""Graphs with their edges sorted by colours, and their counting numbers."""

from __future__ import annotations

import functools
import heapq
import itertools
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

# How many spanning forests tree-reweighted numbers average at least, as in the engine.
FORESTS = 16

Counts = tuple[Tensor, Tensor, Tensor]


class Numbers(NamedTuple):
    """Entropy counting numbers, edges sorted by colours. A last axis of 1 stands for all edges.

    The names are those of docs/explanation/equations.md. The shares c_{s,e} write the entropies as a sum of concave
    terms, where c_s is negative: of each edge and its ends.
    """

    node: Tensor  # [1, nodes] c_s
    edge: Tensor  # [1, edges or 1] c_e
    rho: Tensor  # [1, nodes] c_s plus the sum of the c_e of its edges, equation (3)
    share: Tensor  # [2, edges or 1] c_{s,e} of the two ends
    split: Tensor  # [1, nodes] c_s plus the sum of the c_{s,e} of its edges
    exact: bool  # no c_s is below 1, and so there are no shares


class Colour(NamedTuple):
    """Nodes without a common edge, which are visited at once, and the ends of edges that meet them."""

    nodes: Tensor  # [nodes of the colour]
    ends: list[tuple[int, int, Tensor]]  # number of the slice, end (0 or 1), rows of the ends in nodes


class Graph:
    """A graph that is ready for sweeps. Make it once and use it again.

    Parameters
    ----------
    nodes : int
        The number of nodes.
    edge_index : int tensor [2, edges]
        First and second ends of the edges, each edge once, as in torch_geometric.

    Attributes
    ----------
    edge_index : Tensor [2, edges]
        The edges in the order in which edge features and states have them.
    """

    def __init__(self, nodes: int, edge_index: Tensor) -> None:
        _check(nodes, edge_index)
        self._set(nodes, edge_index.long(), _colours(nodes, listed(edge_index)).to(edge_index.device))

    def _set(self, nodes: int, edge_index: Tensor, colour: Tensor) -> None:
        self.nodes, self.edge_index, self._colour = nodes, edge_index, colour
        self._parts: list[Graph] = []
        self._uniform: float | None = None  # the tree-reweighted number of every edge, where it is known
        self._counts: dict[str, Counts] = {}
        self._numbers: dict[tuple[str, torch.dtype], Numbers] = {}
        colours = int(colour.max()) + 1 if nodes else 0
        pair = colour[edge_index]
        self.order = torch.argsort(pair[0] * colours + pair[1], stable=True)
        self.inverse = torch.argsort(self.order)
        self.ends = edge_index[:, self.order]
        self.slices: list[slice] = []
        row = torch.empty_like(colour)
        self.colours: list[Colour] = []
        for c in range(colours):
            members = (colour == c).nonzero()[:, 0]
            row[members] = torch.arange(len(members), device=colour.device)
            self.colours.append(Colour(members, []))
        keys, sizes = np.unique((pair[0] * colours + pair[1]).cpu().numpy(), return_counts=True)
        begin = 0
        for number, (key, size) in enumerate(zip(keys.tolist(), sizes.tolist())):
            self.slices.append(slice(begin, begin + size))
            for end, c in enumerate(divmod(int(key), colours)):
                self.colours[c].ends.append((number, end, row[self.ends[end, begin : begin + size]]))
            begin += size

    @property
    def edges(self) -> int:
        """The number of edges."""
        return self.edge_index.shape[1]

    @classmethod
    def grid(cls, rows: int, columns: int, pictures: int = 1, device: torch.device | str = "cpu") -> Graph:
        """Return pictures whose pixels have their neighbours above, below, left and right.

        Pixels are numbered row by row, and picture after picture. The edges of a picture are those to the right, row by
        row, and then those down.
        """
        graph = cls.__new__(cls)
        pixel = torch.arange(pictures * rows * columns, device=device).reshape(pictures, rows, columns)
        right = torch.stack([pixel[:, :, :-1], pixel[:, :, 1:]]).reshape(2, pictures, -1)
        down = torch.stack([pixel[:, :-1], pixel[:, 1:]]).reshape(2, pictures, -1)
        at = torch.arange(rows * columns, device=device)
        colour = ((at // columns + at % columns) % 2).repeat(pictures)
        graph._set(pixel.numel(), torch.cat([right, down], 2).reshape(2, -1), colour)
        # Half of each edge at either end is at most 1 at a pixel, so that this splits; rows alone are trees.
        graph._uniform = 0.5 if min(rows, columns) > 1 else 1.0
        return graph

    @classmethod
    def union(cls, graphs: Sequence[Graph]) -> Graph:
        """Return graphs beside each other, as a batch; nodes, edges and states follow in their order.

        What was worked out for the graphs is used again.
        """
        graph = cls.__new__(cls)
        offsets = list(itertools.accumulate((g.nodes for g in graphs), initial=0))
        index = torch.cat([g.edge_index + at for g, at in zip(graphs, offsets)], 1)
        graph._set(offsets[-1], index, torch.cat([g._colour for g in graphs]))
        graph._parts = list(graphs)
        return graph

    def to(self, device: torch.device | str) -> Graph:
        """Return the graph with its tensors on a device."""
        if self.edge_index.device == torch.device(device):
            return self
        graph = Graph.__new__(Graph)
        graph._set(self.nodes, self.edge_index.to(device), self._colour.to(device))
        graph._parts, graph._uniform = [g.to(device) for g in self._parts], self._uniform
        graph._counts = {name: (c[0].to(device), c[1].to(device), c[2].to(device)) for name, c in self._counts.items()}
        return graph

    def numbers(self, counting: str | tuple[Tensor, Tensor], dtype: torch.dtype) -> Numbers:
        """Return counting numbers: of a rule by name, or (c_s [nodes], c_e [edges])."""
        if not isinstance(counting, str):
            return self._sorted(self._given(*counting), dtype)
        if (counting, dtype) not in self._numbers:
            self._numbers[counting, dtype] = self._sorted(self.counts(counting), dtype)
        return self._numbers[counting, dtype]

    def counts(self, rule: str) -> Counts:
        """Return c_s [nodes], c_e [edges] and the shares [edges, 2] of a rule, in float64 and the caller's order."""
        if rule not in self._counts:
            self._counts[rule] = self._count(rule)
        return self._counts[rule]

    def _count(self, rule: str) -> Counts:
        if self._parts:
            counts = [g.counts(rule) for g in self._parts]
            return torch.cat([c[0] for c in counts]), torch.cat([c[1] for c in counts]), torch.cat([c[2] for c in counts])
        ones = torch.ones(self.edges, dtype=torch.float64, device=self.edge_index.device)
        if rule == "convex":
            return ones.new_ones(self.nodes), ones, ones.new_zeros(self.edges, 2)
        if rule == "cover":
            degree = self._sums(ones, ones)
            edge = 1 / torch.maximum(*degree[self.edge_index])
            return (1 - self._sums(edge, edge)).clamp_min(0), edge, ones.new_zeros(self.edges, 2)
        if rule == "bethe":
            return self._given(1 - self._sums(ones, ones), ones)
        if self._uniform == 0.5:
            share = ones[:, None] / 4
            edge = ones / 2
            return 1 - self._sums(edge, edge), edge, share.expand(-1, 2)
        share = _forests(self.nodes, listed(self.edge_index)).to(ones.device)
        return 1 - self._sums(share.sum(1), share.sum(1)), share.sum(1), share

    def _given(self, node: Tensor, edge: Tensor) -> Counts:
        """Numbers without a split: where some c_s is negative, the value is right once messages have settled."""
        for name, x, size in (("c_s", node, self.nodes), ("c_e", edge, self.edges)):
            if x.shape != (size,):
                what = "nodes" if name == "c_s" else "edges"
                raise ValueError(f"counting: {name} has the shape {list(x.shape)}, want [{size}], {what} of this graph")
        node, edge = node.double().to(self.edge_index.device), edge.double().to(self.edge_index.device)
        rho = node + self._sums(edge, edge)
        for name, x in (("c_e of edge", edge), ("c_s, and the c_e of its edges, of node", rho)):
            if len(wrong := (~(x > 0)).nonzero()):
                raise ValueError(f"counting: {name} {int(wrong[0])} is {float(x[wrong[0]])}, want a positive number")
        return node, edge, edge[:, None].expand(-1, 2) * bool((node < 0).any())

    def _sums(self, first: Tensor, second: Tensor) -> Tensor:
        """Sum numbers of edges at their first and at their second ends: [nodes]."""
        total = first.new_zeros(self.nodes)
        return total.index_add(0, self.edge_index[0], first).index_add(0, self.edge_index[1], second)

    def _sorted(self, counts: Counts, dtype: torch.dtype) -> Numbers:
        node, edge, share = counts
        rho = node + self._sums(edge, edge)
        split = (node + self._sums(share[:, 0], share[:, 1])).clamp_min(0)
        if self.edges and bool((edge == edge[0]).all()):
            edge, share = edge[:1], share[:1] if bool((share == share[0]).all()) else share[self.order]
        else:
            edge, share = edge[self.order], share[self.order]
        exact = bool((node >= 1).all())
        node, edge, rho, share, split = (x.to(dtype) for x in (node[None], edge[None], rho[None], share.T, split[None]))
        return Numbers(node, edge, rho, share, split, exact)


@functools.lru_cache(16)
def grid(rows: int, columns: int, pictures: int, device: torch.device) -> Graph:
    """Return Graph.grid, the same one for the same sizes."""
    return Graph.grid(rows, columns, pictures, device)


def listed(x: Tensor) -> list[Any]:
    """Return the numbers of a tensor; its own tolist does not say what it returns."""
    return list(x.detach().cpu().numpy().tolist())


def tensors(**given: Any) -> None:
    """Refuse arguments that are no tensors, such as arrays of NumPy."""
    for name, x in given.items():
        if x is not None and not isinstance(x, Tensor):
            raise ValueError(f"{name} is {type(x).__name__}, want a tensor")


def _check(nodes: int, edge_index: Tensor) -> None:
    tensors(edge_index=edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or edge_index.is_floating_point():
        raise ValueError(
            f"edge_index is {edge_index.dtype} of shape {list(edge_index.shape)}, want integers of shape [2, edges]; "
            "of rows of pairs give pairs.T"
        )
    outside = ((edge_index < 0) | (edge_index >= nodes)).any(0)
    low, high = edge_index.amin(0), edge_index.amax(0)
    key = low * nodes + high
    order = torch.argsort(key, stable=True)
    again = torch.zeros_like(outside)
    again[order[1:]] = key[order[1:]] == key[order[:-1]]
    for wrong, why in (
        (outside, f"has an end that is no node: nodes are 0 to {nodes - 1}"),
        (low == high, "joins a node with itself: leave it out"),
        (again, "is there before, perhaps the other way round: give each edge once, as by "
         "edge_index[:, edge_index[0] < edge_index[1]]"),
    ):
        if bool(wrong.any()):
            e = int(wrong.nonzero()[0])
            raise ValueError(f"edge_index[:, {e}] = {listed(edge_index[:, e])} {why}")


def _neighbours(nodes: int, edge_index: list[list[int]]) -> list[list[tuple[int, int, int]]]:
    """List for each node (edge, its end there, the node at its other end)."""
    near: list[list[tuple[int, int, int]]] = [[] for _ in range(nodes)]
    for e, (u, v) in enumerate(zip(edge_index[0], edge_index[1])):
        near[u].append((e, 0, v))
        near[v].append((e, 1, u))
    return near


def _colours(nodes: int, edge_index: list[list[int]]) -> Tensor:
    """Colour the nodes, neighbours differently; breadth first, so that two colours do where two can."""
    near = _neighbours(nodes, edge_index)
    colour = [-1] * nodes
    for root in range(nodes):
        queue = [root]
        for s in queue:
            if colour[s] < 0:
                used = {colour[t] for _, _, t in near[s]}
                colour[s] = next(c for c in itertools.count() if c not in used)
                queue += (t for _, _, t in near[s] if colour[t] < 0)
    return torch.tensor(colour, dtype=torch.long)


def _forests(nodes: int, edge_index: list[list[int]]) -> Tensor:
    """Draw spanning forests, and return how often an end is the parent in an edge of theirs: [edges, 2], float64.

    The two ends together are the tree-reweighted number of the edge. Each forest takes the edges that were used least
    so far, at random among equals, until every edge is in one. A tree is the entropy of its root, and of each edge less
    that of the parent: all of them concave. So the shares are a split.
    """
    near, rng = _neighbours(nodes, edge_index), random.Random(1)
    used = [[0, 0] for _ in edge_index[0]]
    unused, forests = len(used), 0
    while unused or forests < FORESTS:
        forests += 1
        cost = [a + b + rng.random() for a, b in used]
        seen = [False] * nodes
        for root in rng.sample(range(nodes), nodes):
            heap = [] if seen[root] else [(0.0, -1, 0, root)]
            while heap:
                _, e, parent, s = heapq.heappop(heap)
                if seen[s]:
                    continue
                seen[s] = True
                if e >= 0:
                    unused -= used[e] == [0, 0]
                    used[e][parent] += 1
                for d, end, t in near[s]:
                    if not seen[t]:
                        heapq.heappush(heap, (cost[d], d, end, t))
    return torch.tensor(used, dtype=torch.float64).reshape(-1, 2) / forests
