"""Checks the layer on a device, and says how fast it is there: ``python -m blockbp.torch.selftest --device cuda``."""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .._run import Folder, run
from . import Graph, PairwiseCRF
from ._graph import listed

# How far results of float64 may be from each other, relative to the larger, and those of float32 from float64.
DOUBLE, SINGLE = 1e-10, 1e-3


def problem(graph: Graph, states: int, features: int, dtype: torch.dtype, device: str) -> tuple[PairwiseCRF, Tensor, Tensor | None, Tensor]:
    """Return a layer, unary potentials, edge features and labels, the same on every device."""
    draw = torch.Generator().manual_seed(0)
    crf = PairwiseCRF(states, features, dtype=torch.float64)
    with torch.no_grad():
        crf.weight.copy_(0.3 * torch.randn(crf.weight.shape, generator=draw, dtype=torch.float64))
    unary = torch.randn(graph.nodes, states, generator=draw, dtype=torch.float64).to(device, dtype).requires_grad_()
    x = torch.randn(graph.edges, features, generator=draw, dtype=torch.float64).to(device, dtype) if features else None
    return crf.to(device, dtype), unary, x, torch.randint(0, states, (graph.nodes,), generator=draw).to(device)


def results(graph: Graph, dtype: torch.dtype, device: str, sweeps: int) -> Tensor:
    """Return the loss and its gradients as one vector in float64 on the CPU."""
    crf, unary, x, y = problem(graph, 3, 2, dtype, device)
    loss, _ = crf(unary, graph.to(device), x, y, sweeps=sweeps, tol=0)
    loss.backward()
    return torch.cat([g.detach().reshape(-1).double().cpu() for g in (loss, unary.grad, crf.weight.grad) if g is not None])


def enumerated(graph: Graph) -> Tensor:
    """Return what results should be, summed over all states of all nodes."""
    crf, unary, x, y = problem(graph, 3, 2, torch.float64, "cpu")
    assert x is not None
    table = torch.einsum("ed,abd->eab", x, crf.symmetric())
    states = torch.tensor([*itertools.product(range(3), repeat=graph.nodes), listed(y)])
    score = unary[torch.arange(graph.nodes), states].sum(1)
    score = score + table[torch.arange(graph.edges), states[:, graph.edge_index[0]], states[:, graph.edge_index[1]]].sum(1)
    loss = torch.logsumexp(score[:-1], 0) - score[-1]
    return torch.cat([g.detach().reshape(-1) for g in (loss, *torch.autograd.grad(loss, [unary, crf.weight]))])


def engine(device: str) -> float:
    """Return how far beliefs on a grid are from those of the engine."""
    graph = Graph.grid(5, 6)
    crf, unary, x, _ = problem(graph, 3, 2, torch.float64, device)
    crf.counting = "cover"
    with Folder() as folder:
        crf.to_blockbp(folder / "model.safetensors")
        assert x is not None
        arrays = [a.cpu().numpy() for a in (graph.edge_index.T, unary.detach(), x)]
        np.savez(folder / "grid.npz", edges=arrays[0], node_features=arrays[1], edge_features=arrays[2])
        run(["predict", "grid.npz", "-m", "model.safetensors", "-o", "out", "--arrays", "--tol", "1e-13"], folder)
        beliefs = torch.as_tensor(np.load(os.path.join(folder / "out", "beliefs.npy")))
    return float((crf.marginals(unary, graph.to(device), x, sweeps=2000, tol=1e-13).cpu() - beliefs).abs().max())


def speed(device: str, rows: int, features: int) -> str:
    """Return how fast steps of one sweep over a picture are, in float32."""
    graph = Graph.grid(rows, rows * 4 // 3).to(device)
    crf, unary, x, y = problem(graph, 8, features, torch.float32, device)

    def seconds(sweeps: int) -> float:
        state: Tensor | None = None
        times: list[float] = []
        for _ in range(7):
            begin = time.perf_counter()
            loss, state = crf(unary, graph, x, y, state, sweeps=sweeps, tol=0)
            loss.backward()
            if device != "cpu":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        return sorted(times[2:])[2]

    one, eleven = seconds(1), seconds(11)
    rate = f"{20 * graph.edges / (eleven - one) / 1e6:.1f} M messages/s, " if eleven > one else "too loaded to time, "
    return rate + f"{1 / one:.1f} steps/s of {one * 1e3:.1f} ms"


def main() -> int:
    """Run the checks, then the benchmark, and return 1 if a check has failed."""
    parser = argparse.ArgumentParser(prog="python -m blockbp.torch.selftest", description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int, default=240, help="rows of the picture of the benchmark")
    options = parser.parse_args()
    device, failed = options.device, 0
    tree, loops = Graph(6, torch.tensor([[1, 1, 3, 3, 5], [0, 2, 1, 4, 4]])), Graph.grid(20, 30)

    def far(a: Tensor, b: Tensor) -> float:
        return float((a - b).abs().max() / b.abs().max())

    checks: dict[str, tuple[Callable[[], float], float]] = {
        "a tree, by enumeration": (lambda: far(results(tree, torch.float64, device, 20), enumerated(tree)), DOUBLE),
        "a grid, by the CPU": (lambda: far(results(loops, torch.float64, device, 20), results(loops, torch.float64, "cpu", 20)), DOUBLE),
        "float32, by float64": (lambda: far(results(loops, torch.float32, device, 20), results(loops, torch.float64, device, 20)), SINGLE),
        "beliefs, by the engine": (lambda: engine(device), DOUBLE),
    }
    for name, (check, most) in checks.items():
        off = check()
        failed += not off <= most
        print(f"{'ok    ' if off <= most else 'FAILED'} {name}: {off:.1e}, want at most {most:g}")
    for where in dict.fromkeys((device, "cpu")):
        for features in (0, 4):
            print(f"{where}, {options.rows} × {options.rows * 4 // 3} pixels, 8 states, {features} edge features: {speed(where, options.rows, features)}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
