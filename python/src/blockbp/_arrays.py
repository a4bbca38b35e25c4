"""Instances as the binary reads them, and label arrays as users have them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

# Bytes of rows that are written at a time.
CHUNK = 1 << 22


class Rows:
    """Rows of a table that are made when they are written.

    Parameters
    ----------
    make : callable
        Returns the rows of a slice.
    shape : (rows, columns)
        Of the table.
    dtype : dtype
        Of its numbers.
    """

    def __init__(self, make: Callable[[slice], NDArray[Any]], shape: tuple[int, int], dtype: Any) -> None:
        self._make, self.shape, self.dtype = make, shape, np.dtype(dtype)
        self.nbytes = shape[0] * shape[1] * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        return self._make(rows)


@dataclass(eq=False)
class Instance:
    """One network.

    Attributes
    ----------
    x : ndarray of shape [nodes, features]
        Node features.
    edges : int32 ndarray of shape [edges, 2]
        The two ends of every edge.
    edge_x : ndarray or Rows of shape [edges, features], or None
        Edge features.
    edge_bins : int ndarray of shape [edges], or None
        In the place of edge_x: which feature of an edge is one.
    edge_types : int ndarray of shape [edges], or None
        The type of every edge.
    labels : int32 ndarray of shape [nodes], or None
        Numbers of classes, −1 where hidden.
    shape : (rows, columns), or of more axes, or None
        Of a grid, whose nodes lie row by row.
    names : list of str, or None
        Of the node features.
    weight : float
        What it counts in training.
    tied : bool
        Edges were there both ways round, and have no direction.
    """

    x: NDArray[Any]
    edges: NDArray[Any]
    edge_x: NDArray[Any] | Rows | None = None
    edge_bins: NDArray[Any] | None = None
    edge_types: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    shape: tuple[int, ...] | None = None
    names: list[str] | None = None
    weight: float = 1.0
    tied: bool = False


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

    def put(name: str, dtype: Any, shape: tuple[int, ...], parts: Iterable[NDArray[Any] | Rows]) -> None:
        with open(os.path.join(folder, name + ".npy"), "wb") as file:
            header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for part in parts:
                for some in _slices(part):
                    np.ascontiguousarray(part[some], dtype).tofile(file)

    def with_ones(parts: Iterable[NDArray[Any] | Rows], dtype: Any) -> Iterable[NDArray[Any]]:
        for x in parts:
            for some in _slices(x):
                given = x[some]
                rows = np.ones((len(given), x.shape[1] + 1), dtype)
                rows[:, :-1] = given
                yield rows

    put("sizes", np.int64, sizes.shape, [sizes])
    put("edges", np.int32, (edges, 2), (i.edges for i in instances))
    def put_features(name: str, rows: int, columns: int, parts: Callable[[], Iterable[NDArray[Any] | Rows | None]]) -> None:
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
    if any(i.weight != 1 for i in instances):
        put("weight", np.float64, (len(instances),), [np.array([i.weight for i in instances])])
    if first.shape is not None and len(first.shape) == 2:
        put("grid_shape", np.int64, (len(instances), 2), [np.array([i.shape for i in instances], np.int64)])
    if any(i.tied for i in instances):
        put("directed", np.int64, (), [np.zeros(1, np.int64)])
    Path(folder, "dataset.json").write_text(json.dumps(manifest), encoding="utf-8")


def _slices(x: NDArray[Any] | Rows) -> Iterable[slice]:
    """Return slices of rows, each of about CHUNK bytes."""
    rows = max(1, CHUNK // max(1, x.nbytes // max(1, len(x))))
    return (slice(at, at + rows) for at in range(0, len(x), rows))


def _given(x: NDArray[Any] | Rows | None) -> NDArray[Any] | Rows:
    if x is None:
        raise ValueError("some instances have features, or labels, that others lack: give them to all or to none")
    return x


def _floats(arrays: Iterable[NDArray[Any] | Rows | None]) -> Any:
    """Return float32 where that holds all numbers as they are, else float64."""
    kinds = {_given(a).dtype for a in arrays}
    single = all(k.itemsize <= {"f": 4, "i": 2, "u": 2, "b": 1}.get(k.kind, 0) for k in kinds)
    return np.float32 if single else np.float64


def numeric(x: Any, dimensions: int, what: str, shape: str) -> NDArray[Any]:
    """Return features as an array of numbers, without a copy where they are one."""
    array = np.asarray(x)
    if np.ma.is_masked(x):
        raise ValueError(f"{what} has masked entries, and a model needs a number for each: fill them in, as {what}.filled(0) does")
    if array.ndim != dimensions:
        single = f"; one feature is numpy.c_[{what}]" if array.ndim + 1 == dimensions == 2 else ""
        raise ValueError(f"{what} has the shape {list(array.shape)}, want {shape}{single}")
    if array.dtype.kind == "O":  # as of a data frame with truth values among its columns
        numbers = np.array([is_number(v) for v in array.reshape(-1)], bool)
        if not numbers.all():
            at = np.unravel_index(int(np.flatnonzero(~numbers)[0]), array.shape)
            remedy = "; pandas.get_dummies makes numbers of texts" if isinstance(array[at], str) else "; fill in what is missing, as sklearn.impute.SimpleImputer does" if not _is_there(array[at]) else ""
            raise ValueError(f"{what}[{', '.join(map(str, at))}] is {array[at]!r}, want a number{remedy}")
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{what} holds {array.dtype}, want numbers")
    return array


# What things of any type are, for type checkers too: isinstance leaves open what an array or a dict holds.


def is_array(value: Any) -> TypeGuard[NDArray[Any]]:
    """Report whether a value is an array."""
    return isinstance(value, np.ndarray)


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Report whether a value is a sequence, and no text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Report whether a value is a dict, or like one."""
    return isinstance(value, Mapping)


