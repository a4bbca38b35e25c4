"""Compare a step of the layer with a pass of the engine, in seconds of the processor: ``python tests/steps.py [--counting trw]``.

One picture of 240 × 320 pixels and 8 classes, float32, one thread; both take turns, as other programs slow both down. A
step is the loss after one sweep from the messages before, and its backward pass; an epoch of 50 photographs is 50 steps.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from blockbp._run import Folder, run
from blockbp.torch import Graph, PairwiseCRF

ROWS, COLUMNS, CLASSES = 240, 320, 8


def picture(features: int) -> tuple[Graph, np.ndarray, np.ndarray, np.ndarray]:
    """Return the graph, noisy scores, features of edges, and labels: 80 regions."""
    rng, graph = np.random.default_rng(0), Graph.grid(ROWS, COLUMNS)
    y = rng.integers(0, CLASSES, (8, 10)).repeat(30, 0).repeat(32, 1).ravel()
    x = (np.eye(CLASSES)[y] + rng.normal(size=(len(y), CLASSES))).astype("f4")
    return graph, x, rng.random((graph.edges, max(1, features))).astype("f4") if features else np.ones((graph.edges, 1), "f4"), y


def engine(folder: Folder, counting: str) -> float:
    """Return the seconds of a pass: those of a long training less those of a short one."""
    spent: list[tuple[float, int]] = []
    for passes in (2, 22):
        begin = os.times().children_user
        run(["train", "p.npz", "-o", f"run{passes}", "--method=inner-dual", f"--counting={counting}", "--rtol=1e-12",
             f"--max-passes={passes}", "--threads=1", "--report=false", "--force"], folder)  # fmt: skip
        last = json.loads(Path(folder / f"run{passes}", "metrics.jsonl").read_text("utf-8").splitlines()[-1])
        spent.append((os.times().children_user - begin, last["pass"]))
    return (spent[1][0] - spent[0][0]) / (spent[1][1] - spent[0][1])


def layer(graph: Graph, x: Any, edge_x: Any, y: Any, counting: str, steps: int = 12) -> float:
    """Return the seconds of a step: the mean of all but the first two."""
    crf = PairwiseCRF(CLASSES, 0 if edge_x is None else edge_x.shape[1], counting)
    unary, state = x.clone().requires_grad_(), None
    for step in range(steps):
        if step == 2:
            begin = time.process_time()
        loss, state = crf(unary, graph, edge_x, y, state, sweeps=1, tol=0)
        (loss / len(y)).backward()
        with torch.no_grad():
            crf.weight -= 0.5 * crf.weight.grad
        crf.weight.grad = unary.grad = None
    return (time.process_time() - begin) / (steps - 2)


def main() -> None:
    """Print the times, and how many passes a step is worth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counting", default="trw")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for features, most in ((0, 1.5), (4, 2.5)):
        graph, x, edge_x, y = picture(features)
        found: list[tuple[float, float]] = []
        with Folder() as folder:
            np.savez(folder / "p.npz", edges=graph.edge_index.T, node_features=x, edge_features=edge_x, labels=y, states=CLASSES, directed=0)
            tensors = torch.tensor(x), torch.tensor(edge_x) if features else None, torch.tensor(y)
            for _ in range(options.rounds):
                found.append((layer(graph, *tensors, options.counting), engine(folder, options.counting)))
        step, one = (statistics.median(times) for times in zip(*found))
        print(f"{options.counting}, {features} edge features: a step {step:.3f} s, a pass {one:.3f} s, {step / one:.2f} times, want {most} at most")


if __name__ == "__main__":
    main()
