"""What all estimators have in common."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _run
from ._arrays import Instance, Labels
from ._model import Model
from ._report import Page, curve
from ._run import BlockbpWarning, ConvergenceWarning, Folder

if TYPE_CHECKING:
    from typing_extensions import Self

# Notes that ask for nothing where learning converged.
_KNOWN = re.compile(r"messages circled|labels are hidden|both ways round count once")

MODEL, RUN, DATA = "model.safetensors", "run", "data"


_SHARED = {  # a text may have a later one in it
    "spins": """\
prior : float
        Standard deviation of the normal prior of every weight.
    l2 : float or "auto", optional
        Weight of the regulariser, in the place of the prior.
    method : {"auto", "exact", "pseudo"}
        Likelihood, where the network is narrow enough, or pseudo-likelihood.
    errors : str
        Standard errors: "auto", of independent samples; "bootstrap" or "bootstrap:B", also of
        samples of a chain; or "none".
    max_time : float, optional
        Seconds after which learning ends.
{run}""",
    "learning": """\
prior : float
        Standard deviation of the normal prior of every weight.
    l2 : float or "auto", optional
        Weight of the regulariser, in the place of the prior; "auto": by cross-validation.
    counting : str
        Counting numbers: "auto", "trw", "convex", "cover" or "bethe".
    method : str
        How to learn: "auto", "bbpl", "inner-dual", "full", "exact", "pseudo" or "piecewise".
    class_weight : "balanced" or dict of str to float, optional
        How much labels of a class count.
    max_time : float, optional
        Seconds after which learning ends.
    unlabelled : object
        The label that hides. NaN, None and masked entries hide, too.
{run}
    predict_options : dict, optional
        Options of ``blockbp predict``, such as ``{"max_sweeps": 1000}``.""",
    "run": """\
random_state : int, optional
        Seed of everything random; 1 without it.
    n_jobs : int, optional
        Threads, by default as many as there are cores. Results do not depend on it.
    verbose : int
        1 shows progress.
    options : dict, optional
        Further options of ``blockbp train``, such as ``{"max_passes": 500}``.""",
    "results": """\
