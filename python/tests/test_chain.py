"""ChainCRF."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockbp import BlockbpWarning, ChainCRF, Graph, GraphCRF
from blockbp._chain import _entities
from blockbp._model import Model

WORDS = {"DET": ["the", "a", "this"], "ADJ": ["old", "red", "a:b\\c"], "NOUN": ["dog", "cat\tfish", "house", "run"], "VERB": ["runs", "sees", "run"]}
NEXT = {"DET": ["ADJ", "NOUN"], "ADJ": ["NOUN", "ADJ"], "NOUN": ["VERB", "DET"], "VERB": ["DET", "NOUN"]}


def sentences(count: int = 30, seed: int = 0) -> tuple[list[list[dict[str, Any]]], list[list[str]]]:
    """Return sentences of a small grammar, as feature dicts and labels."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(count):
        tag, tags = "DET", ["DET"]
        for _ in range(rng.integers(0, 7)):
            tags.append(tag := str(rng.choice(NEXT[tag])))
        words = [str(rng.choice(WORDS[t])) for t in tags]
        X.append([{"word": w, "first": i == 0, "length": len(w) / 8, "ends": [w[-1:], w[-2:]], "next": {"word": (words + ["."])[i + 1]}} for i, w in enumerate(words)])
        y.append(tags)
    return X, y


def crfsuite(X: list[list[dict[str, Any]]], y: list[list[str | None]]) -> str:
    """Return the text that crfsuite reads, written by hand."""

    def name(text: str) -> str:
        return text.replace("\t", "␉").replace("\\", "\\\\").replace(":", "\\:")

    lines = []
    for tokens, labels in zip(X, y):
        for token, label in zip(tokens, labels):
            ends = "\t".join(name("ends:" + e) for e in token["ends"])
            first = "first" if token["first"] else "first:0"
            lines.append("\t".join([label or "?", name("word:" + token["word"]), first, f"length:{token['length']!r}", ends, name("next:word:" + token["next"]["word"])]))
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("bias", [True, False])
def test_equal_to_the_command(tmp_path: Path, command: Any, bias: bool) -> None:
    """Weights, labels and probabilities are those of the command, to the last bit."""
    X, y = sentences()
    hidden: list[list[str | None]] = [[None if (n + i) % 5 == 0 else t for i, t in enumerate(tags)] for n, tags in enumerate(y)]
    crf = ChainCRF(bias=bias, prior=2).fit(X, hidden)
    (tmp_path / "data.crfsuite").write_text(crfsuite(X, hidden))
    command("train", "data.crfsuite", *["--no-bias"] * (not bias), "--prior", "2", "-o", "run", "-q", "--report=false")
    trained = Model((tmp_path / "run/model.safetensors").read_bytes())
    assert trained.coefficients().keys() == crf.coef_.keys() == {"node.token", "edge.next"}
    for name, weights in trained.coefficients().items():
        assert np.array_equal(weights, crf.coef_[name]), name
    assert trained.features("node") == crf.attributes_ and list(crf.classes_) == trained.states() == ["ADJ", "DET", "NOUN", "VERB"]
    assert crf.n_features_in_ == len(crf.attributes_) - bias
    for known, labels, joint, arguments in [
        (None, crf.predict(X), False, []),
        (None, crf.predict_joint(X), True, ["--decode=map"]),
        (hidden, crf.predict(X, hidden), False, ["--clamp"]),
    ]:
        folder = tmp_path / f"{joint}{len(arguments)}{known is None}"
        command("predict", "data.crfsuite", "-m", "run", "-o", str(folder), "-q", "--arrays", *arguments)
        flat = np.load(folder / "labels.npy")
        assert [c for s in labels for c in s] == list(crf.classes_[flat])
        if not joint:
            assert np.array_equal(np.concatenate(crf.predict_proba(X, known)), np.load(folder / "beliefs.npy"))
    assert all(a == b for s, t in zip(crf.predict(X, hidden), hidden) for a, b in zip(s, t) if b is not None)


