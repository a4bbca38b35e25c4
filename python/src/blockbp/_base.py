"""What all estimators have in common."""

from __future__ import annotations

import contextlib
import copy
import functools
import html
import inspect
import json
import os
import sys
import warnings
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _arrays
from ._arrays import Instance, Labels, classes_of, doubtful, is_array, is_list, is_mapping, is_number, kind_of, label_array
from ._model import MODEL, Model, failures, read
from ._run import BlockbpWarning, ConvergenceWarning, Folder, Interrupted, ModelError, Note, run
from ._sklearn import join, refuse_score, tags

if TYPE_CHECKING:
    from typing_extensions import Self

# Options of the command that mean something for data in memory, by verb. What a parameter says is not among them.
OPTIONS = {
    "train": """blocks partition together step order inner_sweeps inner_tol memory min_count no_edges edges scale standardise
        loss epsilon tol rtol gap max_iter max_passes report""".split(),
    "predict": "counting max_sweeps tol cost memory".split(),
    "infer": "max_sweeps memory threads tol".split(),
    "sample": "burn_in chains thin memory".split(),
}

# Notes that ask for nothing where learning converged, and of predictions what fit or load has warned of.
_KNOWN = ("damped", "hidden", "ended", "directed", "few-labels", "chosen")

# How trainings end before the optimum that nobody wanted to end there, and what helps.
_UNFINISHED = {
    "iteration_limit": "fit again with a larger options['max_iter']",
    "pass_limit": "fit again with a larger options['max_passes']",
    "time_limit": "fit again with a larger max_time",
    "interrupted": "fit again",
}

RUN, DATA, RESULT, METRICS, STATISTICS = "run", "data", "result.json", "metrics.jsonl", "means.npz"
MEANS = "--statistics=" + STATISTICS


T = TypeVar("T")

