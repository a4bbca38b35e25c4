#!/usr/bin/env bash
# Makes a synthetic data set, learns it by two methods, and compares models and
# runs. Everything goes into the folder given as the first argument, which must
# not exist yet. Run it from the root of the repository:
#
#   examples/synthetic.sh /tmp/synthetic
set -euo pipefail
out=${1:?usage: examples/synthetic.sh NEW_FOLDER}
mkdir "$out"
go build -o "$out/blockbp" ./cmd/blockbp
blockbp=$out/blockbp

# Four 20×20 grids with 4 states, features of their own and 10 samples each.
"$blockbp" generate -o "$out/train" --graph grid:20x20 --instances 4 --samples 10 \
  --states 4 --node-features 5 --edge-features 3 --weight-scale 0.5 --seed 1
"$blockbp" check "$out/train"

# The same model by BBPL and by full BP: one optimum.
"$blockbp" train "$out/train" -o "$out/bbpl" --rtol 1e-6 -q > /dev/null
"$blockbp" train "$out/train" -o "$out/full" --rtol 1e-6 -q --method full > /dev/null
"$blockbp" compare "$out/bbpl" "$out/full" -o "$out/compared"

# How well the weights found predict the samples, beside the true weights.
"$blockbp" eval "$out/train" -m "$out/bbpl" -m "$out/train/truth.safetensors"
echo "report: $out/compared/report.html"
