"""The habits of scikit-learn.

``check_estimator`` feeds tables [samples, features] with one label a row. Samples here are
pictures and networks, so its checks are not run as they are: what each of them is about is
checked below where it applies. Those that do not apply, and why:

* check_estimators_dtypes, check_dtype_object, check_complex_data, check_estimators_nan_inf,
  check_fit1d, check_fit2d_1sample, check_fit2d_1feature, check_estimator_sparse_*,
  check_n_features_in*, check_f_contiguous_array_estimator: they pass tables; types,
  numbers and shapes that are refused are in test_mistakes of test_grid and test_graph.
* check_classifiers_*, check_supervised_y_*, check_class_weight_*: labels are an array for
  each sample, for which scikit-learn has no type of target.
* check_methods_sample_order_invariance, check_methods_subset_invariance: below, for lists.
* check_sample_weights_*: there are no sample weights.
* check_set_output_*, check_transformer_*, check_clusterer_*, check_outliers_*,
  check_regressor_*: for other kinds of estimators.
"""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from conftest import stripes

import blockbp
from blockbp import ChainCRF, Graph, GraphCRF, GridCRF, IsingModel, PottsModel

pytest.importorskip("sklearn")
from sklearn.base import clone, is_classifier  # noqa: E402
from sklearn.exceptions import ConvergenceWarning, NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402
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
    assert estimator(prior=3.0).fit(samples).model_ == model.model_ and "<table>" in model._repr_html_()
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


def test_its_convergence_warning() -> None:
    """Who filters scikit-learn's ConvergenceWarning filters this one."""
    X, y = stripes()
    with pytest.warns(ConvergenceWarning, match="pass_limit") as caught:
        for _ in range(2):
            GridCRF(options={"max_passes": 1}).fit(X, y)
    first, second = (w.category for w in caught if issubclass(w.category, ConvergenceWarning))
    assert first is second and pickle.loads(pickle.dumps(first)) is first and issubclass(first, blockbp.ConvergenceWarning)
