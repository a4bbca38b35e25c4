"""The scripts and notebooks in examples/ run, and come to what they are there to show."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from blockbp import _run

EXAMPLES = Path(__file__).parent.parent / "examples"
PACKAGES = {"sklearn", "scipy", "networkx", "matplotlib", "torch"}


def output(name: str, folder: Path) -> str:
    """Run an example in a folder, and return what it prints."""
    text, script = (EXAMPLES / name).read_text(encoding="utf-8"), EXAMPLES / name
    if script.suffix == ".ipynb":
        cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
        assert not any(c["outputs"] or c["execution_count"] for c in cells), "a notebook is kept without outputs"
        text, script = "\n\n".join("".join(c["source"]) for c in cells), folder / "notebook.py"
        script.write_text(text, encoding="utf-8")
    for package in sorted(PACKAGES & set(re.findall(r"^(?:import|from) (\w+)", text, re.M))):
        pytest.importorskip(package)
    done = subprocess.run([sys.executable, script], cwd=folder, env={**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    return done.stdout


def number(pattern: str, text: str) -> float:
    """Return the number behind a pattern."""
    found = re.search(pattern + r"\s+(-?[\d.]+(?:e-?\d+)?)", text)
    assert found, f"{pattern} in {text}"
    return float(found[1])


def test_all_are_tested() -> None:
    """No example is without a test."""
    here = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{path.name}"' in here for path in EXAMPLES.iterdir())


def test_segmentation(tmp_path: Path) -> None:
    """A CRF is better than the forest whose probabilities it has."""
    text = output("segmentation.ipynb", tmp_path)
    assert number("forest and CRF", text) > number("random forest", text) + 0.02


def test_citations(tmp_path: Path) -> None:
    """Citations tell more than words alone."""
    text = output("citations.ipynb", tmp_path)
    assert number("words and citations", text) > number("words alone", text) + 0.1


def test_tagging(tmp_path: Path) -> None:
    """Transitions tell more than words alone."""
    text = output("tagging.ipynb", tmp_path)
    assert number("with transitions", text) > number("each word alone", text) + 0.1
    assert "the/DET old/ADJ cook/NOUN fish/VERB" in text


def test_spin_glass(tmp_path: Path) -> None:
    """The couplings that come back are those that were put in."""
    text = output("spin_glass.ipynb", tmp_path)
    assert number("partition function", text) < number("at most", text)
    assert "proved optimal: True" in text
    assert abs(number("true couplings", text) - 1) < 0.05
    assert re.search(r"(8[5-9]|9\d|100)\.\d% of 95 % intervals", text)


def test_species(tmp_path: Path) -> None:
    """Neighbours tell more than the climate alone, also in probabilities."""
    text = output("species.ipynb", tmp_path)
    alone, together = (re.search(rf"{name} +([.0-9]+) .* ([.0-9]+)$", text, re.M) for name in ("climate alone", "with neighbours"))
    assert alone and together
    assert float(together[1]) > float(alone[1]) + 0.1 and float(together[2]) < float(alone[2]) - 0.1


def test_logistic_regression(tmp_path: Path) -> None:
    """Without edges the weights are scikit-learn's."""
    text = output("logistic_regression.py", tmp_path)
    assert number("weights differ by at most", text) < 1e-6 and number("probabilities differ by at most", text) < 1e-6
    assert number("CRF", text.splitlines()[-1]) > number("CRF without edges", text) + 0.1


def test_network(tmp_path: Path) -> None:
    """With a CRF a network is far better than alone, and best when learned for its predictions in the end."""
    text = output("network.py", tmp_path)
    alone, last = number("network alone +accuracy", text), number("truncated, from there +accuracy", text)
    assert min(number(f"{how} +accuracy", text) for how in ("network, then CRF", "from random", "from network")) > alone + 0.1
    assert last > alone + 0.2 and abs(number("30, from nothing +accuracy", text) - number("from random +accuracy", text)) < 0.002
    assert abs(number("30, from nothing +accuracy", text) - number("1 sweep a step +accuracy", text)) < 0.003
    losses = {how: number(f"{how} +accuracy [.0-9]+ +log loss", text) for how in ("network, then CRF", "truncated, from there")}
    assert losses["truncated, from there"] < losses["network, then CRF"]


def test_messages(tmp_path: Path) -> None:
    """From predicted messages belief propagation ends where it ends from nothing; weak couplings need fewer sweeps."""
    weak, strong = output("messages.py", tmp_path).split("couplings of ")[1:]
    sweeps = [[int(n) for n in re.findall(r"\d+", line)] for line in re.findall(r"^from .*", weak, re.M)]
    assert len(sweeps) == 2 and all(there <= here for here, there in zip(*sweeps)) and sweeps[1][0] < sweeps[0][0]
    for text in (weak, strong):
        assert number("beliefs differ by", text) < 1e-11 and number("bounds on log Z by", text) < 1e-13