def test_the_likelihood_is_learned_from() -> None:
    """At the weights the gradient of the penalised likelihood, by sums over all labellings, is zero."""
    import itertools

    X, y = sentences(12)
    texts = [[["word:" + t["word"], *(["first"] if t["first"] else [])] for t in s] for s in X]
    crf = ChainCRF(prior=0.7, options={"rtol": 1e-9}).fit(texts, y)
    node, edge = crf.coef_["node.token"], crf.coef_["edge.next"][:, :, 0]
    gradients = [node / 0.7**2, edge / 0.7**2]
    for sentence, tags in zip(texts, y):
        n = len(tags)
        x = np.array([[a.replace("␉", "\t") in [*token, "bias"] for a in crf.attributes_] for token in sentence], float)
        paths = np.array(list(itertools.product(range(4), repeat=n)))
        score = (x @ node.T)[np.arange(n), paths].sum(1) + edge[paths[:, :-1], paths[:, 1:]].sum(1)
        p = np.exp(score - score.max())
        for sign, weights, some in [(1, p / p.sum(), paths), (-1, np.ones(1), np.searchsorted(crf.classes_, tags)[None])]:
            for i in range(n):
                gradients[0] += sign * np.outer(np.bincount(some[:, i], weights, 4), x[i])
            for i in range(n - 1):
                gradients[1] += sign * np.bincount(4 * some[:, i] + some[:, i + 1], weights, 16).reshape(4, 4)
    assert max(np.abs(g).max() for g in gradients) < 1e-5


def test_shapes_and_names() -> None:
    """Results have sklearn-crfsuite's shapes, and weights have names."""
    X, y = sentences()
    crf = ChainCRF().fit(X[:20], y[:20])
    predicted = crf.predict(X[20:])
    assert isinstance(predicted[0], list) and isinstance(predicted[0][0], str)
    assert [len(s) for s in predicted] == [len(s) for s in y[20:]]
    assert crf.score(X[20:], y[20:]) == np.mean(np.array(sum(predicted, [])) == sum(y[20:], [])) > 0.9
    marginals, proba = crf.predict_marginals(X[20:]), crf.predict_proba(X[20:])
    assert marginals[3][0] == dict(zip(["ADJ", "DET", "NOUN", "VERB"], proba[3][0]))
    state, transition = crf.state_features_, crf.transition_features_
    assert state["word:the", "DET"] == crf.coef_["node.token"][1, crf.attributes_.index("word:the")] > 0.3
    assert ("word:cat␉fish", "NOUN") in state and ("bias", "DET") in state
    assert transition["DET", "NOUN"] == crf.coef_["edge.next"][1, 2, 0] > transition["DET", "VERB"]


def test_columns_of_tables() -> None:
    """Sentences that pandas has grouped are those of lists."""
    pandas = pytest.importorskip("pandas")
    X, y = sentences()
    rows = [(n, token, tag) for n, (tokens, tags) in enumerate(zip(X, y)) for token, tag in zip(tokens, tags)]
    table = pandas.DataFrame(rows, columns=["sentence", "token", "tag"]).groupby("sentence")
    grouped = ChainCRF().fit(table["token"].agg(list), table["tag"].agg(list))
    assert grouped.predict(table["token"].agg(list)) == ChainCRF().fit(X, y).predict(X)
    assert grouped.score([group for _, group in table["token"]], [group for _, group in table["tag"]]) == grouped.score(X, y)
    frames = [group[["token", "length"]] for _, group in table.obj.assign(token="x", length=table.obj.tag.str.len()).groupby("sentence")]
    lists = [[{"token": "x", "length": len(t)} for t in tags] for tags in y]
    assert np.array_equal(ChainCRF().fit(frames, y).coef_["node.token"], ChainCRF().fit(lists, y).coef_["node.token"])
    with pytest.raises(ValueError, match=r"^X is DataFrame, want a list; a single one is \[X\]$"):
        ChainCRF().fit(frames[0], y[0])


