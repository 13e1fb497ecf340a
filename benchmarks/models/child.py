"""The process that a cell runs in: one job or one situation under one allocator; prints one JSON object.

    python benchmarks/models/child.py '{"role": "run", "model": "opt-1.3b-tiny", ...}'

The parent (cell.py) chooses the environment, because an allocator is chosen before JAX starts. The repository is put at
the end of the path, so that an installed gmlake_jax wins over the sources beside this folder.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = tempfile.TemporaryDirectory(prefix="gmlake-models-")
OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "out of memory", "OUT_OF_MEMORY")


def arrange_path() -> None:
    """The repository last, and this folder not at all: its modules are those of a package."""
    own = str(Path(__file__).resolve().parent)
    sys.path[:] = [entry for entry in sys.path if entry != own] + [str(ROOT)]


def start_emulator(spec: dict[str, Any]) -> None:
    """The emulated device, where one is asked for; a situation shares it with processes that it starts."""
    if memory := spec.get("emulate"):
        from gmlake_jax import emulator

        if spec["role"] == "situation":
            os.environ["GMLAKE_EMULATOR_SHARED"] = str(Path(SCRATCH.name) / "device")
        emulator.start(memory=memory)


def start_jax(spec: dict[str, Any]) -> None:
    """JAX with the compilation cache."""
    import jax

    if cache := spec.get("cache"):
        jax.config.update("jax_compilation_cache_dir", cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def why(error: BaseException) -> dict[str, Any]:
    """An error as the columns of a result."""
    text = f"{type(error).__name__}: {error}"
    memory = any(word in text for word in OUT_OF_MEMORY)
    return {"outcome": "out_of_memory" if memory else "error", "reason": text[:600]}


def guarded(work: Any, watch: Any) -> dict[str, Any]:
    """What the work returns, or why it failed, with the memory figures of either."""
    try:
        found = {"outcome": "completed", **work()}
    except Exception as error:
        found = why(error)
    return {**watch.figures(), **found}


def run(spec: dict[str, Any]) -> dict[str, Any]:
    """A training job: warm-up, then measured steps."""
    from benchmarks.models import configurations, measures, strategies, workload

    watch = measures.Watch(spec)
    if spec["served"] != watch.served:
        return {"outcome": "wrong_allocator", "reason": f"{watch.served} served, not {spec['served']}"}
    c = configurations.find(spec["model"]).limited_to(spec.get("lengths"))
    batch = spec.get("batch") or c.batch[spec["strategy"]]

    def work() -> dict[str, Any]:
        job = workload.Job(c, strategies.STRATEGIES[spec["strategy"]], spec["layers"] == "scan", batch, spec["seed"])
        job.start(spec["seed"])
        job.warm_up()
        watch.warmed_up()
        measured = job.measure(workload.plan(c.lengths, spec["steps"], spec["seed"]), watch.deadline)
        return {**watch.driver_calls(len(measured.losses)), **measured.figures(batch)}

    return {"sequences": batch, **guarded(work, watch)}


def warm(spec: dict[str, Any]) -> dict[str, Any]:
    """Compiles the programs of a job into the cache, and runs none of them."""
    from benchmarks.models import configurations, strategies, workload

    c = configurations.find(spec["model"]).limited_to(spec.get("lengths"))
    batch = spec.get("batch") or c.batch[spec["strategy"]]
    start = time.monotonic()
    workload.Job(c, strategies.STRATEGIES[spec["strategy"]], spec["layers"] == "scan", batch).compile()
    return {"outcome": "completed", "compile_s": round(time.monotonic() - start, 1)}


def situation(spec: dict[str, Any]) -> dict[str, Any]:
    """One situation, at the limit that the environment sets."""
    from benchmarks.models import measures, situations
    from benchmarks.models.situations.stage import Stage

    watch = measures.Watch(spec)
    if spec["served"] != watch.served:
        return {"outcome": "wrong_allocator", "reason": f"{watch.served} served, not {spec['served']}"}
    stage = Stage(spec, watch)

    def work() -> dict[str, Any]:
        start = time.perf_counter()
        figures = situations.find(spec["situation"]).play(stage) or {}
        return {"seconds": round(time.perf_counter() - start, 3), **figures}

    found = guarded(work, watch)
    return {**found, "critical": stage.critical(failed=found["outcome"] == "out_of_memory")}


def neighbour(spec: dict[str, Any]) -> dict[str, Any]:
    """The second process of a situation: holds and changes memory until it is ended."""
    from benchmarks.models import measures

    measures.device_memory()
    from benchmarks import jittering_neighbour

    jittering_neighbour.be_the_neighbour(spec["base"], spec["jitter"])
    return {}


ROLES = {"run": run, "recorded": run, "warm": warm, "situation": situation, "neighbour": neighbour}


def main(text: str) -> None:
    """Does what the specification says; the result is the last line of standard output."""
    arrange_path()
    spec = json.loads(text)
    start_emulator(spec)
    if spec["role"] != "neighbour":
        start_jax(spec)
    result = ROLES[spec["role"]](spec)
    print(json.dumps(result), flush=True)
    if result.get("outcome") != "completed":
        SCRATCH.cleanup()
        os._exit(0)  # after a failure, a client may wait for work that never ends


if __name__ == "__main__":
    main(sys.argv[1])
