"""Methods on photographs in the same time, for 2026-11-photographs-in-seconds.md.

    python photographs.py FOLDER SECONDS... [-- OPTIONS OF TRAIN] > TABLE
    python photographs.py draw TABLE FIGURE.png

FOLDER has images, labels, features, train50.txt and test20.txt. blockbp is on the PATH; drawing needs matplotlib.
"""
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METHODS = [("features alone", ["--no-edges"]), ("bbpl", []), ("inner-dual", ["--method", "inner-dual"]),
           ("full", ["--method", "full"]), ("pseudo, by L-BFGS", ["--method", "pseudo"])]


def run(*args):
    return subprocess.run(["blockbp", *map(str, args)], check=True, capture_output=True, text=True).stdout


def measure(folder, rest):
    more = rest[rest.index("--") + 1:] if "--" in rest else []
    limits = [int(s) for s in (rest[:rest.index("--")] if "--" in rest else rest)]
    print("| method | limit | whole process | learning passes | objective | accuracy | log loss |")
    print("|---|---|---|---|---|---|---|")
    for name, options in METHODS:
        for limit in limits[:1] if "--no-edges" in options else limits:
            with tempfile.TemporaryDirectory() as out:
                began = time.time()
                run("train", folder, "--list", "train50.txt", "--max-time", f"{limit}s", "-o", f"{out}/run", *options, *more, "-q")
                seconds = time.time() - began
                result = json.loads(Path(out, "run", "result.json").read_text())
                values = json.loads(run("eval", folder, "--list", "test20.txt", "-m", f"{out}/run", "--json"))
                of = values["models"][0]
                print(f"| {name} | {limit} s | {seconds:.1f} s | {result['passes'] - result['check_passes']:.1f} | {result['objective']:,.0f} | "
                      f"{100 * of['accuracy']:.2f} % | {of['log_loss']:.3f} |", flush=True)


def draw(table, figure):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    curves = {}
    for line in Path(table).read_text().splitlines():
        cells = [c.strip() for c in line.strip("| \n").split("|")]
        if cells[0] in dict(METHODS):
            number = lambda c: float(c.rstrip(" s%").replace(",", ""))
            curves.setdefault(cells[0], []).append([number(cells[i]) for i in (1, 4, 5)])
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "0.9"})
    sheet, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for name in ("bbpl", "inner-dual", "full"):
        seconds, objective, accuracy = zip(*curves[name])
        left.plot(seconds, accuracy, marker="o", label=name)
        right.plot(seconds, [o / 1000 for o in objective], marker="o", label=name)
    left.axhline(curves["features alone"][0][2], color="0.4", linestyle="--")
    left.set(xlabel="limit of learning, seconds", ylabel="accuracy on test images, %")
    right.set(xlabel="limit of learning, seconds", ylabel="objective, thousands")
    for plot in (left, right):
        plot.set_xscale("log")
        plot.set_xticks(seconds, [f"{s:g}" for s in seconds])
        plot.minorticks_off()
    right.plot([], [], color="0.4", linestyle="--", label="features alone")
    right.legend(frameon=False)
    sheet.savefig(figure, dpi=110)


if sys.argv[1] == "draw":
    draw(*sys.argv[2:])
else:
    measure(sys.argv[1], sys.argv[2:])
