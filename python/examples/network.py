"""A small convolutional network and a CRF, learned apart and together, on pictures that are made here.

Each picture is cut into regions of four textures, which a window of 3 × 3 pixels tells badly. `--seeds 5` repeats all
with other pictures and other beginnings, and prints means and deviations. `--stanford FOLDER` takes photographs of the
Stanford Background data set, with its images/ and labels/, for which it needs Pillow and minutes.
"""

import argparse
import copy
import pathlib
import random
import statistics

import torch
from blockbp.torch import PairwiseCRF
from torch import nn

SIDE, CLASSES, LEARN, TEST = 24, 4, 16, 48


def pictures(count, draw):
    """Return noisy pictures [count, 1, SIDE, SIDE] and the classes of their pixels: each is that of the nearest of 6 points."""
    at = torch.stack(torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij"), -1).float()
    points = torch.rand(count, 6, 2, generator=draw) * SIDE
    kinds = torch.randint(0, CLASSES, (count, 6), generator=draw)
    nearest = (at[None, :, :, None] - points[:, None, None]).square().sum(-1).argmin(-1)
    y = kinds.gather(1, nearest.reshape(count, -1)).reshape(count, SIDE, SIDE)
    rows, columns = at[..., 0] % 2 * 2 - 1, at[..., 1] % 2 * 2 - 1
    textures = torch.stack([rows, columns, rows * columns, torch.ones(SIDE, SIDE)])
    x = textures[y, torch.arange(SIDE)[:, None], torch.arange(SIDE)]
    return (0.5 * x + torch.randn(y.shape, generator=draw))[:, None], y


def photographs(folder, seed, rows=30, columns=40):
    """Return 70 photographs, drawn at random and made small, [70, 3, rows, columns], and their 8 classes, −1 where unknown."""
    from PIL import Image

    x, y = [], []
    for path in random.Random(seed).sample(sorted(pathlib.Path(folder, "images").glob("*.jpg")), 70):
        with Image.open(path) as image:
            colours = list(image.convert("RGB").resize((columns, rows)).tobytes())
        x.append(torch.tensor(colours).reshape(rows, columns, 3).movedim(2, 0) / 128 - 1)
        lines = pathlib.Path(folder, "labels", path.stem + ".regions.txt").read_text().splitlines()
        labels = torch.tensor([[int(c) for c in line.split()] for line in lines])
        down, right = (torch.arange(n) * size // n for n, size in zip((rows, columns), labels.shape))
        y.append(labels[down[:, None], right])
    return torch.stack(x), torch.stack(y)


def unary(network, x):
    """Return the scores of the network, [nodes, classes]."""
    return network(x).movedim(1, -1).flatten(0, 2)


def train(parameters, loss_of, epochs=90, rate=0.04):
    """Take two steps an epoch, each for a half of the pictures.

    Kept messages lag behind the network by a few steps, and momentum by 1 / (1 − beta): both together swing. So beta is
    less than Adam's 0.9, and the rate falls to 0.
    """
    optimizer = torch.optim.Adam(parameters, rate, betas=(0.5, 0.999))
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, 2 * epochs)
    for _ in range(epochs):
        for half in (0, 1):
            optimizer.zero_grad()
            loss_of(half).backward()
            optimizer.step()
            falling.step()


def likelihood(network, crf, halves, keep=True, **options):
    """Return the loss of a half; messages are kept from one epoch to the next, or begin from nothing in every step."""
    states = [None, None]

    def loss(half):
        x, y = halves[half]
        value, state = crf(unary(network, x), y.shape[1:], labels=y.flatten(), state=states[half], **options)
        states[half] = state if keep else None
        return value / y.numel()

    return loss


def study(seed, x, y, learn, classes):
    """Return accuracy and log loss on all pictures but those to learn from, by kind of training."""
    torch.manual_seed(seed)
    halves = [(x[part], y[part]) for part in (slice(0, learn // 2), slice(learn // 2, learn))]
    x_test, y_test, found = x[learn:], y[learn:], {}

    def test(name, network, crf=None, sweeps=50):
        with torch.no_grad():
            scores = unary(network, x_test)
            beliefs = scores.softmax(1) if crf is None else crf.marginals(scores, y_test.shape[1:], sweeps=sweeps, tol=0)
        known, truth = (y_test >= 0).flatten(), y_test.flatten()
        right = (beliefs.argmax(1) == truth)[known].float().mean()
        found[name] = float(right), float(nn.functional.nll_loss(beliefs.clamp_min(1e-9).log(), truth, ignore_index=-1))

    def fresh():
        return nn.Sequential(nn.Conv2d(x.shape[1], 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, classes, 1))

    def together(name, network, **options):
        crf = PairwiseCRF(classes)
        train([*network.parameters(), *crf.parameters()], likelihood(network, crf, halves, **options))
        test(name, network, crf)
        return crf

    def by_pixel(half):
        return nn.functional.cross_entropy(unary(alone, halves[half][0]), halves[half][1].flatten(), ignore_index=-1)

    alone = fresh()
    train(alone.parameters(), by_pixel)
    test("network alone", alone)
    fixed, scale, crf = copy.deepcopy(alone), nn.Conv2d(classes, classes, 1), PairwiseCRF(classes)
    with torch.no_grad():  # the CRF may weigh the scores of the network, which stays as it is
        scale.weight.copy_(torch.eye(classes)[:, :, None, None])
    scaled = nn.Sequential(fixed.requires_grad_(False), scale)
    train([*scale.parameters(), *crf.parameters()], likelihood(scaled, crf, halves))
    test("network, then CRF", scaled, crf)
    begin = fresh()
    together("together, from random", copy.deepcopy(begin))
    together("... 1 sweep a step", copy.deepcopy(begin), sweeps=1, tol=0)
    together("... 30, from nothing", begin, sweeps=30, tol=0, keep=False)
    network = copy.deepcopy(alone)
    crf = together("together, from network", network)

    def truncated(half):
        part, labels = halves[half]
        loss, _ = crf(unary(network, part), labels.shape[1:], labels=labels.flatten(), sweeps=5, loss="truncated")
        return loss / labels.numel()

    train([*network.parameters(), *crf.parameters()], truncated, epochs=30)
    test("truncated, from there", network, crf, sweeps=5)
    return found


def main():
    """Print a line for each kind of training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--stanford", metavar="FOLDER")
    options = parser.parse_args()
    studies = []
    for seed in range(options.seeds):
        if options.stanford:
            studies.append(study(seed, *photographs(options.stanford, seed), 50, 8))
        else:
            draw = torch.Generator().manual_seed(seed)
            x, y = map(torch.cat, zip(pictures(LEARN, draw), pictures(TEST, draw)))
            studies.append(study(seed, x, y, LEARN, CLASSES))
    for name in studies[0]:
        accuracy, loss = ([s[name][i] for s in studies] for i in (0, 1))
        spread = [f" ± {statistics.stdev(v):.3f}" if options.seeds > 1 else "" for v in (accuracy, loss)]
        print(f"{name:24} accuracy {statistics.mean(accuracy):.3f}{spread[0]}  log loss {statistics.mean(loss):.3f}{spread[1]}")
    if options.seeds > 1:
        for name, other, i, what in (
            ("truncated, from there", "network, then CRF", 1, "log loss"),
            ("... 1 sweep a step", "... 30, from nothing", 0, "accuracy"),
        ):
            more = [s[name][i] - s[other][i] for s in studies]
            error = statistics.stdev(more) / len(more) ** 0.5
            print(f"{name!r} less {other!r}: {what} {statistics.mean(more):+.4f}, standard error {error:.4f}")


if __name__ == "__main__":
    main()
