"""The habits of scikit-learn.

``check_estimator`` feeds tables [samples, features] with one label a row. NodeCRF passes all
its checks. Samples of the other estimators are pictures and networks, and labels of a sample
are an array, for which scikit-learn has no type of target: what its checks are about is tested
below where it applies, and scores of its own go by ``scorer``. Not for these are, beside what
feeds tables: ``cross_val_predict(method="predict_proba")``, which numbers classes by rows of y,
``scoring="accuracy"`` by name, which wants a label a sample, and stratified folds. ``set_output``
is of transformers; pipelines that end in an estimator have it.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import stripes

from blockbp import BlockbpWarning, ChainCRF, Graph, GraphCRF, GridCRF, IsingModel, NodeCRF, PottsModel, scorer

pytest.importorskip("sklearn")
import sklearn  # noqa: E402
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics import accuracy_score, f1_score, get_scorer, log_loss, make_scorer  # noqa: E402
from sklearn.preprocessing import FunctionTransformer, StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402

ESTIMATORS = [GridCRF, GraphCRF, ChainCRF]


def data(estimator: type) -> tuple[list, list]:
    """Return six samples for an estimator."""
    X, y = stripes(6)
    if estimator is GridCRF:
        return list(X), list(y)
    if estimator is ChainCRF:
        return [[{"seen": dict(zip("abc", row.tolist()))} for row in x.reshape(-1, 3)] for x in X], [t.ravel() for t in y]
    edges = np.stack([np.arange(119), np.arange(1, 120)], 1)
    edges[::2] = edges[::2, ::-1]  # either end first, or they look directed
    return [Graph(x.reshape(-1, 3), edges) for x in X], [t.ravel() for t in y]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters(estimator: type) -> None:
    """As check_no_attributes_set_in_init, check_parameters_default_constructible, check_get_params_invariance, check_set_params,
    check_estimator_cloneable, check_estimator_repr, check_dont_overwrite_attributes, check_estimators_overwrite_params."""
    crf = estimator()
    names = [p for p in inspect.signature(estimator).parameters]
    assert sorted(vars(crf)) == sorted(names) == sorted(crf.get_params())
    for name, parameter in inspect.signature(estimator).parameters.items():
        assert getattr(crf, name) is parameter.default and parameter.default is not inspect.Parameter.empty
    assert crf.get_params(deep=True) == crf.get_params(deep=False)
    assert crf.set_params(prior=3.0) is crf and crf.prior == 3.0
    copy = clone(crf)
    assert copy is not crf and copy.get_params() == crf.get_params() and "prior=3.0" in repr(copy)
    assert not is_classifier(crf)
    X, y = data(estimator)
    before = crf.get_params()
    assert crf.fit(X, y) is crf
    assert crf.get_params() == before
    added = set(vars(crf)) - set(names)
    assert all(n.endswith("_") or n.startswith("_") for n in added)
    assert not hasattr(clone(crf), "model_")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fits(estimator: type) -> None:
    """As check_fit_idempotent, check_fit_check_is_fitted, check_estimators_unfitted, check_dict_unchanged, check_readonly_memmap_input,
    check_estimators_fit_returns_self, check_methods_subset_invariance, check_methods_sample_order_invariance."""
    X, y = data(estimator)
    crf = estimator()
    with pytest.raises(NotFittedError):
        crf.predict(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(crf)
    for labels in y:
        labels.setflags(write=False)
    for x in X:
        if estimator is not ChainCRF:
            (x if estimator is GridCRF else x.x).setflags(write=False)
    crf.fit(X, y)
    check_is_fitted(crf)
    state = {k: repr(v) for k, v in vars(crf).items()}
    first = crf.predict_proba(X)
    crf.predict(X), crf.score(X, y)
    assert {k: repr(v) for k, v in vars(crf).items()} == state
    again = estimator().fit(X, y)
    assert again.model_ == crf.model_
    for n, x in enumerate(X):
        np.testing.assert_allclose(crf.predict_proba([x])[0], first[n], rtol=0, atol=1e-12)
    backwards = crf.predict_proba(X[::-1])
    assert all(np.array_equal(a, b) for a, b in zip(backwards[::-1], first))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_model_selection(estimator: type, n_jobs: int) -> None:
    """Searches and cross-validations work, in processes too."""
    X, y = data(estimator)
    search = GridSearchCV(estimator(n_jobs=1), {"prior": [0.01, 1.0]}, cv=3, n_jobs=n_jobs, error_score="raise").fit(X, y)
    assert search.best_params_ == {"prior": 1.0} and search.best_score_ > 0.8
    scores = cross_val_score(estimator(n_jobs=1), X, y, cv=KFold(3), n_jobs=n_jobs)
    assert scores.shape == (3,) and abs(scores.mean() - search.best_score_) < 1e-12


@pytest.mark.parametrize("estimator", [IsingModel, PottsModel])
def test_models_of_samples(estimator: type) -> None:
    """Estimators without labels have the habits, too."""
    samples = np.random.default_rng(0).choice([-1, 1], (60, 4))
    model = clone(estimator(prior=3.0))
    names = list(inspect.signature(estimator).parameters)
    assert sorted(vars(model)) == sorted(names) == sorted(model.get_params()) and "prior=3.0" in repr(model)
    with pytest.raises(NotFittedError):
        model.score(samples)
    samples.setflags(write=False)
    assert model.fit(samples) is model and model.get_params()["prior"] == 3.0
    check_is_fitted(model)
    assert all(n.endswith("_") for n in set(vars(model)) - set(names))
    assert estimator(prior=3.0).fit(samples).model_ == model.model_
    assert "<html" in model.report().html


def test_cross_val_predict() -> None:
    """Pictures of one size are an array, which cross_val_predict puts together."""
    X, y = stripes(6)
    predicted = cross_val_predict(GridCRF(), X, y, cv=3)
    assert predicted.shape == y.shape and (predicted == y).mean() > 0.8


def test_pipeline() -> None:
    """An estimator is the end of a pipeline."""
    X, y = stripes()
    pipeline = make_pipeline(FunctionTransformer(lambda x: x[..., :2]), GridCRF()).fit(X, y)
    assert pipeline[-1].n_features_in_ == 2 and pipeline.score(X, y) > 0.5 and pipeline.predict(X).shape == y.shape


@parametrize_with_checks([NodeCRF(n_jobs=1)])
def test_check_estimator(estimator: NodeCRF, check: Any) -> None:
    """The flat mode passes all of scikit-learn's checks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # data of checks are hardly to be learned from
        check(estimator)


