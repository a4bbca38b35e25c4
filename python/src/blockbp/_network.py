"""Inference in networks that are given: infer, sample."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import is_mapping
from ._base import flags, warn, checked, threads, says
from ._run import Folder, run

NETWORK, EVIDENCE = "network.npz", "network.evid"


@dataclass
class Network:
    """A pairwise network, by the logarithms of its potentials.

    The score of a joint state x is Σ theta[u, x_u] + Σ theta_uv[e, x_u, x_v], and its
    probability is proportional to exp(score).

    Parameters
    ----------
    theta : array [variables, states]
        Log potentials of variables; -inf forbids a state.
    edges : array [edges, 2], optional
        The ends of every edge, numbered from 0.
    theta_uv : array [edges, states, states], or [states, states] for all edges, optional
        Log potentials of edges, by the states of the first and the second end.
    states : int array [variables], optional
        Numbers of states, where they differ: columns beyond them count for nothing.
    """

    theta: Any
    edges: Any = None
    theta_uv: Any = None
    states: Any = None

    def write(self, path: str) -> None:
        """Write the network as a file of NumPy, which the command reads."""
        arrays = {"theta": self.theta, "edges": self.edges, "theta_uv": self.theta_uv, "states": self.states}
        given: dict[str, NDArray[Any]] = {}
        for name in [k for k, a in arrays.items() if a is not None]:
            try:
                given[name] = np.asarray(arrays[name])
            except ValueError as err:
                fill = "; fill rows up, and say in states how many states each variable has" if name == "theta" else ""
                raise ValueError(f"network.{name} is no array, as its parts have different lengths{fill}") from err
        if "edges" in given and given["edges"].size == 0:
            del given["edges"]
            if np.ndim(given.get("theta_uv", 0)) == 1 or np.shape(given.get("theta_uv", 0))[:1] == (0,):
                given.pop("theta_uv", None)
        for name, array in given.items():
            if array.dtype.kind not in ("iu" if name in ("edges", "states") else "fiu"):
                raise ValueError(f"network.{name} holds {array.dtype}, want {'integers' if name in ('edges', 'states') else 'numbers'}")
            if name.startswith("theta"):
                given[name] = array.astype(np.float64)
        np.savez(path, **given)  # type: ignore[arg-type]


@dataclass
class Inference:
    """What is known of a network.

    Attributes
    ----------
    log_partition : float
        The logarithm of the partition function, or its estimate.
    bounds : (float, float)
        Between which the logarithm of the partition function lies.
    marginals : ndarray of shape [variables, states]
        Probabilities of the states of each variable, filled up with 0.
    map : int ndarray of shape [variables], or None
        A most probable joint state, or the best found.
    map_score : float
        Its score, the logarithm of its unnormalised probability.
    map_gap : float
        How much higher another score can be at most; 0: none is higher.
    converged : bool
        Whether the marginals, and the log partition function, converged.
    details : dict
        All that the command says: ``"marginals"`` and ``"map"``.
    """

    log_partition: float
    bounds: tuple[float, float]
    marginals: NDArray[np.float64]
    map: NDArray[np.int64] | None
    map_score: float
    map_gap: float
    converged: bool
    details: dict[str, Any] = field(repr=False)


@dataclass
class Samples:
    """Joint states drawn from a network.

    Attributes
    ----------
    states : int32 ndarray of shape [samples, variables]
        The draws.
    log_score : ndarray of shape [samples]
        The logarithm of the unnormalised probability of each.
    chain : int32 ndarray of shape [samples]
        The chain of each.
    rhat, ess : ndarray of shape [variables], or None
        R-hat and effective sample size of Gibbs sampling; None: draws are independent.
    converged : bool
        Whether the chains agree.
    """

    states: NDArray[np.int32]
    log_score: NDArray[np.float64]
    chain: NDArray[np.int32]
    rhat: NDArray[np.float64] | None
    ess: NDArray[np.float64] | None
    converged: bool


def infer(
    network: Any,
    method: str = "auto",
    counting: str | None = None,
    evidence: Mapping[int | str, int | str] | None = None,
    decode: str | None = "auto",
    random_state: int | None = None,
    verbose: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Inference:
    """Return partition function, marginals and a most probable joint state of a network.

    Parameters
    ----------
    network : Network, path, or IsingModel or PottsModel
        A path is of a file in UAI format, or .npz of log potentials.
    method : {"auto", "bp", "exact"}
        "auto" is "exact" where that takes about ten seconds at most, else "bp":
        ``details["marginals"]`` has the ``"method"``, and under ``"not_exact"`` the reason.
    counting : {"trw", "convex", "cover", "near-bethe", "bethe"}, optional
        Counting numbers of "bp", for which they ask; "trw" without. "trw", "convex" and "cover"
        bound the partition function from above; "bethe" often is the closest.
    evidence : dict of int to int, optional
        States of observed variables; by names where a file of the network has some. Of an IsingModel or
        PottsModel they are those of its classes_, and sites may have the names of a data frame's columns.
    decode : {"auto", "exact", "trws"}, optional
        How the most probable state is found; None: not at all.
    random_state : int, optional
        Seed of everything random; 1 without it.
    verbose : int
        1 shows progress.
    options : dict, optional
        Further options of ``blockbp infer`` for the marginals.

    Examples
    --------
    >>> import numpy as np
    >>> from blockbp import Network, infer
    >>> coin = Network(theta=np.log([[0.5, 0.5], [0.9, 0.1]]), edges=[[0, 1]], theta_uv=np.log([[3, 1], [1, 3]]))
    >>> found = infer(coin)
    >>> round(float(np.exp(found.log_partition)), 9), found.marginals[0].round(3).tolist(), found.map.tolist()
    (2.0, [0.7, 0.3], [0, 0])
    """
    extra = {"seed": random_state, **checked(options, "options", "infer", ("method", "counting", "evidence", "seed"))}
    if str(method) in ("auto", "bp") and counting is not None:
        extra["counting"] = counting
    with Folder() as folder:
        source = _put(folder, network, evidence)

        def ask(task: str, given: Mapping[str, Any], names: Mapping[str, str]) -> Any:
            arguments = ["infer", *source, "--task", task, "--json", *flags(given)]
            warn(run(arguments, folder, verbose, says("infer", "options", names, _spot)))
            return folder.printed()

        names = {"evidence": "evidence", "counting": "counting", "seed": "random_state"}
        beliefs = ask("MAR", {"method": method, **extra}, {**names, "method": "method"})
        best: dict[str, Any] = {} if decode is None else ask("MPE", {"method": decode}, {**names, "method": "decode"})
    rows = beliefs["marginals"]
    marginals = np.zeros((len(rows), max(map(len, rows))))
    for s, row in enumerate(rows):
        marginals[s, : len(row)] = row
    log_z = float("nan") if beliefs["log_z"] is None else float(beliefs["log_z"])
    score = -float(best["energy"]) if best else float("nan")
    lower = max([log_z] * (beliefs["bound"] == "exact") + [score] * bool(best), default=-np.inf)
    upper = log_z if beliefs["bound"] in ("upper", "exact") else np.inf
    return Inference(
        log_partition=log_z,
        bounds=(lower, upper),
        marginals=marginals,
        map=np.array(best["states"]) if best else None,
        map_score=score,
        map_gap=float("nan") if not best or best["gap"] is None else float(best["gap"]),
        converged=bool(beliefs["converged"]),
        details={"marginals": {k: v for k, v in beliefs.items() if k != "marginals"}, "map": best},
    )


def sample(
    network: Any,
    n_samples: int = 1000,
    evidence: Mapping[int | str, int | str] | None = None,
    sampler: str = "auto",
    random_state: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Samples:
    """Draw joint states of a network.

    Parameters
    ----------
    network, evidence, random_state, verbose
        As of ``infer``.
    n_samples : int
        How many, over all chains.
    sampler : {"auto", "exact", "gibbs"}
        "exact": independent draws; "auto": those where they take about ten seconds at most.
    n_jobs : int, optional
        Threads, by default as many as there are cores. Draws do not depend on it.
    options : dict, optional
        Further options of ``blockbp sample``, such as ``{"burn_in": 5000}``.
    """
    given = {"samples": n_samples, "sampler": sampler, "seed": random_state, "threads": None if n_jobs in (None, -1) else threads(n_jobs)}
    given.update(checked(options, "options", "sample", ("samples", "sampler", "seed", "threads")))
    names = {"samples": "n_samples", "sampler": "sampler", "seed": "random_state", "threads": "n_jobs", "evidence": "evidence"}
    with Folder() as folder:
        source = _put(folder, network, evidence)
        arguments = ["sample", *source, "-o", "samples.npz", "--json", *flags(given)]
        warn(run(arguments, folder, verbose, says("sample", "options", names, _spot)))
        about = folder.printed()["networks"][0]
        with np.load(folder / "samples.npz") as drawn:
            of_chains = {k: drawn[k] if k in drawn.files else None for k in ("rhat", "ess")}
            return Samples(drawn["samples"], drawn["log_score"], drawn["chain"], converged=bool(about["converged"]), **of_chains)


def _put(folder: Folder, network: Any, evidence: Mapping[int | str, int | str] | None) -> list[str]:
    """Write a network and its evidence, and return arguments."""
    model, network = network, network.network() if hasattr(network, "network") else network
    if isinstance(network, Network):
        network.write(folder / NETWORK)
        source = NETWORK
    elif isinstance(network, str) or hasattr(network, "__fspath__"):
        source = os.path.abspath(str(network))
    else:
        raise ValueError(f"network is {type(network).__name__}, want a Network, a path, an IsingModel or a PottsModel")
    arguments = [source]
    if not (evidence is None or is_mapping(evidence)):
        raise ValueError(f"evidence is {type(evidence).__name__}, want a dict of variables and their states")
    if evidence:
        if model is not network:  # whose states have names, and perhaps its sites
            classes, sites = model.classes_.tolist(), list(getattr(model, "feature_names_in_", []))
            if unknown := [x for x in evidence.values() if x not in classes]:
                raise ValueError(f"evidence holds {unknown[0]!r}, which is no state: states are {', '.join(map(repr, classes))}")
            evidence = {sites.index(s) if s in sites else s: classes.index(x) for s, x in evidence.items()}
        given: list[Any] = [x for item in evidence.items() for x in item]
        for x in given:
            if isinstance(x, bool) or not isinstance(x, (Integral, str)) or not str(x).split() == [str(x)]:
                raise ValueError(f"evidence holds {x!r}, want numbers of variables and states, or their names in a file of the network")
        Path(folder / EVIDENCE).write_text(" ".join(map(str, [len(evidence), *given])), encoding="utf-8")
        arguments.append("--evidence=" + EVIDENCE)
    return arguments


def _spot(file: str, line: str, place: str) -> str:
    """Name a place in a network or its evidence."""
    name = {NETWORK: "network", EVIDENCE: "evidence"}.get(file)
    return f"{name}.{place}" if name and place else name or ""
