"""GridCRF: pictures, and other arrays on a grid."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import Instance, Rows, numeric
from ._base import DATA, Classifier, _listed, documented
from ._model import Model
from ._run import Folder, ModelError

if TYPE_CHECKING:
    from typing_extensions import Self

# The four directions of edges: names, and steps in rows and columns. Four neighbours have
# the first two.
DIRECTIONS = {"right": (0, 1), "down": (1, 0), "down-right": (1, 1), "down-left": (1, -1)}

# Contrasts have these β, over twice the mean of |Δ|² in training.
SCALES = (1, 4, 16)


@documented
class GridCRF(Classifier):
    """A conditional random field on grids, such as pictures.

    Pixels are nodes, and edges join each to its neighbours. Each direction of edges has
    weights of its own.

    Parameters
    ----------
    neighbours : {4, 8}
        Neighbours of a pixel.
    edges : {"constant", "contrast", "features"}
        What the weights of an edge depend on. "constant": on its direction alone.
        "contrast": also on how different the colours of its ends are; all methods need
        ``images`` then. "features": also on the features of both its ends.
    bias : bool
        Whether nodes have a further feature that is 1.
    {learning}

    Attributes
    ----------
    classes_ : ndarray of shape [classes]
        The classes, sorted.
    coef_ : dict of str to ndarray
        ``"node"`` [classes, features], and ``"edge"`` [classes, classes, features], or one
        such array for each direction.
    {results}

    Examples
    --------
    >>> import numpy as np
    >>> from blockbp import GridCRF
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(np.arange(2), 8)[None, :, None] * np.ones((4, 16, 16), int)
    >>> X = y[..., None] + rng.normal(0, 1, (4, 16, 16, 1))
    >>> GridCRF().fit(X[:3], y[:3]).score(X[3:], y[3:]) > 0.9
    True
    """

    def __init__(
        self,
        neighbours: int = 4,
        edges: str = "constant",
        bias: bool = True,
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
        self._store(locals())

    def fit(self, X: Any, y: Any, images: Any = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : list of arrays [rows, columns, features], or array [N, rows, columns, features]
            Features of every pixel.
        y : list of arrays [rows, columns], or array [N, rows, columns]
            Labels of any type; those equal to ``unlabelled`` are hidden.
        images : list of arrays [rows, columns, 3], or [rows, columns], optional
            Colours, for edges="contrast".
        """
        return self._fit(X, y, ["--directed"], images=images)

    def _instances(self, X: Any, fitting: bool, images: Any = None) -> list[Instance]:  # type: ignore[override]
        if self.neighbours not in (4, 8):
            raise ValueError(f"neighbours={self.neighbours!r}: want 4 or 8")
        if self.edges not in ("constant", "contrast", "features"):
            raise ValueError(f'edges={self.edges!r}: want "constant", "contrast" or "features"')
        if (images is not None) != (self.edges == "contrast"):
            raise ValueError(f"edges={self.edges!r}, and images are {'given' if images is not None else 'not given'}: images go with edges=\"contrast\"")
        pictures = [numeric(x, 3, f"X[{n}]", "[rows, columns, features]; grey pictures are X[..., None], and a single picture is [X]") for n, x in enumerate(_listed(X, "X"))]
        if not pictures:
            raise ValueError("X is empty")
        wanted = pictures[0].shape[2] if fitting else self.n_features_in_
        joined: dict[tuple[int, int], tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
        made: list[Instance] = []
        for n, x in enumerate(pictures):
            rows, columns, features = x.shape
            if features != wanted:
                raise ValueError(f"X[{n}] has {features} features, want {wanted} as " + ("X[0]" if fitting else "in fit"))
            if rows == 0 or columns == 0:
                raise ValueError(f"X[{n}] has the shape {list(x.shape)}: it is empty")
            if (rows, columns) not in joined:
                joined[rows, columns] = grid_edges(rows, columns, self.neighbours)
            edges, direction = joined[rows, columns]
            flat = x.reshape(rows * columns, features)
            instance = Instance(flat, edges, shape=(rows, columns))
            if self.edges == "features":
                instance.edge_x = _ends(flat, edges)
                instance.edge_types = direction
            else:
                instance.edge_bins = direction
            made.append(instance)
        if images is not None:
            self._contrast(made, _listed(images, "images"), fitting)
        return made

    def _contrast(self, instances: Sequence[Instance], images: Sequence[Any], fitting: bool) -> None:
        """Give edges exp(−β|Δ|²) of the colours of their ends, for β of three scales."""
        if len(images) != len(instances):
            raise ValueError(f"X has {len(instances)} and images {len(images)} entries: want as many")
        squares = []
        for n, (instance, image) in enumerate(zip(instances, images)):
            picture = np.asarray(image)
            if picture.ndim not in (2, 3) or picture.shape[:2] != instance.shape or picture.dtype.kind not in "fiu":
                raise ValueError(f"images[{n}] is {picture.dtype} of the shape {list(picture.shape)}, want numbers, {[*instance.shape, 3]} as X[{n}]")  # type: ignore[misc]
            flat = picture.reshape(len(instance.x), -1).astype(np.float32)
            first, second = instance.edges.T
            squares.append(((flat[first] - flat[second]) ** 2).sum(1))
        if fitting:
            mean = float(np.concatenate(squares).mean(dtype=np.float64))
            self.contrast_scale_ = 2 * mean if mean > 0 else 1.0
        for instance, square in zip(instances, squares):
            instance.edge_x = _contrasts(square, self.contrast_scale_)
            instance.edge_types, instance.edge_bins = instance.edge_bins, None

    def _directions(self) -> list[str]:
        return list(DIRECTIONS)[: self.neighbours // 2]

    def _manifest(self, instances: Sequence[Instance]) -> dict[str, Any]:
        names = [str(k) for k in range(instances[0].x.shape[1])]
        manifest: dict[str, Any] = {"node_features": names + ["bias"] if self.bias else names}
        if self.edges == "contrast":
            self._types(manifest, [f"exp(-d2*{s}/{self.contrast_scale_!r})" for s in SCALES])
        elif self.edges == "features":
            ends = [f"first {k}" for k in names] + [f"second {k}" for k in names]
            self._types(manifest, ends)
        else:
            manifest.update(edge_bins=len(self._directions()), edge_features=self._directions())
        return manifest

    def _types(self, manifest: dict[str, Any], features: list[str]) -> None:
        """Describe edges of which each direction is a type."""
        features = features + ["constant"] * self.bias
        manifest["edge_types"] = [{"name": d, "u": "node", "v": "node", "features": features, "directed": True} for d in self._directions()]
        manifest["node_types"] = ["node"]

    def _adopt(self, model: Model) -> None:
        types = [t["name"] for t in model.schema["edge_types"]]
        directions = types if len(types) > 1 else model.features("edge")
        if directions not in (list(DIRECTIONS)[:2], list(DIRECTIONS)):
            raise ModelError("this model is not of a GridCRF: its edges are " + ", ".join(directions))
        self.neighbours, self.edges = 2 * len(directions), "features" if len(types) > 1 else "constant"
        if scale := re.fullmatch(r"exp\(-d2\*1/(.*)\)", model.features("edge")[0]):
            self.edges, self.contrast_scale_ = "contrast", float(scale[1])
        self._of_nodes(model)

    def _shaped(self, X: Any, parts: list[NDArray[Any]]) -> Any:
        return np.stack(parts) if isinstance(X, np.ndarray) else parts

    def _label_place(self, instance: int, node: int) -> str:
        return f"y[{instance}], at entry {node} row by row,"

    def _place(self, folder: Folder, instance: int, array: str, index: list[int]) -> str:
        name = {"node_features": "X", "labels": "y"}.get(array)
        if name is None or not index:
            return super()._place(folder, instance, array, index)
        columns = int(np.load(os.path.join(folder / DATA, "grid_shape.npy"))[instance, 1])
        return f"{name}[{instance}]{[index[0] // columns, index[0] % columns, *index[1:]]}"


def _ends(x: NDArray[Any], edges: NDArray[Any]) -> Rows:
    """Return the features of both ends of every edge, which are more than those of nodes."""

    def rows(some: slice) -> NDArray[Any]:
        return np.concatenate([x[edges[some, 0]], x[edges[some, 1]]], 1)

    return Rows(rows, (len(edges), 2 * x.shape[1]), x.dtype)


def _contrasts(squares: NDArray[np.float32], scale: float) -> Rows:
    """Return exp(−β|Δ|²) for β of three scales."""

    def rows(some: slice) -> NDArray[Any]:
        contrasts: NDArray[np.float32] = np.exp(-squares[some, None] / np.float32(scale) * np.array(SCALES, np.float32))
        return contrasts

    return Rows(rows, (len(squares), len(SCALES)), np.float32)


def grid_edges(rows: int, columns: int, neighbours: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return edges [m, 2] of a grid, direction by direction, and the direction of each."""
    node = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    edges, direction = [], []
    for d, (down, right) in enumerate(list(DIRECTIONS.values())[: neighbours // 2]):
        left = max(0, -right)
        first = node[: rows - down, left : columns - max(0, right)]
        second = node[down:, left + right : columns - max(0, right) + right]
        edges.append(np.stack([first, second], -1).reshape(-1, 2))
        direction.append(np.full(len(edges[-1]), d, np.int32))
    return np.concatenate(edges), np.concatenate(direction)
