"""Instances as the binary reads them, and label arrays as users have them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows that are written at a time where they are not written as they are: a few megabytes.
ROWS = 1 << 16


class Instance:
    """One network.

    Attributes
    ----------
    x : ndarray of shape [nodes, features]
        Node features.
    edges : int32 ndarray of shape [edges, 2]
        The two ends of every edge.
    edge_x : ndarray of shape [edges, features], or None
        Edge features.
    edge_bins : int ndarray of shape [edges], or None
        In the place of edge_x: which feature of an edge is one.
    edge_types : int ndarray of shape [edges], or None
        The type of every edge.
    labels : int32 ndarray of shape [nodes], or None
        Numbers of classes, −1 where hidden.
    shape : (rows, columns), or None
        Of a grid, whose nodes lie row by row.
    """

    def __init__(
        self,
        x: NDArray[Any],
        edges: NDArray[Any],
        edge_x: NDArray[Any] | None = None,
        edge_bins: NDArray[Any] | None = None,
        edge_types: NDArray[Any] | None = None,
        labels: NDArray[Any] | None = None,
        shape: tuple[int, int] | None = None,
    ) -> None:
        self.x, self.edges, self.edge_x = x, edges, edge_x
        self.edge_bins, self.edge_types, self.labels, self.shape = edge_bins, edge_types, labels, shape


def bytes_of(instances: Sequence[Instance]) -> int:
    """Return about how many bytes the instances take in files."""
    return sum(a.nbytes for i in instances for a in (i.x, i.edges, i.edge_x, i.edge_bins, i.labels) if a is not None)


def write(folder: str, instances: Sequence[Instance], manifest: dict[str, Any], bias: bool) -> None:
    """Write instances as a folder of arrays, and nothing twice in memory.

    With ``bias`` the last feature of nodes is one, and so is that of edges that have features.
    """
    os.mkdir(folder)
    sizes = np.array([(len(i.x), len(i.edges)) for i in instances], np.int64)
    nodes, edges = (int(n) for n in sizes.sum(axis=0))
    first = instances[0]

    def put(name: str, dtype: Any, shape: tuple[int, ...], parts: Iterable[NDArray[Any]]) -> None:
        with open(os.path.join(folder, name + ".npy"), "wb") as file:
            header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for part in parts:
                for at in range(0, len(part), ROWS):
                    np.ascontiguousarray(part[at : at + ROWS], dtype).tofile(file)

    def with_ones(parts: Iterable[NDArray[Any]], dtype: Any) -> Iterable[NDArray[Any]]:
        for x in parts:
            for at in range(0, len(x), ROWS):
                rows = np.ones((len(x[at : at + ROWS]), x.shape[1] + 1), dtype)
                rows[:, :-1] = x[at : at + ROWS]
                yield rows

    put("sizes", np.int64, sizes.shape, [sizes])
    put("edges", np.int32, (edges, 2), (i.edges for i in instances))
    def put_features(name: str, rows: int, columns: int, parts: Callable[[], Iterable[NDArray[Any] | None]]) -> None:
        dtype = _floats(parts())
        xs = (_given(x) for x in parts())
        if columns + bias:
            put(name, dtype, (rows, columns + bias), with_ones(xs, dtype) if bias else xs)

    put_features("node_features", nodes, first.x.shape[1], lambda: (i.x for i in instances))
    if first.edge_x is not None:
        put_features("edge_features", edges, first.edge_x.shape[1], lambda: (i.edge_x for i in instances))
    if first.edge_bins is not None:
        put("edge_bins", np.int32, (edges,), (_given(i.edge_bins) for i in instances))
    if first.edge_types is not None:
        put("edge_types", np.int32, (edges,), (_given(i.edge_types) for i in instances))
    if first.labels is not None:
        put("labels", np.int32, (nodes,), (_given(i.labels) for i in instances))
    if first.shape is not None:
        put("grid_shape", np.int64, (len(instances), 2), [np.array([i.shape for i in instances], np.int64)])
    with open(os.path.join(folder, "dataset.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file)


def _given(x: NDArray[Any] | None) -> NDArray[Any]:
    if x is None:
        raise ValueError("some instances have features, or labels, that others lack: give them to all or to none")
    return x


def _floats(arrays: Iterable[NDArray[Any] | None]) -> Any:
    """Return float32 where that holds all numbers as they are, else float64."""
    kinds = {_given(a).dtype for a in arrays}
    single = all(k in (np.float32, np.float16, np.bool_) or k.kind in "iu" and k.itemsize <= 2 for k in kinds)
    return np.float32 if single else np.float64


def numeric(x: Any, dimensions: int, what: str, shape: str) -> NDArray[Any]:
    """Return features as an array of numbers, without a copy where they are one."""
    array = np.asarray(x)
    if array.ndim != dimensions:
        raise ValueError(f"{what} has the shape {list(array.shape)}, want {shape}")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{what} holds {array.dtype}, want numbers")
    return array


class Labels:
    """Numbers the classes of labels of any type.

    Parameters
    ----------
    classes : ndarray
        The classes, sorted.
    hidden : object
        The label that stands for none; None, NaN and what is masked do, too.
    """

    def __init__(self, classes: NDArray[Any], hidden: Any) -> None:
        self.classes, self.hidden = classes, hidden

    @classmethod
    def of(cls, labels: Iterable[Any], hidden: Any) -> Labels:
        """Find the classes."""
        found: list[NDArray[Any]] = []
        for y in labels:
            array, known = _known(y, hidden)
            values = array[known]
            found.append(np.unique(values) if values.dtype.kind != "O" else np.array(sorted(set(values.tolist())), object))
        try:
            classes = np.unique(np.concatenate([f for f in found if len(f)])) if any(len(f) for f in found) else np.array([])
        except TypeError as err:
            raise ValueError(f"labels of different types have no order: {err}; make them all texts or all numbers") from err
        if classes.dtype.kind == "O" and all(isinstance(c, str) for c in classes):
            classes = classes.astype(str)
        if classes.dtype.kind == "f" and np.all(classes == np.rint(classes)):
            classes = classes.astype(np.int64)  # NaN hid labels among integers
        if len(classes) < 2:
            hint = "; -1 hides a label: of spins -1 and 1 use unlabelled=None" if list(classes) == [1] and hidden == -1 else ""
            raise ValueError(f"y has {len(classes)} known class{'es' if len(classes) != 1 else ''}, want at least 2: {classes.tolist()}{hint}")
        return cls(classes, hidden)

    def encode(self, y: Any, place: Callable[[int], str]) -> NDArray[np.int32]:
        """Return numbers of classes in the shape of y, −1 where hidden."""
        array, known = _known(y, self.hidden)
        codes = np.full(array.shape, -1, np.int32)
        if self.classes.dtype.kind in "iub" and array.dtype.kind in "iub" and self.classes[0] == 0 and len(self.classes) == self.classes[-1] + 1 and array.ndim and array.dtype.kind != "b":
            codes[known] = array[known]  # classes are 0, 1, 2, …
            wrong = known & ((array < 0) | (array >= len(self.classes)))
        elif array.dtype.kind == "O" or self.classes.dtype.kind == "O":
            number = {c: k for k, c in enumerate(self.classes.tolist())}
            codes[known] = [number.get(c, -1) for c in array[known].tolist()]
            wrong = known & (codes < 0)
        else:
            at = np.minimum(np.searchsorted(self.classes, array[known]), len(self.classes) - 1)
            codes[known] = np.where(self.classes[at] == array[known], at, -1)
            wrong = known & (codes < 0)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            names = ", ".join(map(str, self.classes[:10])) + (", …" if len(self.classes) > 10 else "")
            label = array.reshape(-1)[first : first + 1].tolist()[0]
            raise ValueError(f"{place(first)} is {label!r}, which is no class: classes are {names}")
        return codes

    def names(self) -> list[str]:
        """Return the classes as texts."""
        return [str(c) for c in self.classes.tolist()]


def _known(y: Any, hidden: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return labels, and which of them are not hidden."""
    mask = np.ma.getmaskarray(y) if np.ma.isMaskedArray(y) else None
    array = np.asarray(y)
    if array.dtype.kind not in "iubfUSO":
        raise ValueError(f"labels are {array.dtype}, want integers, texts or other objects")
    known = np.ones(array.shape, bool)
    if array.dtype.kind == "f":
        known = ~np.isnan(array)
    elif array.dtype.kind == "O":
        known = np.array([v is not None and v == v for v in array.reshape(-1)], bool).reshape(array.shape)
    if hidden is not None and not (array.dtype.kind in "US" and not isinstance(hidden, str)):
        same = array == hidden
        known &= ~np.broadcast_to(np.asarray(same, bool), array.shape)
    if mask is not None:
        known &= ~mask
    return array, known


def classes_of(names: Sequence[str]) -> NDArray[Any]:
    """Return classes by their names in a model: integers, truth values, numbers, or else texts."""
    if list(names) == ["False", "True"]:
        return np.array([False, True])
    for kind in (int, float):
        try:
            values = [kind(n) for n in names]
        except ValueError:
            continue
        if [str(v) for v in values] == list(names):
            return np.array(values)
    return np.array(names)
