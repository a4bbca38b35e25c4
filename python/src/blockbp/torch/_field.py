"""Belief propagation on one graph with given potentials: equations (4) to (7) of docs/explanation/equations.md."""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from torch import Tensor

from .._base import warn
from ._graph import Graph, Numbers

# Messages l = λ − c log τ, in which all equations are short: for each slice of edges those to the first and to the
# second ends [states, edges]. States come first in all that is computed with: sums over them are then sums of rows.
Messages = list[list[Tensor]]

# Tables whose entries differ by less (in nats, over c) are kept as exponentials, so that a message is a product.
LINEAR = {torch.float32: 40.0, torch.float64: 300.0}
# Edges whose tables are multiplied at once, so that they stay in the cache.
CHUNK = 4096
# The least c_s that potentials are divided by; below it a maximum is meant.
LEAST = 1e-12


class Value(NamedTuple):
    """A free energy and its gradient, edges sorted by colours."""

    value: Tensor  # [] float64
    node: Tensor  # [states, nodes] by node potentials
    weight: Tensor  # [states, states, features] by weights of edges
    edge: Tensor | None  # [edges, features] by edge features, where asked for


def cut(x: Tensor, part: slice) -> Tensor:
    """Return the columns of a slice of edges; one column stands for all."""
    return x if x.shape[-1] == 1 else x[..., part]