_SHARED = {  # a text may have a later one in it
    "spins": """\
{prior}
    method : {"auto", "exact", "pseudo"}
        Likelihood, where the network is narrow enough, or pseudo-likelihood.
    errors : str
        Standard errors: "auto", of independent samples; "bootstrap" or "bootstrap:B", also of
        samples of a chain; or "none".
    select_edges : str, optional
        Which of the edges stay: "ebic" or "stability"; all without it.
    {run}""",
    "learning": """\
{prior}
    counting : str
        Counting numbers: "auto", "trw", "convex", "cover", "near-bethe" or "bethe".
    method : str
        One of "auto", "bbpl", "inner-dual", "full", "exact", "composite", "pseudo", "piecewise" or "truncated:K".
    class_weight : "balanced" or dict of class to float, optional
        How much labels of a class count; others have 1.
    warm_start : bool
        Whether fit begins at the weights of the fit before, which needs the same features and classes.
    unlabelled : object
        The label that hides, or a list; None: no label does, and -1 is a class. In any case NaN, None and
        masked entries hide. "auto", of ChainCRF, is None, with a warning where -1 stands beside two others.
    {run}
    predict_options : dict, optional
        Options of ``blockbp predict``, such as ``{"max_sweeps": 1000}`` or ``{"cost": {label: 9}}``.""",
    "learned": """\
classes_ : ndarray of shape [classes]
        The classes, sorted.
    {results}""",
    "couplings": """\
edges_ : int ndarray of shape [edges, 2]
        The pairs of sites, the smaller first, in the order given to fit; of from_statistics, and of the command, as given.
    errors_ : dict of str to ndarray, or None
        Standard errors of ``"couplings"`` and ``"fields"``.
    feature_names_in_ : ndarray of str
        Names of the sites, of a data frame that has some.
    {results}""",
    "prior": """\
prior : float
        Standard deviation of the normal prior of every weight.
    l2 : float, optional
        Weight of the regulariser, in the place of the prior.""",
    "run": """\
max_time : float, optional
        Seconds after which learning ends.
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


def documented(cls: type[T]) -> type[T]:
    """Put what estimators share into the text of one."""
    for name, text in _SHARED.items():
        cls.__doc__ = (cls.__doc__ or "").replace("{" + name + "}", text)
    return cls


# Parameters of all estimators whose options have other names.
TRAINING = {"max_time": "max-time", "random_state": "seed", "n_jobs": "threads"}


_OTHERS = {"C": "prior=C**0.5", "c2": "prior=(2*c2)**-0.5"}  # parameters of scikit-learn and crfsuite


class Page:
    """A page of HTML, which a notebook shows by itself.

    Attributes
    ----------
    html : str
        The page.
    """

    def __init__(self, text: str) -> None:
        self.html = text or "<p>The training was interrupted before its report, or the model was loaded.</p>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:40em;border:0"></iframe>'


class _Plain:
    """The first base of estimators: scikit-learn's can be put beside it, and not beside object."""


class Estimator(_Plain):
    """The base of all estimators: parameters as scikit-learn has them, a run, a model.

    A subclass has its parameters as arguments of ``__init__``, which gives them to ``_store``,
    and nothing else in ``__init__``.
    """

    classes_: NDArray[Any]
    verbose: int
    _before: Any  # the estimator at whose weights a fit begins, or None

    # Parameters of the command, by the names of its options. Those at their defaults are left to the command.
    _options = {"prior": "prior", "l2": "l2", "counting": "counting", "method": "method", **TRAINING}

    # parameters

    def _store(self, given: Mapping[str, Any]) -> None:
        """Set the parameters from the names of ``__init__``."""
        attach()
        for name in self._names():
            setattr(self, name, given[name])

    def __new__(cls, *_: Any, **given: Any) -> Self:
        cls._know(given, TypeError)
        return super().__new__(cls)

    @classmethod
    def _know(cls, given: Mapping[str, Any], error: type[Exception]) -> None:
        for name in (n for n in given if n not in cls._names()):
            option = f"options={{{name!r}: ...}}" if name in OPTIONS["train"] and name != "edges" else ""
            other = _OTHERS.get(name, option) and f"{_OTHERS.get(name, option)} for that, and "
            raise error(f"{cls.__name__} has no parameter {name!r}; it has {other}{', '.join(cls._names())}")

    @classmethod
    def _names(cls) -> list[str]:
        code = cls.__init__.__code__
        return list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {n: getattr(self, n) for n in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name."""
        self._know(params, ValueError)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = [f"{n}={v!r}" for n, v in self.get_params().items() if not same(v, defaults[n].default)]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        attach()
        return tags(False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    # a run of the binary

    def _arguments(self) -> list[str]:
        """Return the options of train that differ from the command's."""
        given: dict[str, Any] = {}
        for name, option in self._options.items():
            value = getattr(self, name)
            if value is None or (name, value) in (("prior", 1.0), ("counting", "auto"), ("method", "auto"), ("n_jobs", -1), ("min_freq", 0)):
                continue
            given[option] = _seconds(value) if name == "max_time" else threads(value) if name == "n_jobs" else value
        weights = getattr(self, "class_weight", None)
        if weights is not None:
            given["class-weights"] = _class_weights(weights, self.classes_)
        return [*flags(given), *flags(checked(getattr(self, "options", None), "options", "train", self._names()))]

    def _train(self, folder: Folder, arguments: Sequence[str]) -> None:
        """Run train on the data in the folder, and keep what it leaves."""
        command = ["train", *([] if MEANS in arguments else [DATA]), "-o", RUN, "--plots=false", "--checkpoint=false", *self._arguments(), *arguments]
        if self._before is not None:
            self._before.save(folder / MODEL)
            command.append("--init=" + MODEL)
        metrics, self._interrupted = Path(folder / RUN, METRICS), False
        try:
            notes = run(command, folder, self.verbose, self._says(folder, "train"), lambda: metrics.exists() and metrics.read_bytes().count(b"\n") > 1)
        except Interrupted:
            notes, self._interrupted = [], True
            if not os.path.exists(os.path.join(folder / RUN, RESULT)):
                raise KeyboardInterrupt from None
        self._keep(folder / RUN, notes)
        if self._interrupted and not any(w.any() for w in self.coef_.values()):
            raise KeyboardInterrupt  # before anything was learned

    def _commit(self, learn: Callable[[Self], object]) -> Self:
        """Learn in a copy and take over what it has learned: a fit that fails changes nothing."""
        trial = copy.copy(self)
        trial._before = self if getattr(self, "warm_start", False) and hasattr(self, "model_") else None
        for name in [n for n in vars(trial) if n.endswith("_")]:
            delattr(trial, name)
        learn(trial)
        interrupted = vars(trial).pop("_interrupted")
        del trial._before
        for name in [n for n in vars(self) if n.endswith("_")]:
            delattr(self, name)
        vars(self).update(vars(trial))
        warn([n for n in self.notes_ if not self.converged_ or n.word not in _KNOWN])
        if not self.converged_:
            text = f"the training did not converge: {self.status_}, {self.result_.get('reason', '')}"
            if interrupted:
                text = "the training was interrupted; the estimator has the weights so far"
            warn([text], ConvergenceWarning)
        return self

    def _about(self) -> str:
        """Return what a model of this estimator says of it, for load."""
        return json.dumps({"estimator": self._kind(), "classes": kind_of(self.classes_)})

    @classmethod
    def _kind(cls) -> str:
        """Return the name of the estimator of this package that the class is, or comes from."""
        return next(c.__name__ for c in cls.__mro__ if c.__module__.startswith("blockbp."))

    def _keep(self, run: str, notes: list[Note]) -> None:
        left = Path(run)
        self.model_ = (left / MODEL).read_bytes()
        result: dict[str, Any] = json.loads((left / RESULT).read_text(encoding="utf-8"))
        for name in ("model", "run"):
            result.pop(name, None)  # files that are gone
        page = left / "report.html"
        report = page.read_text(encoding="utf-8") if page.exists() else ""
        values = [json.loads(line).get("objective") for line in (left / METRICS).read_text("utf-8").splitlines()]
        self._tell(result, notes, report, [v for v in values if v is not None])
        self._read_model()

    def _tell(self, result: dict[str, Any], notes: list[Note], report: str, curve: list[float]) -> None:
        """Set the attributes that say how a training went."""
        self.result_, self.notes_, self.report_ = result, notes, report
        self.loss_curve_: NDArray[np.float64] = np.array(curve, float)
        self.converged_ = bool(self.result_["converged"])
        self.status_ = str(self.result_["status"])
        self.objective_ = _number(self.result_.get("objective"))
        self.suboptimality_ = _number(self.result_.get("suboptimality"))
        self.n_iter_ = int(self.result_.get("iterations", 0))

    def _read_model(self) -> None:
        model = Model(self.model_)
        self.coef_ = model.coefficients()

    def _says(self, folder: Folder, verb: str) -> Callable[[dict[str, Any]], str]:
        """Return what writes parts of messages as users know them."""
        parameters = {o: n for n, o in self._options.items()} | {"class-weights": "class_weight", "init": "warm_start", "directed": "directed"}
        parameters = {o: n for o, n in parameters.items() if n in self._names()} | {"samples": "n_samples", "clamp": "predict(X, y)", "statistics": "from_statistics"}
        verb = "predict" if verb == "eval" else verb
        if verb == "predict":  # which may advise to train otherwise
            parameters = {o.replace("_", "-"): f'options["{o}"]' for o in OPTIONS["train"] if o not in OPTIONS[verb]} | parameters
        return says(verb, "predict_options" if verb == "predict" else "options", parameters, lambda *at: self._spot(folder, *at), self._where)

    def _spot(self, folder: Folder, file: str, line: str, place: str) -> str:
        """Name a place in a file of a run, "" where that has no other name."""
        array, _, index = place.rstrip("]").partition("[")
        if not file.startswith(DATA + "["):
            return f"the data's {place}" if file == DATA and place else ""
        instance = int(file[len(DATA) + 1 : -1])
        return self._place(folder, instance, array, [int(k) for k in index.split(",") if k]) if array else self._where(instance)

    def _where(self, instance: int) -> str:
        """Name an instance."""
        return f"X[{instance}]"

    def _place(self, folder: Folder, instance: int, array: str, index: list[int]) -> str:
        """Name a place in the data of fit or predict."""
        return f"{self._where(instance)}.{array}{index or ''}"

    def _fitted(self) -> None:
        if not hasattr(self, "model_"):
            text = f"this {type(self).__name__} is not fitted yet: call fit first"
            if "sklearn" in sys.modules:
                raise import_module("sklearn.exceptions").NotFittedError(text)
            raise ValueError(text)

    # results

    def report(self, path: str | os.PathLike[str] | None = None) -> Page:
        """Return the report of the training, a page that a notebook shows.

        Parameters
        ----------
        path : path, optional
            Where to write the page, too.
        """
        self._fitted()
        page = Page(self.report_)
        if path is not None:
            Path(path).write_text(page.html, encoding="utf-8")
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, a safetensors file that the command and ``load`` read."""
        self._fitted()
        Path(path).write_bytes(self.model_)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return an estimator with the model of a file, from ``save`` or the command.

        Parameters that say how to learn have their defaults. Of a model that the command has
        learned, classes are integers, truth values or numbers where all names of states are such, and texts otherwise.

        Raises
        ------
        BlockbpError
            The file is damaged, holds no model, or that of another class.
        OSError
            There is no such file, or it may not be read.
        """
        self = cls()
        with failures(path):
            self.model_ = read(path)
            model = self._loaded(path)
        if model.status in _UNFINISHED:
            text = f"the training of {os.fspath(path)!r} did not converge: {model.status}; {_UNFINISHED[model.status]}"
            warn([text], ConvergenceWarning)
        return self

    def _loaded(self, path: str | os.PathLike[str]) -> Model:
        """Take what a model file says."""
        model = Model(self.model_)
        if (kind := model.about.get("estimator", self._kind())) != self._kind():
            raise ModelError(f"{os.fspath(path)!r} is the model of {kind}: load it by {kind}.load")
        self._tell({"status": "loaded", "converged": False}, [], "", [])
        self.classes_ = classes_of(model.states(), model.about.get("classes"))
        self._adopt(model)
        self._read_model()
        return model

    def _adopt(self, model: Model) -> None:
        """Take what a loaded model says of the data."""


class Classifier(Estimator):
    """An estimator of labels of the nodes of networks."""

    unlabelled: Any
    warm_start: bool
    n_jobs: int | None
    bias: bool
    predict_options: Mapping[str, Any] | None
    _estimator_type: str | None = None  # see tags of _sklearn
    _unsaid: Any = -1  # what unlabelled is where nobody has said

    def __sklearn_tags__(self) -> Any:
        refuse_score(self)
        return Estimator.__sklearn_tags__(self)  # and not those of scikit-learn's ClassifierMixin

    def _instances(self, X: Any, fitting: bool, **images: Any) -> list[Instance]:
        raise NotImplementedError

    def _label_place(self, instance: int, node: int) -> str:
        return f"y[{instance}][{node}]"

    def _manifest(self, instances: Sequence[Instance]) -> dict[str, Any]:
        raise NotImplementedError

    def _of_nodes(self, model: Model) -> None:
        """Take the features of nodes from a loaded model."""
        names = model.features("node")
        self.bias = names[-1:] == ["bias"]
        self.n_features_in_ = len(names) - self.bias

    def _hides(self) -> Any:
        """Return the label that hides, None where there is none."""
        return self.unlabelled

    def _labels_of(self, X: Any, y: Any) -> Sequence[Any]:
        """Return the labels of every entry of X."""
        return as_list(y, "y")

    def _fit(self, X: Any, y: Any, arguments: Sequence[str], **images: Any) -> Self:
        return self._commit(lambda trial: trial._learn(X, y, arguments, **images))

    def _learn(self, X: Any, y: Any, arguments: Sequence[str], sample_weight: Any = None, **images: Any) -> None:
        if self.bias not in (False, True):
            raise ValueError(f"bias={self.bias!r}: want True or False")
        instances = self._instances(X, True, **images)
        labels_of = self._shapely(instances, self._labels_of(X, y))
        labels = Labels.of(labels_of, self._hides(), self._label_place)
        self.classes_ = labels.classes
        if "" in (names := self.classes_.tolist()):
            raise ValueError("y has the class '', and a class needs a name: give it one, or hide it by unlabelled=''")
        if same(self.unlabelled, self._unsaid):
            warn([f"{c!r} in y is a class of its own; unlabelled={c!r} hides those labels" for c in doubtful(self.classes_)])
        self._labelled(instances, labels_of, labels)
        self._alone_ = [_mark(i) for i in instances if len(instances) == 1 and i.labels is not None and -1 in i.labels]
        self.n_features_in_ = instances[0].x.shape[1]
        instances = _weighted(instances, sample_weight)
        manifest = {**self._manifest(instances), "states": [str(c) for c in names], "hidden_labels": True, "about": self._about()}
        self._given_ = self._signature(manifest)
        if getattr(self._before, "_given_", self._given_) != self._given_:
            raise ValueError("warm_start=True, and classes or features are not those of the fit before: give False")
        with self._data(instances, manifest) as folder:
            self._train(folder, arguments)

    def _signature(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Return what two fits have to share, that one can begin where the other has ended."""
        return manifest

    def _shapely(self, instances: Sequence[Instance], y: Sequence[Any]) -> list[Any]:
        """Return the labels as arrays of the shapes of the instances."""
        if len(y) != len(instances):
            raise ValueError(f"X has {len(instances)} and y {len(y)} entries: want as many")
        arrays: list[NDArray[Any]] = []
        for n, (instance, labels_of) in enumerate(zip(instances, y)):
            shape = instance.shape or (len(instance.x),)
            array = label_array(labels_of)
            if array.shape == (*shape, 1):
                array = array[..., 0]  # as a data frame with one column
            if array.shape != shape:
                raise ValueError(f"y[{n}] has the shape {list(array.shape)}, want {list(shape)} as X[{n}]{_reshaped(instances, n, array)}")
            arrays.append(array)
        return arrays

    def _labelled(self, instances: Sequence[Instance], y: Sequence[Any], labels: Labels, others: list[Any] | None = None) -> None:
        """Give the instances their labels."""
        for n, (instance, labels_of) in enumerate(zip(instances, self._shapely(instances, y))):
            instance.labels = labels.encode(labels_of, functools.partial(self._label_place, n), others).reshape(-1)

    @contextlib.contextmanager
    def _data(self, instances: Sequence[Instance], manifest: dict[str, Any]) -> Generator[Folder]:
        """Make a folder with the instances in DATA."""
        with Folder(_arrays.bytes_of(instances)) as folder:
            _arrays.write(folder / DATA, instances, manifest, self.bias)
            folder.shapes = [i.shape for i in instances]
            yield folder

    @contextlib.contextmanager
    def _ask(self, verb: str, X: Any, y: Any, arguments: Sequence[str], images: dict[str, Any], hold: bool = True) -> Generator[tuple[Folder, list[Instance]]]:
        """Run a verb on data and the model, and give the folder with what it leaves; hold: y is known, and no truth to compare with."""
        self._fitted()
        instances = self._instances(X, False, **images)
        clamp: list[str] = []
        if y is not None:
            self._labelled(instances, self._labels_of(X, y), Labels(self.classes_, self._hides()))
            clamp = ["--clamp"] * hold
        elif verb == "predict" and getattr(self, "_alone_", None) in [[_mark(i)] for i in instances[:1]]:
            always = ", and NodeCRF always does" * (self._kind() == "GraphCRF")
            warn([f"X is the network of fit, of whose labels none is held: predict(X, y) holds those that are known{always}"])
        jobs = [f"--threads={threads(self.n_jobs)}"] if self.n_jobs not in (None, -1) else []
        with self._data(instances, {"hidden_labels": True}) as folder:
            self.save(folder / MODEL)
            command = [verb, DATA, "-m", MODEL, *clamp, *jobs, *arguments]
            notes = run(command, folder, self.verbose, self._says(folder, verb))
            warn([n for n in notes if n.word not in _KNOWN])
            yield folder, instances

    def _options_of_predict(self) -> list[str]:
        return flags(checked(self.predict_options, "predict_options", "predict", self._names()))

    def _infer(self, X: Any, y: Any, arguments: Sequence[str], array: str, images: dict[str, Any], hold: bool = True) -> list[NDArray[Any]]:
        """Run predict, and return an array for each instance, a row for each node."""
        given = ["-o", "out", "--arrays", *arguments, *self._options_of_predict()]
        with self._ask("predict", X, y, given, images, hold) as (folder, instances):
            rows = np.load(os.path.join(folder / "out", array + ".npy"))
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
            Labels that are known, hidden elsewhere: they are held, and the others predicted given them.
        images
            As in the fit of a GridCRF.
        """
        return self._shaped(X, [self.classes_[p] for p in self._infer(X, y, [], "labels", images)])

    def predict_proba(self, X: Any, y: Any = None, **images: Any) -> Any:
        """Return the probabilities of the classes of every node, along a last axis [classes].

        Scores of scikit-learn by name, such as ``scoring="accuracy"``, and ``cross_val_predict`` of
        probabilities want one label a sample: ``scoring=scorer("accuracy")`` compares those of all
        nodes, and NodeCRF has a row for each node of one graph.
        """
        return self._shaped(X, self._infer(X, y, [], "beliefs", images))

    def predict_joint(self, X: Any, y: Any = None, **images: Any) -> Any:
        """Return a most probable joint labelling of each network."""
        return self._shaped(X, [self.classes_[p] for p in self._infer(X, y, ["--decode=map"], "labels", images)])

    def predict_log_proba(self, X: Any, y: Any = None, **images: Any) -> Any:
        """Return the logarithms of predict_proba."""
        with np.errstate(divide="ignore"):
            return self._shaped(X, [np.log(p) for p in self._infer(X, y, [], "beliefs", images)])

    def log_likelihood(self, X: Any, y: Any, **images: Any) -> float:
        """Return log p(known labels of y | features), summed over X, in nats.

        It is exact where networks are narrow. Elsewhere it is a lower bound, or, with
        counting="bethe" or labels that are hidden, an estimate.
        """
        arguments = ["--json", *self._options_of_predict()]
        with self._ask("eval", X, y, arguments, images, hold=False) as (folder, instances):
            said = folder.printed()["models"][0]
            known = sum(int((i.labels >= 0).sum()) for i in instances if i.labels is not None)
        return -float(said["negative_log_likelihood"]) * known

    def sample(
        self, X: Any, n_samples: int = 1, y: Any = None, random_state: int | None = None, options: Mapping[str, Any] | None = None, **images: Any
    ) -> Any:
        """Draw joint labellings given the features, along a last axis [n_samples] behind that of nodes.

        Parameters
        ----------
        X, y, images
            As in predict.
        n_samples : int
            How many of each entry of X.
        random_state : int, optional
            Seed; 1 without it.
        options : dict, optional
            Further options of ``blockbp sample``, such as ``{"burn_in": 5000}``.
        """
        given = {"samples": n_samples, "seed": random_state, **checked(options, "options", "sample", ("samples", "seed"))}
        with self._ask("sample", X, y, ["-o", "out", "--json", *flags(given)], images) as (folder, instances):
            files = [network["file"] for network in folder.printed()["networks"]]
            draws: list[NDArray[Any]] = []
            for name, instance in zip(files, instances):
                with np.load(folder / name) as drawn:
                    draws.append(self.classes_[drawn["samples"].T].reshape((*(instance.shape or (len(instance.x),)), n_samples)))
        return self._shaped(X, draws)

    def score(self, X: Any, y: Any, **images: Any) -> float:
        """Return the share of the known labels that predict finds.

        Labels that are no class of the fit count as not found, with a warning. It is an error where none is.
        """
        _, codes = self._truth(X, y, images)
        found = np.concatenate([p.reshape(-1) for p in self._infer(X, None, [], "labels", images, False)])
        return float((found == codes)[codes != -1].mean())

    def _truth(self, X: Any, y: Any, images: dict[str, Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Return all labels of y in a row, and the numbers of their classes, −1 of those hidden, −2 of others."""
        self._fitted()
        others: list[Any] = []
        instances = self._instances(X, False, **images)
        arrays = self._shapely(instances, self._labels_of(X, y))
        self._labelled(instances, arrays, Labels(self.classes_, self._hides()), others)
        codes = np.concatenate([i.labels for i in instances if i.labels is not None])
        if others and (codes < 0).all():
            self._labelled(instances, arrays, Labels(self.classes_, self._hides()))  # none is a class: refused
        elif others:
            found = ", ".join(sorted({repr(label) for label in others})[:10])
            warn([f"labels of y that are no class of the fit count as not found, {len(others)} in all: {found}"])
        if (codes == -1).all():
            raise ValueError("no label of y is known: there is nothing to compare with")
        return np.concatenate([np.ma.getdata(a).reshape(-1) for a in arrays]), codes


def _mark(instance: Instance) -> int:
    """Return what tells a network with features from others."""
    return zlib.crc32(instance.x.tobytes() + instance.edges.tobytes())


def attach() -> None:
    join(_Plain, Estimator, Classifier)


def warn(notes: Sequence[str], category: type[BlockbpWarning] = BlockbpWarning) -> None:
    """Warn at the line of the user, the first outside of this package."""
    level, frame = 1, inspect.currentframe()
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in ("blockbp", "contextlib", "torch"):
        level, frame = level + 1, frame.f_back
    for note in notes:
        warnings.warn(note, category, stacklevel=level)


def same_columns(names: Sequence[str], known: Sequence[str], where: str, first: str) -> None:
    """Refuse columns in another order than those known; warn where only one side has names, and no numbers."""
    names, known = ([] if {*names} != {*known} and [*n] == [*map(str, range(len(n)))] else [*n] for n in (names, known))
    if apart := [pair for pair in zip(names, known) if pair[0] != pair[1]]:
        raise ValueError(f"{where} has the column {apart[0][0]!r} where {first} has {apart[0][1]!r}: order them alike")
    if bool(names) != bool(known):
        warn([f"the columns of {where} and {first} are taken in their order, as only one of the two has names"])


def _weighted(instances: list[Instance], weights: Any) -> list[Instance]:
    """Give instances what they count; those of weight 0 are left out."""
    if weights is None:
        return instances
    for instance, weight in zip(instances, weights_of(weights, len(instances), "entries").tolist()):
        instance.weight = weight
    return [i for i in instances if i.weight > 0]


def weights_of(weights: Any, count: int, what: str) -> NDArray[np.float64]:
    """Check the weights of so many entries, or rows, of X."""
    given = np.asarray(weights)
    if given.dtype.kind not in "fiub" or given.shape != (count,):
        raise ValueError(f"sample_weight is {given.dtype} of the shape {list(given.shape)}, want a number of at least 0 for each of {count} {what} of X")
    if len(wrong := np.flatnonzero(~(np.isfinite(given) & (given >= 0)))):
        raise ValueError(f"sample_weight[{wrong[0]}] is {given[wrong[0]]}, want a number of at least 0")
    if not given.any():
        raise ValueError("sample_weight is zero everywhere: nothing is left to learn from")
    return given.astype(np.float64)


def _reshaped(instances: Sequence[Instance], n: int, y: NDArray[Any]) -> str:
    """Say how to give labels, or features, that have their axes otherwise."""
    instance, shape = instances[n], y.shape
    wanted = instance.shape or (len(instance.x),)
    if shape[:-1] == wanted:
        colours = shape[-1] in (3, 4) and y.dtype.kind in "iu" and y.max() > 1
        each = "numpy.asarray({0})[..., :3] @ [65536, 256, 1]" if colours else "numpy.argmax({0}, -1)"
        remedy = each.format("y") if len(instances) == 1 else f"[{each.format('a')} for a in y]"
        return f"; of {'colours give numbers,' if colours else 'one-hot labels give'} {remedy}"
    if instance.shape and shape == (wanted[-1], instance.x.shape[1]):
        return f"; X[{n}] is [features, rows, columns]: give numpy.moveaxis(X[{n}], 0, -1)"
    return ""


def as_list(y: Any, what: str) -> Sequence[Any]:
    if is_array(y) and y.ndim > 0 or hasattr(y, "tolist") and getattr(y, "ndim", 0) == 1:
        return list(y)
    if not is_list(y):
        single = f"; a single one is [{what}]" if hasattr(y, "columns") else "; one sequence is [X], [y]" if what[:2] == "X[" else ""
        single = f"; give {what}.toarray()" if hasattr(y, "toarray") else single
        each = f", an entry for each of X{what[1:]}" if what[0] == "y" else ""
        raise ValueError(f"{what} is {type(y).__name__}, want a list{each}{single}")
    return y


def same(a: Any, b: Any) -> bool:
    return a is b or isinstance(a, np.generic) and same(a.item(), b) or type(a) is type(b) and bool(np.all(a == b))


def checked(options: Mapping[str, Any] | None, parameter: str, verb: str, own: Sequence[str]) -> Mapping[str, Any]:
    """Return further options of the command, all of which a caller may give."""
    if options is not None and not is_mapping(options):
        raise ValueError(f"{parameter} is {type(options).__name__}, want a dict of names and values")
    for name in options or {}:
        if (short := str(name).replace("-", "_")) not in OPTIONS[verb]:
            there = f"{short} is a parameter of its own" if short in own else f"there is no such option here; there are {', '.join(sorted(OPTIONS[verb]))}"
            raise ValueError(f"{parameter}[{name!r}]: {there}")
    return options or {}


def says(verb: str, parameter: str, names: Mapping[str, str], spot: Callable[[str, str, str], str], where: Callable[[int], str] = str) -> Callable[[dict[str, Any]], str]:
    """Return what writes parts of messages as they are called here; names are parameters by option, spot names places, and where instances."""

    def say(part: dict[str, Any]) -> str:
        name, value = part.get("option"), part.get("value", "")
        if name is None:
            known = spot(*part["at"]) if "at" in part else where(int(part["instance"])) if "instance" in part else ""
            return known or part["text"]
        if name == "!":  # for those who use the command
            return ""
        short = name.replace("-", "_")
        if name == "model" and name not in names:
            return {"ising": "IsingModel", "potts": "PottsModel"}.get(value, "IsingModel or PottsModel")
        if name not in names and short not in OPTIONS[verb]:
            return f"the command's {part['text']}"
        given = value.title() if value in ("true", "false") else value if value[:1].isdigit() else json.dumps(value)
        return (names.get(name) or f'{parameter}["{short}"]') + (f"={given}" if value else "")

    return say


def _class_weights(weights: Any, classes: NDArray[Any]) -> str:
    if isinstance(weights, str) and weights == "balanced":
        return weights
    if not is_mapping(weights):
        raise ValueError(f'class_weight={weights!r}: want "balanced", or a dict of classes and their weights')
    named: dict[str, float] = {}
    known = classes.tolist()
    for c, weight in weights.items():
        if c not in known and str(c) not in map(str, known):
            raise ValueError(f"class_weight has {c!r}, which is no class: classes are {', '.join(map(str, known))}")
        if not is_number(weight) or not 0 < weight < float("inf"):
            raise ValueError(f"class_weight[{c!r}] is {weight!r}, want a positive number")
        named[str(known[known.index(c)] if c in known else c)] = float(weight)
    return json.dumps(named) if named else ""


def _seconds(value: Any) -> str:
    if isinstance(value, bool) or not is_number(value) or not 0 < value < float("inf"):
        raise ValueError(f"max_time={value!r}: want seconds, a number above 0")
    return f"{float(value):.9f}s"


def threads(n_jobs: int | None) -> int:
    """Return a number of threads; -1 is that of all cores, -2 one less, as in scikit-learn."""
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r}: want a number of threads, or -1 for as many as there are cores")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def flags(options: Mapping[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}={_text(value)}" for name, value in options.items() if value is not None]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if is_list(value):
        return ",".join(map(_text, value))
    if is_mapping(value):  # as costs by class
        return json.dumps({str(name): number.item() if isinstance(number, np.generic) else number for name, number in value.items()})
    return str(value)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


attach()
