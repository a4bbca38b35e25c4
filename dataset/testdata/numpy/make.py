"""Writes the files of this folder: what numpy.savez and savez_compressed make of
other integer types, Fortran order, big-endian data and truth values."""
import numpy as np

rng = np.random.default_rng(0)
edges = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
for i in [10, 2]:
    np.savez_compressed(
        f"{i}.npz",
        edges=edges.astype(np.uint16),
        node_features=np.asfortranarray(rng.normal(size=(4, 2)).astype(np.float32)),
        edge_bins=np.array([0, 1, 2, 1], np.int8),
        labels=np.array([[0, 1, 1, -1], [1, 1, 2, 0]]),
        grid_shape=(2, 2),
    )
np.savez(
    "3.npz",
    edges=edges.astype(">i8"),
    node_features=np.ones((4, 2)),
    edge_bins=[True, False, True, False],
    labels=[0, 1, 1, 2],
)
