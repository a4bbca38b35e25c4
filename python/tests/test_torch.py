"""The layer for PyTorch against enumeration, finite differences, and the engine."""

from __future__ import annotations

import doctest
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockbp

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
import blockbp.torch  # noqa: E402
from blockbp._model import Model  # noqa: E402
from blockbp.torch import Graph, PairwiseCRF  # noqa: E402

TREE = torch.tensor([[1, 1, 3, 3, 5], [0, 2, 1, 4, 4]])
# Triangles, and so three colours.
LOOPS = torch.tensor([[0, 2, 0, 3, 3, 4, 5, 5], [1, 1, 2, 2, 4, 0, 3, 4]])
RULES = ("convex", "cover", "trw", "bethe")
SETTLED = {"sweeps": 600, "tol": 1e-13}


@pytest.fixture(autouse=True)
def doubles() -> Any:
    """Tests are in float64 unless they say otherwise, and every one draws the same numbers."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # networks are small, and threads that wait for each other take long beside other programs
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def problem(edges: Any, k: int = 3, d: int = 2, scale: float = 1.0, **options: Any) -> tuple[Any, ...]:
    """Return a layer with random weights, and random potentials, edge features and labels of a graph."""
    crf = PairwiseCRF(k, d, **options)
    with torch.no_grad():
        crf.weight.normal_(0, scale)
    nodes = int(edges.max()) + 1
    edge_x = torch.randn(edges.shape[1], d, requires_grad=True) if d else None
    return crf, torch.randn(nodes, k, requires_grad=True), edge_x, torch.randint(0, k, (nodes,))


def tables(crf: Any, edges: Any, edge_x: Any) -> Any:
    """Return the potentials of edges, [edges, K, K]."""
    if edge_x is None:
        edge_x = torch.ones(edges.shape[1], 1)
    return torch.einsum("ed,abd->eab", edge_x, crf.symmetric())


def log_partition(unary: Any, table: Any, edges: Any) -> Any:
    """Sum over all states of all nodes."""
    n, k = unary.shape
    x = torch.tensor(list(itertools.product(range(k), repeat=n)))
    score = sum(unary[s, x[:, s]] for s in range(n))
    return torch.logsumexp(score + sum(table[e, x[:, u], x[:, v]] for e, (u, v) in enumerate(edges.T.tolist())), 0)


def parameters(crf: Any, unary: Any, edge_x: Any) -> list[Any]:
    """Return what losses are differentiated by."""
    return [unary, crf.weight] + ([] if edge_x is None else [edge_x])


def near(a: Any, b: Any, tolerance: float) -> None:
    """Two tensors are equal but for rounding, relative to the larger."""
    assert float((a - b).detach().abs().max()) <= tolerance * max(1.0, float(b.detach().abs().max()))


@pytest.mark.parametrize("scale", [1.0, 100.0], ids=["products", "logarithms"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("d", [0, 2])
def test_trees_are_exact(d: int, directed: bool, scale: float) -> None:
    """On a tree the loss and its gradients are those of enumeration, with hidden labels and without."""
    crf, unary, edge_x, y = problem(TREE, d=d, directed=directed, scale=scale)
    for labels in (y, torch.where(torch.arange(6) % 3 == 0, -1, y)):
        loss, _ = crf(unary, TREE, edge_x, labels, sweeps=20, tol=0)
        table = tables(crf, TREE, edge_x)
        held = torch.where((labels[:, None] >= 0) & (torch.arange(3) != labels[:, None]), -torch.inf, unary)
        want = log_partition(unary, table, TREE) - log_partition(held, table, TREE)
        near(loss, want, 1e-12)
        by = parameters(crf, unary, edge_x)
        for got, right in zip(torch.autograd.grad(loss, by), torch.autograd.grad(want, by)):
            near(got, right, 1e-12)
    marginals = torch.autograd.grad(log_partition(unary, tables(crf, TREE, edge_x), TREE), unary)[0]
    near(crf.marginals(unary, TREE, edge_x, sweeps=20, tol=0), marginals, 1e-12)
    assert (crf.decode(unary, TREE, edge_x) == marginals.argmax(1)).all()


@pytest.mark.parametrize("rule", RULES)
def test_gradients_are_differences(rule: str) -> None:
    """On a graph with loops the gradients are central differences of the settled loss, and of the truncated one."""
    crf, unary, edge_x, y = problem(LOOPS, scale=0.5, counting=rule)
    hidden = torch.where(torch.arange(6) == 2, -1, y)
    for labels, options in ((y, SETTLED), (hidden, SETTLED), (hidden, {"loss": "truncated", "sweeps": 3})):
        by = parameters(crf, unary, edge_x)
        gradient = torch.autograd.grad(crf(unary, LOOPS, edge_x, labels, **options)[0], by)
        along, values = [torch.randn_like(p) for p in by], []
        for step in (1e-5, -2e-5):
            with torch.no_grad():
                for p, direction in zip(by, along):
                    p += step * direction
                values.append(crf(unary, LOOPS, edge_x, labels, **options)[0])
        with torch.no_grad():
            for p, direction in zip(by, along):
                p += 1e-5 * direction
        near((values[0] - values[1]) / 2e-5, sum((g * a).sum() for g, a in zip(gradient, along)), 1e-7)


@pytest.mark.parametrize("rule", ["convex", "cover", "trw"])
@pytest.mark.parametrize("graph", [Graph(6, LOOPS), Graph.grid(2, 3), Graph.grid(1, 6)], ids=["loops", "grid", "row"])
def test_bounds(rule: str, graph: Any) -> None:
    """After any number of sweeps the value bounds log Z, and it never rises; on a tree it is log Z in the end."""
    crf, unary, edge_x, _ = problem(graph.edge_index, counting=rule, scale=2)
    exact = float(log_partition(unary, tables(crf, graph.edge_index, edge_x), graph.edge_index).detach())
    values = [float(crf.log_partition_bound(unary, graph, edge_x, sweeps=n, tol=0)) for n in (0, 1, 2, 5, 20, 200)]
    assert min(values) >= exact - 1e-9
    if rule != "trw":
        assert values == sorted(values, reverse=True) or max(np.diff(values)) < 1e-9
    assert graph.edges > graph.nodes - 1 or rule != "trw" or values[-1] == pytest.approx(exact, abs=1e-9)


def test_gradient_of_the_value() -> None:
    """With convex numbers value and gradient belong together at any messages, before they settle."""
    crf, unary, edge_x, y = problem(LOOPS, counting="convex")
    graph, state = Graph(6, LOOPS), torch.randn(8, 2, 3)
    by = parameters(crf, unary, edge_x)
    gradient = torch.autograd.grad(crf(unary, graph, edge_x, y, state=state, sweeps=0)[0], by)
    along, values = [torch.randn_like(p) for p in by], []
    for step in (1e-5, -2e-5):
        with torch.no_grad():
            for p, direction in zip(by, along):
                p += step * direction
            values.append(crf(unary, graph, edge_x, y, state=state, sweeps=0)[0])
    near((values[0] - values[1]) / 2e-5, sum((g * a).sum() for g, a in zip(gradient, along)), 1e-7)


def test_counting_numbers() -> None:
    """Tree-reweighted numbers are averages of spanning forests, with shares that split them."""
    edges = torch.tensor([[a, b] for a in range(7) for b in range(a)] + [[7, 8]]).T
    node, edge, share = Graph(10, edges).counts("trw")
    assert float(edge.sum()) == pytest.approx(7) and float(edge.min()) > 0 and float(edge[-1]) == 1
    assert float((share.sum(1) - edge).abs().max()) < 1e-12
    split = node.index_add(0, edges[0], share[:, 0]).index_add(0, edges[1], share[:, 1])
    assert float(split.min()) > -1e-12 and float(split[9]) == 1
    # An edge more than a tree has, in a set of nodes, is not a forest's.
    for size in range(2, 8):
        assert float(edge[(edges < size).all(0)].sum()) <= size - 1 + 1e-12


def test_state_goes_on() -> None:
    """Sweeps from a state go on where those before ended; states are of edges, whatever graph they are joined in."""
    crf, unary, edge_x, y = problem(LOOPS, counting="cover")
    one = Graph(6, LOOPS)
    y[1] = -1
    whole, state = crf(unary, one, edge_x, y, sweeps=7, tol=0)
    assert state.shape == (8, 4, 3) and not state.requires_grad
    half, kept = crf(unary, one, edge_x, y, sweeps=3, tol=0)
    again, there = crf(unary, one, edge_x, y, state=kept, sweeps=4, tol=0)
    near(again, whole, 1e-13)
    near(there, state, 1e-13)
    both, x2, y2 = torch.cat([unary, unary]), torch.cat([edge_x, edge_x]), torch.cat([y, y])
    for graph in (Graph.union([one, one]), torch.cat([LOOPS, LOOPS + 6], 1)):
        double, pair = crf(both, graph, x2, y2, state=torch.cat([kept, torch.zeros_like(kept)]), sweeps=4, tol=0)
        near(double, again + crf(unary, one, edge_x, y, sweeps=4, tol=0)[0], 1e-12)
        near(pair[:8], there, 1e-12)


def test_order_of_edges() -> None:
    """Nothing depends on the order of edges, and of edges without direction on their ends."""
    crf, unary, edge_x, y = problem(LOOPS)
    order, turned = torch.randperm(8), LOOPS.flip(0)
    loss, state = crf(unary, LOOPS, edge_x, y, **SETTLED)
    near(crf(unary, LOOPS[:, order], edge_x[order], y, **SETTLED)[0], loss, 1e-13)
    near(crf(unary, turned, edge_x, y, state=state.flip(1), sweeps=0)[0], loss, 1e-12)


def test_blocks() -> None:
    """Sweeps over blocks in turn leave the messages of others, and settle to the same loss."""
    crf, unary, edge_x, y = problem(LOOPS, counting="convex")
    graph, state = Graph(6, LOOPS), None
    first = torch.arange(6) < 3
    for n in range(120):
        before, (loss, state) = state, crf(unary, graph, edge_x, y, state=state, sweeps=1, block=first if n % 2 else ~first)
        if n == 1:
            moved = (state != before).any(2).T
            assert (moved == first[LOOPS]).all()
    near(loss, crf(unary, graph, edge_x, y, **SETTLED)[0], 1e-12)


def test_grids() -> None:
    """A grid by its sizes is the graph of its edges, and pictures of one size are a batch."""
    crf, unary, _, y = problem(Graph.grid(3, 4, 2).edge_index, d=0)
    assert Graph.grid(2, 3).edge_index.T.tolist() == [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
    loss, state = crf(unary, (3, 4), labels=y, sweeps=3, tol=0)
    near(loss, crf(unary, Graph.union([Graph.grid(3, 4)] * 2), labels=y, sweeps=3, tol=0)[0], 1e-13)
    near(loss, sum(crf(u, (3, 4), labels=z, sweeps=3, tol=0)[0] for u, z in zip(unary.split(12), y.split(12))), 1e-12)
    assert state.shape == (34, 2, 3)


@pytest.mark.parametrize("scale", [1.0, 20.0, 80.0])
def test_single_precision(scale: float) -> None:
    """In float32 values and beliefs are those of float64, with weak and with strong potentials."""
    crf, unary, edge_x, y = problem(Graph.grid(6, 7).edge_index, scale=scale)
    want = crf(unary, (6, 7), edge_x, y, sweeps=30, tol=0)[0], crf.marginals(unary, (6, 7), edge_x, sweeps=30, tol=0)
    crf, unary, edge_x = crf.float(), unary.float(), edge_x.float()
    near(crf(unary, (6, 7), edge_x, y, sweeps=30, tol=0)[0], want[0], 3e-6)
    near(crf.marginals(unary, (6, 7), edge_x, sweeps=30, tol=0), want[1], 2e-4)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_engine_agrees(rule: str, hidden: bool, directed: bool, tmp_path: Path, command: Callable[..., str]) -> None:
    """At the same weights the engine has the same objective, and takes the same step."""
    n, k, d, l2, step = 15, 3, 2, 1e-9, 0.1
    rng = np.random.default_rng(1)
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    edges = rng.permuted(pairs[rng.choice(len(pairs), 28, replace=False)], axis=1)
    x, edge_x, y = rng.normal(size=(n, 4)), rng.normal(size=(28, d)), rng.integers(0, k, n)
    y[::4] = -1 if hidden else y[::4]
    np.savez(tmp_path / "g.npz", edges=edges, node_features=x, edge_features=edge_x, labels=y, states=k, directed=int(directed))
    graph = Graph(n, torch.tensor(edges.T))
    node, edge, _ = graph.counts(rule)
    crf, head = PairwiseCRF(k, d, (node, edge), directed), torch.nn.Linear(4, k, bias=False)
    with torch.no_grad():
        crf.weight.normal_(0, 0.4)
        crf.weight.copy_(crf.symmetric())
    crf.to_blockbp(tmp_path / "m.safetensors", head)
    loss, _ = crf(head(torch.tensor(x)), graph, torch.tensor(edge_x), torch.tensor(y), **SETTLED)
    loss = loss + l2 / 2 * sum((w**2).sum() for w in (crf.weight, head.weight))
    loss.backward()
    command(*f"train g.npz -o run -q --report=false --init m.safetensors --method full --inner-tol 1e-14 --inner-sweeps 5000 --max-iter 1 --step fixed:{step} --l2 {l2} --standardise=false".split())
    records = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert records[-1]["objective"] == pytest.approx(loss.item(), rel=1e-10)
    stepped = Model((tmp_path / "run" / "model.safetensors").read_bytes()).weights
    for got, before in ((stepped["node.node"], head.weight), (stepped["edge.edge"], crf.weight)):
        near((before.detach() - torch.tensor(got)) * n / step, before.grad, 1e-10)


def test_models_go_both_ways(tmp_path: Path, command: Callable[..., str]) -> None:
    """What is written is read again, and predicts in the engine what it does here."""
    edges = Graph.grid(4, 5).edge_index
    crf, unary, edge_x, _ = problem(edges, directed=True, counting="cover")
    head, path = torch.nn.Conv2d(3, 3, 1), tmp_path / "m.safetensors"
    x = torch.cat([unary.detach(), torch.ones(20, 1)], 1)
    scores = head(unary.T[None, :, :, None])[0, :, :, 0].T  # a convolution of 1 × 1 is a linear layer
    np.savez(tmp_path / "g.npz", edges=edges.T, node_features=x, edge_features=edge_x.detach(), states=3, directed=1)
    crf.to_blockbp(path, head)
    again, linear = PairwiseCRF.from_blockbp(path)
    assert repr(again) == repr(crf) == "PairwiseCRF(3, 2, counting='cover', directed=True)"
    near(again.weight, crf.weight, 0)
    near(linear(x), scores, 1e-14)
    command("predict", "g.npz", "-m", "m.safetensors", "-o", "out", "--arrays", "-q", "--tol", "1e-13")
    near(torch.tensor(np.load(tmp_path / "out" / "beliefs.npy")), crf.marginals(scores, edges, edge_x, **SETTLED), 1e-10)
    given = PairwiseCRF(3, counting=Graph(6, LOOPS).counts("trw")[:2])
    given.to_blockbp(path)
    again, _ = PairwiseCRF.from_blockbp(path)
    assert again.edge_features == 0 and [c.tolist() for c in again.counting] == [c.tolist() for c in given.counting]
    command("check", "m.safetensors")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(blockbp.BlockbpError, match="checksum"):
        PairwiseCRF.from_blockbp(path)


def test_other_models_are_refused(tmp_path: Path, command: Callable[..., str]) -> None:
    """A model of what the layer has not is refused, and named."""
    np.savez(tmp_path / "g.npz", edges=[[0, 1]], labels=[0, 1], states=2, directed=0)
    command("train", "g.npz", "-o", "near", "--counting", "near-bethe", "-q", "--method", "full")
    with pytest.raises(blockbp.BlockbpError, match="near-bethe.*use trw"):
        PairwiseCRF.from_blockbp(tmp_path / "near" / "model.safetensors")
    blockbp.IsingModel().fit(np.random.default_rng(1).choice([-1, 1], (50, 3))).save(tmp_path / "m")
    with pytest.raises(blockbp.BlockbpError, match="m'.*does not have"):
        PairwiseCRF.from_blockbp(tmp_path / "m")


def test_learns_with_a_network() -> None:
    """A few sweeps a step with kept messages learn what ten from nothing learn, better than the network alone."""
    y = (torch.arange(16) // 4 + torch.arange(16)[:, None] // 5) % 3
    pictures = torch.nn.functional.one_hot(y, 3) + torch.randn(4, 16, 16, 3)
    labels, losses = y.repeat(4, 1, 1).reshape(-1), {}
    for kept in (True, False):
        torch.manual_seed(1)
        network, crf = torch.nn.Linear(3, 3), PairwiseCRF(3)
        optimizer, state = torch.optim.Adam([*network.parameters(), *crf.parameters()], 0.1), None
        for _ in range(40):
            options = {"state": state} if kept else {"sweeps": 10, "tol": 0}
            loss, state = crf(network(pictures).reshape(-1, 3), (16, 16), labels=labels, **options)
            optimizer.zero_grad()
            (loss / len(labels)).backward()
            optimizer.step()
        unary = network(pictures).reshape(-1, 3)
        losses[kept] = crf(unary, (16, 16), labels=labels, **SETTLED)[0].item() / len(labels)
        assert (crf.decode(unary, (16, 16)) == labels).double().mean() > (unary.argmax(1) == labels).double().mean() + 0.1
    assert losses[True] == pytest.approx(losses[False], abs=1e-3)


def test_no_edges() -> None:
    """Nodes without edges, one alone, and none at all have losses and marginals of their own scores."""
    for graph, n in ((torch.zeros(2, 0, dtype=torch.long), 4), ((1, 1), 4), (torch.zeros(2, 0, dtype=torch.long), 0)):
        crf, unary, y = PairwiseCRF(3), torch.randn(n, 3, requires_grad=True), torch.arange(n) % 3
        for labels in (y, torch.where(y == 1, -1, y)):
            loss, state = crf(unary, graph, labels=labels, state=crf(unary, graph, labels=labels)[1])
            want = torch.nn.functional.cross_entropy(unary, labels, ignore_index=-1, reduction="sum")
            near(loss, want, 1e-12)
            near(torch.autograd.grad(loss, unary)[0], torch.autograd.grad(want, unary)[0], 1e-12) if n else None
            assert state.shape == (0, 4 if 1 in y and labels is not y else 2, 3)
        assert torch.allclose(crf.marginals(unary, graph), unary.softmax(1)) and len(crf.decode(unary, graph)) == n


MISTAKES: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "rows": (lambda c, u, y: c(u[1:], (2, 3), labels=y), "unary has 5 rows, want a multiple of 2·3"),
    "states": (lambda c, u, y: c(u[:, 1:], (2, 3), labels=y), r"unary has the shape \[6, 2\], want \[nodes, 3\]"),
    "channels": (lambda c, u, y: c(u[None, None], (2, 3), labels=y), r"movedim\(1, -1\)"),
    "dtype": (lambda c, u, y: c(u.float(), (2, 3), labels=y), "unary is torch.float32, and the weights are torch.float64"),
    "labels": (lambda c, u, y: c(u, (2, 3)), "labels are missing"),
    "shape of labels": (lambda c, u, y: c(u, (2, 3), labels=y.reshape(2, 3)), r"labels.reshape\(-1\)"),
    "label": (lambda c, u, y: c(u, (2, 3), labels=y + 3), r"labels\[0\] is \d, want a state from 0 to 2"),
    "edge features": (lambda c, u, y: c(u, (2, 3), torch.ones(7, 1), y), "edge_features is 0"),
    "state": (lambda c, u, y: c(u, (2, 3), None, y, torch.zeros(6, 2, 3)), r"state has the shape \[6, 2, 3\], want \[7, 2, 3\]"),
    "loss": (lambda c, u, y: c(u, (2, 3), labels=y, loss="mle"), "want 'likelihood' or 'truncated'"),
    "both ways": (lambda c, u, y: c(u, torch.tensor([[0, 1, 1], [1, 2, 0]]), labels=y), r"edge_index\[:, 2\] = \[1, 0\].*edge_index\[0\] <"),
    "outside": (lambda c, u, y: c(u, torch.tensor([[0], [6]]), labels=y), "nodes are 0 to 5"),
    "loop": (lambda c, u, y: c(u, torch.tensor([[0], [0]]), labels=y), "itself"),
    "pairs": (lambda c, u, y: c(u, torch.tensor([[0, 1], [1, 2], [2, 3]]), labels=y), r"pairs\.T"),
    "no graph": (lambda c, u, y: c(u, [[0], [1]], labels=y), "graph is list, want a Graph"),
    "infinite": (lambda c, u, y: c(u - torch.inf * (u == u[4, 1]), (2, 3), labels=y), r"unary\[.*, want a finite number.*-10000"),
    "counting": (lambda c, u, y: PairwiseCRF(3, counting="trees"), "want auto, trw, convex"),
    "numbers": (lambda c, u, y: PairwiseCRF(3, counting=(y, y))(u, (2, 3), labels=y), r"c_e has the shape \[6\], want \[7\]"),
    "one state": (lambda c, u, y: PairwiseCRF(1), "at least 2 states"),
    "array": (lambda c, u, y: c(u.detach().numpy(), (2, 3), labels=y), "unary is ndarray, want a tensor"),
    "list of labels": (lambda c, u, y: c(u, (2, 3), labels=y.tolist()), "labels is list, want a tensor"),
    "array of features": (lambda c, u, y: PairwiseCRF(3, 1)(u, (2, 3), np.ones((7, 1)), y), "edge_x is ndarray, want a tensor"),
    "loss and state": (lambda c, u, y: c.marginals(u, (2, 3), None, c(u, (2, 3), labels=y)), "state is tuple, want a tensor"),
    "edges and nodes": (lambda c, u, y: Graph(LOOPS, 6), "edge_index is int, want a tensor"),
    "grid": (lambda c, u, y: c(u, (1, 2, 3), labels=y), r"graph=\(1, 2, 3\), want \(rows, columns\)"),
    "negative grid": (lambda c, u, y: c(u, (-2, -3), labels=y), r"graph=\(-2, -3\), want \(rows, columns\)"),
    "damp": (lambda c, u, y: c(u, (2, 3), labels=y, damp=1.0), "sweeps=30, damp=1.0: want no negative number"),
    "block of numbers": (lambda c, u, y: c(u, (2, 3), labels=y, block=torch.arange(6)), r"block is torch.int64.*want bool of \[6\]"),
    "NaN marginals": (lambda c, u, y: c.marginals(torch.where(torch.arange(6)[:, None] == 4, torch.nan, u), (2, 3)), r"unary\[4, 0\] is nan"),
    "NaN truncated": (lambda c, u, y: c(u * torch.nan, (2, 3), labels=y, loss="truncated"), r"unary\[0, 0\] is nan"),
    "NaN edges": (
        lambda c, u, y: PairwiseCRF(3, 1).decode(u, (2, 3), torch.where(torch.arange(7)[:, None] == 2, torch.nan, 1.0)),
        r"edge_x\[2, 0\] is nan, want a finite number$",
    ),
    "kernel": (lambda c, u, y: c.to_blockbp("m", torch.nn.Conv2d(4, 3, 3)), r"kernel \[3, 3\], want a linear layer, or a kernel"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes(what: str) -> None:
    """Errors say what is wrong, where, and what to do."""
    mistake, text = MISTAKES[what]
    with pytest.raises(ValueError, match=text):
        mistake(PairwiseCRF(3), torch.randn(6, 3), torch.randint(0, 3, (6,)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_truncated_with_strong_edges(dtype: torch.dtype) -> None:
    """The truncated loss has a gradient where tables spread too far to be exponentials, and float64 confirms it."""
    torch.manual_seed(0)
    found = []
    for kind in (dtype, torch.float64):
        crf = PairwiseCRF(3, dtype=kind)
        with torch.no_grad():
            crf.weight[:, :, 0] = (400 if dtype == torch.float64 else 50) * torch.eye(3, dtype=kind)
        unary = torch.linspace(-1, 1, 36, dtype=torch.float64).reshape(12, 3).to(kind).requires_grad_()
        loss, _ = crf(unary, (3, 4), labels=torch.arange(12) % 3, loss="truncated")
        assert loss == crf(unary, (3, 4), labels=torch.arange(12) % 3, loss="truncated", sweeps=5, tol=0)[0]
        found.append(torch.autograd.grad(loss, unary)[0].double())
    assert torch.allclose(found[0], found[1], rtol=1e-3, atol=1e-4)


def test_unsettled_is_said() -> None:
    """Marginals of messages that have not settled come with a warning."""
    crf, unary, edge_x, y = problem(LOOPS, scale=3, counting="bethe")
    for call in (crf.marginals, crf.decode, crf.log_partition_bound, lambda *a, **more: torch.nn.Sequential(crf)[0](*a, y, **more)):
        with pytest.warns(blockbp.BlockbpWarning, match="after 2 sweeps: give more") as said:
            call(unary, LOOPS, edge_x, sweeps=2)
        assert said[0].filename == __file__  # the user's line, through PyTorch's own
    crf.marginals(unary, LOOPS, edge_x, sweeps=2000, damp=0.5)


def test_lag_is_said() -> None:
    """A step whose messages lag says so, unless value and gradient belong together in any case, or tol is 0."""
    for rule in ("trw", "convex"):
        crf, unary, edge_x, y = problem(LOOPS, scale=3, counting=rule)
        crf(unary, LOOPS, edge_x, y, sweeps=1, tol=0)
        with pytest.warns(blockbp.BlockbpWarning, match="by 0.3 nats or more after 1 sweeps") if rule == "trw" else nullcontext():
            crf(unary, LOOPS, edge_x, torch.where(y == 1, -1, y), sweeps=1)


def test_docstring() -> None:
    """The example of the module runs, in float32, and everything public has a text."""
    torch.set_default_dtype(torch.float32)
    assert doctest.testmod(blockbp.torch) == (0, 12)
    for thing in (PairwiseCRF, Graph):
        assert all(value.__doc__ for name, value in vars(thing).items() if callable(value) and not name.startswith("_"))


def test_only_on_request() -> None:
    """Who does not ask for the layer does not wait for PyTorch."""
    subprocess.run([sys.executable, "-c", "import sys, blockbp, blockbp._graph; assert 'torch' not in sys.modules"], check=True)


def test_selftest() -> None:
    """The script for other devices finds nothing wrong on this one."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-m", "blockbp.torch.selftest", "--rows", "24"], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "0 failed" in done.stdout, done.stdout + done.stderr
