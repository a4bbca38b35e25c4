"""IsingModel and PottsModel: couplings of physical systems, from samples of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import Labels, is_list, known_of, label_array
from ._base import DATA, MEANS, STATISTICS, TRAINING, Estimator, documented, same_columns, warn, weights_of
from ._graph import Graph, instance_of
from ._grid import grid_edges
from ._model import Model
from ._network import Network, sample
from ._run import Folder, ModelError, Note

if TYPE_CHECKING:
    from typing_extensions import Self


MISSING = ["", "?", "na", "n/a", "#n/a", "<na>", "nan", "null"]  # as in files of the command
MANY = 20  # different values of a site; more are states where half of its samples have one that others have, too


class _Couplings(Estimator):
    """What Ising and Potts models have in common."""

    _options = {"prior": "prior", "l2": "l2", "method": "method", "errors": "errors", "select_edges": "select-edges", **TRAINING}
    _model: str  # of the command
    _wanted = ""  # what a state that fit has not found is to be
    errors: str
    edges_: NDArray[np.int64]

    def fit(self, samples: Any, edges: Any = None, sample_weight: Any = None) -> Self:
        """Learn fields and couplings.

        Parameters
        ----------
        samples : array or data frame [samples, sites], or array of a lattice, such as [samples, rows, columns]
            States of all sites in each sample; None, NaN, masked entries, and texts such as "?" are hidden.
        edges : array [edges, 2], or sparse matrix [sites, sites], optional
            The pairs of sites that may have a coupling; sites of a lattice count row by row. By default those of
            neighbours in a lattice, without periodic ones, and else all.
        sample_weight : array [samples], optional
            What each counts, by default 1.
        """
        return self._fit(lambda trial: trial._learn(samples, edges, sample_weight))

    def _fit(self, learn: Callable[[Self], object]) -> Self:
        return self._commit(learn)

    def _learn(self, samples: Any, edges: Any, weight: Any) -> None:
        table = _table(samples)
        self.n_features_in_ = table.shape[1]
        self._name(_names(samples))
        if edges is None and np.ndim(samples) > 2:
            edges = grid_edges(np.shape(samples)[1:], np.eye(np.ndim(samples) - 1, dtype=int).tolist())[0]
        codes = self._encode(table)
        self.edges_ = _bonds(edges, codes.shape[1])
        with Folder(2 * codes.nbytes) as folder:
            os.mkdir(folder / DATA)
            weights: list[Any] = [] if weight is None else [("sample_weights", weights_of(weight, len(codes), "rows"))]
            for name, array in [("labels", codes), ("edges", self.edges_.astype(np.int32)), *weights]:
                np.save(os.path.join(folder / DATA, name + ".npy"), array)
            manifest = {"states": list(map(str, self.classes_.tolist())), "hidden_labels": True, "about": self._about()}
            Path(folder / DATA, "dataset.json").write_text(json.dumps(manifest), encoding="utf-8")
            self._train(folder, ["--model=" + self._model])

    @classmethod
    def from_statistics(cls, edges: Any, edge_means: Any, node_means: Any = None, edge_weights: Any = None, node_weights: Any = None, **parameters: Any) -> Self:
        """Learn from means, or counts, of edges [edges, states, states] and nodes [sites, states]; NaN: not known. Weights say of how many observations each is, by default of its counts."""
        means = {"edges": edges, "edge_means": edge_means, "node_means": node_means, "edge_weights": edge_weights, "node_weights": node_weights}
        return cls(**{"errors": "none", **parameters})._fit(lambda trial: trial._match({k: np.asarray(a) for k, a in means.items() if a is not None}))

    def _match(self, means: dict[str, Any]) -> None:
        self.edges_, tables = means["edges"].astype(np.int64), means["edge_means"]
        self.n_features_in_ = len(means["node_means"]) if "node_means" in means else int(self.edges_.max()) + 1
        self.classes_ = np.array([-1, 1]) if self._model == "ising" else np.arange(tables.shape[-1])
        with Folder(2 * tables.nbytes) as folder:
            np.savez(folder / STATISTICS, **means)
            self._train(folder, [MEANS, "--model=" + self._model])

    def _about(self) -> str:
        every = np.array_equal(self.edges_, _bonds(None, self.n_features_in_))
        names = {"sites": self.feature_names_in_.tolist()} if hasattr(self, "feature_names_in_") else {}
        return json.dumps({**json.loads(super()._about()), "edges": None if every else self.edges_.reshape(-1).tolist(), **names})

    def _name(self, names: list[str]) -> None:
        """Keep the names of sites, or that there are none."""
        vars(self).pop("feature_names_in_", None)
        if names:
            self.feature_names_in_: NDArray[Any] = np.array(names, object)

    def _encode(self, samples: Any) -> NDArray[np.int32]:
        """Return numbers of states, and set classes_."""
        raise NotImplementedError

    def _keep(self, run: str, notes: list[Note]) -> None:
        super()._keep(run, notes)
        table = os.path.join(run, "couplings.tsv")
        known = self.errors != "none" and os.path.exists(table)
        self.errors_: dict[str, NDArray[np.float64]] | None = self._read_errors(table) if known else None

    def _read_errors(self, path: str) -> dict[str, NDArray[np.float64]]:
        import csv

        states = {str(c): k for k, c in enumerate(self.classes_.tolist())}
        number = {(u, v): e for e, (u, v) in enumerate(self.edges_.tolist())}
        errors = {"fields": np.full(self.fields_.shape, np.nan), "couplings": np.full(self.couplings_.shape, np.nan)}
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                u, x = int(row["u"]), float(row["error"] or "nan")
                a, b = states.get(row.get("state_u", "")), states.get(row.get("state_v", ""))
                if row["kind"] == "node":
                    errors["fields"][u if a is None else (u, a)] = x
                    continue
                if row["kind"] != "edge":  # a score
                    continue
                e = number[u, int(row["v"])]
                errors["couplings"][e if a is None else (e, a, b)] = x
                if a is not None and not getattr(self, "directed", False):
                    errors["couplings"][e, b, a] = x  # the table has a ≤ b
        return errors

    def _read_model(self) -> None:
        super()._read_model()
        if hasattr(self, "edges_"):
            self.edges_ = self._chosen(self.edges_)
            self._gauge(self.coef_["node"][:, :, 0].copy(), self.coef_["edge"][:, :, :, 0].copy())

    def _chosen(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the pairs that select_edges has kept."""
        kept = Model(self.model_).recipe.get("kept_edges")
        return edges[kept] if kept and len(edges) > kept[-1] and len(edges) != len(kept) else edges

    def _gauge(self, fields: NDArray[np.float64], couplings: NDArray[np.float64]) -> None:
        """Take fields out of couplings: both then sum to zero over the states of each site."""
        u, v = self.edges_.T
        rows, columns, mean = couplings.mean(2), couplings.mean(1), couplings.mean((1, 2))
        np.add.at(fields, u, rows)
        np.add.at(fields, v, columns)
        fields -= fields.mean(1, keepdims=True)
        couplings += mean[:, None, None] - rows[:, :, None] - columns[:, None, :]
        self.fields_: NDArray[np.float64] = fields
        self.couplings_: NDArray[np.float64] = couplings

    @classmethod
    def load(cls, path: str | os.PathLike[str], edges: Any = None) -> Self:
        """Return an estimator with the model of a file, from ``save`` or the command.

        Parameters
        ----------
        path : path
            The file.
        edges : optional
            Those of a model that the command has learned: its file does not have them.
        """
        self = super().load(path)
        if edges is not None or not hasattr(self, "edges_"):
            if edges is None and getattr(self, "directed", False):
                raise ModelError("this model has directed couplings, and its file does not say between which sites: give the edges that it was learned with")
            given = self._chosen(_bonds(edges, self.n_features_in_, True))
            own = getattr(self, "edges_", given)
            if len(given) != len(self.coef_["edge"]) or not np.array_equal(np.sort(given, 1), np.sort(own, 1)):
                raise ModelError(f"these {len(given)} edges are not those of the {len(self.coef_['edge'])} couplings of the model: give those that it was learned with")
            self.edges_ = own  # first the end that couplings have first
            self._read_model()
        return self

    def _adopt(self, model: Model) -> None:
        if not model.recipe.get("untied") or set(model.coefficients()) != {"node", "edge"}:
            raise ModelError(f"this model is of no {type(self).__name__}: it has no weights of its own for every edge")
        sites = model.weights["node.node"].shape[0]
        self.n_features_in_, self.errors_ = sites, None
        self._name(model.about.get("sites", []))
        if "edges" in model.about or "columns" in model.recipe:  # of the command, which has read samples
            flat = model.about.get("edges", model.recipe.get("pairs"))
            self.edges_ = _bonds(None if flat is None else np.array(flat, np.int64).reshape(-1, 2), sites, True)
        if hasattr(self, "directed"):
            self.directed = not model.schema["edge_types"][0].get("symmetric", False)

    def network(self) -> Network:
        """Return the model as a network, for ``infer``: state k of a site is classes_[k]."""
        self._fitted()
        return Network(self.coef_["node"][:, :, 0], self.edges_, self.coef_["edge"][:, :, :, 0])

    def sample(self, n_samples: int = 1000, random_state: int | None = None) -> NDArray[Any]:
        """Draw samples from the model.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int, optional
            Seed; 1 without it.

        Returns
        -------
        array [n_samples, sites]
            Of classes_.
        """
        states = sample(self.network(), n_samples, random_state=random_state).states
        return np.asarray(self.classes_[states])

    def score(self, samples: Any, y: Any = None) -> float:
        """Return the mean over samples of the log pseudo-likelihood.

        That is the sum over sites of the log-probability of the state given those of all
        other sites. The mean for a site is of the samples where it and its neighbours are known.
        """
        self._fitted()
        table = _table(samples)
        if table.shape[1] != self.n_features_in_:
            raise ValueError(f"samples have {table.shape[1]} sites, want {self.n_features_in_} as in fit")
        same_columns(_names(samples), list(getattr(self, "feature_names_in_", [])), "samples", "fit")
        codes = self._recode(table)
        known, whole = codes >= 0, codes >= 0
        network = self.network()
        rest = np.repeat(network.theta[None], len(codes), 0)  # [samples, sites, states]
        for (u, v), table in zip(self.edges_.tolist(), network.theta_uv):
            rest[:, u] += table.T[codes[:, v]]
            rest[:, v] += table[codes[:, u]]
            whole[:, u] &= known[:, v]
            whole[:, v] &= known[:, u]
        rest -= rest.max(2, keepdims=True)
        terms = np.take_along_axis(rest, codes[:, :, None], 2)[:, :, 0] - np.log(np.exp(rest).sum(2))
        if not whole.any(0).all():
            raise ValueError(f"{self._entry(int(whole.any(0).argmin()), True)} is never known together with all of its neighbours: leave out samples, or sites, of which little is known")
        if not whole.all():
            warn([f"samples have missing values: the score is of {whole.mean():.0%} of the terms, those of sites that are known with all of their neighbours"])
        return float(np.ma.array(terms, mask=~whole).mean(0).sum())

    def _recode(self, samples: Any) -> NDArray[np.int32]:
        """Return numbers of the states that fit found."""
        return Labels(self.classes_, None, self._wanted.format(self.classes_[0])).encode(samples, self._entry)

    def _entry(self, flat: int, every: bool = False) -> str:
        """Name an entry of samples, by the column of a data frame where that has a name; or every one of a site."""
        row, site = divmod(flat, self.n_features_in_)
        return f"samples[{':' if every else row}, {getattr(self, 'feature_names_in_', range(site + 1))[site]!r}]"

    def coupling_matrix(self) -> Any:
        """Return couplings as a symmetric matrix [sites, sites], 0 where there is no edge.

        Where sites have names, and pandas is in use, it is a data frame. Of more than two
        states, couplings are norms of tables.
        """
        self._fitted()
        flat = self.couplings_.reshape(len(self.edges_), -1)
        matrix = np.zeros((self.n_features_in_, self.n_features_in_))
        u, v = self.edges_.T
        matrix[u, v] = matrix[v, u] = flat[:, 0] if flat.shape[1] == 1 else np.sqrt((flat**2).sum(1))
        names, pandas = getattr(self, "feature_names_in_", None), sys.modules.get("pandas")
        return matrix if names is None or pandas is None else pandas.DataFrame(matrix, names, names)

    def _where(self, instance: int) -> str:
        return "the samples"

    def _spot(self, folder: Folder, file: str, line: str, place: str) -> str:
        return place if file == STATISTICS else super()._spot(folder, file, line, place)

    def _place(self, folder: Folder, instance: int, array: str, index: list[int]) -> str:
        return f"{ {'labels': 'samples'}.get(array, array) }{index or ''}"


