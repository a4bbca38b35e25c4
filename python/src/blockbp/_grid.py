"""GridCRF: pictures, and other arrays on a grid."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import Instance, Rows, has_void, label_array, numeric
from ._base import Classifier, as_list, documented, same, warn
from ._model import Model
from ._run import Folder, ModelError

if TYPE_CHECKING:
    from typing_extensions import Self

# The directions of edges by the number of neighbours: names, and steps along the axes. Of
# voxels the first axis is depth.
DIRECTIONS: dict[int, dict[str, tuple[int, ...]]] = {
    4: {"right": (0, 1), "down": (1, 0)},
    8: {"right": (0, 1), "down": (1, 0), "down-right": (1, 1), "down-left": (1, -1)},
    6: {"right": (0, 0, 1), "down": (0, 1, 0), "deeper": (1, 0, 0)},
}
DIRECTIONS[26] = {name: (0, *step) for name, step in DIRECTIONS[8].items()}
for _row, _down in enumerate(("up", "", "down"), -1):
    for _column, _right in enumerate(("left", "", "right"), -1):
        DIRECTIONS[26]["-".join(filter(None, ("deeper", _down, _right)))] = (1, _row, _column)

# Contrasts have these β, over twice the mean of |Δ|² in training.
SCALES = (1, 4, 16)


@documented
class GridCRF(Classifier):
    """A conditional random field on grids, such as pictures, or voxels.

    Pixels are nodes, and edges join each to its neighbours. Each direction of edges has weights of its own.

    Parameters
    ----------
    neighbours : {4, 8, 6, 26}
        Neighbours of a pixel; 6 or 26 are those of a voxel, and arrays have a first axis
        [depth] more then.
    edges : {"constant", "contrast", "features"}
        What the weights of an edge depend on. "constant": on its direction alone.
        "contrast": also on how different the colours of its ends are; all methods need
        ``images`` then. "features": also on the features of both its ends.
    bias : bool
        Whether nodes have a further feature that is 1.
    {learning}

    Attributes
    ----------
    coef_ : dict of str to ndarray
        ``"node"`` [classes, features], and ``"edge"`` [classes, classes, features], or one
        such array for each direction.
    {learned}

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
        prior: float = 1.0, l2: float | None = None, counting: str = "auto", method: str = "auto",
        class_weight: str | Mapping[Any, float] | None = None, max_time: float | None = None, warm_start: bool = False,
        unlabelled: Any = -1, random_state: int | None = None, n_jobs: int | None = None, verbose: int = 0,
        options: Mapping[str, Any] | None = None, predict_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any, images: Any = None, sample_weight: Any = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : list of arrays [rows, columns, features], or array [N, rows, columns, features]
            Features of every pixel.
        y : list of arrays [rows, columns], or array [N, rows, columns]
            Labels of any type; those equal to ``unlabelled`` are hidden. So is 255 among
            numbers of classes of uint8, as files of labels have it, with a warning;
            ``unlabelled=None`` makes it a class.
        images : list of arrays [rows, columns, 3], or [rows, columns], optional
            Colours, for edges="contrast".
        sample_weight : array [N], optional
            What each picture counts.
        """
        return self._fit(X, y, ["--directed"], images=images, sample_weight=sample_weight)

    def _instances(self, X: Any, fitting: bool, images: Any = None) -> list[Instance]:  # type: ignore[override]
        if self.neighbours not in DIRECTIONS:
            raise ValueError(f"neighbours={self.neighbours!r}: want 4 or 8, or of voxels 6 or 26")
        if self.edges not in ("constant", "contrast", "features"):
            raise ValueError(f'edges={self.edges!r}: want "constant", "contrast" or "features"')
        if (images is not None) != (self.edges == "contrast"):
            without = "images are not given: pass images= to fit and to whatever follows, as each contrast is one of colours"
            raise ValueError(f"edges={self.edges!r}, and " + (without if images is None else 'images are given, which go with edges="contrast"'))
        pictures = [numeric(x, 1 + len(self._steps()["right"]), f"X[{n}]", self._wanted()) for n, x in enumerate(as_list(X, "X"))]
        if not pictures:
            raise ValueError("X is empty")
        wanted = pictures[0].shape[-1] if fitting else self.n_features_in_
        joined: dict[tuple[int, ...], tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
        made: list[Instance] = []
        for n, x in enumerate(pictures):
            *axes, features = x.shape
            shape = tuple(axes)
            if features != wanted:
                first = len(x) == (len(pictures[0]) if fitting else wanted) and len(x) == min(x.shape)
                turn = f"; of [features, rows, columns] give numpy.moveaxis(X[{n}], 0, -1)" if first else ""
                raise ValueError(f"X[{n}] has {features} features, want {wanted} as {'X[0]' if fitting else 'in fit'}{turn}")
            if 0 in shape:
                raise ValueError(f"X[{n}] has the shape {list(x.shape)}: it is empty")
            if shape not in joined:
                joined[shape] = grid_edges(shape, [*self._steps().values()])
            edges, direction = joined[shape]
            flat = x.reshape(int(np.prod(shape)), features)
            instance = Instance(flat, edges, shape=shape)
            if self.edges == "features":
                instance.edge_x = _ends(flat, edges)
                instance.edge_types = direction
            else:
                instance.edge_bins = direction
            made.append(instance)
        if images is not None:
            self._contrast(made, as_list(images, "images"), fitting)
        return made

    def _labels_of(self, X: Any, y: Any) -> Sequence[Any]:
        arrays = [label_array(labels) for labels in super()._labels_of(X, y)]
        if not same(self.unlabelled, -1) or not arrays or any(a.dtype != np.uint8 for a in arrays):
            return arrays
        if hasattr(self, "classes_"):
            hides = 255 not in self.classes_
        elif hides := has_void(np.unique(np.concatenate([np.unique(np.ma.compressed(a)) for a in arrays]))):
            text = "255 in y hides labels, as in pictures of labels: unlabelled=255 says so, and unlabelled=None makes it a class"
            warn([text])
        return [np.ma.masked_equal(a, 255) for a in arrays] if hides else arrays

    def _contrast(self, instances: Sequence[Instance], images: Sequence[Any], fitting: bool) -> None:
        """Give edges exp(−β|Δ|²) of the colours of their ends, for β of three scales."""
        if len(images) != len(instances):
            raise ValueError(f"X has {len(instances)} and images {len(images)} entries: want as many")
        squares: list[NDArray[np.float32]] = []
        for n, (instance, image) in enumerate(zip(instances, images)):
            picture = np.asarray(image)
            shape = instance.shape or ()
            if picture.ndim - len(shape) not in (0, 1) or picture.shape[: len(shape)] != shape or picture.dtype.kind not in "fiu":
                raise ValueError(f"images[{n}] is {picture.dtype} of the shape {list(picture.shape)}, want numbers, {[*shape, 3]} as X[{n}]")
            flat = picture.reshape(len(instance.x), -1).astype(np.float32)
            first, second = instance.edges.T
            squares.append(((flat[first] - flat[second]) ** 2).sum(1))
        if fitting:
            mean = float(np.concatenate(squares).mean(dtype=np.float64))
            self.contrast_scale_ = 2 * mean if mean > 0 else 1.0
        for instance, square in zip(instances, squares):
            instance.edge_x = _contrasts(square, self.contrast_scale_)
            instance.edge_types, instance.edge_bins = instance.edge_bins, None

    def _steps(self) -> dict[str, tuple[int, ...]]:
        return DIRECTIONS[self.neighbours]

    def _wanted(self) -> str:
        if self.neighbours in (6, 26):
            return "[depth, rows, columns, features]; grey voxels are X[..., None], and a single array is [X]"
        return "[rows, columns, features]; grey pictures are X[..., None], a single picture is [X], and voxels have neighbours=6 or 26"

    def _manifest(self, instances: Sequence[Instance]) -> dict[str, Any]:
        names = [str(k) for k in range(instances[0].x.shape[1])]
        manifest: dict[str, Any] = {"node_features": names + ["bias"] if self.bias else names}
        if self.edges == "constant":
            return {**manifest, "edge_bins": len(self._steps()), "edge_features": [*self._steps()]}
        features = [f"{end} {k}" for end in ("first", "second") for k in names]
        if self.edges == "contrast":
            features = [f"exp(-d2*{s}/{self.contrast_scale_!r})" for s in SCALES]
        edge = {"u": "node", "v": "node", "features": features + ["constant"] * self.bias, "directed": True}
        return {**manifest, "edge_types": [{"name": d, **edge} for d in self._steps()], "node_types": ["node"]}

    def _adopt(self, model: Model) -> None:
        types = [t["name"] for t in model.schema["edge_types"]]
        directions = types if len(types) > 1 else model.features("edge")
        neighbours = [n for n, named in DIRECTIONS.items() if list(named) == directions]
        if not neighbours:
            raise ModelError("this model is not of a GridCRF: its edges are " + ", ".join(directions))
        self.neighbours, self.edges = neighbours[0], "features" if len(types) > 1 else "constant"
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
        place = np.unravel_index(index[0], folder.shapes[instance] or ())
        return f"{name}[{instance}]{[*map(int, place), *index[1:]]}"


def _ends(x: NDArray[Any], edges: NDArray[Any]) -> Rows:
    """Return the features of both ends of every edge, which are more than those of nodes."""
    return Rows(lambda some: np.concatenate([x[edges[some, 0]], x[edges[some, 1]]], 1), (len(edges), 2 * x.shape[1]), x.dtype)


def _contrasts(squares: NDArray[np.float32], scale: float) -> Rows:
    """Return exp(−β|Δ|²) for β of three scales."""
    betas = np.array(SCALES, np.float32)
    return Rows(lambda some: np.exp(-squares[some, None] / np.float32(scale) * betas), (len(squares), len(SCALES)), np.float32)


def grid_edges(shape: tuple[int, ...], steps: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return edges [m, 2] of a grid, step by step, and the number of the step of each."""
    node = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    edges: list[NDArray[np.int32]] = []
    direction: list[NDArray[np.int32]] = []
    for d, step in enumerate(steps):
        first = node[tuple(slice(max(0, -k), size - max(0, k)) for k, size in zip(step, shape))]
        second = node[tuple(slice(max(0, k), size - max(0, -k)) for k, size in zip(step, shape))]
        edges.append(np.stack([first, second], -1).reshape(-1, 2))
        direction.append(np.full(len(edges[-1]), d, np.int32))
    return np.concatenate(edges), np.concatenate(direction)
