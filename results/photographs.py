"""Methods on photographs in the same time, for 2026-11-photographs-in-seconds.md.

    python photographs.py FOLDER SECONDS... [-- OPTIONS OF TRAIN]

FOLDER has images, labels, features, train50.txt and test20.txt. blockbp is on the PATH.
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


folder, *rest = sys.argv[1:]
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