def is_tuple(value: Any) -> TypeGuard[tuple[Any, ...]]:
    """Report whether a value is a tuple of two or three."""
    sized: Any = value
    return isinstance(value, tuple) and len(sized) in (2, 3)


def is_number(value: Any) -> TypeGuard[float]:
    """Report whether a value is a real number, or a truth value."""
    return isinstance(value, (bool, int, float, np.number, np.bool_)) and not isinstance(value, np.complexfloating)


# Classes that are numbers with fractions are few; more are measured values.
MEASURED = 30


class Labels:
    """Numbers the classes of labels of any type.

    Parameters
    ----------
    classes : ndarray
        The classes, sorted.
    hidden : object
        The label that stands for none, or a list of them; None, NaN and what is masked do, too.
    wanted : str
        What encode says of a label that is no class; "": which the classes are.
    """

    def __init__(self, classes: NDArray[Any], hidden: Any, wanted: str = "") -> None:
        self.classes, self.hidden, self.wanted = classes, hidden, wanted

    @classmethod
    def of(cls, labels: Iterable[Any], hidden: Any, place: Callable[[int, int], str], have: str = "y has") -> Labels:
        """Find the classes; place names an entry of an array of labels, and have is who has them."""
        found: set[Any] = set()
        first: dict[type, str] = {}  # where a kind of labels is first
        kinds: list[np.dtype[Any]] = []
        gaps = False
        for n, y in enumerate(labels):
            array, known = known_of(y, hidden)
            gaps = gaps or array.dtype.kind == "f" and bool(np.isnan(array).any())
            values = array[known]
            if values.dtype.kind != "O":
                kinds.append(values.dtype)
                some = np.unique(values).tolist()
            else:
                some = list(set(values.tolist()))
            found.update(some)
            for kind in {_kind(c) for c in some} - first.keys():
                flat = array.reshape(-1).tolist()
                at = next(k for k, yes in enumerate(known.reshape(-1)) if yes and _kind(flat[k]) is kind)
                first[kind] = f"{place(n, at).rstrip(',')} is {flat[at]!r}"
        if len(first) > 1:
            one, other, *_ = first.values()
            raise ValueError(f"{one}, and {other}: labels of different types have no order; make all texts, or numbers")
        try:
            ordered = sorted(found)
        except TypeError as err:
            raise ValueError(f"labels have no order: {err}; make all texts, or all numbers") from err
        classes = np.array(ordered)
        if len(ordered) and (classes.ndim > 1 or classes.dtype.kind not in "iubfUS"):
            classes = np.array([*ordered, None], object)[:-1]
        whole = classes.dtype.kind == "f" and bool(np.all(classes == np.rint(classes)))
        if whole and gaps:
            classes = classes.astype(np.int64)  # NaN hid labels among integers
        elif classes.dtype.kind == "f" and not whole and len(classes) > MEASURED:
            raise ValueError(f"labels are {len(classes)} numbers with fractions: want classes; of measured values make some by numpy.digitize")
        elif kinds and classes.dtype.kind in "iuf":
            classes = classes.astype(np.result_type(*kinds))
        if len(classes) < 2:
            hint = "; -1 hides a label: of spins -1 and 1 use unlabelled=None" if list(classes) == [1] and hidden == -1 else ""
            raise ValueError(f"{have} {len(classes)} known class{'es' if len(classes) != 1 else ''}, want at least 2: {classes.tolist()}{hint}")
        return cls(classes, hidden)

    def encode(self, y: Any, place: Callable[[int], str], others: list[Any] | None = None) -> NDArray[np.int32]:
        """Return numbers of classes in the shape of y, −1 where hidden.

        Labels that are no class are refused; given others, they are added to it, as −2.
        """
        array, known = known_of(y, self.hidden)
        codes = np.full(array.shape, -1, np.int32)
        if self.classes.dtype.kind in "iub" and array.dtype.kind in "iub" and self.classes[0] == 0 and len(self.classes) == int(self.classes[-1]) + 1 and array.ndim and array.dtype.kind != "b":
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
        if others is not None:
            codes[wrong] = -2
            others.extend(array[wrong].tolist())
        elif wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            names = ", ".join(map(str, self.classes[:10])) + (", …" if len(self.classes) > 10 else "")
            label = array.reshape(-1)[first : first + 1].tolist()[0]
            raise ValueError(f"{place(first)} is {label!r}, {self.wanted or f'which is no class: classes are {names}'}")
        return codes


