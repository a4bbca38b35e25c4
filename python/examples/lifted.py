"""Learn from classes of nodes that say the same (lifted learning; Ahmadi, Kersting and Natarajan 2012), with NumPy.

    python lifted.py DATA OUT [convex|cover]
    blockbp train OUT/data.npz --init OUT/model.safetensors --standardise=false --l2 1 -o RUN
    blockbp eval DATA -m RUN --counting convex

DATA are .npz files of dense features and one known label a node. OUT has the objective of all of them, for the same --l2,
and so the same best weights: each of its nodes stands for a class, with the sum of what its members have.

Where counting numbers are convex, nodes that see the same have the same belief at the optimum. With such beliefs the
free energy is a sum over classes of nodes and of edges, in which features and counting numbers are multiplied by how many
members there are: that of a small network. Edges within a class would be loops, and several kinds of edges between two
classes parallel. So there are copies of all classes, each for an equal share of the members, and the j-th kind of edges
between two classes goes from each copy to the j-th after it.
"""

import json
import pathlib
import sys

import numpy as np


def load(folder):
    """Return all networks as one: ends, what nodes and edges say, how often they count, labels, states, and direction."""
    files = [dict(np.load(path)) for path in sorted(pathlib.Path(folder).glob("*.npz"))]
    parts, before = [], 0
    for data in files:
        n, edges = data["labels"].shape[-1], data["edges"].astype(int)
        if data["labels"].shape != (n,) or (data["labels"] < 0).any() or not {"node_features", "edge_features"} <= set(data):
            raise SystemExit("want one label of each node, none that is hidden, and features of nodes and of edges, if only ones")
        said = np.column_stack([data["labels"], data["node_features"]])
        parts.append((edges + before, said, data["edge_features"]))
        before += n
    ends, said, heard = map(np.concatenate, zip(*parts))
    return ends, said, heard, int(files[0]["states"]), bool(files[0].get("directed", 0)), len(files)


def numbered(x):
    """Return the number of each row among all that are different."""
    return np.unique(x, axis=0, return_inverse=True)[1].reshape(-1)


def classes(ends, said, kind, directed):
    """Return the class of each node by colour refinement: as few as possible, of which all hear the same from neighbours."""
    rng, colour, number = np.random.default_rng(0), numbered(said), 0
    target, source = np.concatenate([ends[:, 1], ends[:, 0]]), np.concatenate([ends[:, 0], ends[:, 1]])
    way = np.concatenate([2 * kind, 2 * kind + directed])
    while number < colour.max() + 1:
        number = colour.max() + 1
        hashes = rng.integers(0, 2**63, (2 * kind.max(initial=0) + 2) * number, dtype=np.uint64)
        sums = np.zeros(len(colour), np.uint64)  # of a hash of each neighbour: the same for the same neighbours in any order
        np.add.at(sums, target, hashes[way * number + colour[source]])
        sums = numbered(sums)
        colour = numbered(colour * (sums.max() + 1) + sums)
    return colour


def lift(ends, said, heard, directed, samples, counting):
    """Return the small network, and its counting numbers."""
    degree, kind = np.bincount(ends.ravel(), minlength=len(said)), numbered(heard)
    c_edge = 1 / degree[ends].max(1) if counting == "cover" else np.ones(len(ends))
    c_node = np.ones(len(said))
    if counting == "cover":
        c_node = np.maximum(1 - np.bincount(ends.ravel(), np.repeat(c_edge, 2), len(said)), 0)
    colour = classes(ends, said, kind, directed)
    n, first = colour.max() + 1, np.unique(colour, return_index=True)[1]
    between = colour[ends] if directed else np.sort(colour[ends], 1)
    between, one, of, size = np.unique(np.column_stack([between, kind]), axis=0, return_index=True, return_inverse=True, return_counts=True)
    pair = numbered(np.sort(between[:, :2], 1))
    order, after = np.argsort(pair, kind="stable"), np.empty(len(pair), int)
    after[order] = 1 + np.arange(len(pair)) - np.searchsorted(pair[order], pair[order])
    loops = (between[:, 0] == between[:, 1]).any()
    copies = 2 * after.max() + 1 if loops or after.max() > 1 else 1
    copy, share = np.arange(copies)[:, None], 1 / copies / samples
    u, v = (copy * n + between[:, 0]).ravel(), ((copy + after) % copies * n + between[:, 1]).ravel()
    members = np.bincount(colour)[:, None]
    node, edge = said[first, 1:] * members * share, heard[one] * size[:, None] * share
    data = {
        "edges": np.column_stack([u, v]), "labels": np.tile(said[first, 0].astype(int), copies), "directed": int(directed),
        "node_features": np.tile(node, (copies, 1)), "edge_features": np.tile(edge, (copies, 1)),
    }
    counts = [np.tile(np.bincount(*x) * share, copies) for x in ((colour, c_node), (of.reshape(-1), c_edge))]
    return data, counts, n


def crc32c(data):
    """Return the checksum that model files have."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def write_model(path, states, data, counts):
    """Write a model of zeros with counting numbers of its own, as safetensors."""
    f, g = data["node_features"].shape[1], data["edge_features"].shape[1]
    edge = {"name": "edge", "u": 0, "v": 0, "features": g, **({} if data["directed"] else {"symmetric": True})}
    nodes = {"name": "node", "states": [str(x) for x in range(states)], "features": f}
    meta = {
        "checksum": "crc32c:00000000", "format": "blockbp-model", "format_version": "3", "counting": "numbers", "seed": "1",
        "recipe": json.dumps({"kind": "npz", "node_form": "dense", "edge_form": "dense"}),
        "schema": json.dumps({"node_types": [nodes], "edge_types": [edge]}),
    }
    arrays = {"node.node": np.zeros((states, f)), "edge.edge": np.zeros((states, states, g))}
    arrays |= {"counting.node": counts[0], "counting.edge": counts[1]}
    header, raw = {"__metadata__": meta}, b""
    for name in sorted(arrays):
        begin, raw = len(raw), raw + arrays[name].astype("<f8").tobytes()
        header[name] = {"dtype": "F64", "shape": list(arrays[name].shape), "data_offsets": [begin, len(raw)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    whole = len(text).to_bytes(8, "little") + text + raw
    path.write_bytes(whole.replace(b"crc32c:00000000", f"crc32c:{crc32c(whole):08x}".encode(), 1))


def main(folder, out, counting="convex"):
    """Write the small network and its counting numbers, and return how many classes there are."""
    out = pathlib.Path(out)
    ends, said, heard, states, directed, samples = load(folder)
    data, counts, n = lift(ends, said, heard, directed, samples, counting)
    out.mkdir(parents=True, exist_ok=True)
    np.savez(out / "data.npz", states=states, **data)
    write_model(out / "model.safetensors", states, data, counts)
    print(f"{len(said)} nodes are of {n} classes, in a network of {len(data['labels'])} nodes and {len(data['edges'])} edges")
    return n


if __name__ == "__main__":
    main(*sys.argv[1:])