def test_bases() -> None:
    """Estimators have scikit-learn's bases, whichever was imported first."""
    for program in (
        "import sklearn.base; from blockbp import *",
        "from blockbp import *; import sklearn.base; GridCRF()",
        "from blockbp import *; crf = GridCRF(); import sklearn.base; sklearn.base.clone(crf)",
    ):
        program += "; print([[issubclass(c, b) for b in (sklearn.base.BaseEstimator, sklearn.base.ClassifierMixin)] for c in (GridCRF, NodeCRF, IsingModel)])"
        said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert said.stdout == "[[True, True], [True, True], [True, False]]\n", said.stderr
    assert "NodeCRF" in NodeCRF()._repr_html_()  # scikit-learn's
    assert is_classifier(NodeCRF()) and isinstance(NodeCRF(), BaseEstimator) and isinstance(GridCRF(), ClassifierMixin)


def labelled_graph() -> tuple[Graph, np.ndarray]:
    """Return a ring of 90 nodes with noisy features, and its labels."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 30)
    ring = np.stack([np.arange(90), (np.arange(90) + 1) % 90], 1)
    return Graph((y[:, None] == ["a", "b", "c"]) + rng.normal(0, 1.2, (90, 3)), ring), y


def test_nodes_of_a_graph() -> None:
    """Nodes of one network are rows, in all that scikit-learn does; their labels are held where others are predicted."""
    graph, y = labelled_graph()
    nodes = np.arange(90)
    crf = NodeCRF(graph, n_jobs=1)
    proba = cross_val_predict(crf, nodes, y, cv=3, method="predict_proba")
    assert proba.shape == (90, 3) and (proba.argmax(1) == np.repeat(range(3), 30)).mean() > (graph.x.argmax(1) == np.repeat(range(3), 30)).mean() + 0.1
    assert cross_val_predict(crf, nodes, y, cv=3, method="predict_log_proba").shape == (90, 3)
    for scoring in ("accuracy", "neg_log_loss", "f1_macro", None):
        scores = cross_val_score(crf, nodes[:, None], y, cv=3, scoring=scoring, error_score="raise")
        assert scores.shape == (3,) and np.isfinite(scores).all()
    search = GridSearchCV(crf, {"prior": [0.01, 1.0]}, cv=3, scoring="neg_log_loss", n_jobs=2).fit(nodes, y)
    assert search.best_params_ == {"prior": 1.0}
    some = np.random.default_rng(1).permutation(90)
    crf.fit(some[:30], y[some[:30]])
    want = GraphCRF(n_jobs=1).fit(graph, np.where(np.isin(nodes, some[:30]), y, None))
    assert np.array_equal(crf.coef_["node"], want.coef_["node"]) and (crf.predict(some[:30]) == y[some[:30]]).all()
    assert np.array_equal(crf.predict_proba(some[30:]), want.predict_proba(graph, np.where(np.isin(nodes, some[:30]), y, None))[some[30:]])
    assert np.array_equal(crf.predict(nodes, np.where(nodes < 50, y, None))[:50], y[:50])
    assert crf.score(some[30:], y[some[30:]]) > 0.6 and crf.sample(some[30:], 5).shape == (60, 5)
    assert crf.log_likelihood(some[30:], y[some[30:]]) < 0
    assert NodeCRF(graph).fit([0, 40, 0], ["a", "b", "a"]).known_.tolist().count(0) == 1
    with pytest.warns(BlockbpWarning, match="^-1 in y is a class of its own; unlabelled=-1 hides"):
        assert len(NodeCRF(graph).fit([0, 1, 2], [-1, 0, 1]).classes_) == 3
    for rows in (NodeCRF(graph, options={"max_passes": 1}), NodeCRF(options={"max_passes": 1})):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            rows.fit(nodes[:, None], y)
        assert {w.filename for w in told} == {__file__}  # the line of the user
    for message, X, labels in [("names node 1 twice, with the labels 'a' and 'b'", [1, 1], ["a", "b"]), ("numbers of nodes from 0 to 89", [90], ["a"]), ("want numbers of nodes", [0.5], ["a"]), ("that of a name is list", ["p"], ["a"]), ("one for each row", [0, 1], ["a"])]:
        with pytest.raises(ValueError, match=message):
            NodeCRF(graph).fit(X, labels)
    with pytest.raises(ValueError, match="rows of a graph count alike"):
        NodeCRF(graph).fit(nodes, y, sample_weight=np.ones(90))
    with pytest.raises(ValueError, match="^graph: it is int"):
        NodeCRF(3).fit(nodes, y)
    graph.x[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"^graph.x\[3, 1\]: feature is NaN"):
        NodeCRF(graph).fit(nodes, y)


def test_rows_without_a_graph(tmp_path: Path) -> None:
    """They are logistic regression, by weight too, and have the names of columns that set_output gives."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    scaled = StandardScaler().fit_transform(X)
    crf = NodeCRF(options={"standardise": False, "rtol": 1e-9}, bias=False).fit(scaled, y, sample_weight=weights)
    want = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=1000).fit(scaled, y, sample_weight=weights)
    np.testing.assert_allclose(crf.coef_["node"] - crf.coef_["node"].mean(0), want.coef_, atol=1e-5)
    np.testing.assert_allclose(crf.predict_proba(scaled), want.predict_proba(scaled), atol=1e-6)
    pipeline = make_pipeline(StandardScaler(), NodeCRF()).set_output(transform="pandas").fit(X, y)
    assert list(pipeline[-1].feature_names_in_) == list(X.columns) and pipeline.score(X, y) > 0.9
    pipeline[-1].save(tmp_path / "m")
    assert np.array_equal(NodeCRF.load(tmp_path / "m").predict_proba(scaled), pipeline.predict_proba(X))
    with pytest.raises(ValueError, match="zero everywhere"):
        NodeCRF().fit(X, y, sample_weight=0 * weights)


