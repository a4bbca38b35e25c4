"""Belief propagation on one graph with given potentials: equations (4) to (7) of docs/explanation/equations.md."""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from torch import Tensor, nn

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

    def sums(self, number: int, end: int, other: Tensor) -> Tensor:
        """Return log Σ exp (θ_e − l) / c_e over the states of the other end: [states, edges] of the end."""
        part = self.graph.slices[number]
        table, x = cut(self.table, part), other / -cut(self.numbers.edge, part)
        if not self.linear:
            return torch.logsumexp(table + x.unsqueeze(end), 1 - end)
        high = x.amax(0, keepdim=True)
        p = (x - high).exp()
        if table.shape[2] == 1:
            s = (table[:, :, 0].T if end else table[:, :, 0]) @ p
        else:
            pairs = zip(table.split(CHUNK, 2), p.split(CHUNK, 1))
            s = torch.cat([(t * q.unsqueeze(end)).sum(1 - end) for t, q in pairs], 1)
        return s.log() + (high + self.top)

    def sweep(self, messages: Messages, damp: float, block: Tensor | None) -> Messages:
        """Visit all nodes, or those of a block, colour after colour; what is given is not changed.

        With all c_s ≥ 0 and no damping each visit minimises the value (7) over the messages at its nodes.
        """
        messages, n = [list(ends) for ends in messages], self.numbers
        for colour in self.graph.colours:
            total, fresh = self.unary.index_select(1, colour.nodes), []
            for number, end, row in colour.ends:
                part = self.graph.slices[number]
                m = cut(n.edge, part) * self.sums(number, end, messages[number][1 - end])  # (5)
                fresh.append(m := m - m.mean(0, keepdim=True))
                total.index_add_(1, row, m)
            belief = torch.log_softmax(total / n.rho[:, colour.nodes], 0)  # (4)
            for (number, end, row), m in zip(colour.ends, fresh):
                new = m - cut(n.edge, self.graph.slices[number]) * belief.index_select(1, row)
                old = messages[number][end]
                if damp:
                    new = torch.lerp(new, old, damp)
                if block is not None:
                    new = torch.where(block[colour.nodes[row]], new, old)
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
        """Return the logarithms of the beliefs (4) of nodes, up to a constant of each: [states, nodes]."""
        total = self.unary.clone()
        for number, (part, ends) in enumerate(zip(self.graph.slices, messages)):
            for end in (0, 1):
                m = cut(self.numbers.edge, part) * self.sums(number, end, ends[1 - end])
                total.index_add_(1, self.graph.ends[end, part], m)
        return total / self.numbers.rho

    def value(self, messages: Messages, by_edge: bool) -> Value:
        """Return the dual value (7) at messages, and the beliefs that are its gradient.

        Where no c_s is below 1 they are the derivatives of the value at any messages. Otherwise the belief of a node
        is (4): the derivative would be nearly one-hot where c_s, with its shares, is near 0, until messages settle.
        """
        n = self.numbers
        split, mean, value = self.unary.clone(), self.unary.clone(), self.unary.new_zeros((), dtype=torch.float64)
        weight, edges = torch.zeros_like(self.weight), []
        for number, (part, (first, second)) in enumerate(zip(self.graph.slices, messages)):
            c, share = cut(n.edge, part), cut(n.share, part)
            logs = [self.sums(number, 0, second) - first / c]
            if not n.exact:
                logs.append(self.sums(number, 1, first) - second / c)
            z = torch.logsumexp(logs[0], 0, keepdim=True)
            value = value + (c * z).sum(dtype=torch.float64)
            for end, l in enumerate((first, second)):
                at = self.graph.ends[end, part]
                if n.exact:
                    split.index_add_(1, at, l)
                else:
                    belief = logs[end] - z
                    split.index_add_(1, at, torch.addcmul(l, share[end], belief))
                    mean.index_add_(1, at, torch.addcmul(l, c, belief))
            w, e = self.contract(part, first / -c - z, second / -c, by_edge)
            weight += w
            edges.append(e)
        c = n.split.clamp_min(LEAST)
        value = value + (c * torch.logsumexp(split / c, 0)).sum(dtype=torch.float64)
        node = torch.softmax(split / c if n.exact else mean / n.rho, 0)
        return Value(value, node, weight, torch.cat(edges) if by_edge and edges else None)

    def contract(self, part: slice, first: Tensor, second: Tensor, by_edge: bool) -> tuple[Tensor, Tensor]:
        """Return the sums of the beliefs (6) of a slice of edges with their features, and with the weights.

        The belief of an edge is exp(θ_e / c_e + first + second). The sums are [states, states, features] and, where
        asked for, [edges, features].
        """
        k, table = len(self.unary), cut(self.table, part)
        high = second.amax(0, keepdim=True)
        a, b = (first + (high + self.top)).exp(), (second - high).exp()
        if self.linear and self.edge_x is None and table.shape[2] == 1:
            return (table[:, :, 0] * (a @ b.T))[:, :, None], first.new_zeros(first.shape[1], 0)
        x = first.new_ones(first.shape[1], 1) if self.edge_x is None else self.edge_x[part]
        flat, weight = self.weight.reshape(k * k, -1), first.new_zeros(k * k, x.shape[1])
        edges = []
        for at in range(0, len(x), CHUNK):
            rows = slice(at, at + CHUNK)
            if self.linear:
                belief = cut(table, rows) * a[:, None, rows] * b[:, rows]
            else:
                belief = (cut(table, rows) + first[:, None, rows] + second[:, rows]).exp()
            belief = belief.reshape(k * k, -1)
            weight.addmm_(belief, x[rows])
            if by_edge:
                edges.append(belief.T @ flat)
        return weight.reshape(k, k, -1), torch.cat(edges) if edges else x[:, :0]