def label_array(y: Any) -> NDArray[Any]:
    """Return labels of any origin as an array, of objects where texts stand among others, which NumPy would make texts.

    None stands for all objects that are missing: NaN, and NA of pandas, whose comparisons have no truth.
    """
    y = y.detach().cpu() if hasattr(y, "detach") else y.toarray() if hasattr(y, "toarray") else y
    array: NDArray[Any] = np.asanyarray(y)
    if array.dtype.kind in "US" and array is not y:
        objects = np.asarray(y, object)
        if objects.shape == array.shape and any(not isinstance(c, (str, bytes)) for c in objects.reshape(-1)):
            array = objects
    if array.dtype.kind == "O":
        array = array.copy()
        values = np.ma.getdata(array).reshape(-1)
        values[np.array([not _is_there(v) for v in values], bool)] = None
    return array


def row_labels(y: Any) -> NDArray[Any]:
    """Return the labels of nodes in a row, which may be a column, as of a data frame."""
    array = label_array(y)
    return array[:, 0] if array.shape[1:] == (1,) else array


def _kind(label: object) -> type:
    """Return what labels are of one kind with a label: all numbers are."""
    return float if is_number(label) else type(label)


def known_of(y: Any, hidden: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return labels, and which of them are not hidden."""
    given = label_array(y)
    array = np.ma.getdata(given)
    if array.dtype.kind not in "iubfUSO":
        raise ValueError(f"labels are {array.dtype}, want integers, texts or other objects")
    known = ~np.ma.getmaskarray(given)
    if array.dtype.kind in "fO":
        known &= ~np.isnan(array) if array.dtype.kind == "f" else array != np.array(None)
    several: Any = hidden if isinstance(hidden, (list, tuple, set, np.ndarray)) else [hidden]
    for label in several if hidden is not None else ():
        if isinstance(label, {"U": str, "S": bytes}.get(array.dtype.kind, object)):
            known[known] = ~np.broadcast_to(np.asarray(array[known] == label, bool), int(known.sum()))
    return array, known


def has_void(values: NDArray[Any]) -> bool:
    """Report whether the last of all labels is 255 behind numbers of classes that are no greys, such as 0, 128, 255."""
    return len(values) > 2 and values[-1] == 255 and bool(values[-2] < 127 or len(values) > 16)


def doubtful(classes: NDArray[Any]) -> list[Any]:
    """Return classes that elsewhere stand for no label: -1, -9 or -100 before others, 255 behind them, and NaN or None as a text."""
    names: list[Any] = classes.tolist()
    if classes.dtype.kind not in "iu":
        return [c for c in names if isinstance(c, str) and c in ("?", "NA", "None", "NaN", "nan", "NaT", "<NA>")]
    return names[: len(names) > 2 and names[0] in (-1, -9, -99, -100, -999)] + names[len(names) - has_void(classes) :]


def _is_there(label: Any) -> bool:
    """Report whether a label is neither None nor NaN, nor NA of pandas, whose comparisons have no truth."""
    try:
        return label is not None and bool(label == label)
    except TypeError:
        return False


def classes_of(names: Sequence[str], kind: str | None = None) -> NDArray[Any]:
    """Return classes by their names in a model.

    Parameters
    ----------
    names : sequence of str
        The names.
    kind : str, optional
        What kind_of said of the classes. Without it they are integers, truth values or
        numbers where all names are such, or else texts.
    """
    if kind == "bool" or kind is None and list(names) == ["False", "True"]:
        return np.array([n == "True" for n in names])
    if kind == "bytes":
        import ast

        return np.array([ast.literal_eval(n) for n in names])
    for one in (int, float) if kind is None else (int,) if kind == "int" else (float,) if kind == "float" else ():
        try:
            values = [one(n) for n in names]
        except ValueError:
            continue
        if kind is not None or [str(v) for v in values] == list(names):
            return np.array(values)
    return np.array(names)


def kind_of(classes: NDArray[Any]) -> str:
    """Return the kind of classes, for classes_of."""
    kinds = {"i": "int", "u": "int", "b": "bool", "f": "float", "U": "str", "S": "bytes"}
    return kinds.get(classes.dtype.kind, "object")
