"""What scikit-learn gives to estimators where it is in use, and what it asks of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray


def join(plain: type[Any], estimator: type[Any], classifier: type[Any]) -> None:
    """Give estimators the bases that scikit-learn looks for, once it is in use.

    Its import takes most of a second, for which nobody waits who uses this package alone.
    """
    base = sys.modules.get("sklearn.base")
    if estimator.__bases__ != (plain,) or not hasattr(base, "ClassifierMixin"):
        return  # done, or not there
    assert base is not None
    setattr(estimator, "__bases__", (plain, base.BaseEstimator))
    setattr(classifier, "__bases__", (base.ClassifierMixin, estimator))
    below = [estimator]
    for cls in below:  # what its base does where a subclass is made: set_fit_request and the like
        super(plain, cls).__init_subclass__()
        below += cls.__subclasses__()


def tags(rows: bool) -> Any:
    """Return the tags of an estimator whose samples are rows of a table, or else networks."""
    of = import_module("sklearn.utils")
    # Of networks there is no type: labels of a sample are an array, by which folds cannot be balanced.
    return of.Tags(
        estimator_type="classifier" if rows else None,
        target_tags=of.TargetTags(required=True, multi_output=not rows, single_output=rows),
        transformer_tags=None,
        classifier_tags=of.ClassifierTags() if rows else None,
        regressor_tags=None,
        input_tags=of.InputTags(two_d_array=rows, three_d_array=not rows, allow_nan=False),
    )


def refuse_score(estimator: Any) -> None:
    """Refuse a score of scikit-learn, which asks for tags first, of an estimator of networks.

    It wants a label a sample, and of graphs of one size with labels 0 and 1 it would say how many are right in every node.
    """
    frame = sys._getframe()
    while frame.f_back and (frame := frame.f_back):
        given = frame.f_locals if frame.f_globals.get("__name__") == "sklearn.metrics._scorer" else {}
        measure: Any = getattr(given.get("self"), "_score_func", None)
        if unwrapped(given.get("estimator"))[0] is estimator and str(getattr(measure, "__module__", "")).startswith("sklearn."):
            raise ValueError(
                f"scikit-learn's {measure.__name__} wants one label for each sample, and a sample of {type(estimator).__name__} has one for "
                'each node: give scoring=blockbp.scorer("accuracy"), which also takes other names of scikit-learn, and what make_scorer made'
            )


def unwrapped(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """Return the estimator within searches and pipelines, and X as the steps before it leave it."""
    while hasattr(estimator, "best_estimator_") or hasattr(estimator, "steps"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            X = X if X is None or len(estimator.steps) == 1 else estimator[:-1].transform(X)
            estimator = estimator.steps[-1][1]
    return estimator, X


def checked_table(estimator: Any, X: Any, y: Any, fitting: bool) -> tuple[Any, Any]:
    """Check a table of features, and labels where they are given, as scikit-learn does where it is in use."""
    validation = sys.modules.get("sklearn.utils.validation")
    if not hasattr(validation, "validate_data"):
        from ._base import same_columns  # which needs this module

        names = list(getattr(X, "columns", []))
        if fitting:
            estimator._columns = names
        same_columns(names, getattr(estimator, "_columns", names), "X", "fit")
        return X, y
    assert validation is not None
    if not fitting:
        return validation.validate_data(estimator, X, reset=False), y
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    rows, labels = validation.validate_data(estimator, X, y, ensure_min_samples=2)
    import_module("sklearn.utils.multiclass").check_classification_targets(labels)
    return rows, labels


class _Answers:
    """A classifier whose samples are numbers of answers that are there already."""

    _estimator_type = "classifier"

    def __init__(self, estimator: Any, X: Any, images: dict[str, Any]) -> None:
        self.classes_: NDArray[Any] = estimator.classes_
        self._infer: Callable[[str], list[NDArray[Any]]] = lambda array: estimator._infer(X, None, [], array, images)

    def __sklearn_tags__(self) -> Any:
        return tags(True)

    def fit(self, X: Any, y: Any) -> None:
        """Do nothing, as all is known."""

    def predict(self, X: Any) -> Any:
        """Return labels."""
        return self.classes_[np.concatenate([p.reshape(-1) for p in self._infer("labels")])[X]]

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities."""
        return np.concatenate([p.reshape(-1, len(self.classes_)) for p in self._infer("beliefs")])[X]


class scorer:
    """A score of scikit-learn for networks, as ``scoring`` of its searches and cross-validations.

    Its own scores want a label a sample. This one compares the known labels of the nodes of
    all pictures, graphs or sequences.

    Parameters
    ----------
    name : str
        As scikit-learn has it, such as "accuracy", "f1_macro" or "neg_log_loss", or what ``make_scorer`` made.
    """

    def __init__(self, name: str) -> None:
        self.name, self._score = name, import_module("sklearn.metrics").get_scorer(name)

    def __call__(self, estimator: Any, X: Any, y: Any, **images: Any) -> float:
        estimator, X = unwrapped(estimator, X)
        labels, codes = estimator._truth(X, y, images)
        known = np.flatnonzero(codes != -1)
        truth = np.array(labels[known].tolist())  # hidden ones may have been of other types
        return float(self._score(_Answers(estimator, X, images), known, truth))

    def __repr__(self) -> str:
        return f"scorer({self.name!r})"
