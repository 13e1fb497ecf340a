"""Runs one workload under several allocators in turn and records what each run printed.

The workload is any command whose last line of standard output is a JSON object. Runs alternate (A B, B A, A B), so
that a machine whose speed drifts slows all allocators alike; every line written carries the machine, the versions and
the command. A run that fails is a result too: it is recorded with its exit code and the end of its standard error.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any

ENVIRONMENTS: dict[str, dict[str, str]] = {
    "default": {},
    "bfc_on_demand": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    "cuda_async": {"XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async"},
    "cuda_async_on_demand": {"XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    "vmm": {"XLA_PYTHON_CLIENT_ALLOCATOR": "vmm"},
    "gmlake": {"GMLAKE": "1"},
}
PACKAGES = ("jax", "jaxlib", "jax-cuda13-pjrt", "jax-cuda12-pjrt", "gmlake-jax", "flax", "optax")


def versions() -> dict[str, str]:
    """Installed versions of the packages that a result depends on."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def gpu() -> dict[str, str]:
    """Name and driver of the first GPU, as nvidia-smi reports them; empty where there is none."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return {}
    name, driver = (part.strip() for part in lines[0].split(","))
    return {"gpu": name, "gpus": str(len(lines)), "driver": driver}


def run_once(command: list[str], allocator: str, timeout: float) -> dict[str, Any]:
    """One run; the workload's JSON object, or the failure."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GMLAKE", "XLA_PYTHON_CLIENT"))}
    if allocator == "gmlake":
        environment.update({k: v for k, v in os.environ.items() if k.startswith("GMLAKE_")})
    environment.update(ENVIRONMENTS[allocator])
    start = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"exit_code": None, "error": f"no result within {timeout:.0f} s"}
    wall = round(time.perf_counter() - start, 2)
    lines = done.stdout.strip().splitlines()
    try:
        result = json.loads(lines[-1]) if lines else {}
    except json.JSONDecodeError:
        result = {"error": lines[-1][-300:]}
    if done.returncode:
        result.setdefault("error", done.stderr.strip()[-600:])
    return {**result, "exit_code": done.returncode, "wall_s": wall}


def summarise(results: list[dict[str, Any]], key: str, baseline: str) -> list[str]:
    """Median, spread and ratio to `baseline` of one figure, a line for each allocator."""
    by_allocator: dict[str, list[float]] = {}
    for result in results:
        if isinstance(result.get(key), int | float):
            by_allocator.setdefault(result["allocator"], []).append(result[key])
    reference = statistics.median(by_allocator[baseline]) if by_allocator.get(baseline) else None
    lines = []
    for allocator, values in by_allocator.items():
        median = statistics.median(values)
        ratio = f"  ratio to {baseline} {median / reference:.4f}" if reference else ""
        lines.append(f"{key:24s} {allocator:14s} median {median:.4f} ({min(values):.4f} to {max(values):.4f}){ratio}")
    return lines


def order(allocators: list[str], round_number: int) -> list[str]:
    """A B, then B A, then A B: a machine that warms up favours nobody."""
    return allocators if round_number % 2 == 0 else allocators[::-1]


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line; everything after `--` is the workload."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--allocators", default="default,gmlake", help=f"comma list of {', '.join(ENVIRONMENTS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one run")
    parser.add_argument("--keys", default="", help="comma list of figures to summarise")
    parser.add_argument("--baseline", default="default", help="allocator that ratios refer to")
    parser.add_argument("--output", type=pathlib.Path, help="JSON lines are appended here")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Runs all rounds; 0 whatever the workloads did, because a failure is a result."""
    options = parse_arguments(arguments)
    machine = {**gpu(), "versions": versions(), "date": time.strftime("%Y-%m-%d"), "command": " ".join(options.command)}
    results = []
    for round_number in range(options.rounds):
        for allocator in order(options.allocators.split(","), round_number):
            result = {"allocator": allocator, "round": round_number}
            result |= run_once(options.command, allocator, options.timeout)
            results.append(result)
            print(json.dumps(result), flush=True)
            if options.output:
                options.output.parent.mkdir(parents=True, exist_ok=True)
                with options.output.open("a") as file:
                    file.write(json.dumps({**machine, **result}) + "\n")
    for key in filter(None, options.keys.split(",")):
        print(*summarise(results, key, options.baseline), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
