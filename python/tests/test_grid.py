"""GridCRF."""

from __future__ import annotations

import itertools
import json
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import stripes

from blockbp import BlockbpError, BlockbpWarning, ConvergenceWarning, GridCRF
from blockbp._grid import DIRECTIONS, grid_edges
from blockbp._model import Model


@pytest.mark.parametrize("edges", ["constant", "features"])
@pytest.mark.parametrize("neighbours", [4, 8])
def test_equal_to_the_command(tmp_path: Path, command, edges: str, neighbours: int) -> None:
    """Weights, labels and probabilities are those of the command, to the last bit."""
    X, y = stripes()
    crf = GridCRF(neighbours=neighbours, edges=edges).fit(X, y)
    (tmp_path / "data").mkdir()
    names = ["right", "down", "down-right", "down-left"][: neighbours // 2]
    for n, (x, labels) in enumerate(zip(X, y)):
        ends, kind = grid_edges(labels.shape, list(DIRECTIONS[neighbours].values()))
        flat = x.reshape(-1, 3)
        more = {"edge_features": np.c_[flat[ends[:, 0]], flat[ends[:, 1]], np.ones(len(ends))], "edge_types": kind} if edges == "features" else {"edge_bins": kind}
        np.savez(tmp_path / f"data/{n}.npz", edges=ends, labels=labels.ravel(), grid_shape=labels.shape, node_features=np.c_[flat, np.ones(len(flat))], **more)
    manifest = {"states": 3, "edge_types": names} if edges == "features" else {"states": 3, "edge_bins": len(names)}
    (tmp_path / "data/dataset.json").write_text(json.dumps(manifest))
    command("train", "data", "--directed", "-o", "run", "-q", "--report=false")
    trained = Model((tmp_path / "run/model.safetensors").read_bytes())
    assert trained.coefficients().keys() == crf.coef_.keys()
    for name, weights in trained.coefficients().items():
        assert np.array_equal(weights, crf.coef_[name]), name
    result = json.loads((tmp_path / "run/result.json").read_text())
    assert (crf.objective_, crf.n_iter_, crf.status_) == (result["objective"], result["iterations"], "converged")
    for joint in (False, True):
        command("predict", "data", "-m", "run", "-o", f"predicted-{joint}", "-q", *(["--decode", "map"] if joint else []))
        labels = crf.predict_joint(X) if joint else crf.predict(X)
        beliefs = crf.predict_proba(X)
        for n in range(len(X)):
            with np.load(tmp_path / f"predicted-{joint}/{n}.npz") as said:
                assert np.array_equal(said["labels"], labels[n].ravel())
                assert np.array_equal(said["beliefs"], beliefs[n].reshape(-1, 3))


def test_edges_of_a_grid() -> None:
    """Every pair of neighbours is there once."""
    for shape, neighbours in itertools.product([(1, 1), (1, 5), (4, 1), (3, 4), (1, 1, 4), (2, 3, 4)], DIRECTIONS):
        if len(shape) == (2 if neighbours in (4, 8) else 3):
            edges, kind = grid_edges(shape, list(DIRECTIONS[neighbours].values()))
            got = {frozenset(map(int, pair)): int(d) for pair, d in zip(edges, kind)}
            at = np.indices(shape).reshape(len(shape), -1).T
            most = len(shape) if neighbours in (8, 26) else 1
            near = [(u, v) for u, v in itertools.combinations(range(len(at)), 2) if 0 < np.abs(at[u] - at[v]).sum() <= most and np.abs(at[u] - at[v]).max() == 1]
            assert set(got) == {frozenset(pair) for pair in near} and len(edges) == len(near)
            for (u, v), d in zip(edges, kind):
                assert tuple(at[v] - at[u]) == list(DIRECTIONS[neighbours].values())[d]


def test_voxels(tmp_path: Path) -> None:
    """Arrays of three axes have neighbours of depth, too."""
    rng = np.random.default_rng(0)
    y = np.add.outer(np.add.outer(np.arange(5) // 3, np.arange(6) // 3), np.arange(7) // 4) % 2 * np.ones((3, 1, 1, 1), int)
    X = np.eye(2)[y] + rng.normal(0, 0.7, (*y.shape, 2))
    for parameters in ({"neighbours": 6}, {"neighbours": 26}, {"neighbours": 6, "edges": "features"}):
        crf = GridCRF(**parameters).fit(X[:2], y[:2])  # type: ignore[arg-type]
        crf.save(tmp_path / "m")
        again = GridCRF.load(tmp_path / "m")
        assert again.neighbours == parameters["neighbours"] and np.array_equal(again.predict(X), crf.predict(X))
        assert crf.score(X[2:], y[2:]) > (X[2:].argmax(-1) == y[2:]).mean()
        assert crf.predict_proba(X).shape == (*y.shape, 2) and crf.predict(X[2:], y[2:]).tolist() == y[2:].tolist()
    bad = X.copy()
    bad[1, 2, 3, 4, 1] = np.nan
    with pytest.raises(ValueError, match=r"^X\[1\]\[2, 3, 4, 1\]: feature is NaN"):
        crf.predict(bad)
    with pytest.raises(ValueError, match="voxels have neighbours=6 or 26"):
        GridCRF().fit(X, y)
    images = X[..., 0]
    assert GridCRF(neighbours=6, edges="contrast").fit(X, y, images=images).score(X, y, images=images) > 0.8


def test_labels_of_any_type() -> None:
    """Classes keep their type, and numbers mean nothing."""
    X, y = stripes()
    plain = GridCRF().fit(X, y)
    for classes in (np.array(["grass", "sky", "tree"]), np.array([3, 5, 90], np.int8), np.array([0.5, 1.5, 2.5]), np.array([1, 2, 4], np.float32)):
        crf = GridCRF().fit(X, classes[y])
        assert crf.classes_.dtype == classes.dtype and np.array_equal(crf.classes_, classes)
        assert np.array_equal(crf.coef_["node"], plain.coef_["node"])
        assert np.array_equal(crf.predict(X), classes[plain.predict(X)])
        assert crf.score(X, classes[y]) == plain.score(X, y) > 0.8
    mixed = GridCRF().fit(X, [np.array(["a", "b", "c"], object)[p] for p in y])
    assert list(mixed.classes_) == ["a", "b", "c"]
    mask = np.where(y > 0, 255, 0).astype(np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # 255 + 1 is 0 in eight bits
        assert list(GridCRF().fit(X, mask).classes_) == [0, 255]
    truth = GridCRF().fit(X, y > 0)
    assert truth.classes_.dtype == bool and truth.predict(X).dtype == bool


@pytest.mark.filterwarnings("ignore::blockbp.ConvergenceWarning")
def test_hidden_labels() -> None:
    """-1, another value, NaN, None and masks hide alike; known labels are held in predict."""
    X, y = stripes()
    hide = np.random.default_rng(1).random(y.shape) < 0.4
    minus = GridCRF().fit(X, np.where(hide, -1, y))
    for crf, hidden in [
        (GridCRF(unlabelled=255), np.where(hide, 255, y)),
        (GridCRF(), np.where(hide, np.nan, y)),
        (GridCRF(), np.ma.array(y, mask=hide)),
        (GridCRF(), np.where(hide, None, y.astype(object))),
    ]:
        assert np.array_equal(crf.fit(X, hidden).coef_["node"], minus.coef_["node"])
        assert list(crf.classes_) == [0, 1, 2]
    known = np.where(hide, -1, y)
    assert np.array_equal(minus.predict(X, known)[~hide], y[~hide])
    p = minus.predict_proba(X, known)
    assert np.array_equal(p[~hide], np.eye(3)[y[~hide]])
    free = minus.predict(X)
    likelihood = [np.log(np.take_along_axis(q, y[..., None], -1)[hide]).mean() for q in (p, minus.predict_proba(X))]
    assert likelihood[0] > likelihood[1]
    assert minus.score(X, known) == (free == y)[~hide].mean()


def test_void_of_pictures() -> None:
    """In labels of eight bits 255 hides beside numbers of classes, as in files, and not among greys."""
    X, y = stripes()
    hide = np.random.default_rng(1).random(y.shape) < 0.2
    void = np.where(hide, 255, y).astype(np.uint8)
    with pytest.warns(BlockbpWarning, match="255 in y hides labels.* unlabelled=None makes it a class") as told:
        crf = GridCRF(unlabelled=np.int64(-1)).fit(X, void)
    assert told[0].filename == __file__
    want = GridCRF(unlabelled=255).fit(X, void)
    assert np.array_equal(crf.coef_["node"], want.coef_["node"]) and crf.classes_.tolist() == [0, 1, 2]
    assert crf.score(X, void) == want.score(X, void) > 0.8
    assert np.array_equal(crf.predict(X, void), want.predict(X, void))
    for kept, labels in [(GridCRF(unlabelled=None), void), (GridCRF(), np.array([0, 128, 255], np.uint8)[y])]:
        assert kept.fit(X, labels).classes_[-1] == 255


def test_sizes_and_shapes() -> None:
    """Pictures of different sizes come back in their shapes."""
    X, y = stripes()
    Xs, ys = [X[0], X[1][:5], X[2][:, :7], X[3][:1, :1]], [y[0], y[1][:5], y[2][:, :7], y[3][:1, :1]]
    crf = GridCRF().fit(Xs, ys)
    assert [p.shape for p in crf.predict(Xs)] == [t.shape for t in ys]
    assert [p.shape for p in crf.predict_proba(Xs)] == [(*t.shape, 3) for t in ys]
    single = GridCRF().fit([x.astype(np.float32) for x in Xs], ys)
    assert abs(single.coef_["node"] - crf.coef_["node"]).max() < 1e-3


def test_contrast(tmp_path: Path) -> None:
    """Labels change where colours do, and images go with every method."""
    X, y = stripes()
    images = (y[..., None] * np.array([60, 10, 90])).astype(np.uint8)
    crf = GridCRF(edges="contrast").fit(X, y, images=images)
    assert crf.coef_["edge.right"].shape == (3, 3, 4)
    d2 = np.concatenate([np.diff(images.astype(float), axis=a).reshape(-1, 3) for a in (1, 2)])
    assert crf.contrast_scale_ == pytest.approx(2 * (d2**2).sum(1).mean(), rel=1e-6)
    assert crf.score(X, y, images=images) > GridCRF().fit(X, y).score(X, y)
    crf.save(tmp_path / "m")
    loaded = GridCRF.load(tmp_path / "m")
    assert (loaded.edges, loaded.contrast_scale_) == ("contrast", crf.contrast_scale_)
    assert np.array_equal(loaded.predict_joint(X, images=images), crf.predict_joint(X, images=images))
    with pytest.raises(ValueError, match="images are not given"):
        crf.predict(X)
    with pytest.raises(ValueError, match=r"images\[0\] is uint8 of the shape \[12, 9, 3\], want numbers, \[12, 10, 3\] as X\[0\]"):
        crf.predict(X, images=images[:, :, 1:])


def test_results() -> None:
    """What a training leaves."""
    X, y = stripes()
    crf = GridCRF().fit(X, y)
    assert crf.converged_ and 0 <= crf.suboptimality_ < 0.01 * (1 + abs(crf.objective_))
    assert crf.coef_["node"].shape == (3, 4) and crf.coef_["edge"].shape == (3, 3, 2) and crf.n_features_in_ == 3
    assert abs(crf.loss_curve_[-1] - crf.objective_) < 1e-3 * abs(crf.objective_) and len(crf.loss_curve_) > 5
    assert "Training report" in crf.report().html and "<iframe" in crf.report()._repr_html_()
    assert repr(GridCRF(neighbours=8)) == "GridCRF(neighbours=8)"
    wide = GridCRF(prior=10).fit(X, y)
    assert np.linalg.norm(wide.coef_["node"]) > np.linalg.norm(crf.coef_["node"])
    assert np.array_equal(GridCRF(l2=1 / len(X), options={"standardise": True}).fit(X, y).coef_["node"], crf.coef_["node"])
    assert not GridCRF(options={"no_edges": True}).fit(X, y).coef_["edge"].any()


def test_options_of_predictions() -> None:
    """A limit of inference says so in the words of the estimator, and costs decide."""
    X, y = stripes()
    crf = GridCRF().fit(X, y)
    p = crf.predict_proba(X)
    for cost in ("0=1000", {0: 1000}, {np.int64(0): np.float64(1000)}):
        crf.set_params(predict_options={"cost": cost})
        assert (crf.predict(X) == 0).sum() > (p.argmax(-1) == 0).sum()
    crf.set_params(predict_options={"max_sweeps": 1})
    with pytest.warns(BlockbpWarning, match=r'not settled.*raise predict_options\["max_sweeps"\]; with .* other than counting="convex" they may never') as told:
        crf.predict(X)
    assert told[0].filename == __file__
    with pytest.raises(ValueError, match=r"predict_options\['nonsense'\]: there is no such option here; there are cost, "):
        crf.set_params(predict_options={"nonsense": 1}).predict(X)


def test_a_limit_warns(tmp_path: Path) -> None:
    """A training that ends early says so, and is of use."""
    X, y = stripes()
    with pytest.warns(ConvergenceWarning, match="did not converge: pass_limit"):
        crf = GridCRF(options={"max_passes": 2}).fit(X, y)
    assert not crf.converged_ and crf.predict(X).shape == y.shape
    crf.save(tmp_path / "model.safetensors")
    with pytest.warns(ConvergenceWarning, match="model.safetensors' did not converge: pass_limit; fit again with a larger options.'max_passes'.$"):
        GridCRF.load(tmp_path / "model.safetensors")
    for limited, remedy in (
        (GridCRF(max_time=1e-9), "time_limit; fit again with a larger max_time$"),
        (GridCRF(options={"max_iter": 1}), r"iteration_limit; fit again with a larger options\['max_iter'\]$"),
    ):
        with pytest.warns(ConvergenceWarning):
            limited.fit(X, y).save(tmp_path / "model.safetensors")
        with pytest.warns(ConvergenceWarning, match=remedy):
            GridCRF.load(tmp_path / "model.safetensors")


def test_pickle_save_load(tmp_path: Path) -> None:
    """A fitted estimator goes through pickle and files."""
    X, y = stripes()
    for edges in ("constant", "features"):
        crf = GridCRF(edges=edges, bias=edges == "constant").fit(X, y)
        same = pickle.loads(pickle.dumps(crf))
        assert np.array_equal(same.predict_proba(X), crf.predict_proba(X)) and same.loss_curve_.tolist() == crf.loss_curve_.tolist()
        crf.save(tmp_path / "model.safetensors")
        loaded = GridCRF.load(tmp_path / "model.safetensors")
        assert (loaded.edges, loaded.bias, loaded.n_features_in_) == (crf.edges, crf.bias, 3)
        assert loaded.classes_.tolist() == [0, 1, 2] and np.array_equal(loaded.predict_proba(X), crf.predict_proba(X))
    with pytest.raises(ValueError, match="not a safetensors file"):
        (tmp_path / "x").write_bytes(b"nothing")
        GridCRF.load(tmp_path / "x")


def test_mistakes() -> None:
    """Errors name the place, in the words of the caller."""
    X, y = stripes()

    def wants(message: str, X=X, y=y, **parameters: object) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=message):
                GridCRF(**parameters).fit(X, y)  # type: ignore[arg-type]

    bad = X.copy()
    bad[2, 3, 4, 1] = np.nan
    wants(r"^X\[2\]\[3, 4, 1\]: feature is NaN, want a finite number", X=bad)
    wants(r"^X\[1\] has 2 features, want 3 as X\[0\]$", X=[X[0], X[1][..., :2]], y=y[:2])
    wants(r"^X\[0\] has the shape \[12, 10\], want \[rows, columns, features\]; grey pictures are X\[..., None\], a single picture is \[X\]", X=X[..., 0])
    wants(r"^y\[0\] has the shape \[12, 10\], want \[3, 12\] as X\[0\]; X\[0\] is \[features, rows, columns\]: give numpy.moveaxis\(X\[0\], 0, -1\)", X=np.moveaxis(X, -1, 1))
    wants(r"^y\[0\] .* give \[numpy.argmax\(a, -1\) for a in y\]$", y=np.eye(3)[y])
    colours = np.array([[0, 0, 0], [128, 0, 0], [0, 128, 0]], np.uint8)[y]
    wants(r"^y\[0\] .* of colours give numbers, \[numpy.asarray\(a\)\[..., :3\] @ \[65536, 256, 1\] for a in y\]$", y=colours)
    assert GridCRF().fit(X, colours @ [65536, 256, 1]).classes_.tolist() == [0, 0x8000, 0x800000]
    wants(r"^X\[1\] has 9 features, want 10 as X\[0\]; of \[features, rows, columns\] give numpy.moveaxis", X=[x.T[:, :, :n] for x, n in zip(X, (10, 9, 10, 10))])
    wants(r"^y\[1\] has the shape \[11, 10\], want \[12, 10\]", X=X[:2], y=[y[0], y[1][:11]])
    wants(r"^X has 4 and y 3 entries", y=y[:3])
    wants(r"1 known class, want at least 2", y=np.zeros_like(y))
    wants(r"-1 hides a label: of spins", y=np.where(y > 0, 1, -1))
    wants(r"neighbours=5: want 4 or 8", neighbours=5)
    wants(r"method .*nonsense", method="nonsense")
    wants(r"^prior and l2 are two ways to say one thing", l2=0.1, prior=2)
    wants(r"^options\['prior'\]: prior is a parameter", l2=0.1, options={"prior": 1})
    with pytest.raises(ValueError, match='^n_samples "-1": want a whole number above 0'):
        GridCRF().fit(X, y).sample(X, -1)
    wants(r"^options is list, want a dict of names and values", options=["max_passes=5"])
    wants(r"^options\[5\]: there is no such option", options={5: 1})
    with pytest.raises(ValueError, match="not fitted yet"):
        GridCRF().predict(X)
    crf = GridCRF().fit(X, y)
    with pytest.raises(ValueError, match=r"y\[0\].* is 7, which is no class: classes are 0, 1, 2"):
        crf.score(X, y + 7)
    with pytest.raises(ValueError, match=r"has no parameter 'side'"):
        crf.set_params(side=3)
    with pytest.raises(TypeError, match=r"^GridCRF has no parameter 'C'; it has prior=C\*\*0.5 for that, and neighbours, "):
        GridCRF(C=1.0)
    with pytest.raises(TypeError, match=r"'max_passes'; it has options=\{'max_passes': ...\} for that, and "):
        GridCRF(max_passes=5)
    with pytest.raises(ValueError, match=r"has 2 features, want 3 as in fit"):
        crf.predict(X[..., :2])


def test_a_fit_that_fails_changes_nothing() -> None:
    """After an error the estimator is the one of before, in all it knows."""
    X, y = stripes()
    crf = GridCRF().fit(X, y)
    before = dict(vars(crf))
    bad = np.pad(X, [(0, 0)] * 3 + [(0, 1)])
    bad[0, 0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        crf.fit(bad, np.where(y == 2, "x", "y"))
    assert vars(crf) == before and np.array_equal(crf.predict(X), GridCRF().fit(X, y).predict(X))
    fresh = GridCRF()
    with pytest.raises(ValueError):
        fresh.fit(bad, y)
    assert not [n for n in vars(fresh) if n.endswith("_")]
    crf.set_params(edges="contrast").fit(X, y, images=list(X))
    assert "contrast_scale_" in vars(crf) and "contrast_scale_" not in vars(crf.set_params(edges="constant").fit(X, y))


def test_types_of_labels_last(tmp_path: Path) -> None:
    """Classes are of the same type after save, load and pickle."""
    X, y = stripes()
    for classes in (np.array(["0", "1", "2"]), np.array([0, 1, 2]), np.array([0.5, 1, 2]), np.array(["True", "False", "1"]), np.array([b"a", b"b", b"c"])):
        crf = GridCRF().fit(X, classes[y])
        crf.save(tmp_path / "m")
        for same in (GridCRF.load(tmp_path / "m"), pickle.loads(pickle.dumps(crf))):
            assert same.classes_.tolist() == sorted(classes.tolist()) and same.classes_.dtype.kind == classes.dtype.kind
            assert same.score(X, classes[y]) > 0.8


def test_messages_speak_python() -> None:
    """No message names what only the command has."""
    X, y = stripes(2)
    for parameters in [
        {"prior": "a"}, {"l2": -1}, {"counting": "x"}, {"method": "x"}, {"max_time": "x"}, {"random_state": -1}, {"n_jobs": 0},
        {"options": {"bins": 3}}, {"options": {"help": True}}, {"options": {"max_passes": "x"}}, {"options": {"memory": "1KiB"}}, {"options": {"blocks": "x"}},
        {"predict_options": {"max_sweeps": "x"}}, {"class_weight": {"a": 2.0}}, {"class_weight": {0: -2.0}}, {"class_weight": "even"}, {"bias": "no"},
    ]:  # fmt: skip
        (name, value), = parameters.items()
        with pytest.raises(ValueError) as caught:
            GridCRF(**parameters).fit(X, y).predict(X)  # type: ignore[arg-type]
        said = str(caught.value)
        assert (name in said) and not re.search(r"--|blockbp|STATE=|data[:\[]", said), said


def test_class_weights_of_any_name() -> None:
    """Classes with commas in their names have weights, too."""
    X, y = stripes()
    names = np.array(["a,b", "c=d", "e"])
    weights = {"a,b": 3.0, "c=d": 0.5}
    crf = GridCRF(class_weight=weights).fit(X, names[y])
    same = GridCRF(class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    assert np.array_equal(crf.coef_["node"], same.coef_["node"]) and not np.array_equal(crf.coef_["node"], GridCRF().fit(X, y).coef_["node"])


def test_notes_are_warnings() -> None:
    """What the command notes is a warning, and is kept."""
    X, y = stripes()
    y[0, 0, 0] = -1
    with pytest.warns(BlockbpWarning, match="leaves out") as caught:
        crf = GridCRF(method="pseudo").fit(X, y)
    assert {str(w.message) for w in caught} == {n for n in crf.notes_ if "are hidden" not in n}


def test_other_failures_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no fault of the data is a BlockbpError."""
    X, y = stripes()
    monkeypatch.setenv("BLOCKBP_BINARY", "/nowhere/blockbp")
    with pytest.raises(BlockbpError, match="does not start"):
        GridCRF().fit(X, y)


def test_score_of_classes_that_are_new() -> None:
    X, y = stripes()
    crf = GridCRF().fit(X, y)
    other = y.copy()
    other[0, 0, :3] = 7
    with pytest.warns(BlockbpWarning, match="^labels of y that are no class of the fit count as not found, 3 in all: 7$"):
        found = crf.score(X, other)
    same = np.asarray(crf.predict(X)) == y
    same[0, 0, :3] = False
    assert found == pytest.approx(same.mean())