def test_nothing_known() -> None:
    """A long sequence is no mistake, and attributes that are all new are told of as those of X."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crf = ChainCRF().fit([[{"w": "a"}, {"w": "b"}] * 200], [["A", "B"] * 200])
    with pytest.warns(BlockbpWarning, match="^X: the model knows none of the attributes"):
        crf.predict([[{"v": "a"}, {"v": "b"}]])


def test_texts_of_lists_are_attributes() -> None:
    """Lists of texts, and dicts of them, say the same."""
    X, y = sentences()
    dicts = ChainCRF().fit([[{"word": t["word"], "x": True} for t in s] for s in X], y)
    lists = ChainCRF().fit([[["word:" + t["word"], "x"] for t in s] for s in X], y)
    sets = ChainCRF().fit([[{"word": {t["word"]}, "x": 1.0} for t in s] for s in X], y)
    for crf in (lists, sets):
        assert crf.attributes_ == dicts.attributes_
        assert all(np.array_equal(a, b) for a, b in zip(crf.coef_.values(), dicts.coef_.values()))
    # Attributes that fit has not seen mean nothing.
    assert np.array_equal(dicts.predict_proba([[{"word": "dog", "new": 3, "z": "zz"}]])[0], dicts.predict_proba([[{"word": "dog"}]])[0])


def test_labels_of_any_type() -> None:
    """Classes keep their type; NaN and None hide alike."""
    X, y = sentences()
    number = {"ADJ": -2, "DET": 0, "NOUN": 5, "VERB": 7}
    crf, plain = ChainCRF().fit(X, [[number[t] for t in s] for s in y]), ChainCRF().fit(X, y)
    assert crf.classes_.tolist() == [-2, 0, 5, 7] and crf.predict(X) == [[number[t] for t in s] for s in plain.predict(X)]
    half = ChainCRF().fit(X, [[number[t] / 2 for t in s] for s in y])  # -1.0, 0.0, 2.5, 3.5
    assert half.classes_.tolist() == [-1, 0, 2.5, 3.5] and half.predict(X) == [[number[t] / 2 for t in s] for s in plain.predict(X)]
    hide = [[None if i == 1 else t for i, t in enumerate(s)] for s in y]
    nan = [[float("nan") if i == 1 else t for i, t in enumerate(s)] for s in y]
    other = [["-" if i == 1 else t for i, t in enumerate(s)] for s in y]
    want = ChainCRF().fit(X, hide).coef_["node.token"]
    masked = [np.ma.array(s, mask=np.arange(len(s)) == 1) for s in y]
    assert all(np.array_equal(ChainCRF().fit(X, some).coef_["node.token"], want) for some in (nan, masked))
    assert np.array_equal(ChainCRF(unlabelled="-").fit(X, other).coef_["node.token"], want)


def test_an_attribute_called_bias() -> None:
    """It takes the place of the package's own, as sklearn-crfsuite's users have one."""
    X, y = sentences()
    own = [[{**t, "bias": 1.0} for t in s] for s in X]
    crf, want = ChainCRF().fit(own, y), ChainCRF().fit(X, y)
    assert crf.attributes_.count("bias") == 1 and len(crf.state_features_) == len(want.state_features_) == crf.coef_["node.token"].size
    for key, weight in want.state_features_.items():
        assert abs(crf.state_features_[key] - weight) < 1e-2
    assert crf.predict(own) == want.predict(X)


def test_save_load(tmp_path: Path, command: Any) -> None:
    """Models go through files, pickle and the command."""
    X, y = sentences()
    for bias in (True, False):
        crf = ChainCRF(bias=bias).fit(X, y)
        crf.save(tmp_path / "m.safetensors")
        loaded = ChainCRF.load(tmp_path / "m.safetensors")
        assert loaded.bias == bias and loaded.attributes_ == crf.attributes_
        for same in (loaded, pickle.loads(pickle.dumps(crf))):
            assert same.predict_joint(X) == crf.predict_joint(X)
            assert all(np.array_equal(a, b) for a, b in zip(same.predict_proba(X), crf.predict_proba(X)))
    assert json.loads(command("info", "m.safetensors", "--json"))
    rings = GraphCRF().fit([(np.eye(2), np.array([[0, 1]]))], [[0, 1]])
    rings.save(tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match="is the model of GraphCRF: load it by GraphCRF.load"):
        ChainCRF.load(tmp_path / "other.safetensors")


def test_mistakes() -> None:
    """Errors name the sequence and the token."""
    X, y = sentences(4)
    while len(y[1]) < 3:
        X, y = X[1:], y[1:]

    def wants(message: str, X: Any = X, y: Any = y) -> None:
        with pytest.raises(ValueError, match=message):
            ChainCRF().fit(X, y)

    def token(value: Any) -> list[list[Any]]:
        return [s if n != 1 else [t if i != 2 else value for i, t in enumerate(s)] for n, s in enumerate(X)]

    wants(r"^X\[1\] is empty", [X[0], [], *X[2:]], [y[0], [], *y[2:]])
    wants("^X is empty", [], [])
    wants("^X is str, want a list$", "the dog")
    wants(r"^y\[0\] is int, want a list, an entry for each of X\[0\]$", X, list(range(len(X))))
    vectors = [np.ones((len(labels), 2 + (n == 1))) for n, labels in enumerate(y)]
    wants(r"^X\[1\] has 3 columns, want 2 as X\[0\]$", vectors)
    fitted = ChainCRF().fit([np.eye(4)[: len(labels)] for labels in y if len(labels) < 5], [labels for labels in y if len(labels) < 5])
    with pytest.raises(ValueError, match=r"^X\[0\] has 3 columns, want 4 as in fit$"):
        fitted.predict([np.ones((2, 3))])
    wants(r"^X\[1\]\[2\] is int, want the attributes", token(3))
    wants(r"^X\[1\]\[2\] is 'word', want the attributes of a token: a dict such as \{\"word\": 'word'\}", token("word"))
    wants(r"^X\[1\]\[2\] holds 3, want texts; a sequence of numbers is an array, numpy.array", token([3]))
    wants(r"^X\[1\]\[2\]\['a'\] is nan, want a finite number; leave the key out", token({"a": float("nan")}))
    wants(r"^X\[1\]\[2\]\['a:b'\] is NoneType, want a text.*; leave the key out", token({"a": {"b": None}}))
    wants(r"^X\[0\] is csr_array, want a list; give X\[0\].toarray\(\)$", [pytest.importorskip("scipy.sparse").csr_array(vectors[0])], y[:1])
    wants(r"^X\[0\] is dict, want a list; one sequence is \[X\], \[y\]$", X[0], y[0])
    wants(r"^X\[1\]\[2\]: .*1e\+?150", token({"a": 1e200}))
    wants(r"^y\[1\] has the shape", X, [y[0], y[1][:-1], *y[2:]])
    wants(r"^X has \d and y \d entries", X, y[:-1])
    wants(r"^y\[0\] is str, want a list", X, ["DET"] * len(X))
    wants(r"^y has 1 known class", X, [["a"] * len(s) for s in X])
    wants(r"^y has 0 known classes", X, [[None] * len(s) for s in X])
    with pytest.warns(BlockbpWarning, match=r"^'\?' in y is a class of its own"):
        wants(r"^y has the class '\?', which tagged text cannot hold", X, [["?", *s[1:]] for s in y])
    wants(r"^y\[0\]\[1\] is 3, and y\[0\]\[0\] is '.*': labels of different types have no order", X, [[y[0][0], 3, *y[0][2:]], *y[1:]])
    crf = ChainCRF().fit(X, y)
    with pytest.raises(ValueError, match=r"^y\[1\]\[2\] is 'X', which is no class: classes are ADJ"):
        crf.predict(X, [s if n != 1 else [*s[:2], "X", *s[3:]] for n, s in enumerate(y)])
    with pytest.raises(ValueError, match=r"^X\[0\] is empty"):
        crf.predict([[]])
    with pytest.raises(ValueError, match="not fitted"):
        ChainCRF().predict_marginals(X)


def test_minus_one_is_questioned() -> None:
    X = [[{"w": w} for w in "abba"], [["w:b"], ["w:a"]]] * 3
    y = [[0, 1, 1, -1], [1, 0]] * 3
    with pytest.warns(BlockbpWarning, match="unlabelled=-1"):
        assert ChainCRF().fit(X, y).classes_.tolist() == [-1, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", BlockbpWarning)
        assert ChainCRF(unlabelled=-1).fit(X, y).classes_.tolist() == [0, 1]
        told = ChainCRF(unlabelled=None).fit(X, y)
        assert told.classes_.tolist() == [-1, 0, 1] and repr(told) == "ChainCRF(unlabelled=None)"
        assert told.predict(X[:1], y[:1]) == y[:1] and told.score(X, y) >= told.score(X, [[0] * len(s) for s in y])


def test_classes_that_are_elsewhere_no_label() -> None:
    """What NumPy makes of NaN beside texts, and 255, are questioned where nobody has said what hides, and hide where it is said."""
    X, y = [[{"w": w} for w in "abba"]] * 2, [np.array(["u", np.nan, "v", "v"])] * 2
    with pytest.warns(BlockbpWarning, match="^'nan' in y is a class of its own; unlabelled='nan' hides those labels$"):
        assert ChainCRF().fit(X, y).classes_.tolist() == ["nan", "u", "v"]
    for said, hides, want in [("nan", y, ["u", "v"]), (b"?", [[b"a", b"b", b"?", b"?"]] * 2, [b"a", b"b"]), ([-1, 255], [[0, 1, -1, 255]] * 2, [0, 1]), ((-1, 255), [[0, 1, -1, 255]] * 2, [0, 1])]:
        assert ChainCRF(unlabelled=said).fit(X, hides).classes_.tolist() == want
    graph = Graph(np.eye(4), [(0, 1), (1, 2), (2, 3)])
    for label in (255, -100, "None"):
        with pytest.warns(BlockbpWarning, match=f"^{label!r} in y is a class of its own; unlabelled={label!r} hides"):
            GraphCRF().fit(graph, ["a", "b", label, label] if label == "None" else [0, 1, label, label])
    with pytest.raises(ValueError, match="^y has the class '', and a class needs a name: give it one, or hide it by unlabelled=''$"):
        GraphCRF().fit(graph, ["a", "b", "", "a"])


def test_measured_values_are_no_classes() -> None:
    """Targets of a regression are refused, before each is a class."""
    with pytest.raises(ValueError, match="labels are 40 numbers with fractions: want classes"):
        ChainCRF().fit([np.ones((40, 1))], [np.arange(40) / 7])


def test_labels_of_two_signs() -> None:
    """-1 and 1, as of scikit-learn's binary classifiers, are two classes, of any estimator that is told so."""
    X, y = sentences()
    signs = [[1 if t in ("NOUN", "ADJ") else -1 for t in tags] for tags in y]
    names = [["b" if s > 0 else "a" for s in tags] for tags in signs]
    crf, want = ChainCRF().fit(X, signs), ChainCRF().fit(X, names)
    assert crf.classes_.tolist() == [-1, 1] and np.array_equal(crf.coef_["node.token"], want.coef_["node.token"])
    assert crf.predict(X) == [[1 if s == "b" else -1 for s in tags] for tags in want.predict(X)]
    assert crf.predict(X[:3], signs[:3]) == signs[:3]
    flat = np.array([[3.0 * s] for s in (1, -1, 1, 1, -1, -1)])
    graph, labels = Graph(flat, [(i, i + 1) for i in range(5)]), np.array([1, -1, 1, 1, -1, -1])
    with pytest.raises(ValueError, match="unlabelled=None"):
        GraphCRF().fit([graph], [labels])
    assert GraphCRF(unlabelled=None).fit([graph], [labels]).predict([graph])[0].tolist() == labels.tolist()


