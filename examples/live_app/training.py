"""A training loop. An agent watches the loss, and may pause it; it can't change the weights."""

import os
import random
import threading

import repl_pair as rp

train = rp.surface("training", doc="A model in training.")
loss = train.cell("loss", float, default=1.0, expose=True)
step = train.cell("step", int, default=0, expose=True)
done = train.event("done", dict[str, float], expose=True)
weights = train.cell("weights", list[float], default=[0.0, 0.0])

going = threading.Event()
going.set()


@train.function(expose=True, thread_safe=True)
def pause(on: bool = True) -> str:
    """Pause the training, or go on with it."""
    going.clear() if on else going.set()
    return "paused" if on else "training"


def is_falling(value: float) -> bool:
    """Return whether the loss is as it should be."""
    return value < 0.5


rp.project("watch", train, loss="loss", falling=rp.derive(is_falling, "loss"))


def run(steps: int, ended: threading.Event) -> None:
    """Fit two weights to a line, and publish each step."""
    rng, (a, b) = random.Random(4), (0.0, 0.0)
    for number in range(steps):
        going.wait()
        if ended.wait(0.001):
            return
        x = rng.random()
        error = a * x + b - (3 * x + 1)
        a, b = a - 0.1 * error * x, b - 0.1 * error
        weights.set([a, b])
        loss.set(0.95 * loss.get() + 0.05 * error**2)
        step.set(number)
    done.emit({"loss": loss.get()})


if __name__ == "__main__":
    ended = threading.Event()
    kernel = rp.embed(name=os.environ.get("TRAINING_KERNEL", "training"))
    run(1_000_000, ended)
    kernel.close()
