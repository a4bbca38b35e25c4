"""Segmentation: a random forest labels each pixel, and a CRF looks at its neighbours.

The forest's probabilities of training pixels come from cross_val_predict, by a forest that
has not seen their picture: a forest is nearly always right on what it learned from, and the
CRF would trust it too much. Writes segmentation.png.
"""

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GroupKFold, cross_val_predict

from blockbp import GridCRF

CLASSES, SIZE, PICTURES, TRAINING = 4, 40, 12, 9


def picture(rng):
    """Return a noisy picture [rows, columns, 3] of patches of colour, and its labels."""
    smooth = gaussian_filter(rng.normal(0, 1, (CLASSES, SIZE, SIZE)), (0, 6, 6))
    labels = smooth.argmax(0)
    colours = np.array([[0.6, 0.3, 0.3], [0.3, 0.6, 0.3], [0.3, 0.3, 0.6], [0.5, 0.5, 0.4]])
    return np.clip(colours[labels] + rng.normal(0, 0.3, (SIZE, SIZE, 3)), 0, 1), labels


def features(image):
    """Return colours at three scales, [rows, columns, 9]."""
    return np.concatenate([gaussian_filter(image, (s, s, 0)) if s else image for s in (0, 0.7, 1.4)], 2)


rng = np.random.default_rng(0)
images, labels = map(np.array, zip(*(picture(rng) for _ in range(PICTURES))))
X = np.array([features(image) for image in images])

# Log probabilities of the classes at each pixel are the features of the CRF.
flat, flat_labels = X.reshape(-1, X.shape[-1]), labels.reshape(-1)
training = TRAINING * SIZE * SIZE
groups = np.repeat(np.arange(TRAINING), SIZE * SIZE)
forest = RandomForestClassifier(20, min_samples_leaf=10, random_state=0, n_jobs=2)
unseen = cross_val_predict(forest, flat[:training], flat_labels[:training], groups=groups, cv=GroupKFold(3), method="predict_proba")
new = forest.fit(flat[:training], flat_labels[:training]).predict_proba(flat[training:])
unary = np.log(np.concatenate([unseen, new]) + 1e-3).reshape(PICTURES, SIZE, SIZE, CLASSES)

crf = GridCRF(neighbours=8).fit(unary[:TRAINING], labels[:TRAINING])
predicted = crf.predict(unary[TRAINING:])
alone = new.argmax(1).reshape(predicted.shape)
print(f"random forest      {(alone == labels[TRAINING:]).mean():.3f} of the pixels of new pictures")
print(f"forest and CRF     {crf.score(unary[TRAINING:], labels[TRAINING:]):.3f}")

import matplotlib.pyplot as plt  # noqa: E402

figure, axes = plt.subplots(2, 4, figsize=(8, 4), layout="constrained")
for row, n in zip(axes, (0, 1)):
    columns = {"picture": images[TRAINING + n], "truth": labels[TRAINING + n], "forest": alone[n], "forest and CRF": predicted[n]}
    for axis, (title, shown) in zip(row, columns.items()):
        axis.imshow(shown, vmin=0, vmax=CLASSES - 1, interpolation="nearest")
        axis.set(title=title if n == 0 else "", xticks=[], yticks=[])
figure.savefig("segmentation.png", dpi=100)
