"""infer and sample."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockbp import BlockbpWarning, Network, infer, sample


def square(seed: int = 0) -> Network:
    """Return a grid of 3×3 variables of 3 states."""
    rng = np.random.default_rng(seed)
    node = np.arange(9).reshape(3, 3)
    edges = np.concatenate([np.stack([node[:, :-1], node[:, 1:]], -1).reshape(-1, 2), np.stack([node[:-1], node[1:]], -1).reshape(-1, 2)])
    return Network(rng.normal(0, 1, (9, 3)), edges, rng.normal(0, 1, (len(edges), 3, 3)))


def scores(network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Return all joint states of a network, and their scores."""
    states = np.array(list(itertools.product(range(3), repeat=len(network.theta))))
    score = sum(network.theta[u][states[:, u]] for u in range(len(network.theta)))
    for (u, v), table in zip(network.edges, network.theta_uv):
        score = score + table[states[:, u], states[:, v]]
    return states, score


def test_exact_is_the_sum_over_all_states() -> None:
    """Log partition function, marginals and the best state are those of the definition."""
    network = square()
    states, score = scores(network)
    log_z = np.log(np.exp(score).sum())
    p = np.exp(score - log_z)
    for evidence in (None, {0: 2, 4: 1}):
        keep = np.ones(len(states), bool)
        for u, x in (evidence or {}).items():
            keep &= states[:, u] == x
        q = p * keep / p[keep].sum()
        found = infer(network, method="exact", evidence=evidence)
        want = log_z + np.log(p[keep].sum())
        assert found.log_partition == pytest.approx(want, rel=1e-12) and found.bounds == (found.log_partition, found.log_partition)
        np.testing.assert_allclose(found.marginals, [[q[states[:, u] == x].sum() for x in range(3)] for u in range(9)], atol=1e-12)
        assert found.map is not None and np.array_equal(found.map, states[np.argmax(q)])
        assert found.map_score == pytest.approx(score[np.argmax(q)], rel=1e-12) and found.map_gap == 0 and found.converged
        assert infer(network, evidence=evidence).details["marginals"]["method"] == "exact"
        for method, counting in [("bp", "trw"), ("bp", "convex")]:
            low, high = infer(network, method=method, counting=counting, evidence=evidence).bounds
            assert low <= want <= high and np.isfinite(high)


def test_equal_to_the_command(tmp_path: Path, command: Any) -> None:
    """Answers are those of the command, to the last bit, also of files."""
    command("example", "network", "-o", "net.uai")
    (tmp_path / "e.evid").write_text("2 0 1 35 0")
    numbers = [float(word) for word in (tmp_path / "net.uai").read_text().split()[1:]]  # 36 variables of 3 states, 60 edges
    edges, tables = np.array(numbers[110:290], int).reshape(60, 3)[:, 1:], np.log(numbers[434:]).reshape(60, 10)[:, 1:]
    network = Network(np.log(numbers[290:434]).reshape(36, 4)[:, 1:], edges, tables.reshape(60, 3, 3))
    np.savez(tmp_path / "net.npz", theta=network.theta, edges=edges, theta_uv=network.theta_uv, constant=(constant := 0.5))
    said = json.loads(command("infer", "net.npz", "--task=MAR", "--counting=bethe", "--evidence=e.evid", "--json"))
    best = json.loads(command("infer", "net.npz", "--task=MPE", "--evidence=e.evid", "--json"))
    for form in (network, tmp_path / "net.npz", str(tmp_path / "net.uai")):
        found = infer(form, counting="bethe", evidence={0: 1, 35: 0})
        assert found.map is not None and found.map.tolist() == best["states"]
        if form is network:  # without its constant
            assert found.map_score == pytest.approx(-best["energy"] - constant)
        if isinstance(form, Path):
            assert found.marginals.tolist() == said["marginals"] and found.log_partition == said["log_z"]
            assert found.map_score == -best["energy"]
    command("sample", "net.npz", "-o", "s.npz", "--samples=600", "--seed=7", "--sampler=gibbs", "--evidence=e.evid", "-q")
    drawn = sample(tmp_path / "net.npz", 600, {0: 1, 35: 0}, "gibbs", random_state=7)
    with np.load(tmp_path / "s.npz") as said:
        assert np.array_equal(said["samples"], drawn.states) and np.array_equal(said["log_score"], drawn.log_score)
        assert drawn.rhat is not None and np.array_equal(said["rhat"], drawn.rhat, equal_nan=True) and drawn.converged
    assert np.array_equal(sample(network, 600, {0: 1, 35: 0}, "gibbs", random_state=7).states, drawn.states)


