"""Tagging: the part of speech of every word, with sklearn-crfsuite's shapes of data."""

import numpy as np

from blockbp import ChainCRF

WORDS = {
    "DET": "the a this every some".split(),
    "ADJ": "old red light fast open cold".split(),
    "NOUN": "dog light fish open walk house cook run water".split(),
    "VERB": "runs fish walk cook light sees water run".split(),
    "ADV": "fast often here well".split(),
}
NEXT = {
    "DET": {"ADJ": 0.4, "NOUN": 0.6},
    "ADJ": {"ADJ": 0.2, "NOUN": 0.8},
    "NOUN": {"VERB": 0.7, "ADV": 0.1, "END": 0.2},
    "VERB": {"DET": 0.5, "ADV": 0.3, "END": 0.2},
    "ADV": {"VERB": 0.3, "END": 0.7},
}


def sentence(rng):
    """Return words of a small grammar, and their parts of speech."""
    tags = ["DET"]
    while (tag := rng.choice(list(NEXT[tags[-1]]), p=list(NEXT[tags[-1]].values()))) != "END" and len(tags) < 15:
        tags.append(str(tag))
    return [str(rng.choice(WORDS[tag])) for tag in tags], tags


def features(words, i):
    """Return the features of a word as a dict."""
    return {
        "word": words[i],
        "ends": words[i][-1:],
        "place": {"first": i == 0, "last": i == len(words) - 1},
    }


rng = np.random.default_rng(0)
texts, y = zip(*(sentence(rng) for _ in range(300)))
X = [[features(words, i) for i in range(len(words))] for words in texts]
train, test = slice(0, 200), slice(200, 300)

alone = ChainCRF(options={"no_edges": True}).fit(X[train], y[train])
crf = ChainCRF().fit(X[train], y[train])
print(f"each word alone    {alone.score(X[test], y[test]):.3f} of the words")
print(f"with transitions   {crf.score(X[test], y[test]):.3f}")

print("\nlargest weights of transitions")
for (a, b), weight in sorted(crf.transition_features_.items(), key=lambda item: -item[1])[:4]:
    print(f"  {a:5} -> {b:5} {weight:6.2f}")
print("largest weights of attributes")
for (attribute, tag), weight in sorted(crf.state_features_.items(), key=lambda item: -item[1])[:4]:
    print(f"  {attribute:12} {tag:5} {weight:6.2f}")

words = "the old cook fish".split()
X_new = [[features(words, i) for i in range(len(words))]]
print("\n" + " ".join(f"{word}/{tag}" for word, tag in zip(words, crf.predict_joint(X_new)[0])))
for word, marginals in zip(words, crf.predict_marginals(X_new)[0]):
    print(f"  {word:5}", ", ".join(f"{tag} {p:.2f}" for tag, p in marginals.items() if p > 0.05))