def test_a_class_called_auto() -> None:
    """The default hides no label of that name."""
    X, y = sentences()
    named = [["auto" if t == "DET" else t for t in tags] for tags in y]
    assert "auto" in ChainCRF().fit(X, named).classes_.tolist()


def test_min_freq_and_single_sequences() -> None:
    """What sklearn-crfsuite's users know."""
    X, y = sentences()
    with pytest.warns(BlockbpWarning, match="of 46 attributes of tokens the 43 that occur 3 times or more"):
        crf = ChainCRF(min_freq=3).fit(X, y)
    assert len(crf.attributes_) == 43 + 1
    assert crf.predict_single(X[3]) == crf.predict(X[3:4])[0]


def test_arrays_are_sequences() -> None:
    """Columns of arrays are attributes, and learn what GraphCRF learns on the same chains."""
    rng = np.random.default_rng(0)
    y = [np.cumsum(rng.random(n) < 0.3) % 3 for n in rng.integers(1, 9, 20)]
    X = [np.eye(3, dtype=np.float32)[t] + rng.normal(0, 0.7, (len(t), 3)).astype(np.float32) for t in y]
    crf = ChainCRF().fit(X, y)
    assert crf.attributes_ == ["0", "1", "2", "bias"] and crf.n_features_in_ == 3
    graphs = [Graph(x, np.stack([np.arange(len(x) - 1), np.arange(1, len(x))], 1)) for x in X]
    other = GraphCRF(directed=True).fit(graphs, y)
    for got, want in zip(crf.predict_proba(X), other.predict_proba(graphs)):
        np.testing.assert_allclose(got, want, atol=2e-3)
    with pytest.raises(ValueError, match=r"^X\[0\]\[1\]\['2'\] is nan, want a finite number"):
        crf.predict([np.array([[0, 0, 0], [0, 0, np.nan]])])


