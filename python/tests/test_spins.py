"""IsingModel and PottsModel."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import stripes

from blockbp import BlockbpWarning, GridCRF, IsingModel, PottsModel, infer, sample
from blockbp._model import Model


def ring(sites: int = 8, count: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples [count, sites] of spins on a ring with a chord, the edges, and their couplings."""
    rng = np.random.default_rng(seed)
    edges = np.array(sorted([*((i, i + 1) for i in range(sites - 1)), (0, sites - 1), (0, sites // 2)]))
    J = rng.normal(0, 0.7, len(edges))
    states = np.array(list(itertools.product([-1, 1], repeat=sites)))
    score = (states[:, edges[:, 0]] * states[:, edges[:, 1]]) @ J + states @ np.full(sites, 0.2)
    p = np.exp(score - score.max())
    return states[rng.choice(len(states), count, p=p / p.sum())], edges, J


def table(path: Path) -> list[list[str]]:
    """Return the rows of a table of couplings."""
    return [line.split("\t") for line in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize("method", ["exact", "pseudo"])
def test_ising_equals_the_command(tmp_path: Path, command: Any, method: str) -> None:
    """Weights are the command's to the last bit, and couplings and errors to the eight digits of its table."""
    samples, edges, J = ring()
    model = IsingModel(method=method).fit(samples, edges)
    np.savez(tmp_path / "spins.npz", labels=samples, edges=edges)
    command("train", "spins.npz", "--model", "ising", "--method", method, "-o", "run", "-q", "--report=false")
    trained = Model((tmp_path / "run/model.safetensors").read_bytes())
    for name, weights in trained.coefficients().items():
        assert np.array_equal(weights, model.coef_[name]), name
    assert model.errors_ is not None
    rows = table(tmp_path / "run/couplings.tsv")
    assert [float(r[3]) for r in rows] == [float(f"{x:.8g}") for x in [*model.fields_, *model.couplings_]]
    assert [float(r[4]) for r in rows] == [*model.errors_["fields"], *model.errors_["couplings"]]
    # The truth is within the errors, of which some are three standard deviations.
    assert np.max(np.abs(model.couplings_ - J) / model.errors_["couplings"]) < 3.5
    assert np.array_equal(model.edges_, edges) and model.converged_
    np.savetxt(tmp_path / "s.csv", samples, "%d", ",")
    np.savetxt(tmp_path / "edges.csv", edges[:, ::-1], "%d", ",", header="u,v", comments="")
    command("train", "s.csv", "--model", "ising", "--method", method, "-o", "table", "-q", "--report=false", "--errors=none")
    loaded = IsingModel.load(tmp_path / "table/model.safetensors")
    assert np.array_equal(loaded.edges_, edges) and np.allclose(loaded.couplings_, model.couplings_, atol=1e-5)
    (tmp_path / "edges.csv").unlink()
    command("eval", "s.csv", "-m", "table", "-q")  # the model knows its edges
    matrix = model.coupling_matrix()
    assert np.array_equal(matrix, matrix.T) and matrix[0, 1] == model.couplings_[0] and matrix[1, 3] == 0


@pytest.mark.parametrize("directed", [False, True])
def test_potts_equals_the_command(tmp_path: Path, command: Any, directed: bool) -> None:
    """Weights, couplings and errors are the command's; states may be texts."""
    rng = np.random.default_rng(1)
    first = rng.choice(3, 400)
    samples = np.stack([first, np.where(rng.random(400) < 0.5, first, rng.choice(3, 400)), rng.choice(3, 400)], 1)
    edges = np.array([[0, 1], [1, 2]])
    letters = np.array(["A", "C", "G"])
    model = PottsModel(directed=directed).fit(letters[samples], edges)
    np.savez(tmp_path / "p.npz", labels=samples, edges=edges, states=3)
    command("train", "p.npz", "--model", "potts", *["--directed"] * directed, "-o", "run", "-q", "--report=false")
    for name, weights in Model((tmp_path / "run/model.safetensors").read_bytes()).coefficients().items():
        assert np.array_equal(weights, model.coef_[name]), name
    assert model.errors_ is not None and list(model.classes_) == ["A", "C", "G"]
    for kind, u, v, a, b, value, error in table(tmp_path / "run/couplings.tsv"):
        if kind == "score":
            continue
        at = (int(u), int(a)) if kind == "node" else ({"0": 0, "1": 1}[u], int(a), int(b))
        name = "fields" if kind == "node" else "couplings"
        assert float(f"{getattr(model, name + '_')[at]:.8g}") == pytest.approx(float(value), rel=1e-7, abs=1e-12)
        assert model.errors_[name][at] == float(error)
    assert not np.isnan(model.errors_["couplings"]).any()
    for axis in (1, 2):
        assert np.abs(model.couplings_.sum(axis)).max() < 1e-12
    assert directed or np.allclose(model.couplings_, model.couplings_.swapaxes(1, 2))
    assert model.coupling_matrix()[0, 1] == pytest.approx(np.linalg.norm(model.couplings_[0]))


def test_all_pairs_and_forms_of_edges() -> None:
    """Edges go by default between all sites; they may be given in any order, twice, or as a matrix."""
    sparse = pytest.importorskip("scipy.sparse")
    samples, edges, _ = ring(5)
    model = IsingModel().fit(samples)
    assert model.edges_.tolist() == [list(p) for p in itertools.combinations(range(5), 2)]
    want = IsingModel().fit(samples, edges)
    half = sparse.coo_matrix((np.ones(len(edges)), edges.T), (5, 5))
    for form in (edges[::-1, ::-1], np.r_[edges, edges[:, ::-1]], edges.T, half + half.T):
        got = IsingModel().fit(samples.tolist(), form)
        order = np.lexsort(got.edges_.T[::-1])
        assert np.array_equal(got.edges_[order], want.edges_) and np.allclose(got.couplings_[order], want.couplings_, rtol=0, atol=1e-6)


def test_lattices() -> None:
    """Samples of a lattice are those of its sites, row by row, with edges between neighbours along every axis."""
    samples = np.random.default_rng(0).choice([-1, 1], (80, 2, 3, 2))
    steps = np.abs(np.indices((2, 3, 2)).reshape(3, 1, -1) - np.indices((2, 3, 2)).reshape(3, -1, 1)).sum(0)
    neighbours = np.argwhere(np.triu(steps == 1))
    model = IsingModel().fit(samples)
    assert sorted(model.edges_.tolist()) == neighbours.tolist()
    assert model.model_ == IsingModel().fit(samples.reshape(80, 12), model.edges_).model_
    assert model.score(samples) == model.score(samples.reshape(80, 12))
    given = PottsModel().fit(samples, [[0, 11]])
    assert given.edges_.tolist() == [[0, 11]]


def test_probabilities_of_the_network() -> None:
    """The network of a model has its probabilities, those of fields and couplings."""
    samples, edges, _ = ring(5)
    model = IsingModel().fit(samples, edges)
    states = np.array(list(itertools.product([-1, 1], repeat=5)))
    score = (states[:, edges[:, 0]] * states[:, edges[:, 1]]) @ model.couplings_ + states @ model.fields_
    p = np.exp(score) / np.exp(score).sum()
    found = infer(model, method="exact")
    np.testing.assert_allclose(found.marginals[:, 1], p @ (states > 0), rtol=1e-12)
    assert found.map is not None and np.array_equal(model.classes_[found.map], states[np.argmax(p)])
    # The pseudo-likelihood, by the definition: each site given the others.
    total = 0.0
    for s in range(5):
        for i, x in enumerate(states):
            other = np.flatnonzero((np.delete(states, s, 1) == np.delete(x, s)).all(1))
            total += np.log(p[i] / p[other].sum())
    assert model.score(states) == pytest.approx(total / len(states), rel=1e-12)
    drawn = model.sample(2000, random_state=3)
    assert drawn.shape == (2000, 5) and set(np.unique(drawn)) == {-1, 1}
    assert np.abs(drawn.mean(0) - p @ states).max() < 0.15
    assert np.array_equal(drawn, model.sample(2000, random_state=3)) and not np.array_equal(drawn, model.sample(2000, random_state=4))


def test_hidden_states() -> None:
    """None, NaN and masks hide alike, where the likelihood itself is learned from."""
    samples, edges, _ = ring(5)
    hide = np.random.default_rng(2).random(samples.shape) < 0.2
    with pytest.warns(BlockbpWarning, match="samples have missing values: the likelihood sums over"):
        want = IsingModel(method="exact", errors="none").fit(np.ma.array(samples, mask=hide), edges)
        assert want.errors_ is None and want.converged_
        for hidden in (np.where(hide, np.nan, samples), np.where(hide, None, samples.astype(object))):
            assert np.array_equal(IsingModel(method="exact", errors="none").fit(hidden, edges).couplings_, want.couplings_)
    with pytest.warns(BlockbpWarning, match="missing values"):
        filled = IsingModel(method="pseudo", errors="none").fit(np.where(hide, np.nan, samples), edges)
    assert np.abs(filled.couplings_ - want.couplings_).max() < 0.05
    neighbours = np.zeros((5, 5), bool)
    neighbours[edges[:, 0], edges[:, 1]] = neighbours[edges[:, 1], edges[:, 0]] = True
    np.fill_diagonal(neighbours, True)
    with pytest.warns(BlockbpWarning, match="the score is of .*% of the terms"):
        got = want.score(np.where(hide, np.nan, samples))
    J, mean = want.coupling_matrix(), []
    for s in range(5):
        known = samples[~hide[:, neighbours[s]].any(1)]
        mean.append(-np.log1p(np.exp(-2 * known[:, s] * (known @ J[s] + want.fields_[s]))).mean())
    assert got == pytest.approx(sum(mean), rel=1e-12)
    with pytest.raises(ValueError, match=r"^samples\[:, 0\] is never known together with all of its neighbours"):
        want.score(np.where(np.arange(5) == 2, np.nan, samples))


def test_save_load(tmp_path: Path, command: Any) -> None:
    """Models go through files, given the edges, and pickle, with all they know."""
    samples, edges, _ = ring(5)
    for model in (IsingModel().fit(samples, edges), PottsModel(directed=True).fit(samples, edges)):
        same = pickle.loads(pickle.dumps(model))
        assert np.array_equal(same.couplings_, model.couplings_) and same.errors_.keys() == model.errors_.keys()
        model.save(tmp_path / "m.safetensors")
        loaded = type(model).load(tmp_path / "m.safetensors")
        assert np.array_equal(loaded.edges_, model.edges_) and np.array_equal(loaded.classes_, model.classes_)
        assert np.array_equal(loaded.couplings_, model.couplings_) and loaded.errors_ is None
        assert loaded.get_params() == model.get_params() and loaded.score(samples) == model.score(samples)
        with pytest.raises(ValueError, match=r"these 10 edges are not those of the \d couplings of the model"):
            type(model).load(tmp_path / "m.safetensors", np.argwhere(np.triu(np.ones((5, 5)), 1)))
    assert json.loads(command("info", "m.safetensors", "--json"))["recipe"]["untied"]
    GridCRF().fit(*stripes(2)).save(tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="is the model of GridCRF: load it by GridCRF.load"):
        PottsModel.load(tmp_path / "other.safetensors", edges)


def test_search_of_the_prior() -> None:
    """The score chooses among priors."""
    selection = pytest.importorskip("sklearn.model_selection")
    samples, edges, _ = ring(5)
    search = selection.GridSearchCV(IsingModel(errors="none"), {"prior": [0.001, 1]}, cv=2).fit(samples)
    assert search.best_params_ == {"prior": 1}


def test_spins_are_labels_too() -> None:
    """Labels -1 and 1 are classes where nothing is hidden."""
    X, y = stripes(2)
    assert np.array_equal(GridCRF(unlabelled=None).fit(X, 2 * (y > 0) - 1).coef_["node"], GridCRF().fit(X, y > 0).coef_["node"])


def test_mistakes() -> None:
    """Errors name the sample and the site."""
    samples, edges, _ = ring(5)

    def wants(message: str, samples: Any = samples, edges: Any = edges, model: Any = IsingModel) -> None:
        with pytest.raises(ValueError, match=message):
            model().fit(samples, edges)

    bad = samples.copy()
    bad[3, 2] = 7
    wants(r"^samples\[3, 2\] is 7, want -1 or 1; PottsModel takes any states$", bad)
    wants(r"^samples\[0, 1\] is 0, want -1 or 1;", np.where(np.arange(5) == 1, 0, samples))
    wants(r"^samples\[2\] has 4 entries, want 5 as samples\[0\]", [*samples[:2].tolist(), samples[2, :4].tolist()])
    wants(r"^samples have the shape \[5\], want \[samples, sites\]", samples[0])
    wants(r"^samples have the shape \[0, 5\]", samples[:0])
    wants(r"^samples have the shape \[2\], .*; of texts with a letter for each site give \[list\(text\)", ["ACGT", "ACGA"], model=PottsModel)
    wants("there is one sample", samples[:1])
    wants(r"^edges\[1\] names site 5, want 0 to 4", edges=[[0, 1], [1, 5]])
    wants(r"^edges\[1\] joins site 2 to itself", edges=[[0, 1], [2, 2], [1, 3]])
    wants(r"^edges has the shape \[1, 3\], want", edges=[[0, 1, 2]])
    wants("^there are no edges", edges=np.zeros((0, 2), int))
    wants(r"^samples have 1 known class", np.ones((5, 5)), model=PottsModel)
    with pytest.raises(ValueError, match=r"^samples\[0, 1\] is 'x', which is no class: classes are a, b"):
        PottsModel().fit([["a", "b"], ["b", "a"], ["a", "a"]]).score([["a", "x"]])
    with pytest.warns(BlockbpWarning, match='errors="bootstrap" resamples blocks'):
        IsingModel().fit(np.repeat(samples[:60], 10, 0), edges)
    with pytest.raises(ValueError, match="^samples have 4 sites, want 5"):
        IsingModel().fit(samples, edges).score(samples[:, :4])
    with pytest.raises(ValueError, match="not fitted"):
        IsingModel().sample()


def test_names_and_bits(tmp_path: Path) -> None:
    """Names of a data frame are those of couplings, and 0 and 1, or truth values, are the spins -1 and 1."""
    pandas = pytest.importorskip("pandas")
    samples, edges, _ = ring(5)
    spins = IsingModel().fit(samples, edges)
    named = pandas.DataFrame(samples > 0, columns=list("pqrst"))
    sparse = pytest.importorskip("scipy.sparse").csr_matrix((samples + 1) // 2)
    assert np.array_equal(IsingModel().fit(sparse, edges).couplings_, spins.couplings_)
    for given in (named, (samples + 1) // 2, (samples > 0).tolist()):
        model = IsingModel().fit(given, edges)
        model.save(tmp_path / "m.safetensors")
        for same in (model, IsingModel.load(tmp_path / "m.safetensors")):
            assert np.array_equal(same.couplings_, spins.couplings_) and same.classes_.tolist() == [0, 1]
            assert set(np.unique(same.sample(20)).tolist()) == {0, 1} and same.score(given) == spins.score(samples)
            assert np.array_equal(same.coupling_matrix(), spins.coupling_matrix())
            if given is named:
                assert same.coupling_matrix().loc["p", "q"] == spins.couplings_[0]
                with pytest.raises(ValueError, match=r"^samples has the column 'q' where fit has 'p': "):
                    same.score(named[list("qprst")])


def test_columns_that_are_no_sites() -> None:
    """Numbers of rows among answers are refused by name, before each is a state of all sites."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    answers = pandas.DataFrame(rng.choice(["yes", "no", "maybe"], (60, 3)), columns=["tea", "milk", "sugar"])
    answers = answers.mask(rng.random((60, 3)) < 0.1)
    for ids in (np.arange(60).astype(str), [f"r{k}" for k in range(60)]):
        with pytest.raises(ValueError, match=r"^samples\[:, 'respondent'\] has 60 different values, and states are wanted"):
            PottsModel().fit(answers.assign(respondent=ids))
    with pytest.raises(ValueError, match=r"^samples\[0, 'respondent'\] is 0, and samples\[0, 'tea'\] is '.*': labels of different types"):
        PottsModel().fit(answers.assign(respondent=np.arange(60)))
    with pytest.raises(ValueError, match=r"^samples\[:, 'coin'\] has no value that samples\[:, 'tea'\] has, and all sites share their"):
        PottsModel().fit(answers.assign(coin=rng.choice(["h", "t"], 60)))
    letters = np.stack([rng.choice(list(of), 60) for of in ("AC", "D", "ACD")], 1)  # of an alignment, whose third site joins the others
    assert PottsModel(errors="none").fit(letters).classes_.tolist() == ["A", "C", "D"]
    for spins, wrong in [([0, 1], r"^samples\[2, 'row'\] is 2, want 0 or 1;"), ([-1, 1], r"^samples\[0, 'row'\] is 0, want -1 or 1;")]:
        with pytest.raises(ValueError, match=wrong):
            IsingModel().fit(pandas.DataFrame(rng.choice(spins, (60, 2)), columns=["a", "b"]).assign(row=np.arange(60)))
    with pytest.warns(BlockbpWarning):
        scores = pytest.importorskip("sklearn.model_selection").cross_val_score(PottsModel(errors="none"), answers.astype("category"), cv=3)
    assert np.isfinite(scores).all()


def test_couplings_in_the_order_of_edges() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.choice([-1, 1], (2, 4000))
    samples = np.stack([a, b, np.where(rng.random(4000) < 0.2, -a, a), np.where(rng.random(4000) < 0.4, -b, b)], 1)
    model = IsingModel().fit(samples, [(3, 1), (0, 2), (1, 3), (0, 1)])
    assert model.edges_.tolist() == [[1, 3], [0, 2], [0, 1]]
    assert np.allclose(model.couplings_, [np.arctanh(0.2), np.arctanh(0.6), 0], atol=0.06)
    assert np.isfinite(model.errors_["couplings"]).all()
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.edges_, model.edges_) and np.array_equal(copy.couplings_, model.couplings_)


def test_weights_and_statistics() -> None:
    """Weights count samples again, texts for what is missing hide, and counts of pairs are as good as samples."""
    x, edges, _ = ring()
    weight = np.arange(len(x)) % 3
    again = np.repeat(x, weight, 0)
    want = IsingModel(errors="none").fit(again)
    np.testing.assert_allclose(IsingModel(errors="none").fit(x, sample_weight=weight).couplings_, want.couplings_, atol=1e-12)
    counts = np.zeros((len(want.edges_), 2, 2))
    for table, (u, v) in zip(counts, want.edges_):
        np.add.at(table, (again[:, u] // 2 + 1, again[:, v] // 2 + 1), 1)
    by_counts = IsingModel.from_statistics(want.edges_, counts)
    np.testing.assert_allclose(by_counts.couplings_, want.couplings_, atol=1e-12)
    np.testing.assert_array_equal(by_counts.classes_, want.classes_)
    frequencies = counts / counts.sum((1, 2), keepdims=True)
    by_weights = IsingModel.from_statistics(want.edges_, frequencies, edge_weights=counts.sum((1, 2)))
    np.testing.assert_allclose(by_weights.couplings_, want.couplings_, atol=1e-10)
    by_weights = IsingModel.from_statistics(want.edges_, frequencies, edge_weights=np.where(np.arange(len(counts)) == 0, 1, 600))
    assert abs(by_weights.couplings_[0]) < 0.9 * abs(want.couplings_[0])  # one observation is shrunk
    counts[3] = np.nan
    with pytest.warns(BlockbpWarning, match="means are missing of 1 of "):
        assert len(IsingModel.from_statistics(want.edges_, counts).edges_) == len(counts) - 1
    with pytest.raises(ValueError, match="sample_weight"):
        IsingModel().fit(x, edges, weight[1:])
    hidden = np.where(x > 0, "y", "n").astype(object)
    hidden[::7, 2] = None
    with pytest.warns(BlockbpWarning, match="86 of 600 samples have missing values"):
        by_none = PottsModel(errors="none").fit(hidden, edges).couplings_
        hidden[::7, 2] = "?"
        np.testing.assert_array_equal(PottsModel(errors="none").fit(hidden, edges).couplings_, by_none)


def test_evidence() -> None:
    """Evidence of a model has its states, and the names of its sites, and is no number of a state."""
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(0).integers(1, 4, (200, 3))
    for model in (PottsModel().fit(x), PottsModel().fit(pandas.DataFrame(x, columns=["a", "b", "c"]))):
        for site in [1, *getattr(model, "feature_names_in_", [])[1:2]]:
            assert infer(model, evidence={site: 3}).marginals[1].tolist() == [0, 0, 1]
            assert (sample(model, 5, {site: np.int64(1)}).states[:, 1] == 0).all()
        with pytest.raises(ValueError, match="^evidence holds 0, which is no state: states are 1, 2, 3$"):
            infer(model, evidence={1: 0})
    assert infer(IsingModel().fit(np.where(x > 1, 1, -1)), evidence={0: -1}).marginals[0].tolist() == [1, 0]


def test_ends_of_directed_couplings(tmp_path: Path) -> None:
    """Couplings of edges whose larger end is first stay with that end, in a file too."""
    a = np.random.default_rng(0).integers(0, 3, 600)
    b = np.where(np.arange(600) % 3 > 0, (a + 1) % 3, a)
    counts = np.histogram2d(a, b, [-0.5, 0.5, 1.5, 2.5])[0]
    want = PottsModel(directed=True).fit(np.stack([a, b], 1))
    model = PottsModel.from_statistics(np.array([[1, 0]]), counts.T[None], directed=True)
    model.save(tmp_path / "m")
    for turned in (model, PottsModel.load(tmp_path / "m", [[1, 0]])):
        assert turned.edges_.tolist() == [[1, 0]]
        np.testing.assert_allclose(turned.couplings_[0].T, want.couplings_[0], atol=0.02)
    with pytest.raises(ValueError, match="directed couplings, and its file does not say between which sites"):
        PottsModel.load(tmp_path / "m")
    for message, more in {r"^edge_means\[0\]: has entries from": {}, "^from_statistics go with neither select_edges": {"select_edges": "ebic"}}.items():
        with pytest.raises(ValueError, match=message):
            PottsModel.from_statistics(np.array([[0, 1]]), -counts[None], **more)


def test_select_edges(tmp_path):
    """Of all pairs of a ring's sites those of the ring stay, and a saved model knows them."""
    samples, edges, J = ring(count=1000)
    with pytest.warns(BlockbpWarning, match="are too small"):
        model = IsingModel(select_edges="ebic").fit(samples)
    kept = {tuple(e) for e in model.edges_.tolist()}
    assert {tuple(e) for e in edges[abs(J) > 0.3].tolist()} <= kept <= {tuple(e) for e in edges.tolist()}
    assert len(model.couplings_) == len(kept)
    assert np.isfinite(model.errors_["couplings"]).all()
    model.save(tmp_path / "m")
    assert np.array_equal(IsingModel.load(tmp_path / "m").edges_, model.edges_)