@documented
class IsingModel(_Couplings):
    """Spins with a field each, and a coupling for each edge.

    Probabilities are proportional to exp(Σ J x_u x_v + Σ h x_u), with spins x of -1 and 1. In
    samples of 0 and 1, or of truth values, 0 is -1.

    Parameters
    ----------
    {spins}

    Attributes
    ----------
    couplings_ : ndarray of shape [edges]
        J of each.
    fields_ : ndarray of shape [sites]
        h of each.
    classes_ : ndarray
        -1 and 1, or 0 and 1.
    {couplings}

    Examples
    --------
    >>> import numpy as np
    >>> from blockbp import IsingModel
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.choice([-1, 1], (2, 500))
    >>> flip = rng.random(500) < 0.2
    >>> model = IsingModel().fit(np.stack([a, np.where(flip, -a, a), b], 1))
    >>> model.edges_.tolist()
    [[0, 1], [0, 2], [1, 2]]
    >>> bool(abs(model.couplings_[0] - np.log(4) / 2) < 3 * model.errors_["couplings"][0])
    True
    """

    _model = "ising"
    _wanted = "want {} or 1; PottsModel takes any states"

    def __init__(
        self,
        prior: float = 1.0, l2: float | None = None, method: str = "auto", errors: str = "auto",
        select_edges: str | None = None, max_time: float | None = None, random_state: int | None = None,
        n_jobs: int | None = None, verbose: int = 0, options: Mapping[str, Any] | None = None,
    ) -> None:
        self._store(locals())

    def _encode(self, samples: Any) -> NDArray[np.int32]:
        array, known = known_of(samples, None)
        found = set(array[known].tolist())
        self.classes_ = np.array([0, 1] if 0 in found and -1 not in found else [-1, 1])
        return self._recode(samples)

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        if model.states() not in (["-1", "1"], ["0", "1"]):
            raise ModelError(f"this model is of no IsingModel: its states are {', '.join(model.states())}; load it by PottsModel.load")

    def _gauge(self, fields: NDArray[np.float64], couplings: NDArray[np.float64]) -> None:
        super()._gauge(fields, couplings)
        self.fields_, self.couplings_ = self.fields_[:, 1], self.couplings_[:, 1, 1]