# Tags, and the entities that seqeval 1.2.2 finds: type, first and last token.
ENTITIES = {
    "O B-X I-X O": [("X", 1, 2)],
    "I-X I-X B-X I-Y": [("X", 0, 1), ("X", 2, 2), ("Y", 3, 3)],
    "B-X E-X E-X S-Y S-Y I-Y": [("X", 0, 1), ("X", 2, 2), ("Y", 3, 3), ("Y", 4, 4), ("Y", 5, 5)],
    "B I O I": [("_", 0, 1), ("_", 3, 3)],
    "O O": [],
    "B-X-1 I-X-1 I-X-2": [("X-1", 0, 1), ("X-2", 2, 2)],
}


def test_entities() -> None:
    """F1 is that of whole entities, by seqeval's rules."""
    for tags, want in ENTITIES.items():
        assert [(kind, begin, end - 1) for _, begin, end, kind in _entities([tags.split()])] == want, tags
    words = "Ann Lee met Bob in New York".split()
    tags = ["B-PER", "I-PER", "O", "B-PER", "O", "B-LOC", "I-LOC"]
    X = [[[w] for w in words]] * 3
    crf = ChainCRF().fit(X, [tags] * 3)
    assert crf.predict(X)[0] == tags and crf.score(X, [tags] * 3, metric="entity_f1") == 1
    other = ["B-PER", "O", "O", "B-PER", "O", "B-LOC", "I-LOC"]
    assert abs(crf.score(X[:1], [other], metric="entity_f1") - 2 * 2 / (3 + 3)) < 1e-12
    assert crf.score(X[:1], [["B-PER", "I-PER", "O", None, "O", "B-LOC", "I-LOC"]], metric="entity_f1") == 1
    with pytest.warns(BlockbpWarning, match="'B-ORG'"):
        assert abs(crf.score(X[:1], [[*tags[:5], "B-ORG", "I-LOC"]], metric="entity_f1") - 2 * 2 / (3 + 4)) < 1e-12
    with pytest.raises(ValueError, match="metric='f1': want"):
        crf.score(X, [tags] * 3, metric="f1")
    with pytest.raises(ValueError, match="y has no entities"):
        ChainCRF().fit(X[:1], [list("abaabab")]).score(X[:1], [list("abaabab")], metric="entity_f1")
