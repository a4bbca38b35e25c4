"""Prove how near a trained model is to the best one, with NumPy alone: none of blockbp's code is used.

    blockbp train DATA -o RUN --standardise=false --proof
    python verify.py RUN DATA

DATA are .npz files of dense features, all labels known, each counted once. Types of nodes have the same number of states,
and several types of edges are told by edge_types, ends in the order of their type; RUN has model.safetensors, result.json, config.json, and proof.safetensors. The messages in it are any numbers: whatever they
are, the upper bound holds if the counting numbers, which are the run's, are convex, which is looked at first, and so
does the lower bound, of beliefs that are made consistent here. What cannot be proved ends the program with a reason.
"""

import json
import pathlib
import sys

import numpy as np

ARRAYS = {"node_types", "edge_types", "edges", "labels", "states", "directed", "node_features", "edge_features"}


def demand(true, otherwise):
    """End the program, also under python -O, unless something is true."""
    if not true:
        raise SystemExit(f"nothing is proved: {otherwise}")


def tensors(path):
    """Read a safetensors file: its arrays and metadata."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, t in header.items():
        demand(t["dtype"] == "F64", f"{path}: {name} is not of float64")
        first, end = t["data_offsets"]
        arrays[name] = np.frombuffer(raw[start + first : start + end], "<f8").reshape(t["shape"])
    return arrays, metadata


def log_sum(x, axis):
    """Return log Σ exp x."""
    largest = x.max(axis, keepdims=True)
    return np.squeeze(largest, axis) + np.log(np.exp(x - largest).sum(axis))


def entropy(p, axis):
    """Return −Σ p log p."""
    return -(p * np.log(np.maximum(p, 1e-300))).sum(axis)


def consistent(pair, rows, columns):
    """Return distributions near pair whose sums are rows and columns: cut what is too much, and fill up what lacks."""
    pair = pair * np.minimum(1, rows / np.maximum(pair.sum(2), 1e-300))[:, :, None]
    pair = pair * np.minimum(1, columns / np.maximum(pair.sum(1), 1e-300))[:, None, :]
    r, c = np.maximum(rows - pair.sum(2), 0), np.maximum(columns - pair.sum(1), 0)
    return pair + r[:, :, None] * c[:, None, :] / np.maximum(r.sum(1), 1e-300)[:, None, None]


def with_bias(x, columns, rows):
    """Return features with a constant behind them, where weights have one more."""
    x = np.empty((rows, 0)) if x is None else x
    demand(columns - x.shape[1] in (0, 1) and len(x) == rows, "the weights are of other features")
    return np.hstack([x, np.ones((rows, columns - x.shape[1]))])


def kinds(data, name, count, types):
    """Return the elements of each type."""
    demand(name in data or types == 1, f"{name} are not given, and there are several")
    given = data.get(name, np.zeros(count, int))
    return [np.flatnonzero(given == t) for t in range(types)]


def bounds(data, node_weights, edge_weights, ends, proof, loss):
    """Return D − ⟨θ, w⟩ and Σ c H(τ) + loss, in the mean over the samples, and M τ − M w̄."""
    u, v = data["edges"].astype(int).T
    f = with_bias(data.get("node_features"), node_weights.shape[-1], int(data["labels"].shape[-1]))
    g = with_bias(data.get("edge_features"), edge_weights.shape[-1], len(u))
    labels = np.atleast_2d(data["labels"])
    demand((labels >= 0).all() and not (loss and len(labels) > 1), "labels are hidden")
    (n, k), m, at = (len(f), node_weights.shape[1]), len(u), np.arange(len(f))
    of_node = kinds(data, "node_types", n, len(node_weights))
    of_edge = kinds(data, "edge_types", m, len(edge_weights))
    for rows, (a, b) in zip(of_edge, ends):
        demand(np.isin(u[rows], of_node[a]).all() and np.isin(v[rows], of_node[b]).all(), "ends of edges are turned round")
    c_node, c_edge = proof["node"], proof["edge"]
    split = proof["split"].reshape(-1, 2) * (1 - 1e-12) if proof["split"].size else np.zeros((m, 2))  # at v, at u
    message, belief = proof["messages"].reshape(m, 2, k), proof["beliefs"].reshape(n, k)

    # Convex: c_uv H(uv) − Σ h H(s) is a sum of conditional entropies where h ≥ 0 and c_uv ≥ Σ h, and the rest of c_s ≥ 0.
    rest = c_node + np.bincount(v, split[:, 0], n) + np.bincount(u, split[:, 1], n)
    convex = (split >= 0).all() and (split.sum(1) <= c_edge).all() and (rest >= -1e-9).all()
    demand(convex, "the counting numbers are not provably convex")
    rest = np.maximum(rest, 0)  # more entropy is a looser upper bound

    theta, pair = np.empty((n, k)), np.empty((m, k, k))
    for rows, weights in zip(of_node, node_weights):
        theta[rows] = f[rows] @ weights.T
    for rows, weights in zip(of_edge, edge_weights):
        pair[rows] = np.einsum("ijf,ef->eij", weights, g[rows])
    if loss:
        theta = theta + loss * (np.arange(k) != labels[0][:, None])
    into_v, into_u = c_edge[:, None] * (message[:, 0] - belief[v]), c_edge[:, None] * (message[:, 1] - belief[u])
    log_pair = (pair - into_u[:, :, None] - into_v[:, None, :]) / c_edge[:, None, None]
    log_z = log_sum(log_pair.reshape(m, -1), 1)
    tau = np.exp(log_pair - log_z[:, None, None])
    node = theta.copy()
    np.add.at(node, v, into_v + split[:, :1] * np.log(np.maximum(tau.sum(1), 1e-300)))
    np.add.at(node, u, into_u + split[:, 1:] * np.log(np.maximum(tau.sum(2), 1e-300)))
    count = np.maximum(rest, 1e-12)[:, None]
    dual = (c_edge * log_z).sum() + (count[:, 0] * log_sum(node / count, 1)).sum()
    score = np.mean([theta[at, y].sum() + pair[np.arange(m), y[u], y[v]].sum() for y in labels])

    single = np.exp(belief - log_sum(belief, 1)[:, None])
    tau = consistent(tau, single[u], single[v])
    gain = c_node @ entropy(single, 1) + c_edge @ entropy(tau, (1, 2))
    if loss:
        gain += loss * (1 - single[at, labels[0]]).sum()
    seen, seen_pair = single.copy(), tau.copy()
    for y in labels:
        seen[at, y] -= 1 / len(labels)
        seen_pair[np.arange(m), y[u], y[v]] -= 1 / len(labels)
    by_node = np.stack([seen[rows].T @ f[rows] for rows in of_node])
    by_edge = np.stack([np.einsum("eij,ef->ijf", seen_pair[rows], g[rows]) for rows in of_edge])
    return dual - score, gain, by_node, by_edge, len(labels)


def main(run, folder):
    """Print the bounds, and return how far the objective is above the smallest at most."""
    run, folder = pathlib.Path(run), pathlib.Path(folder)
    weights, metadata = tensors(run / "model.safetensors")
    proof, _ = tensors(run / "proof.safetensors")
    result, options = (json.loads((run / f"{name}.json").read_text("utf-8")) for name in ("result", "config"))
    options = {name: option["value"] for name, option in options["options"].items()}
    l2, objective = result["l2"], result["objective"]
    loss = 1 / (options["epsilon"] or 1) if options["loss"] else 0
    demand(l2 and objective is not None and result["suboptimality"] is not None, "the run knows of no bound itself")
    demand(not result["standardised"], "the weights were learned for standardised features")
    demand(not options["class-weights"] and not options["no-edges"], "it is of another objective")
    schema = json.loads(metadata["schema"])
    types = schema["node_types"] + schema["edge_types"]
    demand(not any(t.get("copies") or t.get("forbidden") for t in types), "states are forbidden, or weights untied")
    tables = [[weights[f"{of}.{t['name']}"] for t in schema[of + "_types"]] for of in ("node", "edge")]
    demand(all(len({w.shape for w in of}) == 1 for of in tables), "types have different numbers of states, or no edges are there")
    node, edge = map(np.stack, tables)
    ends = [(t["u"], t["v"]) for t in schema["edge_types"]]
    parts, found, names = ("messages", "beliefs", "node", "edge", "split"), [], set()
    for path in sorted(folder.glob("*.npz")):
        data = dict(np.load(path))
        demand(set(data) <= ARRAYS, f"{path}: {sorted(set(data) - ARRAYS)} would count in the objective")
        names |= {f"{path.stem}.{key}" for key in parts}
        demand(names <= set(proof), f"{path} is not of the run")
        found.append(bounds(data, node, edge, ends, {key: proof[f"{path.stem}.{key}"] for key in parts}, loss))
    demand(found and names == set(proof), f"{folder} has not all data of the run")
    samples = sum(x[4] for x in found)
    mean = lambda i: sum(x[i] * x[4] for x in found) / samples  # noqa: E731
    node_rest, edge_rest = mean(2), mean(3)
    for rest, kind in zip(edge_rest, schema["edge_types"]):
        if kind.get("symmetric"):  # weights of (a, b) and (b, a) are the same
            rest[:] = (rest + rest.transpose(1, 0, 2)) / 2
    upper = mean(0) + l2 / 2 * ((node**2).sum() + (edge**2).sum())
    lower = mean(1) - ((node_rest**2).sum() + (edge_rest**2).sum()) / (2 * l2)
    gap = upper - lower
    demand(np.isfinite(gap), "a bound is no finite number")
    demand(lower <= objective + 1e-9 * (1 + abs(objective)), "the proof is of another objective than the run's")
    print(f"the objective is at most {upper:.10g}, the smallest at least {lower:.10g}: {gap:.3g} are left at most,")
    print(f"and the weights are within {np.sqrt(2 * max(gap, 0) / l2):.3g} of those of the optimum")
    return upper, lower


if __name__ == "__main__":
    main(*sys.argv[1:])