n_features_in_ : int
        Features of a node, without the bias.
    converged_, status_ : bool, str
        Whether and how learning ended.
    objective_, suboptimality_ : float
        The objective, and by how much it is at most above the smallest; NaN: not known.
    loss_curve_ : ndarray
        The objective of every iteration.
    n_iter_ : int
        Iterations.
    result_ : dict
        All that the command says of the result.
    notes_ : list of str
        Its notes, which are warnings, too.
    model_ : bytes
        The model file.""",
}


def documented(cls: type[Any]) -> type[Any]:
    """Put what estimators share into the text of one."""
    for name, text in _SHARED.items():
        cls.__doc__ = (cls.__doc__ or "").replace("{" + name + "}", text)
    return cls


class Estimator:
    """The base of all estimators: parameters as scikit-learn has them, a run, a model.

    A subclass has its parameters as arguments of ``__init__`` and as attributes, and
    nothing else in ``__init__``.
    """

    # Parameters of the command, by the names of its options. Those at their defaults are
    # left to the command.
    _options: dict[str, str] = {
        "prior": "prior",
        "l2": "l2",
        "counting": "counting",
        "method": "method",
        "max_time": "max-time",
        "random_state": "seed",
        "n_jobs": "threads",
    }

    # parameters

    @classmethod
    def _names(cls) -> list[str]:
        code = cls.__init__.__code__
        return list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {n: getattr(self, n) for n in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name."""
        for name, value in params.items():
            if name not in self._names():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(self._names())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        import inspect

        defaults = inspect.signature(type(self).__init__).parameters
        given = [f"{n}={v!r}" for n, v in self.get_params().items() if not _same(v, defaults[n].default)]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        # No type: labels of a sample are an array, by which folds cannot be balanced.
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            transformer_tags=None,
            classifier_tags=None,
            regressor_tags=None,
            input_tags=InputTags(two_d_array=False, three_d_array=True, allow_nan=False),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    # a run of the binary

    def _arguments(self) -> list[str]:
        """Return the options of train that differ from the command's."""
        given: dict[str, Any] = {}
        for name, option in self._options.items():
            value = getattr(self, name)
            if value is None or (name, value) in (("prior", 1.0), ("counting", "auto"), ("method", "auto"), ("n_jobs", -1)):
                continue
            given[option] = f"{value}s" if name == "max_time" else value
        if "l2" in given:
            given.pop("prior", None)
        weights = getattr(self, "class_weight", None)
        if isinstance(weights, Mapping):
            weights = ",".join(f"{k}={v}" for k, v in weights.items())
        if weights is not None:
            given["class-weights"] = weights
        return _flags({**given, **(getattr(self, "options", None) or {})})

    def _train(self, folder: Folder, arguments: Sequence[str]) -> None:
        """Run train on the data in the folder, and keep what it leaves."""
        command = ["train", DATA, "-o", RUN, "--plots=false", "--checkpoint=false", *self._arguments(), *arguments]
        interrupted = False
        try:
            notes = _run.run(command, folder, self._verbose(), self._places(folder, "options"))
        except _run.Interrupted:
            notes, interrupted = [], True
            if not os.path.exists(os.path.join(folder / RUN, MODEL)):
                raise KeyboardInterrupt from None
        self._keep(folder / RUN, notes)
        _warn(notes if not self.converged_ else [n for n in notes if not _KNOWN.search(n)])
        if not self.converged_:
            text = f"the training did not converge: {self.status_}, {self.result_.get('reason', '')}"
            if interrupted:
                text = "the training was interrupted; the estimator has the weights so far"
            warnings.warn(text, _convergence_warning(), stacklevel=5)

    def _keep(self, run: str, notes: list[str]) -> None:
        with open(os.path.join(run, MODEL), "rb") as file:
            self.model_ = file.read()
        self.result_: dict[str, Any] = {"status": "interrupted", "converged": False}
        if os.path.exists(os.path.join(run, "result.json")):
            with open(os.path.join(run, "result.json"), encoding="utf-8") as file:
                self.result_ = json.load(file)
        for name in ("model", "run"):
            self.result_.pop(name, None)  # files that are gone
        self.notes_ = notes
        self.report_ = ""
        if os.path.exists(os.path.join(run, "report.html")):
            with open(os.path.join(run, "report.html"), encoding="utf-8") as file:
                self.report_ = file.read()
        with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
            values = [json.loads(line).get("objective") for line in file]
        self.loss_curve_: NDArray[np.float64] = np.array([v for v in values if v is not None], float)
        self.converged_ = bool(self.result_["converged"])
        self.status_ = str(self.result_["status"])
        self.objective_ = _number(self.result_.get("objective"))
        self.suboptimality_ = _number(self.result_.get("suboptimality"))
        self.n_iter_ = int(self.result_.get("iterations", 0))
        self._read_model()

    def _read_model(self) -> None:
        model = Model(self.model_)
        self.coef_ = model.coefficients()

    def _verbose(self) -> int:
        return int(getattr(self, "verbose", 0))

    def _places(self, folder: Folder, options: str = "options") -> Callable[[str], str]:
        """Return what writes places in messages as users know them."""

        def place(match: re.Match[str]) -> str:
            index = [int(k) for k in match[3].split(",")] if match[3] else []
            return self._place(int(match[1]), match[2], index)

        names = {o: n for n, o in self._options.items()} | {"class-weights": "class_weight"}
        own = self._names()

        def option(match: re.Match[str]) -> str:
            name = names.get(match[1], match[1].replace("-", "_"))
            return name if name in own else f'{options}["{name}"]'

        def translate(text: str) -> str:
            text = text.replace(folder.path + os.sep, "")
            text = re.sub(r"--([a-z][a-z0-9-]*)", option, text)
            return re.sub(r"\bdata\[(\d+)\]:(\w+)(?:\[([\d,]+)\])?", place, text)

        return translate

    def _place(self, instance: int, array: str, index: list[int]) -> str:
        """Name a place in the data of fit or predict."""
        return f"X[{instance}].{array}{index or ''}"

    def _fitted(self) -> None:
        if not hasattr(self, "model_"):
            import sys

            text = f"this {type(self).__name__} is not fitted yet: call fit first"
            if "sklearn" in sys.modules:
                from sklearn.exceptions import NotFittedError

                raise NotFittedError(text)
            raise ValueError(text)

    # results

    def report(self, path: str | os.PathLike[str] | None = None) -> Page:
        """Return the report of the training, a page that a notebook shows.

        Parameters
        ----------
        path : path, optional
            Where to write the page, too. ``report().open()`` shows it in a browser.
        """
        self._fitted()
        page = Page(self.report_)
        if path is not None:
            page.save(path)
        return page

    def _repr_html_(self) -> str:
        import html

        rows = [("", html.escape(repr(self)))]
        if hasattr(self, "model_"):
            rows += [
                ("status", html.escape(self.status_)),
                ("objective", f"{self.objective_:.8g}"),
                ("above the optimum, at most", f"{self.suboptimality_:.3g}"),
                ("iterations", str(self.n_iter_)),
                ("seconds", f"{self.result_.get('total_seconds', float('nan')):.2f}"),
                ("objective by iteration", curve(self.loss_curve_)),
            ]
        return "<table>" + "".join(f"<tr><th style='text-align:left'>{k}</th><td>{v}</td></tr>" for k, v in rows) + "</table>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, a safetensors file that the command and ``load`` read."""
        self._fitted()
        with open(path, "wb") as file:
            file.write(self.model_)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return an estimator with the model of a file, from ``save`` or the command.

        Classes are integers, truth values or numbers where all names of states are such,
        and texts otherwise. Parameters that say how to learn have their defaults.
        """
        with open(path, "rb") as file:
            data = file.read()
        self = cls()
        self.model_ = data
        self.result_, self.notes_, self.report_ = {"status": "loaded", "converged": False}, [], ""
        self.status_, self.converged_, self.n_iter_ = "loaded", False, 0
        self.objective_ = self.suboptimality_ = float("nan")
        self.loss_curve_ = np.zeros(0)
        self._read_model()
        self._adopt(Model(data))
        return self

    def _adopt(self, model: Model) -> None:
        """Take what a loaded model says of the data."""


class Classifier(Estimator):
    """An estimator of labels of the nodes of networks."""

    unlabelled: Any
    n_jobs: int | None
    bias: bool

    def _instances(self, X: Any, fitting: bool, **images: Any) -> list[Instance]:
        raise NotImplementedError

    def _label_place(self, instance: int, node: int) -> str:
        raise NotImplementedError

    def _manifest(self, instances: Sequence[Instance]) -> dict[str, Any]:
        raise NotImplementedError

    def _labels_of(self, X: Any, y: Any) -> Sequence[Any]:
        """Return the labels of every entry of X."""
        return _listed(y, "y")

    def _fit(self, X: Any, y: Any, arguments: Sequence[str], **images: Any) -> Self:
        instances = self._instances(X, True, **images)
        labels_of = self._labels_of(X, y)
        labels = Labels.of(labels_of, self.unlabelled)
        self._labelled(instances, labels_of, labels)
        self.classes_ = labels.classes
        self._learn(instances, arguments)
        return self

    def _labelled(self, instances: Sequence[Instance], y: Sequence[Any], labels: Labels) -> None:
        """Give the instances their labels."""
        if len(y) != len(instances):
            raise ValueError(f"X has {len(instances)} and y {len(y)} entries: want as many")
        for n, (instance, labels_of) in enumerate(zip(instances, y)):
            shape = instance.shape or (len(instance.x),)
            if np.shape(labels_of) != shape:
                raise ValueError(f"y[{n}] has the shape {list(np.shape(labels_of))}, want {list(shape)} as X[{n}]")
            codes = labels.encode(labels_of, functools.partial(self._label_place, n))
            instance.labels = codes.reshape(-1)

    def _learn(self, instances: list[Instance], arguments: Sequence[str]) -> None:
        self.n_features_in_ = instances[0].x.shape[1]
        manifest = {**self._manifest(instances), "states": [str(c) for c in self.classes_.tolist()], "hidden_labels": True}
        with self._data(instances, manifest) as folder:
            self._train(folder, arguments)

    @contextlib.contextmanager
    def _data(self, instances: Sequence[Instance], manifest: dict[str, Any]) -> Iterator[Folder]:
        """Make a folder with the instances in DATA."""
        with Folder(_arrays.bytes_of(instances)) as folder:
            _arrays.write(folder / DATA, instances, manifest, self.bias)
            yield folder

    def _infer(self, X: Any, y: Any, arguments: Sequence[str], array: str, images: dict[str, Any]) -> list[NDArray[Any]]:
        """Run predict, and return an array for each instance, a row for each node."""
        self._fitted()
        instances = self._instances(X, False, **images)
        clamp = []
        if y is not None:
            self._labelled(instances, self._labels_of(X, y), Labels(self.classes_, self.unlabelled))
            clamp = ["--clamp"]
        threads = [f"--threads={self.n_jobs}"] if self.n_jobs not in (None, -1) else []
        with self._data(instances, {"hidden_labels": True}) as folder:
            with open(folder / MODEL, "wb") as file:
                file.write(self.model_)
            notes = _run.run(
                ["predict", DATA, "-m", MODEL, "-o", "out", "--arrays", *clamp, *threads, *arguments, *_flags(getattr(self, "predict_options", None) or {})],
                folder,
                self._verbose(),
                self._places(folder, "predict_options"),
            )
            rows = np.load(os.path.join(folder / "out", array + ".npy"))
        _warn([n for n in notes if not _KNOWN.search(n)])
        ends = np.cumsum([len(i.x) for i in instances])
        parts = np.split(rows, ends[:-1])
        return [p.reshape(i.shape + p.shape[1:]) if i.shape else p for p, i in zip(parts, instances)]

    def _shaped(self, X: Any, parts: list[NDArray[Any]]) -> Any:
        """Return results in the form of X."""
        return parts

    def predict(self, X: Any, y: Any = None, **images: Any) -> Any:
        """Return the most likely class of every node, each by itself.

        Parameters
        ----------
        X
            As in fit.
        y
            Labels that are known, hidden elsewhere: they are held, and the others predicted
            given them.
        images
            As in the fit of a GridCRF.
        """
        return self._shaped(X, [self.classes_[p] for p in self._infer(X, y, [], "labels", images)])

    def predict_proba(self, X: Any, y: Any = None, **images: Any) -> Any:
        """Return the probabilities of the classes of every node, along a last axis [classes]."""
        return self._shaped(X, self._infer(X, y, [], "beliefs", images))

    def predict_joint(self, X: Any, y: Any = None, **images: Any) -> Any:
        """Return a most probable joint labelling of each network."""
        return self._shaped(X, [self.classes_[p] for p in self._infer(X, y, ["--decode=map"], "labels", images)])

    def score(self, X: Any, y: Any, **images: Any) -> float:
        """Return the share of the known labels that predict finds."""
        self._fitted()
        right = known = 0
        truth = self._instances(X, False, **images)
        self._labelled(truth, self._labels_of(X, y), Labels(self.classes_, self.unlabelled))
        for instance, codes in zip(truth, self._infer(X, None, [], "labels", images)):
            assert instance.labels is not None
            there = instance.labels >= 0
            right += int((codes.reshape(-1) == instance.labels)[there].sum())
            known += int(there.sum())
        if known == 0:
            raise ValueError("no label of y is known: there is nothing to compare with")
        return right / known


def _warn(notes: Sequence[str]) -> None:
    for note in notes:
        warnings.warn(note, BlockbpWarning, stacklevel=5)


def _listed(y: Any, what: str) -> Sequence[Any]:
    if isinstance(y, np.ndarray) and y.ndim > 0:
        return list(y)
    if not isinstance(y, Sequence) or isinstance(y, str):
        raise ValueError(f"{what} is {type(y).__name__}, want a list with an entry for each entry of X")
    return y


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(np.all(a == b)))


def _flags(options: Mapping[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}={_text(value)}" for name, value in options.items() if value is not None]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(_text, value))
    return str(value)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _convergence_warning() -> type[Warning]:
    """Return ConvergenceWarning, which is scikit-learn's too where that is in use."""
    import sys

    if "sklearn.exceptions" not in sys.modules:
        return ConvergenceWarning
    made: type[Warning] = getattr(sys.modules[__name__], "_SklearnConvergenceWarning")
    return made


def __getattr__(name: str) -> Any:
    if name != "_SklearnConvergenceWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn import exceptions

    # Made once, and found by pickle: it may come as an error out of another process.
    made = type(name, (ConvergenceWarning, exceptions.ConvergenceWarning), {"__module__": __name__})
    return globals().setdefault(name, made)

