"""A network predicts the messages from which belief propagation begins (Ross et al. 2011, Lin et al. 2015).

It sees the scores around a pixel, and learns the messages of pictures of which these have settled. On other pictures the
engine corrects what it predicts: counting numbers are convex, so that all messages end at the same beliefs and the same
bound, and nothing that is proved of them is lost. What may be won is sweeps, which are counted here: two where couplings
are weak, and none where they are strong. A sweep takes about a hundredth of the network's operations, so nobody needs one
for messages alone.
"""

import torch
from blockbp.torch import PairwiseCRF
from torch import nn

SIDE, CLASSES, LEARN, TEST = 16, 3, 24, 10
TOLERANCES = (0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8)


def pictures(count):
    """Return noisy scores [count, CLASSES, SIDE, SIDE] of pixels, each of the class of the nearest of 6 points."""
    at = torch.stack(torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij"), -1).double()
    points, kinds = torch.rand(count, 6, 2).double() * SIDE, torch.randint(0, CLASSES, (count, 6))
    nearest = (at[None, :, :, None] - points[:, None, None]).square().sum(-1).argmin(-1)
    labels = kinds.gather(1, nearest.reshape(count, -1)).reshape(count, SIDE, SIDE)
    return nn.functional.one_hot(labels, CLASSES).movedim(-1, 1) + torch.randn(count, CLASSES, SIDE, SIDE).double()


def as_state(arriving):
    """Return messages of edges [edges, 2, CLASSES] of those that arrive at pixels from right, left, below and above."""
    right, left, below, above = arriving.unflatten(1, (4, CLASSES)).movedim(2, -1).unbind(1)
    across, down = torch.stack([right[:, :, :-1], left[:, :, 1:]], -2), torch.stack([below[:, :-1], above[:, 1:]], -2)
    return torch.cat([across.flatten(1, 2), down.flatten(1, 2)], 1).flatten(0, 1)


def centred(state):
    """Return messages without the constants that make no difference."""
    return state - state.mean(-1, keepdim=True)


def main(coupling, counting="trw", epochs=150):
    """Learn to predict messages, and count the sweeps that it saves."""
    torch.manual_seed(0)
    crf, size = PairwiseCRF(CLASSES, counting=counting, dtype=torch.float64), (SIDE, SIDE)
    with torch.no_grad():
        crf.weight.copy_(coupling * torch.eye(CLASSES)[:, :, None])
    x, x_test = pictures(LEARN), pictures(TEST)

    def settle(scores, state=None, sweeps=3000, tol=1e-12):
        unary = scores.movedim(1, -1).flatten(0, 2)
        with torch.no_grad():
            return crf(unary, size, labels=unary.argmax(1), state=state, sweeps=sweeps, tol=tol)[1]

    def beliefs(state):
        return crf.marginals(x_test.movedim(1, -1).flatten(0, 2), size, state=state, sweeps=0)

    def bound(state):
        return float(crf.log_partition_bound(x_test.movedim(1, -1).flatten(0, 2), size, state=state, sweeps=0))

    first, second = nn.Conv2d(CLASSES + 1, 24, 5, padding=2), nn.Conv2d(24, 24, 3, padding=1)
    network = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Conv2d(24, 4 * CLASSES, 1)).double()

    def predict(scores):  # a constant beside the scores tells where a picture ends
        return as_state(network(torch.cat([scores, torch.ones_like(scores[:, :1])], 1)))

    wanted, optimizer = centred(settle(x)), torch.optim.Adam(network.parameters(), 3e-3)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, epochs)
    for _ in range(epochs):
        loss = (centred(predict(x)) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        falling.step()

    end = settle(x_test)
    starts = {"from nothing": torch.zeros_like(end), "from the network": predict(x_test).detach()}
    errors = {name: float((centred(state) - centred(end)).square().mean() ** 0.5) for name, state in starts.items()}
    print(f"couplings of {coupling}; root mean square error of messages, in nats: "
          + ", ".join(f"{error:.3f} {name}" for name, error in errors.items()))
    print("sweeps until no belief is off by more than  " + " ".join(f"{t:7g}" for t in TOLERANCES))
    best, ends = beliefs(end), {}
    for name, state in starts.items():
        needed, sweeps = {}, 0
        while len(needed) < len(TOLERANCES):
            off = float((beliefs(state) - best).abs().max())
            needed |= {t: sweeps for t in TOLERANCES if off <= t and t not in needed}
            state, sweeps = settle(x_test, state, 1, 0), sweeps + 1
        ends[name] = settle(x_test, state)
        print(f"{name:43} " + " ".join(f"{needed[t]:7}" for t in TOLERANCES))
    first, second = (ends[name] for name in starts)
    print(f"ends: beliefs differ by {float((beliefs(first) - beliefs(second)).abs().max()):.1e} at most, "
          f"bounds on log Z by {abs(bound(first) / bound(second) - 1):.1e} of {bound(first):.6g}")


if __name__ == "__main__":
    for strength in (1.0, 2.0):
        main(strength)
