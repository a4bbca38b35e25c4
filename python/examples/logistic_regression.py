"""Logistic regression is a CRF without edges: scikit-learn's has the same weights.

Then the edges are let in.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

from blockbp import GridCRF

rng = np.random.default_rng(0)
PICTURES, SIZE, CLASSES, PRIOR = 8, 24, 3, 0.5
y = np.add.outer(np.arange(SIZE), np.arange(SIZE))[None] // rng.integers(5, 9, (PICTURES, 1, 1)) % CLASSES
X = np.eye(CLASSES)[y] + rng.normal(0, 1, (PICTURES, SIZE, SIZE, CLASSES))
train, test = slice(0, 6), slice(6, 8)

# The normal prior of deviation s is the penalty |w|^2 / (2 s^2), so C = s^2. It is of all
# weights, as they are: no intercept, whose weight scikit-learn leaves free, and no scales.
options = {"no_edges": True, "standardise": False, "rtol": 1e-8}
alone = GridCRF(bias=False, prior=PRIOR, options=options).fit(X[train], y[train])
logistic = LogisticRegression(C=PRIOR**2, fit_intercept=False, tol=1e-8).fit(X[train].reshape(-1, CLASSES), y[train].ravel())

difference = np.abs(alone.coef_["node"] - logistic.coef_).max()
print(f"weights differ by at most {difference:.1e}")
probabilities = logistic.predict_proba(X[test].reshape(-1, CLASSES)).reshape(2, SIZE, SIZE, CLASSES)
print(f"probabilities differ by at most {np.abs(alone.predict_proba(X[test]) - probabilities).max():.1e}")

crf = GridCRF(bias=False, prior=PRIOR).fit(X[train], y[train])
print(f"logistic regression    {(probabilities.argmax(3) == y[test]).mean():.3f} of the pixels of new pictures")
print(f"CRF without edges      {alone.score(X[test], y[test]):.3f}")
print(f"CRF                    {crf.score(X[test], y[test]):.3f}")
