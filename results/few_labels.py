"""Baselines and graphs of 2026-11-few-labels.md; needs numpy, scipy and scikit-learn.

    python few_labels.py baselines PREFIX      of PREFIX.nodes.tsv and PREFIX.edges.tsv
    python few_labels.py make NAME SEED DIR    nodes.csv and edges.csv of a stochastic block model
"""
import sys
import numpy as np
import scipy.sparse as sp
from pathlib import Path
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss


def read(prefix):
    labels, splits, known, entries = [], [], [], ([], [], [])
    for line in open(prefix + ".nodes.tsv"):
        if line.startswith("#"):
            continue
        _, label, split, features = (line.rstrip("\n").split("\t") + [""])[:4]
        for word in features.split() if features != "?" else []:
            column, _, value = word.partition(":")
            for of, x in zip(entries, (len(labels), int(column), float(value or 1))):
                of.append(x)
        labels.append(int(label)), splits.append(split), known.append(features != "?")
    n = len(labels)
    X = sp.csr_matrix((entries[2], (entries[0], entries[1])), shape=(n, max(entries[1]) + 1))
    u, v = np.loadtxt(prefix + ".edges.tsv", dtype=int, comments="#", usecols=(0, 1)).T
    A = sp.csr_matrix((np.ones(len(u)), (u, v)), shape=(n, n))
    A = ((A + A.T) > 0).astype(float)
    A.setdiag(0)
    A.eliminate_zeros()
    return X, A, np.array(labels), np.array(splits), np.array(known, float)


def means(X, A, known, hops):
    S = A + sp.eye(A.shape[0])
    S = sp.diags(1 / np.asarray(S.sum(1)).ravel()) @ S
    Y, reached = X, known
    for _ in range(hops):
        Y, reached = S @ Y, S @ reached
    return sp.csr_matrix(sp.diags(1 / np.where(reached > 0, reached, 1)) @ Y)


def baselines(prefix):
    X, A, y, split, known = read(prefix)
    train, test, states = split == "train", split == "test", np.arange(y.max() + 1)
    for hops in range(4):
        F = means(X, A, known, hops)
        model = LogisticRegression(C=1, max_iter=10000).fit(F[train], y[train])
        p = model.predict_proba(F[test])
        print(f"logistic regression, {hops} hops: {np.mean(p.argmax(1) == y[test]):.3f} {log_loss(y[test], p, labels=states):.3f}")
    S = sp.diags(1 / np.maximum(1, np.asarray(A.sum(1)).ravel())) @ A
    B = np.full((len(y), len(states)), 1 / len(states))
    for _ in range(10):  # the limit gives all of PubMed to one class
        B[train] = np.eye(len(states))[y[train]]
        B = S @ B
    B[np.asarray(A.sum(1)).ravel() == 0] = 1 / len(states)
    p = (B + 1e-12) / (B + 1e-12).sum(1, keepdims=True)
    print(f"label propagation: {np.mean(p[test].argmax(1) == y[test]):.3f} {log_loss(y[test], p[test], labels=states):.3f}")


GRAPHS = {  # states, chance of each pair of states to be joined beside others, noise, known labels, share of states
    "homophilous": (4, lambda a, b: .8 if a == b else .2 / 3, 1.5, 60, None),
    "homophilous-20": (4, lambda a, b: .8 if a == b else .2 / 3, 1, 20, None),
    "homophilous-400": (4, lambda a, b: .8 if a == b else .2 / 3, 1.5, 400, None),
    "heterophilous": (3, lambda a, b: .05 if a == b else .475, 1.5, 60, None),
    "cyclic": (5, lambda a, b: .45 if (a - b) % 5 in (1, 4) else .1 / 3, 1, 60, None),
    "independent": (4, lambda a, b: 1, 1.5, 60, None),
    "unbalanced": (4, lambda a, b: .8 if a == b else .2 / 3, 1.5, 80, [.6, .25, .1, .05]),
}


def make(name, seed, folder):
    states, chance, noise, known, share = GRAPHS[name]
    r, n, degree, features = np.random.default_rng(int(seed)), 1000, 5, 20
    y = r.choice(states, n, p=share)
    C = np.array([[chance(a, b) for b in range(states)] for a in range(states)])
    edges = set()
    while len(edges) < n * degree // 2:
        a, b = r.integers(0, n, 2)
        if a < b and r.random() < C[y[a], y[b]] / C.max():
            edges.add((a, b))
    centre = r.normal(size=(states, features))
    centre *= 2 / np.linalg.norm(centre, axis=1, keepdims=True)
    X = centre[y] + noise * r.normal(size=(n, features))
    train = set(r.permutation(n)[:known])
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "nodes.csv", "w") as f:
        print("id,label,split", *(f"x{j}" for j in range(features)), sep=",", file=f)
        for i in range(n):
            print(f"n{i},c{y[i]},{'train' if i in train else 'test'}", *(f"{x:.5f}" for x in X[i]), sep=",", file=f)
    with open(out / "edges.csv", "w") as f:
        print("source,target", *(f"n{a},n{b}" for a, b in sorted(edges)), sep="\n", file=f)


{"baselines": baselines, "make": make}[sys.argv[1]](*sys.argv[2:])
