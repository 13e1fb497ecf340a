"""What takes device memory beside the allocator: contexts, kernels, cuBLAS, cuDNN, cuSOLVER, graphs, NCCL.

The default limit leaves a reserve for it; this is where that number comes from. After each stage: NVML's used memory
without the memory that the allocator holds, and the growth since the stage before. Prints one JSON object. The NCCL
stage needs two GPUs. Graphs: run it with XLA_FLAGS=--xla_gpu_graph_min_graph_size=1.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator

import device_memory as device
import jax
import jax.numpy as jnp

import gmlake_jax


def touch() -> None:
    """The first array: context, and XLA's own."""
    jnp.zeros(4).block_until_ready()


def multiply() -> None:
    """cuBLAS in several types."""
    for dtype in (jnp.float32, jnp.bfloat16, jnp.float16, jnp.float64):
        x = jnp.ones((4096, 4096), dtype)
        (x @ x).block_until_ready()


def convolve() -> None:
    """cuDNN, with the measuring of its algorithms."""
    image, filters = jnp.ones((32, 128, 128, 64)), jnp.ones((3, 3, 64, 128))
    names = ("NHWC", "HWIO", "NHWC")
    jax.lax.conv_general_dilated(image, filters, (1, 1), "SAME", dimension_numbers=names).block_until_ready()


def factorise() -> None:
    """cuSOLVER."""
    x = jnp.eye(2048) * 3 + 0.001
    jax.block_until_ready((jnp.linalg.eigh(x), jnp.linalg.cholesky(x), jnp.linalg.qr(x)))


def capture() -> None:
    """A hundred programs, each with a graph of its own."""
    x = jnp.ones((512, 512))
    for i in range(100):
        program = jax.jit(lambda a, scale=float(i): jnp.tanh(a * scale) @ a + jnp.sin(a))
        for _ in range(3):
            program(x).block_until_ready()


def reduce() -> None:
    """NCCL over all devices."""
    devices = jax.local_devices()
    mesh = jax.sharding.Mesh(devices, ("all",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("all"))
    x = jax.device_put(jnp.ones((len(devices) * 1024, 4096)), sharding)
    jax.jit(lambda a: jnp.sum(a @ a.T, axis=0))(x).block_until_ready()


def outside() -> int:
    """Used memory of the first GPU that is not the allocator's."""
    return device.nvml_used() - (gmlake_jax.memory_stats()["bytes_reserved"] if gmlake_jax.is_active() else 0)


def stages() -> Iterator[tuple[str, Callable[[], None]]]:
    """What this machine and its libraries can do."""
    yield from (("context", touch), ("cublas", multiply), ("cudnn", convolve), ("cusolver", factorise))
    yield "graphs", capture
    if len(jax.local_devices()) > 1:
        yield "nccl", reduce


def main() -> None:
    """Runs the stages, prints one JSON object."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    jax.config.update("jax_enable_x64", True)
    at_first = before = device.nvml_used()
    growth: dict[str, int | str] = {}
    for name, stage in stages():
        try:
            stage()
        except Exception as error:
            growth[name] = str(error)[:200]
            continue
        now = outside()
        growth[name], before = now - before, now
    figures = {"total": device.total(), "at_first": at_first, "growth": growth, "outside_bytes": before}
    print(json.dumps({"benchmark": "outside_memory"} | figures))


if __name__ == "__main__":
    main()
