"""GraphCRF."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import stripes

from blockbp import BlockbpWarning, ChainCRF, Graph, GraphCRF, GridCRF, IsingModel, NodeCRF, PottsModel, _base
from blockbp._model import Model


def rings(count: int = 6, nodes: int = 15, seed: int = 0) -> tuple[list[Graph], list[np.ndarray]]:
    """Return rings with a chord, of sizes that differ, with edge features."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for k in range(count):
        n = nodes + k
        edges = np.stack([np.arange(n), (np.arange(n) + 1) % n], 1)
        edges = np.concatenate([edges, [[0, n // 2]]])
        y = (np.arange(n) * 3 // n + k) % 3
        x = np.eye(3)[y] + rng.normal(0, 0.8, (n, 3))
        graphs.append(Graph(x, edges, np.c_[y[edges[:, 0]] == y[edges[:, 1]], rng.normal(0, 1, len(edges))].astype(float)))
        labels.append(y)
    return graphs, labels


@pytest.mark.parametrize("directed", [False, True])
def test_equal_to_the_command(tmp_path: Path, command, directed: bool) -> None:
    """Weights, labels and probabilities are those of the command, to the last bit."""
    graphs, y = rings()
    hidden = [np.where(np.arange(len(t)) % 4 == 0, -1, t) for t in y]
    crf = GraphCRF(directed=directed, prior=2, n_jobs=1).fit(graphs, hidden)
    (tmp_path / "data").mkdir()
    for n, (g, t) in enumerate(zip(graphs, hidden)):
        np.savez(tmp_path / f"data/{n}.npz", edges=g.edges, labels=t, node_features=np.c_[g.x, np.ones(len(t))], edge_features=np.c_[g.edge_x, np.ones(len(g.edges))])
    (tmp_path / "data/dataset.json").write_text(json.dumps({"states": 3}))
    command("train", "data", *["--directed"] * directed, "--prior", "2", "-o", "run", "-q", "--report=false")
    trained = Model((tmp_path / "run/model.safetensors").read_bytes()).coefficients()
    assert trained.keys() == crf.coef_.keys() == {"node", "edge"}
    for name, weights in trained.items():
        assert np.array_equal(weights, crf.coef_[name]), name
    assert directed != np.array_equal(crf.coef_["edge"], crf.coef_["edge"].swapaxes(0, 1))
    command("predict", "data", "-m", "run", "-o", "free", "-q")
    command("predict", "data", "-m", "run", "-o", "held", "-q", "--clamp")
    for known, folder in [(None, "free"), (hidden, "held")]:
        labels, beliefs = crf.predict(graphs, known), crf.predict_proba(graphs, known)
        for n in range(len(graphs)):
            with np.load(tmp_path / f"{folder}/{n}.npz") as said:
                assert np.array_equal(said["labels"], labels[n]) and np.array_equal(said["beliefs"], beliefs[n])


def test_forms_of_graphs() -> None:
    """One network in all forms that others have gives one model."""
    networkx, sparse = pytest.importorskip("networkx"), pytest.importorskip("scipy.sparse")
    graphs, y = rings(4)
    for g in graphs:
        g.edge_x = None
    want = GraphCRF().fit(graphs, y)

    class Data:  # of torch_geometric
        def __init__(self, g: Graph) -> None:
            self.x, self.edge_index = g.x, np.concatenate([g.edges, g.edges[:, ::-1]]).T

    def matrix(g: Graph) -> Any:
        n = len(g.x)
        half = sparse.coo_matrix((np.ones(len(g.edges)), g.edges.T), (n, n)).tocsr()
        return half + half.T

    def of_networkx(g: Graph) -> object:
        graph = networkx.Graph()
        graph.add_nodes_from((f"n{k}", {"x": row}) for k, row in enumerate(g.x))
        graph.add_edges_from((f"n{u}", f"n{v}") for u, v in g.edges)
        return graph

    forms = {
        "index": [Graph(g.x, g.edges.T) for g in graphs],
        "tuples": [(g.x, g.edges) for g in graphs],
        "data": [Data(g) for g in graphs],
        "sparse": [Graph(g.x, matrix(g)) for g in graphs],
        "dense": [Graph(g.x, matrix(g).toarray()) for g in graphs],
        "a dense matrix in a tuple": [(g.x, matrix(g).toarray() != 0) for g in graphs],
        "features": [Graph(sparse.csr_matrix(g.x), g.edges) for g in graphs],
        "networkx": [of_networkx(g) for g in graphs],
    }
    for name, form in forms.items():
        crf = GraphCRF().fit(form, y)
        for key, weights in want.coef_.items():
            np.testing.assert_allclose(crf.coef_[key], weights, atol=1e-2, err_msg=name)
        assert np.array_equal(np.concatenate(crf.predict(form)), np.concatenate(want.predict(graphs))), name
    one = forms["networkx"][0]
    names = list(one.nodes)  # type: ignore[attr-defined]
    known = {n: "abc"[t] for n, t in zip(names[:12], y[0])}
    partly = GraphCRF().fit([one, forms["networkx"][1]], [known, {f"n{k}": "abc"[t] for k, t in enumerate(y[1])}])
    assert list(partly.classes_) == ["a", "b", "c"]
    held = partly.predict(one, known)
    assert held.shape == y[0].shape and list(held[:12]) == ["abc"[t] for t in y[0][:12]]
    with pytest.raises(ValueError, match=r"y\[0\] labels 'x', which is no node of X\[0\]"):
        partly.score([one], [{"x": "a"}])


def test_a_single_graph_with_a_mask() -> None:
    """A graph stands for itself, and the mask hides labels."""
    graphs, y = rings(2, 60)
    g, t = graphs[0], y[0]
    mask = np.arange(len(t)) % 3 > 0
    crf = GraphCRF().fit(Graph(g.x, g.edges, g.edge_x, mask), t)
    same = GraphCRF().fit(g, np.where(mask, t, -1))
    assert np.array_equal(crf.coef_["node"], same.coef_["node"])
    with pytest.warns(BlockbpWarning, match=r"^X is the network of fit, of whose labels none is held: predict\(X, y\) holds"):
        predicted = crf.predict(g)
    code = "import pickle, sys, warnings; warnings.simplefilter('error'); crf, g = pickle.load(sys.stdin.buffer); crf.predict(g)"
    elsewhere = subprocess.run([sys.executable, "-c", code], input=pickle.dumps((crf, g)), capture_output=True)  # in another process, too
    assert b"X is the network of fit" in elsewhere.stderr
    assert crf.predict(g, np.where(mask, t, -1)).shape == predicted.shape == t.shape  # without a warning, as of another network
    assert crf.predict_proba(Graph(g.x + 1e-9, g.edges, g.edge_x)).shape == (len(t), 3)
    with pytest.warns(BlockbpWarning, match=r"none is held: predict\(X, y\) .*, and NodeCRF always does$"):
        assert crf.score(Graph(g.x, g.edges, g.edge_x, ~mask), t) == (predicted == t)[~mask].mean()
    assert GraphCRF().fit((g.x, g.edges, g.edge_x), t).predict((g.x, g.edges, g.edge_x)).shape == t.shape


@pytest.mark.filterwarnings("ignore:X is the network of fit")
def test_data_of_torch_geometric() -> None:
    """Data bring labels and masks of their own: those of train_mask are learned, and those of test_mask compared."""
    graphs, y = rings(2, 60)
    train = np.arange(len(y[0])) % 3 > 0

    class Data:
        x, edge_index, edge_attr = graphs[0].x, graphs[0].edges.T, graphs[0].edge_x
        train_mask, test_mask = train, ~train
        num_nodes = len(train)

    Data.y = y[0][:, None]  # type: ignore[attr-defined]
    data = Data()
    crf = GraphCRF().fit(data)
    want = GraphCRF().fit(graphs[0], np.where(train, y[0], -1))
    assert np.array_equal(crf.coef_["node"], want.coef_["node"]) and crf.score(data) == (crf.predict(data) == y[0])[~train].mean()
    assert GraphCRF().fit([data]).predict([data])[0].shape == y[0].shape
    Data.x = None
    assert GraphCRF().fit(data).n_features_in_ == 0
    with pytest.raises(ValueError, match=r"y is not given, and X\[0\], Graph, has no y of its own"):
        GraphCRF().fit(graphs)


def test_weights_of_a_matrix_are_a_feature() -> None:
    """Values of an adjacency matrix that differ are an edge feature."""
    sparse = pytest.importorskip("scipy.sparse")
    graphs, y = rings(3)
    for g in graphs:
        g.edge_x = g.edge_x[:, 1:]
    want = GraphCRF().fit(graphs, y)
    matrices = [Graph(g.x, sparse.coo_matrix((g.edge_x[:, 0], g.edges.T), (len(g.x), len(g.x)))) for g in graphs]
    assert np.array_equal(GraphCRF().fit(matrices, y).coef_["edge"], want.coef_["edge"])


def test_entries_of_a_matrix() -> None:
    """Stored zeros are no edges, and repeated entries are added up."""
    sparse = pytest.importorskip("scipy.sparse")
    graphs, y = rings(3)
    for g in graphs:
        g.edge_x = None
    want = GraphCRF().fit(graphs, y).coef_["edge"]

    def matrix(g: Graph, ends: list[list[int]], values: list[float], of: float = 1.0) -> Graph:
        ends_of = np.concatenate([g.edges, np.array(ends)]).T
        return Graph(g.x, sparse.coo_matrix((np.r_[np.full(len(g.edges), of), values], ends_of), (len(g.x), len(g.x))))

    zero = [matrix(g, [[0, 3], [2, 2]], [0, 7]) for g in graphs]
    twice = [matrix(g, g.edges.tolist(), [0.25] * len(g.edges), 0.75) for g in graphs]
    for form in (zero, twice):
        np.testing.assert_allclose(GraphCRF().fit(form, y).coef_["edge"], want, atol=1e-2)
    counted = [matrix(g, g.edges[:3].tolist(), [1.0] * 3) for g in graphs]
    values = [Graph(g.x, g.edges, np.r_[[2.0] * 3, np.ones(len(g.edges) - 3)]) for g in graphs]
    np.testing.assert_allclose(GraphCRF().fit(counted, y).coef_["edge"], GraphCRF().fit(values, y).coef_["edge"], atol=1e-2)


def test_two_edges_in_an_array() -> None:
    """An array [2, 2] is read as others of the list are; by itself its rows are edges, with a warning where that matters."""
    x, y = np.eye(5), np.array([0, 1, 1, 0, 1])
    two, three = np.array([[0, 1], [2, 3]]), np.array([[0, 1], [1, 2], [2, 3]])

    def read(*edges: object) -> list[list[list[int]]]:
        return [i.edges.tolist() for i in GraphCRF()._instances([Graph(x, e) for e in edges], True)]

    with pytest.warns(BlockbpWarning, match=r"X\[0\]\.edges has the shape \[2, 2\]: each row is taken for an edge"):
        assert read(two) == [two.tolist()]
    assert read(three.T, two.T)[1] == two.tolist()
    with pytest.warns(BlockbpWarning, match=r"X\[1\]"):
        assert read(three, two)[1] == two.tolist()
    assert read(np.array([[0, 1], [1, 0]])) == [[[0, 1]]]

    class Data:
        edge_index = two.T

    Data.x = x  # type: ignore[attr-defined]
    assert GraphCRF()._instances([Data()], True)[0].edges.tolist() == two.tolist()
    assert GraphCRF().fit([(x, two.T)] * 2 + [(x, three.T)], [y] * 3).converged_


def test_edges_one_way() -> None:
    """Directed edges lead one way, and undirected ones both."""
    x, y, edges = np.eye(5), np.array([0, 1, 1, 0, 1]), np.array([[0, 1], [1, 2], [2, 3]])
    both = np.concatenate([edges, edges[:, ::-1]])
    assert np.array_equal(GraphCRF().fit((x, both), y).coef_["edge"], GraphCRF().fit((x, edges), y).coef_["edge"])
    with pytest.raises(ValueError, match=r"^X\[0\]\.edges\[3\] is X\[0\]\.edges\[0\] the other way round, and with directed=True"):
        GraphCRF(directed=True).fit((x, both), y)
    rows = np.arange(6.0)[:, None]
    assert np.array_equal(GraphCRF().fit((x, both, rows % 3), y).coef_["edge"], GraphCRF().fit((x, edges, rows[:3]), y).coef_["edge"])
    with pytest.raises(ValueError, match=r"edges\[3\] is X\[0\]\.edges\[0\] the other way round, with other edge_x"):
        GraphCRF().fit((x, both, rows), y)


def test_models_of_others_are_refused(tmp_path: Path) -> None:
    """Each class loads its own files, and those of the command that suit it."""
    X, y = stripes(2)
    samples = np.random.default_rng(0).choice([-1, 1], (60, 3))
    models = [GridCRF().fit(X, y), GraphCRF().fit(*rings(2)), ChainCRF().fit([[["a"], ["b"]]] * 3, [["x", "y"]] * 3), IsingModel().fit(samples), PottsModel().fit(samples)]
    for model in models:
        model.save(tmp_path / "m")
        for other in models:
            if type(other) is type(model):
                assert type(other).load(tmp_path / "m").coef_.keys() == model.coef_.keys()
                continue
            with pytest.raises(ValueError, match=f"is the model of {type(model).__name__}: load it by {type(model).__name__}.load"):
                type(other).load(tmp_path / "m")

    class Mine(GridCRF):
        """A subclass is of its base."""

    models[0].save(tmp_path / "m")
    assert Mine.load(tmp_path / "m").classes_.tolist() == [0, 1, 2]


def test_predictions_want_the_arrays_of_fit() -> None:
    """Edge features are those of fit, also of a loaded model."""
    graphs, y = rings(2)
    bare = [Graph(g.x, g.edges) for g in graphs]
    crf, plain = GraphCRF().fit(graphs, y), GraphCRF().fit(bare, y)
    for model, X, message in [(crf, bare, "has no edge_x, and fit has some"), (plain, graphs, "has edge_x, and fit has none")]:
        with pytest.raises(ValueError, match=r"^X\[0\] " + message):
            model.predict(X)
    with pytest.raises(ValueError, match=r"^X\[1\]\.edge_x has 1 features, want 2 as in fit"):
        crf.predict([graphs[0], Graph(graphs[1].x, graphs[1].edges, graphs[1].edge_x[:, :1])])


def test_a_thousand_graphs_go_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small graphs are one run of the binary, and take no time by themselves."""
    rng = np.random.default_rng(0)
    edges = np.stack([np.arange(9), np.arange(1, 10)], 1)
    y = [np.cumsum(rng.random(10) < 0.3) % 2 for _ in range(1000)]
    graphs = [Graph(t[:, None] + rng.normal(0, 1, (10, 1)), edges) for t in y]
    calls = []
    run = _base.run
    monkeypatch.setattr(_base, "run", lambda *a, **k: calls.append(a[0][0]) or run(*a, **k))
    begun = time.perf_counter()
    crf = GraphCRF().fit(graphs, y)
    fitting = time.perf_counter() - begun
    predicted = crf.predict(graphs)
    assert calls == ["train", "predict"] and len(predicted) == 1000
    assert np.mean(np.concatenate(predicted) == np.concatenate(y)) > 0.7
    assert fitting - crf.result_["total_seconds"] < 1


def test_save_load(tmp_path: Path) -> None:
    """Models go through files and pickle."""
    graphs, y = rings()
    for directed in (False, True):
        crf = GraphCRF(directed=directed, bias=not directed).fit(graphs, y)
        crf.save(tmp_path / "m.safetensors")
        loaded = GraphCRF.load(tmp_path / "m.safetensors")
        assert (loaded.directed, loaded.bias) == (directed, not directed)
        for same in (loaded, pickle.loads(pickle.dumps(crf))):
            assert all(np.array_equal(a, b) for a, b in zip(same.predict_proba(graphs), crf.predict_proba(graphs)))


def test_mistakes() -> None:
    """Errors name the graph, the array and the index."""
    graphs, y = rings(3)

    def wants(message: str, change: Graph | None = None, y=y, at: int = 1) -> None:
        with pytest.raises(ValueError, match=message):
            GraphCRF().fit([change if change is not None and n == at else g for n, g in enumerate(graphs)], y)

    x, edges, edge_x = graphs[1].x, graphs[1].edges, graphs[1].edge_x
    bad = edge_x.copy()
    bad[3, 1] = np.inf
    wants(r"^X\[1\]\.edge_x\[3, 1\]: feature is \+Inf", Graph(x, edges, bad))
    wants(r"^X\[1\]\.edges\[17\] names node 99, want 0 to 15", Graph(x, np.r_[edges, [[3, 99]]], edge_x))
    wants(r"^X\[1\]\.edges\[17\]: is \(3, 3\)", Graph(x, np.r_[edges, [[3, 3]]], np.r_[edge_x, edge_x[:1]]))
    wants(r"^X\[1\]\.edge_x has 2 rows, want 17", Graph(x, edges, edge_x[:2]))
    wants(r"^X\[1\] has no edge_x, and X\[0\] has some", Graph(x, edges))
    wants(r"^X\[1\]\.edges has the shape \[17, 3\], want \[edges, 2\]; weights, .* are edge_x$", Graph(x, np.c_[edges, edges[:, 0]], edge_x))
    wants(r"^X\[1\]\.x has masked entries, .*, as X\[1\]\.x\.filled\(0\) does$", Graph(np.ma.masked_less(x, np.median(x)), edges, edge_x))
    wants(r"^X\[1\]\.x has the shape \[16\], want .*; one feature is numpy\.c_\[X\[1\]\.x\]$", Graph(x[:, 0], edges, edge_x))
    wants(r"^X\[1\]\.edges holds float64, want integers; give edges.astype\(int\)$", Graph(x, edges * 1.0, edge_x))
    wants(r"^X\[1\]\.edges holds <U.*; pandas.Index\(names\).get_indexer", Graph(x, edges.astype(str), edge_x))
    wants(r"^X\[1\]\.x has no nodes", Graph(x[:0], edges[:0], edge_x[:0]))
    wants(r"^X\[1\]\.x has 2 features, want 3", Graph(x[:, :2], edges, edge_x))
    wants(r"^X\[1\]\.mask is int64", Graph(x, edges, edge_x, np.arange(len(x))))
    wants(r"^X\[1\]: it is str", "graph")  # type: ignore[arg-type]
    wants(r"^X\[1\]\.edges\[2, 5\] is nan, want a number, which is 0 where", Graph(x, np.where(np.arange(256).reshape(16, 16) == 37, np.nan, 0)))
    wants(r"^y\[2\] has the shape \[3\], want \[17\]", y=[*y[:2], y[2][:3]])
    with pytest.raises(ValueError, match=r"^X has 1 and y 17 entries: want as many; of a single graph give \[y\]"):
        GraphCRF().fit(graphs[2:], y[2])


def test_words_of_notes() -> None:
    """What notes advise has its name here, of training too where predict says it, and no file or option of the command."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1], 150))
    chain = Graph(y[:, None] + rng.normal(0, 1, (300, 1)), np.stack([np.arange(299), np.arange(1, 300)], 1))
    assert GraphCRF().fit(chain, y).notes_[0].endswith(" as of what comes after what; if the order means nothing, give directed=False")
    crf = GraphCRF(directed=False, counting="convex", predict_options={"max_sweeps": 1, "tol": 1e-12}).fit(chain, y)
    with pytest.warns(BlockbpWarning, match=r'^inference of 1 of 1 .*; raise predict_options\["max_sweeps"\]'):
        assert crf.log_likelihood(chain, y) < 0
    crf.predict_options = None
    with pytest.warns(BlockbpWarning, match=r'or options\["no_edges"\], and hold labels that are known here by predict\(X, y\)$'):
        crf.predict(Graph(chain.x + 5, chain.edges))


def test_data_frames() -> None:
    """Truth values beside numbers are numbers, and NA of pandas hides a label as None does."""
    pandas = pytest.importorskip("pandas")
    graphs, labels = rings(1)
    x, edges, y = graphs[0].x, graphs[0].edges, np.array(["in", "out", "at"], object)[labels[0]]
    x = np.c_[x, x[:, 0] > 0.5]
    frame = pandas.DataFrame({f"f{k}": x[:, k] for k in range(4)}).astype({"f3": bool})
    some = np.where(np.arange(len(y)) % 4 == 0, None, y)
    want = GraphCRF().fit(Graph(x, edges), some)
    got = GraphCRF().fit(Graph(frame, edges), pandas.array(some, dtype="string"))
    assert all(np.array_equal(got.coef_[k], want.coef_[k]) for k in want.coef_)
    for column in (pandas.Series(some), pandas.DataFrame({"y": some})):
        assert np.array_equal(GraphCRF().fit(Graph(x, edges), column).coef_["node"], want.coef_["node"])
    rows, column = pandas.DataFrame({"n": range(len(y))}), pandas.DataFrame({"y": y})
    with pytest.warns(BlockbpWarning, match="labels compared are of nodes whose labels fit has"):
        assert NodeCRF(Graph(x, edges)).fit(rows, column).score(rows, column) == 1
    numbers = pandas.array([None if k % 4 == 0 else n for k, n in enumerate(labels[0].tolist())], dtype="Int64")
    assert GraphCRF().fit(Graph(x, edges), numbers).coef_["node"].shape == want.coef_["node"].shape
    with pytest.warns(BlockbpWarning, match=r"^X\[0\]\.edges counts the rows of x, 14, 13, 12, …, and not by their names: give x.sort_index\(\)"):
        GraphCRF().fit(Graph(frame[::-1], edges), some)
    turned = frame[["f1", "f0", "f2", "f3"]]  # which would be read as if the order did not matter
    with pytest.raises(ValueError, match=r"^X\[0\]\.x has the column 'f1' where fit has 'f0': "):
        got.predict(Graph(turned, edges), some)
    with pytest.raises(ValueError, match=r"^X\[1\]\.x has the column 'f1' where X\[0\] has 'f0': "):
        GraphCRF().fit([Graph(frame, edges), Graph(turned, edges)], [some, some])
    with pytest.warns(BlockbpWarning, match=r"^the columns of X\[0\]\.x and fit are taken in their order, as only one of the two has names$"):
        assert got.predict(Graph(x, edges), some).tolist() == got.predict(Graph(frame, edges), some).tolist()
    with pytest.raises(ValueError, match=r"^y\[0\] has the index of X\[0\]\.x in another order: give y\.loc\[x\.index\]$"):
        GraphCRF().fit(Graph(frame, edges), pandas.Series(some)[::-1])
    with pytest.raises(ValueError, match=r"^X\[0\]\.x\[2, 4\] is <NA>, want a number; fill in what is missing"):
        GraphCRF().fit(Graph(frame.assign(town=pandas.array([0, 1] + [None] * 13, "Int64")), edges), y)
    with pytest.raises(ValueError, match=r"^X\[0\]\.x\[2, 4\] is 'a', want a number"):
        GraphCRF().fit(Graph(frame.assign(town=[0, 1, *"abcdefghijklm"]), edges), y)


@pytest.mark.filterwarnings("ignore:X is the network of fit")
@pytest.mark.parametrize("dtype", ["object", "str", "string", "category", "Int64", "float64", "boolean"])
def test_labels_of_pandas(dtype: str) -> None:
    """Columns of all types are labels with and without a mask, a matrix of edges, rows of nodes and missing values."""
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    graphs, labels = rings(1)
    x, edges, number = graphs[0].x, graphs[0].edges, labels[0] > 0
    matrix = sparse.coo_matrix((np.ones(len(edges)), edges.T), (len(x), len(x))).tocsr()
    of = {"Int64": [5, 7], "float64": [1.0, 2.0], "boolean": [False, True]}.get(dtype, ["in", "out"])
    y = pandas.Series([of[k] for k in number.tolist()]).astype(dtype)
    train = np.arange(len(y)) % 3 > 0
    want = GraphCRF().fit(Graph(x, matrix, mask=train), number)
    for crf in (
        GraphCRF().fit(Graph(x, matrix, mask=train), y),
        GraphCRF().fit([Graph(x, matrix)], [y.where(train)]),
        NodeCRF(Graph(x, matrix)).fit(np.arange(len(y)), y.where(train)),
    ):
        assert crf.classes_.tolist() == of and np.array_equal(crf.coef_["node"], want.coef_["node"])
    with pytest.warns(BlockbpWarning, match=f"^{train.sum()} of the {train.sum()} labels compared are of nodes whose labels fit has, and holds"):
        assert crf.score(np.arange(len(y)), y.where(train)) == 1
    assert (got := GraphCRF().fit(Graph(x, matrix, mask=train), y)).score(Graph(x, matrix, mask=~train), y) == want.score(Graph(x, matrix, mask=~train), number)
    assert got.predict(Graph(x, matrix)).tolist() == [of[k] for k in want.predict(Graph(x, matrix)).astype(int)]


def test_edges_of_networkx() -> None:
    """Beside x they are an error, as the order of its rows is not that of the nodes; np.array makes edges of them."""
    networkx = pytest.importorskip("networkx")
    graph, x, y = networkx.Graph([(1, 0), (0, 2), (2, 3)]), np.random.default_rng(4).normal(0, 1, (4, 2)), ["u", "v", "v", "u"]
    with pytest.raises(ValueError, match=r"X\[0\]: edges is a graph of networkx: give np.array\(graph.edges\)"):
        GraphCRF().fit(Graph(x, graph), y)
    assert GraphCRF().fit(Graph(x, np.array(graph.edges)), y).predict(Graph(x, np.array(graph.edges))).shape == (4,)
    with pytest.warns(BlockbpWarning, match=r"^y\[0\] is read in the order of graph.nodes, 1, 0, 2, …, and not by their names: .* make a dict, \{v: y\[v\] for v in graph\}$"):
        GraphCRF().fit(graph, y)  # as where edges name nodes in the order of a file
    with pytest.warns(BlockbpWarning, match=r"^X counts nodes in the order of graph.nodes, 1, 2, 3, …, and not .* list\(graph.nodes\).index") as told:
        NodeCRF(networkx.path_graph(range(1, 4))).fit([1, 2], ["u", "v"]).predict([0])
    assert len(told) == 1
    GraphCRF().fit(networkx.path_graph([30, 10, 70, 20]), y)  # names that a list can't be in the order of
    assert GraphCRF().fit(graph, {v: y[v] for v in graph}).predict(graph, {v: y[v] for v in graph}).tolist() == [y[v] for v in graph]


def test_networkx_without_features() -> None:
    """Nodes that have no x have no features, and a few labels and the edges label the others."""
    networkx = pytest.importorskip("networkx")
    club = networkx.karate_club_graph()
    y = np.array([club.nodes[v]["club"] for v in club])
    known = {v: y[v] for v in [0, 1, 2, 3, 8, 13, 14, 30, 31, 32, 33]}
    for unused in ("'club'", "'club', 'y'"):
        with pytest.warns(BlockbpWarning, match=r"all features of nodes are graph.nodes\[node\]\['x'\] = \[...\]; not used: " + unused + "$"):
            with pytest.warns(BlockbpWarning, match=r"edges have no features, which are graph.edges\[u, v\]\['x'\] = \[...\]; not used: 'weight'"):
                GraphCRF().fit(club, known)
        networkx.set_node_attributes(club, {v: {"x": v / 9, "y": -v} for v in club})  # of two coordinates x alone counts
    with pytest.raises(ValueError, match=r"^X\[0\]: two nodes of it have several edges: networkx.Graph\(graph\) keeps one"):
        GraphCRF().fit(networkx.MultiGraph([*club.edges, (0, 1)]), known)
    nodes, path = networkx.Graph(), networkx.Graph()
    nodes.add_nodes_from([(0, {"x": 1}), (1, {"x": [1, 2]})])
    path.add_edges_from([(0, 1, {"x": [1, 2]}), (1, 2, {"x": [1]})])
    for message, graph in {
        "it has no nodes": networkx.Graph(),
        r"an edge joins node 'b' to itself: graph\.remove_edges_from\(list\(networkx\.selfloop_edges": networkx.Graph([("a", "b"), ("b", "b")]),
        "node 1 has 2 features in x, and node 0 1": nodes,
        r"edge \(1, 2\) has 1 features in x, and edge \(0, 1\) 2": path,
    }.items():
        with pytest.raises(ValueError, match=r"^X\[0\]: " + message):
            GraphCRF().fit(graph, {})
    bare = networkx.Graph(list(club.edges))
    bare = networkx.relabel_nodes(bare, {v: f"p{v}" for v in bare})
    known = {f"p{v}": c for v, c in known.items()}
    crf = GraphCRF().fit(bare, known)
    assert any('folds of 11 labels, and chosen is options["edges"]="balanced:1^' in note for note in crf.notes_)
    got = dict(zip(bare.nodes, crf.predict(bare, known)))
    assert np.mean([got[f"p{v}"] == y[v] for v in range(34)]) > 0.9
    bare.nodes["p3"]["x"] = [1.0]
    with pytest.raises(ValueError, match="node 'p0' has no attribute x"):
        GraphCRF().fit(bare, known)
    without = [Graph(None, list(club.edges)), Graph(None, networkx.to_numpy_array(club) > 0), Graph(None, list(club.edges), nodes=list(club))]
    same = [np.array([known.get(f"p{v}") for v in club], object)] * 3
    assert all(p.shape == (34,) for p in GraphCRF().fit(without, same).predict(without))
    with pytest.raises(ValueError, match=r"^X\[0\]\.x is None, and nothing says how many nodes there are: give numpy\.zeros"):
        GraphCRF().fit(Graph(None, []), y)


def test_features_on_another_scale() -> None:
    """Predictions of features that are not scaled as those of fit come with a warning."""
    graphs, y = rings(3, 60)
    crf = GraphCRF().fit(graphs, y)
    crf.predict(graphs)
    with pytest.warns(BlockbpWarning, match=r'^feature "2" of nodes is .* in what the model learned from: has it the same unit\?$'):
        crf.predict([Graph(g.x * 1000, g.edges, g.edge_x) for g in graphs])
    with pytest.warns(BlockbpWarning, match=r'^feature "2" of nodes is .* has it the same unit\?$'):
        crf.predict([Graph(g.x / 1000, g.edges, g.edge_x) for g in graphs])
