"""NodeCRF: nodes of one network as rows, as scikit-learn's classifiers have their samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import Labels, label_array, row_labels
from ._base import attach, documented, flags, warn, weights_of
from ._graph import Graph, GraphCRF, by_order, instance_of
from ._model import Model
from ._run import Folder
from ._sklearn import checked_table, tags

if TYPE_CHECKING:
    from typing_extensions import Self


@documented
class NodeCRF(GraphCRF):
    """A classifier of the nodes of one network, with a row for each.

    All that scikit-learn does with classifiers works: ``cross_val_predict``, its scores,
    stratified folds. Nodes that are no row of fit have no label there, and help to learn all
    the same. Labels of fit are held when others are predicted.

    Parameters
    ----------
    graph : anything that ``Graph.of`` takes, optional
        The network with its features; X are numbers of its nodes then, [rows] or [rows, 1].
        Without it X is a table [rows, features] of nodes without edges, and the field is logistic regression.
    bias : bool
        Whether nodes, and edges with features, have a further feature that is 1.
    directed : bool, optional
        As of GraphCRF.
    {learning}

    Attributes
    ----------
    coef_ : dict of str to ndarray
        ``"node"`` [classes, features] and ``"edge"`` [classes, classes, features].
    known_ : int32 ndarray of shape [nodes], or None
        Numbers of the classes of fit's labels, −1 of other nodes; None without a graph.
    {learned}

    Examples
    --------
    >>> import numpy as np
    >>> from blockbp import Graph, NodeCRF
    >>> rng = np.random.default_rng(0)
    >>> ring = np.stack([np.arange(60), (np.arange(60) + 1) % 60], 1)
    >>> y = np.where(np.arange(60) < 30, "left", "right")
    >>> graph = Graph((y == "left")[:, None] + rng.normal(0, 1, (60, 1)), ring)
    >>> nodes = rng.permutation(60)
    >>> NodeCRF(graph).fit(nodes[:20], y[nodes[:20]]).score(nodes[20:], y[nodes[20:]]) > 0.8
    True
    """

    _estimator_type = "classifier"
    _unsaid = None

    def __init__(
        self,
        graph: Any = None,
        bias: bool = True,
        directed: bool | None = None,
        prior: float = 1.0, l2: float | None = None, counting: str = "auto", method: str = "auto",
        class_weight: str | Mapping[Any, float] | None = None, max_time: float | None = None, warm_start: bool = False,
        unlabelled: Any = None, random_state: int | None = None, n_jobs: int | None = None, verbose: int = 0,
        options: Mapping[str, Any] | None = None, predict_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._store(locals())

    graph: Any
    known_: NDArray[np.int32] | None

    def __sklearn_tags__(self) -> Any:
        attach()
        return tags(True)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : int array [rows], or array [rows, features]
            Numbers of nodes of the graph, each once; or, without a graph, features.
        y : array [rows]
            Labels of any type.
        sample_weight : array [rows], optional
            What each row counts; not with a graph.
        """
        return self._commit(lambda trial: trial._learn_rows(X, y, sample_weight))

    def _learn_rows(self, samples: Any, y: Any, weights: Any) -> None:
        edges = ["--no-edges"] if self.graph is None else flags({"directed": self.directed})
        if self.graph is None:
            samples, y = checked_table(self, samples, y, True)
        elif weights is not None:
            raise ValueError("sample_weight is given, and rows of a graph count alike: leave it out, or give class_weight")
        if y is None:
            raise ValueError("y is None: want a label for each row of X")
        if weights is None:
            if self.graph is not None:
                by_order(self._network().nodes, "X counts nodes in the order of graph.nodes", "the number of one is list(graph.nodes).index(name)", True)
            self._learn(samples, y, edges)
        else:
            rows, values = _by_weight(weights, len(samples))
            table, labels = np.asarray(samples), label_array(y)
            self._learn(_Tables(table[some] for some in rows), _Tables(labels[some] for some in rows), edges, sample_weight=values)
        self.known_ = None if self.graph is None else self._codes(self._labels_of(samples, y)[0])
        if self.graph is None:
            self.notes_ = [n for n in self.notes_ if n.word != "no-edges"]  # which nobody expected

    def _codes(self, labels: Any) -> NDArray[np.int32]:
        return Labels(self.classes_, self.unlabelled).encode(labels, lambda n: f"the label of node {n}")

    def _graphs(self, X: Any) -> list[Graph]:
        if self.graph is not None:
            return [self._network()]
        return [Graph(np.asarray(x) if hasattr(x, "iloc") else x, np.zeros((0, 2), np.int64)) for x in (X if isinstance(X, _Tables) else [X])]

    def _labels_of(self, X: Any, y: Any) -> Sequence[Any]:
        if isinstance(y, _Tables):
            return y
        labels = row_labels(y)
        if self.graph is None:
            return [labels]
        nodes, count = self._nodes(X)
        if labels.shape != nodes.shape:
            raise ValueError(f"y has the shape {list(labels.shape)}, want {list(nodes.shape)}, one for each row of X")
        full = np.ma.array(np.empty(count, labels.dtype), mask=True)
        full[nodes] = labels
        for row in np.flatnonzero(np.ma.getdata(full)[nodes] != labels):
            if np.any(labels[row] == labels[row]):  # NaN hides, and differs from itself
                two = labels[[row]].tolist() + np.ma.getdata(full)[nodes[[row]]].tolist()
                raise ValueError(f"X names node {nodes[row]} twice, with the labels {two[0]!r} and {two[1]!r}")
        return [full]

    def _network(self) -> Graph:
        try:
            return Graph.of(self.graph)
        except ValueError as err:
            raise ValueError(f"graph: {err}") from err

    def _nodes(self, X: Any) -> tuple[NDArray[np.int64], int]:
        """Return the numbers of nodes that rows are, and how many nodes there are."""
        nodes = np.asarray(X)
        nodes = nodes[:, 0] if nodes.ndim == 2 and nodes.shape[1] == 1 else nodes
        if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
            named = "; that of a name is list(graph.nodes).index(name)" if nodes.dtype.kind in "UO" else ""
            raise ValueError(f"X is {nodes.dtype} of shape {list(nodes.shape)}, want numbers of nodes, [rows]{named}")
        count = len(instance_of(self._network(), "graph").x)
        if len(wrong := nodes[(nodes < 0) | (nodes >= count)]):
            raise ValueError(f"X has {wrong[0]}, want numbers of nodes from 0 to {count - 1}")
        return nodes.astype(np.int64), count

    def _ask(self, verb: str, X: Any, y: Any, arguments: Sequence[str], images: dict[str, Any], hold: bool = True) -> Any:
        self._fitted()
        if self.graph is None:
            return super()._ask(verb, *checked_table(self, X, y, False), arguments, images, hold)
        if hold and (y is not None or self.known_ is not None):
            codes = np.full(self._nodes(X)[1], -1, np.int32) if y is None else self._codes(self._labels_of(X, y)[0])
            if self.known_ is not None:
                codes = np.where(codes < 0, self.known_, codes)
            y = _Tables([np.ma.array(self.classes_[codes], mask=codes < 0)])
        return super()._ask(verb, X, y, arguments, images, hold)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # type: ignore[override]
        """Return the share, by weight, of the known labels that predict finds. It is an error where none is known."""
        found, codes = self.predict(X) == row_labels(y), self._truth(X, y, {})[1]
        known = (codes if self.graph is None else codes[self._nodes(X)[0]]) != -1
        if self.known_ is not None and (held := int((self.known_[self._nodes(X)[0]][known] >= 0).sum())):
            warn([f"{held} of the {known.sum()} labels compared are of nodes whose labels fit has, and holds, so that they count as right: leave these rows out"])
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(found[known], weights=weights))

    def _shaped(self, X: Any, parts: list[NDArray[Any]]) -> Any:
        return parts[0] if self.graph is None else parts[0][self._nodes(X)[0]]

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.known_ = None

    def _where(self, instance: int) -> str:
        return "X" if self.graph is None else "graph"

    def _label_place(self, instance: int, node: int) -> str:
        return f"y[{node}]" if self.graph is None else f"the label in y of node {node}"

    def _place(self, folder: Folder, instance: int, array: str, index: list[int]) -> str:
        if self.graph is None and array == "node_features":
            return f"X{index or str()}"
        return super()._place(folder, instance, array, index)


class _Tables(list[Any]):
    """Tables of rows, or their labels, in the place of one."""


def _by_weight(weights: Any, rows: int) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """Return the rows of every weight above 0, and these weights."""
    given = weights_of(weights, rows, "rows")
    values = np.unique(given[given > 0])
    return [np.flatnonzero(given == v) for v in values], values
