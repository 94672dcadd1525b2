"""PPO updates in PyTorch on the CPU: what Merit's learner is measured against.

The same work as an update of BenchmarkTorch: a network with ReLU and no critic,
the clipped objective over masked actions with an entropy bonus, gradients
clipped at a norm of 0.5, fused Adam, two epochs of shuffled minibatches of
5,000 samples that were made before. `make bench-torch` runs it.

A line of standard input, "THREADS MINIBATCH SECONDS HIDDEN...", is a round. Its
answer is a line with the samples per second by the clock and by processor time.
"""

import sys
import time

import torch

INPUTS, ACTIONS, SAMPLES, EPOCHS = 147, 4, 5000, 2


class Learner:
    """A network, its optimiser and the samples that it learns from."""

    def __init__(self, hidden: tuple[int, ...]) -> None:
        torch.manual_seed(1)
        layers, width = [], INPUTS
        for w in hidden:
            layers += [torch.nn.Linear(width, w), torch.nn.ReLU()]
            width = w
        self.network = torch.nn.Sequential(*layers, torch.nn.Linear(width, ACTIONS))
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=5e-3, fused=True)
        self.x = (torch.rand(SAMPLES, INPUTS) < 1 / 3).float()
        self.mask = torch.ones(SAMPLES, ACTIONS, dtype=torch.bool)
        self.mask[torch.arange(SAMPLES), torch.randint(ACTIONS, (SAMPLES,))] = False
        with torch.no_grad():
            log_probs = torch.log_softmax(self.network(self.x).masked_fill(~self.mask, -1e9), -1)
        self.action = torch.multinomial(log_probs.exp(), 1)
        self.old = log_probs.gather(1, self.action).squeeze(1)
        self.advantage = torch.randn(SAMPLES)
        self.advantage /= self.advantage.square().mean().sqrt()

    def update(self, minibatch: int) -> None:
        for _ in range(EPOCHS):
            for rows in torch.randperm(SAMPLES).chunk(-(-SAMPLES // minibatch)):
                logits = self.network(self.x[rows]).masked_fill(~self.mask[rows], -1e9)
                log_probs = torch.log_softmax(logits, -1)
                ratio = (log_probs.gather(1, self.action[rows]).squeeze(1) - self.old[rows]).exp()
                a = self.advantage[rows]
                gain = torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a)
                entropy = -(log_probs.exp() * log_probs).sum(-1)
                loss = -(gain + 0.01 * entropy).mean()
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.network.parameters(), 0.5)
                self.optimizer.step()


def main() -> None:
    learners: dict[tuple[int, ...], Learner] = {}
    for line in sys.stdin:
        threads, minibatch, seconds, *hidden = line.split()
        torch.set_num_threads(int(threads))
        shape = tuple(int(w) for w in hidden)
        if shape not in learners:
            learners[shape] = Learner(shape)
        learner = learners[shape]
        learner.update(int(minibatch))
        done, begin, cpu = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - begin < float(seconds):
            learner.update(int(minibatch))
            done += EPOCHS * SAMPLES
        clock, cpu = time.perf_counter() - begin, time.process_time() - cpu
        print(done / clock, done / cpu, flush=True)


if __name__ == "__main__":
    main()
