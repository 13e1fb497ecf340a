"""Trains a small GPT on English text that comes with Python (the help texts of pydoc), byte by byte.

    GMLAKE=1 python examples/train_flax_gpt.py
    python examples/train_flax_gpt.py --steps 50 --json

Nothing here knows of gmlake_jax, apart from the memory figures at the end.
"""

import argparse
import json
import os
import pydoc_data.topics
import statistics
import sys
import time
from dataclasses import dataclass

WARMUP_STEPS = 3
BYTES = 128  # the text is ASCII


@dataclass(frozen=True)
class Size:
    """One of the models to choose from."""

    layers: int
    width: int
    heads: int
    context: int
    batch: int


SIZES = {
    "tiny": Size(layers=2, width=64, heads=4, context=64, batch=8),
    "small": Size(layers=6, width=384, heads=6, context=256, batch=64),
    "medium": Size(layers=12, width=1024, heads=16, context=512, batch=32),
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--size", choices=SIZES, help="default: small on a GPU, tiny elsewhere")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deterministic", action="store_true", help="same seed, same losses, to the last bit")
    parser.add_argument("--json", action="store_true", help="one JSON object in place of the text")
    return parser.parse_args()


def be_deterministic() -> None:
    """Before JAX starts: no kernels that add in random order, none chosen by a race against the clock."""
    flags = "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}"


def make_model(size: Size):
    import flax.linen as nn
    import jax.numpy as jnp

    class Block(nn.Module):
        """Causal attention and a perceptron, each added to its input."""

        @nn.compact
        def __call__(self, x):
            mask = nn.make_causal_mask(x[..., 0])
            x = x + nn.MultiHeadDotProductAttention(num_heads=size.heads)(nn.LayerNorm()(x), mask=mask)
            hidden = nn.gelu(nn.Dense(4 * size.width)(nn.LayerNorm()(x)))
            return x + nn.Dense(size.width)(hidden)

    class Gpt(nn.Module):
        """Bytes in, logits of the next byte out."""

        @nn.compact
        def __call__(self, tokens):
            position = nn.Embed(size.context, size.width)(jnp.arange(size.context))
            x = nn.Embed(BYTES, size.width)(tokens) + position
            for _ in range(size.layers):
                x = Block()(x)
            return nn.Dense(BYTES)(nn.LayerNorm()(x))

    return Gpt()


def make_step(model, optimizer):
    import jax
    import optax

    def loss_of(params, tokens):
        logits = model.apply(params, tokens[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    @jax.jit
    def step(params, state, tokens):
        loss, gradients = jax.value_and_grad(loss_of)(params, tokens)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss

    return step


def batches(size: Size, seed: int):
    """Endless windows of the text, at random places."""
    import numpy as np

    text = "\n".join(pydoc_data.topics.topics.values())
    data = np.frombuffer(text.encode("ascii", "ignore"), np.uint8).astype(np.int32)
    random = np.random.default_rng(seed)
    while True:
        starts = random.integers(0, len(data) - size.context - 1, size.batch)
        yield data[starts[:, None] + np.arange(size.context + 1)]


def show_progress(done: int, steps: int, loss: float, milliseconds: float) -> None:
    """A bar that redraws itself on a terminal, a line now and then elsewhere."""
    terminal = sys.stdout.isatty()
    if not terminal and done % max(steps // 10, 1) and done != steps:
        return
    bar = "#" * (24 * done // steps)
    line = f"  [{bar:<24}] {done}/{steps}  loss {loss:.3f}  {milliseconds:.1f} ms"
    line = line.ljust(72) if terminal else line  # covers a longer line before it
    print(f"\r{line}" if terminal else line, end="\n" if not terminal or done == steps else "", flush=True)


def train(size: Size, steps: int, seed: int, quiet: bool) -> tuple[list[float], list[float]]:
    """Losses, and milliseconds, of each step."""
    import jax
    import optax

    model, optimizer = make_model(size), optax.adamw(1e-3)
    source = batches(size, seed)
    params = jax.jit(model.init)(jax.random.key(seed), next(source)[:, :-1])
    state = jax.jit(optimizer.init)(params)
    step = make_step(model, optimizer)
    losses: list[float] = []
    times: list[float] = []
    for done in range(1, steps + 1):
        start = time.perf_counter()
        params, state, loss = step(params, state, next(source))
        losses.append(float(loss))
        times.append(1000 * (time.perf_counter() - start))
        if not quiet:
            show_progress(done, steps, losses[-1], times[-1])
    return losses, times


def report(losses: list[float], times: list[float]) -> dict:
    import jax

    import gmlake_jax
    from gmlake_jax.summary import current_stats

    memory = current_stats() or {}
    return {
        "device": jax.local_devices()[0].device_kind,
        "gmlake": gmlake_jax.is_active(),
        "steps": len(losses),
        "loss_first": losses[0],
        "loss_last": losses[-1],
        "losses": losses,
        "step_ms": statistics.median(times[WARMUP_STEPS:] or times),
        "peak_bytes_in_use": memory.get("peak_bytes_in_use"),
        "peak_bytes_reserved": memory.get("peak_pool_bytes"),
        "bytes_reserved": memory.get("pool_bytes"),
    }


def print_report(result: dict) -> None:
    from gmlake_jax.sizes import format_bytes

    def size(key: str) -> str:
        return format_bytes(result[key]) if (result[key] or -1) >= 0 else "not counted"

    emulated = "Emulated" in result["device"]
    note = " (means nothing: an emulated device computes nothing)" if emulated else ""
    print(f"  device      {result['device']}, allocator {'gmlake_jax' if result['gmlake'] else 'of JAX'}")
    print(f"  loss        {result['loss_first']:.3f} -> {result['loss_last']:.3f} in {result['steps']} steps{note}")
    print(f"  step time   {result['step_ms']:.2f} ms, median")
    print(f"  memory      peak in use {size('peak_bytes_in_use')}, peak reserved {size('peak_bytes_reserved')}")


def main() -> int:
    arguments = parse_arguments()
    if arguments.deterministic:
        be_deterministic()
    import jax

    name = arguments.size or ("small" if jax.default_backend() == "gpu" else "tiny")
    result = report(*train(SIZES[name], arguments.steps, arguments.seed, quiet=arguments.json))
    print(json.dumps(result)) if arguments.json else print_report(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
