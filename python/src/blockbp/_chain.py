"""ChainCRF: sentences, and other sequences."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
import zlib
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ._arrays import Instance, is_array, is_list, is_mapping, is_number, label_array
from ._base import DATA, Classifier, as_list, documented, same
from ._model import Model
from ._run import Folder, ModelError

if TYPE_CHECKING:
    from typing_extensions import Self

TEXT = "sequences.crfsuite"

# Characters that end a field or a line of the text, and what stands for them in names.
_CONTROLS = str.maketrans({"\t": "␉", "\n": "␊", "\r": "␍", "\0": "␀", "\\": "\\\\", ":": "\\:"})

# The attribute that the command adds, where a token has it.
_BIAS = re.compile(r"\tbias(?=[\t\n]|:[^\t\n]*[\t\n])")


@documented
class ChainCRF(Classifier):
    """A conditional random field on sequences, such as the words of sentences.

    Each token is a node, and edges join neighbours. On sequences learning, probabilities and joint labels are exact.

    Parameters
    ----------
    bias : bool
        Whether tokens have a further attribute, ``"bias"``, that is 1. One of that name that
        tokens have themselves takes its place.
    min_freq : int
        Attributes that occur less often are left out.
    {learning}

    Attributes
    ----------
    attributes_ : list of str
        The attributes of tokens, ``"bias"`` last.
    coef_ : dict of str to ndarray
        ``"node.token"`` [classes, attributes], and ``"edge.next"`` [classes, classes, 1], from
        a token's class to that of the next.
    {learned}

    Examples
    --------
    >>> from blockbp import ChainCRF
    >>> X = [[{"word": "the", "first": True}, {"word": "dog"}], [["word:a"], ["word:dog", "last"]]]
    >>> crf = ChainCRF().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> crf.predict([[{"word": "a"}, {"word": "cat"}]])
    [['DET', 'NOUN']]
    """

    def __init__(
        self,
        bias: bool = True,
        min_freq: int = 0,
        prior: float = 1.0, l2: float | None = None, counting: str = "auto", method: str = "auto",
        class_weight: str | Mapping[Any, float] | None = None, max_time: float | None = None, warm_start: bool = False,
        unlabelled: Any = "auto", random_state: int | None = None, n_jobs: int | None = None, verbose: int = 0,
        options: Mapping[str, Any] | None = None, predict_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._store(locals())

    _options = {**Classifier._options, "min_freq": "min-count"}
    _unsaid = "auto"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : list of lists of dicts, or of lists of str, of arrays [tokens, features], or of data frames
            The attributes of each token of each sequence, as sklearn-crfsuite has them. In a
            dict, a text or a list of texts makes attributes ``"key:text"`` that are 1, a dict
            those of its keys behind ``"key:"``, and a number or a truth value is the value of
            ``"key"``. Texts of a list are attributes that are 1. Columns of an array are
            attributes ``"0"``, ``"1"`` and so on, and those of a data frame keys of a dict.
        y : list of lists
            Labels of any type; None, or ``unlabelled``, hides one.
        sample_weight : int array [sequences], optional
            How often each sequence counts.
        """
        return self._fit(X, y, ["--kind=text"], sample_weight=sample_weight)

    def predict_marginals(self, X: Any, y: Any = None) -> list[list[dict[Any, float]]]:
        """Return predict_proba as a dict by class for every token of every sequence."""
        classes: list[Any] = self.classes_.tolist() if hasattr(self, "classes_") else []
        return [[dict(zip(classes, row)) for row in rows.tolist()] for rows in self.predict_proba(X, y)]

    def predict_single(self, x: Any) -> list[Any]:
        """Return the most likely class of every token of one sequence."""
        labels: list[Any] = self.predict([x])[0]
        return labels

    def score(self, X: Any, y: Any, metric: str = "accuracy") -> float:  # type: ignore[override]
        """Return the share of the known labels that predict finds, or the F1 of entities.

        Parameters
        ----------
        X, y
            As in fit. Labels that are no class of the fit count as not found, with a warning.
        metric : {"accuracy", "entity_f1"}
            "entity_f1": of tags such as B-PER, I-PER and O, in any of their schemes, the
            micro-averaged F1 of whole entities, as seqeval and conlleval have it.
        """
        if metric == "accuracy":
            return super().score(X, y)
        if metric != "entity_f1":
            raise ValueError(f'metric={metric!r}: want "accuracy" or "entity_f1"')
        labels, codes = self._truth(X, y, {})
        ends = np.cumsum([len(sequence) for sequence in X])[:-1]
        truth, found = (
            set(_entities(np.split(np.where(codes == -1, "O", tags), ends)))  # hidden ones are outside of all, in both
            for tags in (labels.astype(object), self.classes_[np.concatenate(self._infer(X, None, [], "labels", {}))].astype(object))
        )
        if not truth and not found:
            raise ValueError("y has no entities, and none is predicted: want tags such as B-PER, I-PER and O")
        return 2 * len(truth & found) / (len(truth) + len(found))

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """Weights by (attribute, class)."""
        self._fitted()
        table = self.coef_["node.token"].T.tolist()
        return {(a, c): w for a, row in zip(self.attributes_, table) for c, w in zip(self.classes_.tolist(), row)}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """Weights by (class, class of the next token)."""
        self._fitted()
        classes, table = self.classes_.tolist(), self.coef_["edge.next"][:, :, 0].tolist()
        return {(a, b): table[i][j] for i, a in enumerate(classes) for j, b in enumerate(classes)}

    def _instances(self, X: Any, fitting: bool) -> list[Instance]:  # type: ignore[override]
        made: list[Instance] = []
        names: dict[str, str] = {}
        columns = 0 if fitting else sum(name.isdigit() for name in self.attributes_)  # of arrays
        for n, sequence in enumerate(as_list(X, "X")):
            shape: tuple[int, ...] = () if hasattr(sequence, "columns") else getattr(sequence, "shape", ())
            if len(shape) == 2 and shape[1] != (columns := columns or shape[1]):
                raise ValueError(f"X[{n}] has {shape[1]} columns, want {columns} as {'X[0]' if fitting else 'in fit'}")
            tokens = sequence.to_dict("records") if hasattr(sequence, "columns") else as_list(sequence, f"X[{n}]")
            if len(tokens) == 0:
                raise ValueError(f"X[{n}] is empty: leave sequences without tokens out, of y too")
            lines = np.empty((len(tokens), 1), object)
            for i, token in enumerate(tokens):
                try:
                    lines[i, 0] = "".join(_fields(token, names))
                except ValueError as err:
                    raise ValueError(f"X[{n}][{i}]{err}") from None
            made.append(Instance(lines, np.zeros((0, 2), np.int32)))
        if not made:
            raise ValueError("X is empty")
        if fitting and self.warm_start:
            self._seen_ = zlib.crc32("\n".join(sorted(names)).encode(errors="backslashreplace"))
        return made

    def _signature(self, manifest: dict[str, Any]) -> dict[str, Any]:
        return {**manifest, "attributes": getattr(self, "_seen_", None)}

    def _hides(self) -> Any:
        return None if same(self.unlabelled, self._unsaid) else self.unlabelled

    def _labels_of(self, X: Any, y: Any) -> Sequence[Any]:
        listed = as_list(y, "y")
        for n, labels in enumerate(listed):
            as_list(labels, f"y[{n}]")  # or it is refused
        return [label_array(labels) for labels in listed]

    def _manifest(self, instances: Sequence[Instance]) -> dict[str, Any]:
        if part := [i.weight for i in instances if i.weight % 1]:
            raise ValueError(f"sample_weight has {part[0]:g}, want whole numbers: so often a sequence is there")
        for name in self.classes_.tolist():
            if str(name) == "?" or re.search(r"[\t\n\r\0]|^-DOCSTART-", str(name)):
                raise ValueError(f"y has the class {name!r}, which tagged text cannot hold: give it another name, or hide it by unlabelled={name!r}")
        return {}

    def _train(self, folder: Folder, arguments: Sequence[str]) -> None:
        with open(os.path.join(folder / DATA, TEXT), encoding="utf-8", newline="\n") as file:
            own = any(_BIAS.search(line) for line in file)
        super()._train(folder, [*arguments, *["--no-bias"] * (own or not self.bias)])

    @contextlib.contextmanager
    def _data(self, instances: Sequence[Instance], manifest: dict[str, Any]) -> Generator[Folder]:
        names = [str(c) for c in self.classes_.tolist()] + ["?"]  # -1 is the last
        with Folder(sum(len(line) for i in instances for line in i.x[:, 0])) as folder:
            os.mkdir(folder / DATA)
            Path(folder / DATA, "dataset.json").write_text(json.dumps(manifest), encoding="utf-8")
            with open(os.path.join(folder / DATA, TEXT), "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                for instance in instances:
                    codes = [-1] * len(instance.x) if instance.labels is None else instance.labels.tolist()
                    # The tab behind the label is there without attributes, too: the line is no comment.
                    lines = [f"{names[code]}{line or chr(9)}\n" for code, line in zip(codes, instance.x[:, 0])]
                    file.writelines([*lines, "\n"] * int(instance.weight))
            yield folder

    def _read_model(self) -> None:
        model = Model(self.model_)
        if model.recipe.get("kind") != "text" or model.recipe["text"]["form"] != "attributes" or len(model.schema["edge_types"]) != 1:
            raise ModelError("this model is not of a ChainCRF: it did not learn from tagged text of attributes")
        super()._read_model()
        self.attributes_ = model.features("node")
        self.n_features_in_ = len(self.attributes_) - bool(model.recipe.get("bias"))

    def _adopt(self, model: Model) -> None:
        self.bias = bool(model.recipe.get("bias"))

    def _shaped(self, X: Any, parts: list[NDArray[Any]]) -> Any:
        return [p.tolist() if p.ndim == 1 else p for p in parts]

    def _spot(self, folder: Folder, file: str, line: str, place: str) -> str:
        if file != os.path.join(DATA, TEXT):
            return super()._spot(folder, file, line, place)
        if not line:
            return "X"
        with open(folder / file, encoding="utf-8", newline="\n") as lines:
            before = list(itertools.islice(lines, int(line) - 1))
        ends = [n for n, of in enumerate(before) if of == "\n"]
        return f"X[{len(ends)}][{len(before) - ends[-1] - 1 if ends else len(before)}]"


# Letters of tags: an entity begins at B, S and their like, and ends behind E, S and their like.
_BEGINS, _ENDS = "BSUW", "ESLUW"


def _entities(sequences: Sequence[Any]) -> Iterator[tuple[int, int, int, str]]:
    """Give the entities of tagged sequences: sequence, first token, token behind the last, type."""
    for n, labels in enumerate(sequences):
        before, ended, begun = "", False, 0  # the type of the token before, "" of O
        for i, label in enumerate([*labels, "O"]):
            letter, _, kind = str(label).partition("-")
            kind = "" if letter not in tuple("BIESMLUW") else kind or "_"
            begins = kind != "" and (letter in _BEGINS or ended or kind != before)
            if before and (begins or not kind or ended):
                yield n, begun, i, before
            if begins:
                begun = i
            before, ended = kind, letter in _ENDS


def _fields(token: Any, names: dict[str, str]) -> Iterator[str]:
    """Give the attributes of a token as fields, each with a tab before it."""
    if is_mapping(token):
        for key, value in token.items():
            yield from _attributes(str(key), value, names)
    elif is_array(token) and token.ndim == 1 and token.dtype.kind in "fiub":
        values: list[float] = token.tolist()
        yield from _fields(dict(enumerate(values)), names)
    elif is_list(token) or _is_set(token):
        yield from _texts("", "", token, names)
    else:
        given, key = (repr(str(token)), repr(str(token))) if isinstance(token, str) else (type(token).__name__, '"the"')
        raise ValueError(f" is {given}, want the attributes of a token: a dict such as {{\"word\": {key}}}, a list of texts, or an array of numbers; one sequence is [X], [y]")


def _attributes(key: str, value: Any, names: dict[str, str]) -> Iterator[str]:
    if isinstance(value, str):
        yield _name(f"{key}:{value}", names)
    elif is_number(value):
        x = float(value)
        if not math.isfinite(x):
            raise ValueError(f"[{key!r}] is {x}, want a finite number; leave the key out where it is not known")
        yield _name(key, names) if x == 1 else f"{_name(key, names)}:{x!r}"
    elif is_mapping(value):
        for inner, v in value.items():
            yield from _attributes(f"{key}:{inner}", v, names)
    elif is_list(value) or _is_set(value):
        yield from _texts(f"[{key!r}]", f"{key}:", value, names)
    else:
        raise ValueError(f"[{key!r}] is {type(value).__name__}, want a text, a number, a truth value, or texts; leave the key out where it is not known")


def _is_set(value: Any) -> TypeGuard[Set[Any]]:
    return isinstance(value, Set)


def _texts(place: str, before: str, texts: Collection[Any], names: dict[str, str]) -> Iterator[str]:
    for text in texts if is_list(texts) else sorted(texts, key=str):
        if not isinstance(text, str):
            array = "" if place or not is_number(text) else "; a sequence of numbers is an array, numpy.array(...)"
            raise ValueError(f"{place} holds {text!r}, want texts{array}")
        yield _name(before + text, names)


def _name(name: str, names: dict[str, str]) -> str:
    """Return the field of an attribute that is 1."""
    if (field := names.get(name)) is None:
        field = names[name] = "\t" + name.translate(_CONTROLS)
    return field