@documented
class PottsModel(_Couplings):
    """Sites of several states, with a field for each state and a coupling for each pair of states.

    Probabilities are proportional to exp(Σ J_uv(x_u, x_v) + Σ h_u(x_u)). Fields of a site, and
    couplings of an edge over the states of either end, sum to zero.

    Parameters
    ----------
    directed : bool
        Whether states mean something else at every site, as in proteins, so that J(a, b) and J(b, a) differ.
    {spins}

    Attributes
    ----------
    couplings_ : ndarray of shape [edges, states, states]
        J of each.
    fields_ : ndarray of shape [sites, states]
        h of each.
    classes_ : ndarray of shape [states]
        The states, sorted.
    {couplings}

    Examples
    --------
    >>> import numpy as np
    >>> from blockbp import PottsModel
    >>> rng = np.random.default_rng(0)
    >>> a = rng.choice(["A", "C", "G"], 300)
    >>> model = PottsModel().fit(np.stack([a, np.where(rng.random(300) < 0.5, a, rng.choice(a, 300))], 1))
    >>> model.couplings_.shape, bool(model.couplings_[0, 0, 0] > 0.3)
    ((1, 3, 3), True)
    """

    _model = "potts"
    _options = {**_Couplings._options, "directed": "directed"}

    def __init__(
        self,
        directed: bool = False,
        prior: float = 1.0, l2: float | None = None, method: str = "auto", errors: str = "auto",
        select_edges: str | None = None, max_time: float | None = None, random_state: int | None = None,
        n_jobs: int | None = None, verbose: int = 0, options: Mapping[str, Any] | None = None,
    ) -> None:
        self._store(locals())

    def _encode(self, samples: Any) -> NDArray[np.int32]:
        self.classes_ = Labels.of([samples], None, lambda _, flat: self._entry(flat), "samples have").classes
        codes = self._recode(samples)
        has = np.stack([np.isin(np.arange(len(self.classes_)), column) for column in codes.T])
        shared = has[0]
        for _ in self.classes_:  # and what sites have that share a value with these
            shared = has[(has & shared).any(1)].any(0)
        for site, column in enumerate(codes.T):
            states = np.unique(column[column >= 0])
            if len(states) > MANY and 2 * len(states) > (column >= 0).sum():
                raise ValueError(f"{self._entry(site, True)} has {len(states)} different values, and states are wanted: leave out columns that are no samples, such as identifiers")
            if not shared[states].all():
                raise ValueError(f"{self._entry(site, True)} has no value that {self._entry(0, True)} has, and all sites share their states: number those of each from 0, or use blockbp train FILE.csv --model potts")
        return codes


