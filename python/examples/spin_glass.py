"""Spin glass: random couplings on a lattice, samples of it, and the couplings again.

Writes spin_glass.png, learned couplings over the true ones.
"""

import numpy as np

from blockbp import IsingModel, Network, infer, sample

SIDE, SAMPLES = 7, 4000

rng = np.random.default_rng(0)
site = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
edges = np.concatenate([np.stack([site[:, :-1], site[:, 1:]], -1).reshape(-1, 2), np.stack([site[:-1], site[1:]], -1).reshape(-1, 2)])
edges = np.unique(edges, axis=0)
J, h = rng.normal(0, 0.5, len(edges)), rng.normal(0, 0.1, SIDE * SIDE)

# State 0 is the spin -1, and state 1 is 1.
spin = np.array([-1, 1])
glass = Network(theta=h[:, None] * spin, edges=edges, theta_uv=J[:, None, None] * np.outer(spin, spin))

exact = infer(glass, method="exact")
bound = infer(glass, method="bp", counting="trw", decode=None)
print(f"log partition function {exact.log_partition:.3f}, at most {bound.bounds[1]:.3f} by TRW")
print(f"ground state: score {exact.map_score:.3f}, proved optimal: {exact.map_gap == 0}")

draws = sample(glass, SAMPLES, sampler="gibbs")
print(f"{SAMPLES} samples, R-hat at most {draws.rhat.max():.3f}")
spins = spin[draws.states]

model = IsingModel().fit(spins, edges)
error = model.errors_["couplings"]
inside = np.abs(model.couplings_ - J) < 1.96 * error
print(f"slope of learned on true couplings {model.couplings_ @ J / (J @ J):.3f}")
print(f"{inside.mean():.1%} of 95 % intervals hold the true coupling")

again = model.sample(SAMPLES)
print(f"mean |correlation of neighbours - that of the samples| {np.abs(np.mean(again[:, edges[:, 0]] * again[:, edges[:, 1]], 0) - np.mean(spins[:, edges[:, 0]] * spins[:, edges[:, 1]], 0)).mean():.3f}")

import matplotlib.pyplot as plt  # noqa: E402

figure, axis = plt.subplots(figsize=(4, 4), layout="constrained")
axis.errorbar(J, model.couplings_, 1.96 * error, fmt=".", linewidth=0.5)
axis.axline((0, 0), slope=1, color="grey", linewidth=0.5)
axis.set(xlabel="true coupling", ylabel="learned, with 95 % interval")
figure.savefig("spin_glass.png", dpi=100)