class Field:
    """Potentials on a graph.

    Parameters
    ----------
    unary : Tensor [states, nodes]
    weight : Tensor [states, states, features]
    edge_x : Tensor [edges, features], edges sorted by colours; None: one table for all edges
    through : bool
        Whether autograd is to go through sweeps, which takes the memory of their tables.
    """

    def __init__(
        self, graph: Graph, numbers: Numbers, unary: Tensor, weight: Tensor, edge_x: Tensor | None, through: bool
    ) -> None:
        self.graph, self.numbers, self.unary, self.weight, self.edge_x = graph, numbers, unary, weight, edge_x
        k = unary.shape[0]
        with torch.set_grad_enabled(through):
            if edge_x is None:
                table = weight.sum(-1)[:, :, None] / numbers.edge
            else:
                table = (weight.reshape(k * k, -1) @ (edge_x / numbers.edge.T).T).reshape(k, k, -1)
        low, high = (float(x) for x in torch.aminmax(table.detach())) if table.numel() else (0.0, 0.0)
        self.linear = high - low < LINEAR[unary.dtype]
        self.top = high if self.linear else 0.0
        self.table = table.sub_(high).exp_() if self.linear else table  # [states, states, edges or 1] of θ_e / c_e

    def clamped(self, labels: Tensor, forbidden: float) -> Field:
        """Return the field in which labels from 0 are the only states of their nodes."""
        other = copy.copy(self)
        others = torch.arange(len(self.unary), device=labels.device)[:, None] != labels
        other.unary = torch.where(others & (labels >= 0), forbidden, self.unary)
        return other

    def relative(self, number: int, message: Tensor) -> tuple[Tensor, Tensor]:
        """Return −l / c_e less its largest entry of each edge, and that entry: [states, edges] and [1, edges]."""
        low, c = message.amin(0, keepdim=True), cut(self.numbers.edge, self.graph.slices[number])
        return (low - message).div_(c), low / -c

    def sums(self, number: int, end: int, x: Tensor) -> Tensor:
        """Return log Σ exp(θ_e / c_e + x) over the states of the other end, up to a constant: [states, edges].

        Where tables are kept as exponentials, x is exp(x).
        """
        table = cut(self.table, self.graph.slices[number])
        if not self.linear:
            return torch.logsumexp(table + x.unsqueeze(end), 1 - end)
        if table.shape[2] == 1:
            return ((table[:, :, 0].T if end else table[:, :, 0]) @ x).log_()
        pairs = zip(torch.split(table, CHUNK, 2), torch.split(x, CHUNK, 1))
        return torch.cat([(t * q.unsqueeze(end)).sum(1 - end) for t, q in pairs], 1).log_()

    def arriving(self, number: int, end: int, other: Tensor) -> Tensor:
        """Return the messages (5) to an end, up to a constant of each, given those to the other end."""
        x, _ = self.relative(number, other)
        return self.sums(number, end, x.exp_() if self.linear else x) * cut(self.numbers.edge, self.graph.slices[number])

    def sweep(self, messages: Messages, damp: float, block: Tensor | None) -> Messages:
        """Visit all nodes, or those of a block, colour after colour; what is given is not changed.

        With all c_s ≥ 0 and no damping each visit minimises the value (7) over the messages at its nodes.
        """
        messages, n = [list(ends) for ends in messages], self.numbers
        for colour in self.graph.colours:
            total = self.unary.index_select(1, colour.nodes)
            fresh: list[Tensor] = []
            for number, end, row in colour.ends:
                fresh.append(m := self.arriving(number, end, messages[number][1 - end]))
                total.index_add_(1, row, m)
            belief = torch.log_softmax(total / n.rho[:, colour.nodes], 0)  # (4)
            for (number, end, row), m in zip(colour.ends, fresh):
                c = cut(n.edge, self.graph.slices[number])
                new = torch.addcmul(m, c, belief.index_select(1, row), value=-1)
                old = messages[number][end]
                if damp:
                    new = torch.lerp(new, old, damp)
                if block is not None:
                    new = torch.where(block[colour.nodes[row]], new, old)
                messages[number][end] = new
        return messages

    def settle(self, messages: Messages, sweeps: int, tol: float, damp: float, block: Tensor | None, far: float) -> Messages:
        """Sweep until no message over its c moves by tol; with tol=0, to the end. Warn where they move by far then."""
        if sweeps < 0 or not 0 <= damp < 1:
            raise ValueError(f"sweeps={sweeps}, damp={damp}: want no negative number, and damp below 1")
        if block is not None and (block.dtype != torch.bool or block.shape != (self.graph.nodes,)):
            raise ValueError(f"block is {block.dtype} of shape {list(block.shape)}, want bool of [{self.graph.nodes}]")
        moved, c = 0.0, [cut(self.numbers.edge, part) for part in self.graph.slices]
        for _ in range(sweeps):
            old, messages = messages, self.sweep(messages, damp, block)
            if tol:
                moves = [((new - old) / c).abs().max() for c, *ends in zip(c, messages, old) for new, old in zip(*ends)]
                moved = float(torch.stack(moves).max()) if moves else 0.0
                if moved < tol:
                    break
        if moved >= max(tol, far) > 0:  # the same words every time, so that Python shows them once for each place
            warn([f"messages still move by {far:g} nats or more after {sweeps} sweeps: give more, or damp=0.5"])
        return messages

    def logits(self, messages: Messages) -> Tensor:
        """Return the logarithms of the beliefs (4) of nodes, up to a constant of each: [states, nodes]."""
        total = self.unary.clone()
        for number, (part, ends) in enumerate(zip(self.graph.slices, messages)):
            for end in (0, 1):
                total.index_add_(1, self.graph.ends[end, part], self.arriving(number, end, ends[1 - end]))
        return total / self.numbers.rho

    def value(self, messages: Messages, by_edge: bool) -> Value:
        """Return the dual value (7) at messages, and the beliefs that are its gradient.

        Where no c_s is below 1 they are the derivatives of the value at any messages. Otherwise the belief of a node
        is (4): the derivative would be nearly one-hot where c_s, with its shares, is near 0, until messages settle.
        """
        n = self.numbers
        split, mean, value = self.unary.clone(), self.unary.clone(), self.unary.new_zeros((), dtype=torch.float64)
        weight = torch.zeros_like(self.weight)
        edges: list[Tensor] = []
        for number, (part, ends) in enumerate(zip(self.graph.slices, messages)):
            c, share = cut(n.edge, part), cut(n.share, part)
            (x, top), (y, other_top) = (self.relative(number, l) for l in ends)
            if self.linear:
                x, y = x.exp_(), y.exp_()
            log = self.sums(number, 0, y)
            z = (x * log.exp()).sum(0, keepdim=True).log_() if self.linear else torch.logsumexp(x + log, 0, keepdim=True)
            value = value + (c * (z + (top + other_top + self.top))).sum(dtype=torch.float64)
            for end, (l, high) in enumerate(zip(ends, (top, other_top))):
                at = self.graph.ends[end, part]
                if n.exact:
                    split.index_add_(1, at, l)
                else:  # l + c_{s,e} log τ_s, and what comes along the edge
                    log = self.sums(number, 1, x) if end else log
                    lean = torch.addcmul(share[end] * (-high - z), 1 - share[end] / c, l)
                    split.index_add_(1, at, lean.addcmul_(share[end], log))
                    mean.index_add_(1, at, log.mul_(c))
            w, e = self.contract(part, x, y, z, by_edge)
            weight += w
            edges.append(e)
        c = n.split.clamp_min(LEAST)
        value = value + (c * torch.logsumexp(split / c, 0)).sum(dtype=torch.float64)
        node = torch.softmax(split / c if n.exact else mean / n.rho, 0)
        return Value(value, node, weight, torch.cat(edges) if by_edge and edges else None)

    def contract(self, part: slice, x: Tensor, y: Tensor, z: Tensor, by_edge: bool) -> tuple[Tensor, Tensor]:
        """Return the sums of the beliefs (6) of a slice of edges with their features, and with the weights.

        The belief of an edge is exp(θ_e / c_e + x + y − z), and x and y are exponentials where tables are. The sums are
        [states, states, features] and, where asked for, [edges, features].
        """
        k, table = len(self.unary), cut(self.table, part)
        x = x / z.exp() if self.linear else x - z
        if self.linear and self.edge_x is None and table.shape[2] == 1:
            return (table[:, :, 0] * (x @ y.T))[:, :, None], x.new_zeros(x.shape[1], 0)
        features = x.new_ones(x.shape[1], 1) if self.edge_x is None else self.edge_x[part]
        flat, weight = self.weight.reshape(k * k, -1), x.new_zeros(k * k, features.shape[1])
        edges: list[Tensor] = []
        for at in range(0, len(features), CHUNK):
            rows = slice(at, at + CHUNK)
            if self.linear:
                belief = (cut(table, rows) * y[:, rows]).mul_(x[:, None, rows])
            else:
                belief = (cut(table, rows) + x[:, None, rows] + y[:, rows]).exp()
            belief = belief.reshape(k * k, -1)
            weight.addmm_(belief, features[rows])
            if by_edge:
                edges.append(belief.T @ flat)
        return weight.reshape(k, k, -1), torch.cat(edges) if edges else features[:, :0]