def test_metadata_routing() -> None:
    """Weights of samples, and pictures, go where they are asked for."""
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    pictures, labels = stripes(6)
    with sklearn.config_context(enable_metadata_routing=True):
        crf = NodeCRF(n_jobs=1).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), crf)
        routed = pipeline.fit(X, y, sample_weight=weights)[-1]
        assert np.array_equal(routed.coef_["node"], NodeCRF().fit(StandardScaler().fit_transform(X), y, sample_weight=weights).coef_["node"])
        scores = cross_val_score(crf.set_score_request(sample_weight=True), X, y, params={"sample_weight": weights})
        assert scores.shape == (5,)
        grid = GridCRF(edges="contrast", n_jobs=1).set_fit_request(images=True)
        fitted = GridSearchCV(grid, {"prior": [1.0]}, cv=KFold(2), scoring=lambda e, X, y: e.n_iter_).fit(pictures, labels, images=pictures)
        assert fitted.best_estimator_.contrast_scale_ > 0


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scores_by_name(estimator: type) -> None:
    """Scores of scikit-learn compare the known nodes of all samples."""
    X, y = data(estimator)
    hide = None if estimator is ChainCRF else -1
    hidden = [np.where(np.arange(t.size).reshape(t.shape) % 7 == 0, hide, t) for t in y]
    crf = estimator(n_jobs=1).fit(X[:3], y[:3])
    truth = np.concatenate([t.ravel()[np.arange(t.size) % 7 > 0] for t in y[3:]])
    flat = [np.reshape(p, -1)[np.arange(np.size(p)) % 7 > 0] for p in crf.predict(X[3:])]
    rows = [np.reshape(p, (-1, 3))[np.arange(np.size(p) // 3) % 7 > 0] for p in crf.predict_proba(X[3:])]
    assert scorer("accuracy")(crf, X[3:], hidden[3:]) == accuracy_score(truth, np.concatenate(flat)) == crf.score(X[3:], hidden[3:])
    assert scorer("f1_macro")(crf, X[3:], hidden[3:]) == f1_score(truth, np.concatenate(flat), average="macro")
    assert scorer("neg_log_loss")(crf, X[3:], hidden[3:]) == -log_loss(truth, np.concatenate(rows))
    assert repr(scorer("accuracy")) == "scorer('accuracy')"
    assert scorer(make_scorer(accuracy_score))(crf, X[3:], y[3:]) == crf.score(X[3:], y[3:])
    assert make_scorer(lambda y, found: len(y) - len(found))(crf, X[3:], y[3:]) == 0  # a score of one's own
    pipe = make_pipeline(FunctionTransformer(), crf)
    assert scorer("accuracy")(pipe, X[3:], y[3:]) == crf.score(X[3:], y[3:])
    for name in ("accuracy", "roc_auc", "f1_macro"):
        for tried in (crf,) if name == "roc_auc" else (crf, pipe):  # scikit-learn 1.7 fails by itself there
            with pytest.raises(ValueError, match=r'wants one label for each sample, .* scoring=blockbp.scorer\("accuracy"\)'):
                get_scorer(name)(tried, X[3:], y[3:])
    scores = cross_val_score(estimator(n_jobs=1), X, y, cv=KFold(2), scoring=scorer("neg_log_loss"), n_jobs=2)
    assert scores.shape == (2,) and np.isfinite(scores).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_probabilities(estimator: type) -> None:
    """Logarithms, likelihoods and samples are those of the probabilities."""
    X, y = data(estimator)
    crf = estimator().fit(X, y)
    for logs, p in zip(crf.predict_log_proba(X), crf.predict_proba(X)):
        np.testing.assert_array_equal(logs, np.log(p))
    one = [t.copy() for t in y]
    if estimator is ChainCRF:
        one = [[None] * t.size for t in y]
        one[2][5] = y[2][5]
        p = crf.predict_proba(X)[2][5, y[2][5]]
    else:
        one = [np.full_like(t, -1) for t in y]
        one[2].flat[5] = y[2].flat[5]
        p = crf.predict_proba(X)[2].reshape(-1, 3)[5, y[2].flat[5]]
    assert abs(crf.log_likelihood(X, one) - np.log(p)) < (0.5 if estimator is GridCRF else 1e-3)  # of grids, by bounds
    assert crf.log_likelihood(X, y) < crf.log_likelihood(X, one) < 0
    draws = crf.sample(X, 400, random_state=3, options={"memory": "1GiB"})
    for drawn, t, p in zip(draws, y, crf.predict_proba(X)):
        assert drawn.shape == (*np.shape(t), 400) and set(np.unique(drawn)) <= set(crf.classes_)
        assert np.abs((drawn[..., None] == crf.classes_).mean(-2) - p).max() < 0.25
    assert all(np.array_equal(a, b) for a, b in zip(draws, crf.sample(X, 400, random_state=3, options={"memory": "1GiB"})))
    held = crf.sample(X, 3, one)
    assert (np.reshape(held[2], (-1, 3))[5] == y[2].flat[5]).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_warm_start(estimator: type) -> None:
    """A fit begins where the one before has ended, and not without being told so."""
    X, y = data(estimator)
    crf = estimator(warm_start=True, options={"rtol": 1e-6}).fit(X, y)
    first, weights = crf.n_iter_, crf.coef_
    assert crf.fit(X, y).n_iter_ < first / 2
    for name, w in weights.items():
        np.testing.assert_allclose(crf.coef_[name], w, atol=1e-2)
    cold = estimator(options={"rtol": 1e-6}).fit(X, y)
    assert cold.fit(X, y).n_iter_ == first
    with pytest.raises(ValueError, match="warm_start"):
        crf.fit(X, [np.where(t == 2, 1, t) for t in y])
    with pytest.raises(ValueError, match="features are not those of the fit before"):
        crf.fit([[[*dict(a, b=1)] for a in s] for s in X] if estimator is ChainCRF else [x[..., :2] if estimator is GridCRF else Graph(x.x[:, :2], x.edges) for x in X], y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_of_samples(estimator: type) -> None:
    """A weight of two is two samples, and one of zero is none."""
    X, y = data(estimator)
    options = {"rtol": 1e-9, "standardise": False}
    weighted = estimator(options=options).fit(X, y, sample_weight=[2, 1, 0, 1, 0, 1])
    twice = estimator(options=options).fit([X[k] for k in (0, 0, 1, 3, 5)], [y[k] for k in (0, 0, 1, 3, 5)])
    for name, w in twice.coef_.items():
        np.testing.assert_allclose(weighted.coef_[name], w, atol=1e-4)
    for weights, message in [([1, 2], "want a number of at least 0 for each of 6"), ([1, -1, *[1] * 4], r"^sample_weight\[1\] is -1, want a number of at least 0$"), ([0] * 6, "zero everywhere")]:
        with pytest.raises(ValueError, match=message):
            estimator().fit(X, y, sample_weight=weights)
    if estimator is ChainCRF:
        with pytest.raises(ValueError, match="sample_weight has 0.5, want whole numbers"):
            estimator().fit(X, y, sample_weight=[0.5, 1, 1, 1, 1, 1])


def test_scores_of_rows_leave_hidden_labels_out() -> None:
    X, y = np.array([[0.0], [1.0]] * 20), np.array(["a", "b"] * 20, object)
    model = NodeCRF().fit(X, y)
    some = y.copy()
    some[:30] = None
    some[-1] = "a"
    assert model.score(X, some) == model.score(X[30:], some[30:]) == 0.9
    with pytest.raises(ValueError, match="no label of y is known"):
        model.score(X, np.full(40, None))


def test_columns_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without scikit-learn, too, columns of a data frame are those of the training."""

    class Frame(np.ndarray):
        columns: list[str]

    monkeypatch.delitem(sys.modules, "sklearn.utils.validation")
    x = np.random.default_rng(0).normal(size=(30, 2)).view(Frame)
    x.columns = ["a", "b"]
    model = NodeCRF(n_jobs=1).fit(x, (x[:, 0] > 0).astype(int))
    other = x[:, ::-1].view(Frame)
    other.columns = ["b", "a"]
    with pytest.raises(ValueError, match=r"^X has the column 'b' where fit has 'a': "):
        model.predict(other)
    with pytest.raises(ValueError, match=r"^X\[0, 1\] is 'a', want a number"):
        NodeCRF().fit(np.array([[1, "a"], [2, 3]], object), [0, 1])