def test_narrow_networks_are_sampled_exactly() -> None:
    """Independent draws have the probabilities of the definition, and no R-hat."""
    for network in (Network(np.log([[1.0, 2, 3]] * 3), [[0, 1], [1, 2]], np.eye(3)), square()):
        drawn = sample(network, 20000)
        assert drawn.rhat is None and drawn.ess is None and drawn.converged
        share = np.stack([(drawn.states == k).mean(0) for k in range(3)], 1)
        np.testing.assert_allclose(share, infer(network).marginals, atol=0.015)


def test_variables_of_different_numbers_of_states() -> None:
    """Columns beyond the states of a variable have probability zero."""
    network = Network([[0.0, 1, -np.inf], [0.0, 0, 1]], [[0, 1]], np.zeros((3, 3)), states=[2, 3])
    found = infer(network, method="exact", decode=None)
    np.testing.assert_allclose(found.marginals[0], [1 / (1 + np.e), np.e / (1 + np.e), 0])
    assert found.map is None and np.isnan(found.map_score)


def test_no_edges() -> None:
    """A network without edges is one, however that is said."""
    theta = np.log([[0.5, 0.5], [0.9, 0.1]])
    for network in (Network(theta), Network(theta, [], []), Network(theta, np.zeros((0, 2), int), np.zeros((0, 2, 2)))):
        found = infer(network, method="exact")
        assert abs(found.log_partition) < 1e-12 and np.allclose(found.marginals, np.exp(theta)) and found.map[1] == 0


def test_options_speak_python() -> None:
    """Messages name parameters of infer and sample."""
    network = Network(np.zeros((2, 2)), [[0, 1]], np.eye(2))
    for call, name in [
        (lambda: infer(network, method="x"), "method"), (lambda: infer(network, decode="x"), "decode"), (lambda: infer(network, counting="x"), "counting"),
        (lambda: infer(network, options={"bins": 1}), "options"), (lambda: infer(network, random_state=-1), "random_state"),
        (lambda: sample(network, 0), "n_samples"), (lambda: sample(network, sampler="x"), "sampler"), (lambda: sample(network, n_jobs=0), "n_jobs"),
    ]:  # fmt: skip
        with pytest.raises(ValueError) as caught:
            call()
        assert name in str(caught.value) and "--" not in str(caught.value), caught.value


def test_mistakes(tmp_path: Path) -> None:
    """Errors name the array and the index."""
    network = square()

    def wants(message: str, network: Any, **more: Any) -> None:
        for function in (infer, sample):
            with pytest.raises(ValueError, match=message):
                function(network, **more)

    theta = network.theta.copy()
    theta[4, 2] = np.nan
    wants(r"^network\.theta\[4,2\]: potential is NaN", Network(theta, network.edges, network.theta_uv))
    wants(r"^network\.theta_uv: shape is \[2, 3, 3\], want 12 rows: edges has 12 edges", Network(network.theta, network.edges, network.theta_uv[:2]))
    wants(r"^network: edges\[0\] = \(0, 9\): node 9 does not exist", Network(network.theta, [[0, 9]], np.zeros((3, 3))))
    wants(r"^network\.edges holds float64, want integers", Network(network.theta, network.edges / 1, network.theta_uv))
    wants(r"^evidence: variable 9 does not exist", network, evidence={9: 0})
    wants(r"^evidence: evidence has \"a\", want a number from 0 on", network, evidence={"a": 0})
    wants(r"^evidence holds 0.5, want numbers", network, evidence={0: 0.5})
    wants(r"^evidence: variable 1 has state 3, want 0 to 2", network, evidence={1: 3})
    wants(r"^evidence is list, want a dict", network, evidence=[1])
    wants(r"^evidence is ndarray, want a dict", network, evidence=np.array([1, 2]))
    wants(r"^network is int", 3)
    wants(r'^network\.theta: reading the arrays .*; options\["memory"\]=.* allows it$', network, options={"memory": "100B"})
    wants(r"^network\.theta is no array, as its parts have different lengths; fill rows up, and say in states", Network([[0, 1], [0, 1, 2]]))
    wants(r"every joint state has probability zero", Network([[0.0, 0], [0, 0]], [[0, 1]], np.full((2, 2), -np.inf)))
    with pytest.raises(ValueError, match=r'"nonsense": .*want auto, bp, exact'):
        infer(network, method="nonsense")
    with pytest.raises(Exception, match="no-such.uai"):
        infer(tmp_path / "no-such.uai")
    with pytest.warns(BlockbpWarning, match="sweep"):
        assert not infer(network, "bp", options={"max_sweeps": 1}).converged


def test_names(tmp_path: Path) -> None:
    """Evidence may have the names that a file of a network has."""
    net = tmp_path / "wet.bif"
    net.write_text("network w { }\nvariable rain { type discrete [2] { yes, no }; }\nprobability ( rain ) { table 0.25, 0.75; }\n")
    assert infer(net, evidence={"rain": "no"}).marginals[0].tolist() == infer(net, evidence={"rain": 1}).marginals[0].tolist() == [0, 1]