def _table(samples: Any) -> Any:
    """Return samples as an array [samples, sites]."""
    if is_list(samples):
        for n, row in enumerate(samples):
            if np.shape(row) != np.shape(samples[0]):
                raise ValueError(f"samples[{n}] has {np.size(row)} entries, want {np.size(samples[0])} as samples[0]")
    array: Any = label_array(samples)
    if array.dtype.kind in "UO":
        texts: NDArray[Any] = np.char.lower(np.asarray(array, str))
        array = np.ma.masked_where(np.isin(texts, MISSING), array)
    if array.ndim < 2 or 0 in array.shape:
        texts_are = "; of texts with a letter for each site give [list(text) for text in samples]" if array.dtype.kind in "UO" else ""
        raise ValueError(f"samples have the shape {list(array.shape)}, want [samples, sites], or of a lattice [samples, rows, columns]{texts_are}")
    return array.reshape(len(array), -1)


def _names(samples: Any) -> list[str]:
    """Return the names of the columns of a data frame, none where they are no texts."""
    names = list(getattr(samples, "columns", []))
    return names if all(isinstance(name, str) for name in names) else []


def _bonds(edges: Any, sites: int, turned: bool = False) -> NDArray[np.int64]:
    """Return each pair of sites once, the smaller first, or else as it is turned, in the order in which they are given first."""
    if edges is None:
        return np.argwhere(np.triu(np.ones((sites, sites), bool), 1))
    try:
        ends = instance_of(Graph.of(Graph(np.zeros((sites, 1)), edges)), "").edges
    except ValueError as err:
        raise ValueError(str(err).lstrip(".")) from None
    if (loops := np.flatnonzero(ends[:, 0] == ends[:, 1])).size:
        raise ValueError(f"edges[{loops[0]}] joins site {ends[loops[0], 0]} to itself")
    if len(ends) == 0:
        raise ValueError("there are no edges, and so no couplings")
    pairs = np.sort(ends.astype(np.int64), 1)
    return (ends.astype(np.int64) if turned else pairs)[np.sort(np.unique(pairs, axis=0, return_index=True)[1])]
