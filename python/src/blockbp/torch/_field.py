"""Belief propagation on one graph with given potentials: equations (4) to (7) of docs/explanation/equations.md."""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ._graph import Graph, Numbers

# Messages l = λ − c log τ, in which all equations are short: for each slice of edges those to the first and to the
# second ends [edges, states].
Messages = list[list[Tensor]]

# Tables whose entries differ by less (in nats, over c) are kept as exponentials, so that a message is a product.
LINEAR = {torch.float32: 40.0, torch.float64: 300.0}
# Edges whose beliefs are made at once, so that they stay in the cache.
CHUNK = 4096
# The least c_s that potentials are divided by; below it a maximum is meant.
LEAST = 1e-12


class Value(NamedTuple):
    """A free energy and its gradient, edges sorted by colours."""

    value: Tensor  # [] float64
    node: Tensor  # [nodes, states] by node potentials
    weight: Tensor  # [states, states, features] by weights of edges
    edge: Tensor | None  # [edges, features] by edge features, where asked for


def cut(x: Tensor, part: slice) -> Tensor:
    """Return the rows of a slice of edges; one row stands for all."""
    return x if x.shape[0] == 1 else x[part]


class Field:
    """Potentials on a graph.

    Parameters
    ----------
    unary : Tensor [nodes, states]
    weight : Tensor [states, states, features]
    edge_x : Tensor [edges, features], edges sorted by colours; None: one table for all edges
    through : bool
        Whether autograd is to go through sweeps, which takes the memory of their tables.
    """

    def __init__(
        self, graph: Graph, numbers: Numbers, unary: Tensor, weight: Tensor, edge_x: Tensor | None, through: bool
    ) -> None:
        self.graph, self.numbers, self.unary, self.weight, self.edge_x = graph, numbers, unary, weight, edge_x
        k = unary.shape[1]
        with torch.set_grad_enabled(through):
            if edge_x is None:
                table = weight.sum(-1)[None] / numbers.edge[:, :, None]
            else:
                table = (edge_x / numbers.edge @ weight.reshape(k * k, -1).T).reshape(-1, k, k)
        low, high = (float(x) for x in torch.aminmax(table.detach())) if table.numel() else (0.0, 0.0)
        self.linear = high - low < LINEAR[unary.dtype]
        self.top = high if self.linear else 0.0
        self.table = table.sub_(high).exp_() if self.linear else table  # [edges or 1, states, states] of θ_e / c_e

    def clamped(self, labels: Tensor, forbidden: float) -> Field:
        """Return the field in which labels from 0 are the only states of their nodes."""
        other = copy.copy(self)
        others = nn.functional.one_hot(labels.clamp_min(0), self.unary.shape[1]) == 0
        other.unary = torch.where(others & (labels >= 0)[:, None], forbidden, self.unary)
        return other

    def sums(self, number: int, end: int, other: Tensor) -> Tensor:
        """Return log Σ exp (θ_e − l) / c_e over the states of the other end: [edges, states] of the end."""
        part = self.graph.slices[number]
        table, x = cut(self.table, part), -other / cut(self.numbers.edge, part)
        if not self.linear:
            return torch.logsumexp(table + x.unsqueeze(1 + end), 2 - end)
        high = x.amax(-1, keepdim=True)
        p = (x - high).exp()
        if table.shape[0] == 1:
            s = p @ (table[0].T if end == 0 else table[0])
        elif end == 0:
            s = torch.bmm(table, p.unsqueeze(2)).squeeze(2)
        else:
            s = torch.bmm(p.unsqueeze(1), table).squeeze(1)
        return s.log() + high + self.top

    def sweep(self, messages: Messages, damp: float, block: Tensor | None) -> Messages:
        """Visit all nodes, or those of a block, colour after colour; what is given is not changed.

        With all c_s ≥ 0 and no damping each visit minimises the value (7) over the messages at its nodes.
        """
        messages, n = [list(ends) for ends in messages], self.numbers
        for colour in self.graph.colours:
            total, fresh = self.unary[colour.nodes], []
            for number, end, row in colour.ends:
                part = self.graph.slices[number]
                m = cut(n.edge, part) * self.sums(number, end, messages[number][1 - end])  # (5)
                fresh.append(m := m - m.mean(-1, keepdim=True))
                total.index_add_(0, row, m)
            belief = torch.log_softmax(total / n.rho[colour.nodes], -1)  # (4)
            for (number, end, row), m in zip(colour.ends, fresh):
                new = m - cut(n.edge, self.graph.slices[number]) * belief[row]
                old = messages[number][end]
                if damp:
                    new = torch.lerp(new, old, damp)
                if block is not None:
                    new = torch.where(block[colour.nodes[row]][:, None], new, old)
                messages[number][end] = new
        return messages

    def settle(self, messages: Messages, sweeps: int, tol: float, damp: float, block: Tensor | None) -> tuple[Messages, float]:
        """Sweep until no message over its c moves by tol, and return the messages and by how much they moved last."""
        moved = 0.0
        for _ in range(sweeps):
            old, messages = messages, self.sweep(messages, damp, block)
            if tol:
                moved = max(
                    (float(((a - b) / cut(self.numbers.edge, part)).abs().max())
                     for part, new, before in zip(self.graph.slices, messages, old) for a, b in zip(new, before)),
                    default=0.0,
                )
                if moved < tol:
                    break
        return messages, moved

    def logits(self, messages: Messages) -> Tensor:
        """Return the logarithms of the beliefs (4) of nodes, up to a constant of each: [nodes, states]."""
        total = self.unary.clone()
        for number, (part, ends) in enumerate(zip(self.graph.slices, messages)):
            for end in (0, 1):
                m = cut(self.numbers.edge, part) * self.sums(number, end, ends[1 - end])
                total.index_add_(0, self.graph.ends[end, part], m)
        return total / self.numbers.rho

    def value(self, messages: Messages, by_edge: bool) -> Value:
        """Return the dual value (7) at messages, and the beliefs that are its gradient.

        Where no c_s is below 1 they are the derivatives of the value at any messages. Otherwise the belief of a node
        is (4): the derivative would be nearly one-hot where c_s, with its shares, is near 0, until messages settle.
        """
        n, k = self.numbers, self.unary.shape[1]
        split, mean, value = self.unary.clone(), self.unary.clone(), self.unary.new_zeros((), dtype=torch.float64)
        weight, edges = torch.zeros_like(self.weight), []
        for number, (part, (first, second)) in enumerate(zip(self.graph.slices, messages)):
            c, share = cut(n.edge, part), cut(n.share, part)
            logs = [self.sums(number, 0, second) - first / c]
            if not n.exact:
                logs.append(self.sums(number, 1, first) - second / c)
            z = torch.logsumexp(logs[0], -1, keepdim=True)
            value = value + (c * z).sum(dtype=torch.float64)
            for end, l in enumerate((first, second)):
                at = self.graph.ends[end, part]
                split.index_add_(0, at, l if n.exact else l + share[:, end : end + 1] * (logs[end] - z))
                if not n.exact:
                    mean.index_add_(0, at, l + c * (logs[end] - z))
            w, e = self.contract(part, -first / c - z, -second / c, by_edge)
            weight += w
            edges.append(e)
        c = n.split.clamp_min(LEAST)
        value = value + (c * torch.logsumexp(split / c, -1, keepdim=True)).sum(dtype=torch.float64)
        node = torch.softmax(split / c if n.exact else mean / n.rho, -1)
        return Value(value, node, weight, torch.cat(edges) if by_edge and edges else None)

    def contract(self, part: slice, first: Tensor, second: Tensor, by_edge: bool) -> tuple[Tensor, Tensor]:
        """Return the sums of the beliefs (6) of a slice of edges with their features, and with the weights.

        The belief of an edge is exp(θ_e / c_e + first + second). The sums are [states, states, features] and, where
        asked for, [edges, features].
        """
        k, table = self.unary.shape[1], cut(self.table, part)
        high = second.amax(-1, keepdim=True)
        a, b = (first + high + self.top).exp(), (second - high).exp()
        if self.linear and self.edge_x is None and table.shape[0] == 1:
            return (table[0] * (a.T @ b))[:, :, None], first[:, :0]
        x = first.new_ones(len(first), 1) if self.edge_x is None else self.edge_x[part]
        flat, weight = self.weight.reshape(k * k, -1), first.new_zeros(k * k, x.shape[1])
        edges = []
        for at in range(0, len(first), CHUNK):
            rows = slice(at, at + CHUNK)
            if self.linear:
                belief = cut(table, rows) * a[rows, :, None] * b[rows, None, :]
            else:
                belief = (cut(table, rows) + first[rows, :, None] + second[rows, None, :]).exp()
            belief = belief.reshape(-1, k * k)
            weight.addmm_(belief.T, x[rows])
            if by_edge:
                edges.append(belief @ flat)
        return weight.reshape(k, k, -1), torch.cat(edges) if edges else first[:, :0]