@pytest.mark.parametrize("options", ["", "--counting convex", "--counting near-bethe --blocks 4", "--loss hamming --epsilon 0.3"])
def test_verify(options: str, tmp_path: Path, command: Callable[..., str]) -> None:
    """NumPy proves the suboptimality of a run, and any messages prove something true."""
    rng = np.random.default_rng(4)
    (tmp_path / "data").mkdir()
    at = np.arange(30).reshape(5, 6)
    edges = np.concatenate([np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], 1), np.stack([at[:-1].ravel(), at[1:].ravel()], 1)])
    for name in ("a", "b"):
        np.savez(
            tmp_path / "data" / f"{name}.npz", edges=edges, labels=rng.integers(0, 3, 30), node_features=rng.normal(size=(30, 2)),
            edge_features=rng.normal(size=(len(edges), 2)), states=3, directed=0,
        )
    train = ["train", "data", "--standardise=false", "--gap", "1e-4", *options.split()]
    said = json.loads(command(*train, "-o", "run", "--proof", "--json"))
    assert said["l2"] == pytest.approx((0.3 if "0.3" in options else 1) / 2)
    assert ("no probabilities" in str(said["notes"])) == ("--loss" in options)
    best = json.loads(command(*train, "-o", "best", "--gap", "1e-9", "--json"))["objective"]
    script = runpy.run_path(str(EXAMPLES / "verify.py"))
    upper, lower = script["main"](tmp_path / "run", tmp_path / "data")
    assert upper == pytest.approx(said["objective"], rel=1e-9) and lower <= best <= upper + 1e-9
    assert upper - lower < 2 * said["suboptimality"] + 1e-6
    proof = tmp_path / "run" / "proof.safetensors"
    raw = whole = proof.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    for name in ("a.messages", "b.beliefs"):
        first, end = (start + x for x in header[name]["data_offsets"])
        noise = np.frombuffer(raw[first:end], "<f8") + rng.normal(size=(end - first) // 8)
        raw = raw[:first] + noise.astype("<f8").tobytes() + raw[end:]
    proof.write_bytes(raw)
    looser, lowest = script["main"](tmp_path / "run", tmp_path / "data")
    assert looser > upper + 0.01 and lowest < lower - 0.01
    for where, factor in {"edge": 1.01, "beliefs": np.nan}.items():
        raw = whole
        for name in ("a", "b"):
            first, end = (start + x for x in header[f"{name}.{where}"]["data_offsets"])
            raw = raw[:first] + (np.frombuffer(raw[first:end], "<f8") * factor).astype("<f8").tobytes() + raw[end:]
        proof.write_bytes(raw)
        with pytest.raises(SystemExit, match="nothing is proved"):
            script["main"](tmp_path / "run", tmp_path / "data")
    data = dict(np.load(tmp_path / "data" / "b.npz"))
    for more in ({"weight": 2.0}, {"sample_weights": [3.0]}, {"labels": np.where(data["labels"] > 1, -1, data["labels"])}):
        np.savez(tmp_path / "data" / "b.npz", **{**data, **more})
        with pytest.raises(SystemExit, match="hidden|would count"):
            script["main"](tmp_path / "run", tmp_path / "data")


def test_verify_types(tmp_path: Path, command: Callable[..., str]) -> None:
    """Several types of nodes and edges have a proof, too."""
    rng, kind = np.random.default_rng(3), np.arange(20) % 2
    (tmp_path / "data").mkdir()
    names = {"node_types": ["a", "b"], "edge_types": [{"name": name, "u": name[0], "v": name[1]} for name in ("aa", "ab", "bb")]}
    (tmp_path / "data" / "dataset.json").write_text(json.dumps(names), "utf-8")
    for name in "xy":
        edges = np.unique(np.sort(rng.integers(0, 20, (40, 2)), 1), axis=0)
        edges = edges[edges[:, 0] != edges[:, 1]]
        edges[kind[edges[:, 0]] > kind[edges[:, 1]]] = edges[kind[edges[:, 0]] > kind[edges[:, 1]], ::-1]
        np.savez(
            tmp_path / "data" / f"{name}.npz", edges=edges, labels=rng.integers(0, 3, 20), node_features=rng.normal(size=(20, 2)), states=3,
            edge_features=rng.normal(size=(len(edges), 2)), node_types=kind, edge_types=kind[edges].sum(1),
        )
    said = json.loads(command("train", "data", "--standardise=false", "--gap", "1e-6", "--proof", "--json", "-o", "run"))
    upper, lower = runpy.run_path(str(EXAMPLES / "verify.py"))["main"](tmp_path / "run", tmp_path / "data")
    assert upper == pytest.approx(said["objective"], rel=1e-9) and upper - lower < 2 * said["suboptimality"] + 1e-6


def test_verify_sentences(tmp_path: Path, command: Callable[..., str]) -> None:
    """Chains with many features have a proof each; no proof is written where nothing bounds the optimum."""
    rng = np.random.default_rng(2)
    (tmp_path / "data").mkdir()
    for name in "abc":
        edges, x = np.stack([np.arange(4), np.arange(1, 5)], 1), rng.normal(size=(5, 700))
        np.savez(tmp_path / "data" / f"{name}.npz", edges=edges, labels=rng.integers(0, 4, 5), node_features=x, states=4, directed=1)
    said = json.loads(command("train", "data", "--standardise=false", "--proof", "--json", "-o", "run"))
    upper, _ = runpy.run_path(str(EXAMPLES / "verify.py"))["main"](tmp_path / "run", tmp_path / "data")
    assert upper == pytest.approx(said["objective"], rel=1e-9)
    np.savez(tmp_path / "data" / "c.npz", edges=[[0, 1], [1, 2], [0, 2]], labels=[0, 1, 3], node_features=x[:3], states=4, directed=1)
    command("train", "data", "--standardise=false", "--proof", "--counting", "bethe", "-o", "loop")
    assert not (tmp_path / "loop" / "proof.safetensors").exists()


def torus(side: int) -> np.ndarray:
    """Return the edges of a grid that is closed, to the right and then down."""
    at = np.arange(side * side).reshape(side, side)
    return np.concatenate([np.stack([at.ravel(), np.roll(at, -1, axis).ravel()], 1) for axis in (1, 0)])


@pytest.mark.parametrize("counting", ["convex", "cover"])
@pytest.mark.parametrize("name", ["torus", "two kinds", "complete", "repeated"])
def test_lifted(name: str, counting: str, tmp_path: Path, command: Callable[..., str]) -> None:
    """A network of classes has the objective and the optimum of all nodes."""
    rng, at, ones = np.random.default_rng(1), np.arange(36), np.ones((36, 1))
    loop, y = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 4)]), np.array([0, 1, 2, 1, 0])
    x, f = rng.normal(size=(5, 2)), rng.normal(size=(6, 2))
    data, classes = {
        "torus": ([(torus(6), at % 6 % 3, ones, None)], 3),
        "two kinds": ([(torus(6), at % 2, np.stack([at % 2, at // 6 % 2], 1), np.repeat(np.eye(2), 36, 0))], 4),
        "complete": ([(np.argwhere(np.tri(8, k=-1)), np.arange(8) // 3 % 2, ones[:8], None)], 2),
        "repeated": ([(loop, y, x, f)] * 3 + [(loop, np.roll(y, 1), x, f)], 10),
    }[name]
    (tmp_path / "data").mkdir()
    for i, (edges, labels, node, edge) in enumerate(data):
        arrays = {"edges": edges, "labels": labels, "node_features": node, "states": 3, "directed": int(edge is not None)}
        np.savez(tmp_path / "data" / f"{i}.npz", edge_features=np.ones((len(edges), 1)) if edge is None else edge, **arrays)
    script = runpy.run_path(str(EXAMPLES / "lifted.py"))
    assert script["main"](tmp_path / "data", tmp_path / "out", counting) == classes
    options = "--standardise=false --l2 0.3 --rtol 1e-12 --gap 1e-12 --json".split()
    whole = json.loads(command("train", "data", "--counting", counting, "-o", "whole", *options))
    small = json.loads(command("train", "out/data.npz", "--init", "out/model.safetensors", "-o", "small", *options))
    assert whole["status"] == small["status"] == "converged"
    assert small["objective"] == pytest.approx(whole["objective"], rel=1e-12)
    tensors = runpy.run_path(str(EXAMPLES / "verify.py"))["tensors"]
    weights = [tensors(tmp_path / run / "model.safetensors")[0] for run in ("whole", "small")]
    for kind in ("node.node", "edge.edge"):
        assert np.allclose(weights[1][kind], weights[0][kind], rtol=0, atol=1e-10)
    assert abs(weights[0]["edge.edge"]).max() > 0.1
    told = json.loads(command("eval", "data", "-m", "whole", "-m", "small", "--counting", counting, "--json"))["models"]
    assert told[1]["log_loss"] == pytest.approx(told[0]["log_loss"], rel=1e-9)


@pytest.mark.parametrize("more", [{}, {"train_mask": np.arange(6) < 3}])
def test_advice_on_arrays_of_pyg(more: dict[str, np.ndarray], tmp_path: Path) -> None:
    """The line that the command prints for arrays of PyTorch Geometric and OGB makes a network that it reads."""
    edges = np.array([[0, 1, 2, 3, 4, 5, 1, 2], [1, 2, 3, 4, 5, 5, 0, 1]])  # some both ways round, and a loop
    y = np.array([[0], [1], [2], [np.nan], [1], [2]])
    np.savez(tmp_path / "pyg.npz", edge_index=edges, y=y, node_feat=np.eye(6, 2), **more)
    refusal = subprocess.run([_run.binary(), "info", "pyg.npz"], cwd=tmp_path, capture_output=True, text=True).stderr
    command = refusal[refusal.index("python3 ") :].replace("python3", sys.executable, 1)
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    made = np.load(tmp_path / "converted.npz")
    assert made["edges"].tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]] and made["node_features"].shape == (6, 3)
    assert made["labels"].tolist() == ([0, 1, 2, -1, -1, -1] if more else [0, 1, 2, -1, 1, 2])
    subprocess.run([_run.binary(), "check", "converted.npz"], cwd=tmp_path, check=True)
