"""Citations: papers that cite each other share their field, and few fields are known.

The graph is of networkx: its nodes have the attribute x, the words of a paper. Labels are a
dict by node, without the papers whose field is not known.
"""

import warnings

import networkx as nx
import numpy as np
from sklearn.linear_model import LogisticRegression

from blockbp import BlockbpWarning, GraphCRF

warnings.simplefilter("ignore", BlockbpWarning)  # that few labels are known; crf.notes_ keeps them
FIELDS, PAPERS, WORDS, KNOWN = ["biology", "computing", "physics"], 200, 60, 20

rng = np.random.default_rng(0)
within, across = 0.015, 0.002
graph = nx.stochastic_block_model([PAPERS] * 3, np.full((3, 3), across) + (within - across) * np.eye(3), seed=0)
usual = rng.dirichlet(np.full(WORDS, 1.0), 3)  # how often each field uses each word
field = {}
for node, values in graph.nodes(data=True):
    words = rng.multinomial(6, usual[values["block"]])
    values["x"] = np.minimum(words, 1)
    field[node] = FIELDS[values["block"]]

nodes = list(graph.nodes)
known = {nodes[n]: field[nodes[n]] for n in rng.permutation(len(nodes))[: 3 * KNOWN]}
new = [node for node in nodes if node not in known]

words = {node: graph.nodes[node]["x"] for node in nodes}
alone = LogisticRegression().fit([words[n] for n in known], list(known.values()))
right = np.mean(alone.predict([words[n] for n in new]) == [field[n] for n in new])
print(f"words alone            {right:.3f} of {len(new)} papers")

crf = GraphCRF().fit(graph, known)
predicted = dict(zip(nodes, crf.predict(graph, known)))  # fields that are known are held
right = np.mean([predicted[n] == field[n] for n in new])
print(f"words and citations    {right:.3f}")

probability = dict(zip(nodes, crf.predict_proba(graph, known)))
doubtful = min(new, key=lambda n: probability[n].max())
print(f"most doubtful: paper {doubtful},", ", ".join(f"{c} {p:.2f}" for c, p in zip(crf.classes_, probability[doubtful])))
