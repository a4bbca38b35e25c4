"""A small convolutional network and a CRF, learned apart and together, on pictures that are made here.

Each picture is cut into regions of four textures, which a window of 3 × 3 pixels tells badly. `--seeds 5` repeats all
with other pictures and other beginnings, and prints means and deviations.
"""

import argparse
import copy
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


def unary(network, x):
    """Return the scores of the network, [nodes, CLASSES]."""
    return network(x).movedim(1, -1).reshape(-1, CLASSES)


def train(parameters, loss_of, epochs=60, rate=0.02):
    """Take two steps an epoch, each for a half of the pictures."""
    optimizer = torch.optim.Adam(parameters, rate)
    for _ in range(epochs):
        for half in (0, 1):
            optimizer.zero_grad()
            loss_of(half).backward()
            optimizer.step()


def likelihood(network, crf, x, y):
    """Return the loss of a half; messages are kept from one epoch to the next."""
    states = [None, None]

    def loss(half):
        mine = slice(half * LEARN // 2, (half + 1) * LEARN // 2)
        value, states[half] = crf(unary(network, x[mine]), (SIDE, SIDE), labels=y[mine].reshape(-1), state=states[half])
        return value / y[mine].numel()

    return loss


def study(seed):
    """Return accuracy and log loss on test pictures, by kind of training."""
    torch.manual_seed(seed)
    draw = torch.Generator().manual_seed(seed)
    x, y = pictures(LEARN, draw)
    x_test, y_test = pictures(TEST, draw)
    found = {}

    def test(name, network, crf=None, sweeps=50):
        with torch.no_grad():
            scores = unary(network, x_test)
            beliefs = scores.softmax(1) if crf is None else crf.marginals(scores, (SIDE, SIDE), sweeps=sweeps, tol=0)
        right = (beliefs.argmax(1) == y_test.reshape(-1)).float().mean()
        found[name] = float(right), float(nn.functional.nll_loss(beliefs.clamp_min(1e-9).log(), y_test.reshape(-1)))

    def fresh():
        return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, CLASSES, 1))

    alone = fresh()

    def by_pixel(half):
        mine = slice(half * LEARN // 2, (half + 1) * LEARN // 2)
        return nn.functional.cross_entropy(unary(alone, x[mine]), y[mine].reshape(-1))

    train(alone.parameters(), by_pixel)
    test("network alone", alone)
    fixed, scale, crf = copy.deepcopy(alone), nn.Conv2d(CLASSES, CLASSES, 1), PairwiseCRF(CLASSES)
    with torch.no_grad():  # the CRF may weigh the scores of the network, which stays as it is
        scale.weight.copy_(torch.eye(CLASSES)[:, :, None, None])
    scaled = nn.Sequential(fixed.requires_grad_(False), scale)
    train([*scale.parameters(), *crf.parameters()], likelihood(scaled, crf, x, y))
    test("network, then CRF", scaled, crf)
    network, crf = fresh(), PairwiseCRF(CLASSES)
    train([*network.parameters(), *crf.parameters()], likelihood(network, crf, x, y))
    test("together, from random", network, crf)
    network, crf = copy.deepcopy(alone), PairwiseCRF(CLASSES)
    train([*network.parameters(), *crf.parameters()], likelihood(network, crf, x, y))
    test("together, from network", network, crf)

    def truncated(half):
        mine = slice(half * LEARN // 2, (half + 1) * LEARN // 2)
        loss, _ = crf(unary(network, x[mine]), (SIDE, SIDE), labels=y[mine].reshape(-1), sweeps=5, loss="truncated")
        return loss / y[mine].numel()

    train([*network.parameters(), *crf.parameters()], truncated, epochs=30)
    test("truncated, from there", network, crf, sweeps=5)
    return found


def main():
    """Print a line for each kind of training."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    seeds = parser.parse_args().seeds
    studies = [study(seed) for seed in range(seeds)]
    for name in studies[0]:
        accuracy, loss = ([s[name][i] for s in studies] for i in (0, 1))
        spread = [f" ± {statistics.stdev(v):.3f}" if seeds > 1 else "" for v in (accuracy, loss)]
        print(f"{name:24} accuracy {statistics.mean(accuracy):.3f}{spread[0]}  log loss {statistics.mean(loss):.3f}{spread[1]}")


if __name__ == "__main__":
    main()
