"""Small JAX programs that the tests on the emulated device share. Kernels compute nothing there, so only bytes that
were put, copied or resharded are compared; what a jitted function returns is looked at for its memory, not its value.
"""

import gc
import time

import jax
import jax.numpy as jnp
import numpy as np

MIB = 1 << 20


def filled(megabytes, value):
    """A device array of `megabytes` MiB whose every byte is `value`."""
    return jax.device_put(np.full(megabytes * MIB, value, np.uint8))


def is_filled(array, value):
    return bool((np.asarray(array) == value).all())


def settle(until, seconds=60):
    """Waits for what other threads do a little later: XLA drops its last hold on a deleted array on one of its own, and
    leaves the rest to Python's garbage collection. The time is for a machine that is busy with something else."""
    end = time.monotonic() + seconds
    gc.collect()
    while not until() and time.monotonic() < end:
        time.sleep(0.01)
        gc.collect()


def settle_at(megabytes):
    """Waits until no more than that is in use on the first device. Where an allocator has no numbers, XLA itself tries
    for ten seconds before it refuses; a moment is enough."""
    device = jax.devices()[0]
    if device.memory_stats() is None:
        time.sleep(0.5)
    else:
        settle(until=lambda: device.memory_stats()["bytes_in_use"] <= megabytes * MIB)


class Churn:
    """Puts, reads back and deletes arrays of random sizes; keeps a copy of each on the host to compare."""

    def __init__(self, seed, largest, live, device=None):
        self.random = np.random.default_rng(seed)
        self.largest, self.live, self.device = largest, live, device
        self.arrays = []

    def put(self):
        size = int(np.exp(self.random.uniform(0, np.log(self.largest))))
        content = self.random.integers(0, 256, size, dtype=np.uint8)
        self.arrays.append((content, jax.device_put(content, self.device)))

    def drop(self):
        content, array = self.arrays.pop(int(self.random.integers(len(self.arrays))))
        assert np.array_equal(np.asarray(array), content)
        array.delete()

    def run(self, rounds):
        for _ in range(rounds):
            self.put()
            if len(self.arrays) > self.live:
                self.drop()
        while self.arrays:
            self.drop()


def network(width=256, layers=4, batch=64):
    """Parameters and one batch for `train_step`."""
    random = np.random.default_rng(0)
    draw = lambda *shape: jax.device_put(random.normal(size=shape).astype(np.float32))  # noqa: E731
    return [(draw(width, width), draw(width)) for _ in range(layers)], (draw(batch, width), draw(batch, width))


def _loss(parameters, batch):
    x, y = batch
    for weight, bias in parameters:
        x = jnp.tanh(x @ weight + bias)
    return jnp.mean((x - y) ** 2)


def _step(parameters, batch):
    loss, gradients = jax.value_and_grad(_loss)(parameters, batch)
    return jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradients), loss


train_step = jax.jit(_step)
donating_train_step = jax.jit(_step, donate_argnums=0)


def train(step, parameters, batch, steps):
    for _ in range(steps):
        parameters, loss = step(parameters, batch)
    jax.block_until_ready((parameters, loss))
    return parameters


def out_of_memory(put):
    """Whether `put()` fails for want of memory; any other error is raised."""
    try:
        jax.block_until_ready(put())
    except Exception as error:
        if "RESOURCE_EXHAUSTED" not in str(error) and "Out of memory" not in str(error):
            raise
        return True
    return False
