"""Two JAX processes on one GPU, each with a limit in bytes, that together fill it: who keeps to the limits gets all.

The parent runs two programs on the allocator and tells them what to do; it checks, each time, that every array of both
has its values. First both grow to their limits, beyond which they are refused. Then, with higher limits, one drops half
and gives it back and the other grows by as much, and the other way round. Then one asks for what the device does not
have now: it waits, and gets it when the other gives back; and, when nobody does, fails with the report after the time
that it was told to wait. At last both hold idle memory and the parent fills the device: they give back what they do not
need. Prints one JSON object.

    python benchmarks/two_processes.py
    python benchmarks/two_processes.py --emulate 1GiB --wait 2    # without a GPU
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import device_memory as device

Command = dict[str, Any]


@functools.cache
def kernels() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A full array of a size and a value; whether an array is full of a value."""
    import jax
    import jax.numpy as jnp

    make = jax.jit(lambda size, value: jnp.full(size, value, jnp.uint8), static_argnums=0)
    return make, jax.jit(lambda array, value: (array == value).all())


class Arrays:
    """Of one process: pieces of one size, each full of one byte; on an emulated device, copies and no kernels."""

    def __init__(self, piece: int, emulated: bool):
        self._piece, self._emulated = piece, emulated
        self._held: list[tuple[int, Any]] = []
        self._made = 0

    def grow(self, count: int) -> None:
        """`count` arrays more."""
        for _ in range(count):
            self._made += 1
            value = self._made % 251
            self._held.append((value, self._make(value)))

    def drop(self, count: int) -> None:
        """The newest `count`."""
        import gmlake_jax

        wanted = gmlake_jax.memory_stats()["bytes_in_use"] - count * self._piece
        del self._held[len(self._held) - count :]
        end = time.monotonic() + 20
        while gmlake_jax.memory_stats()["bytes_in_use"] > wanted and time.monotonic() < end:
            time.sleep(0.01)

    def count_wrong(self) -> int:
        """Arrays that do not hold what they were made of."""
        return sum(not self._is_full_of(array, value) for value, array in self._held)

    def _make(self, value: int) -> Any:
        import jax
        import numpy as np

        if self._emulated:
            return jax.device_put(np.full(self._piece, value, np.uint8)).block_until_ready()
        return kernels()[0](self._piece, np.uint8(value)).block_until_ready()

    def _is_full_of(self, array: Any, value: int) -> bool:
        import numpy as np

        if self._emulated:  # its addresses are the process's own
            return ctypes.string_at(array.unsafe_buffer_pointer(), array.nbytes) == bytes([value]) * array.nbytes
        return bool(kernels()[1](array, np.uint8(value)))


def act(arrays: Arrays, command: Command) -> dict[str, Any]:
    """Does one thing; what is said of it."""
    import gmlake_jax

    start, answer = time.monotonic(), {}
    try:
        if "limit" in command:
            gmlake_jax.set_memory_limit(command["limit"])
        arrays.drop(command.get("drop", 0))
        if command.get("give_back"):
            answer["given"] = gmlake_jax.empty_cache()
        arrays.grow(command.get("grow", 0))
    except Exception as error:
        answer["error"] = str(error)
    stats = gmlake_jax.memory_stats()
    answer |= {name: stats[name] for name in ("bytes_in_use", "bytes_reserved", "bytes_limit")}
    return answer | {"seconds": time.monotonic() - start, "wrong": arrays.count_wrong()}


def be_a_program(piece: int, emulate: str, shared: str) -> None:
    """One of the two processes: commands on standard input, one answer each on standard output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if emulate:
        from gmlake_jax import emulator

        emulator.start(memory=emulate, shared=shared)
    arrays = Arrays(piece, bool(emulate))
    arrays.grow(1)
    for line in sys.stdin:
        print(json.dumps(act(arrays, json.loads(line))), file=answers, flush=True)


class Program:
    """The parent's end of it."""

    def __init__(self, options: argparse.Namespace, limit: int, shared: str):
        command = [sys.executable, __file__, "--program", "--piece", str(options.piece), "--shared", shared]
        variables = {"GMLAKE": "1", "GMLAKE_LIMIT": str(limit), "GMLAKE_WAIT": str(options.wait)}
        self._process = subprocess.Popen(
            [*command, "--emulate", options.emulate],
            env=os.environ | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=options.log,
            text=True,
        )
        self.wrong = 0

    def begin(self, **command: Any) -> None:
        """Says what to do, and does not wait."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def is_busy(self) -> bool:
        """Whether what was begun is not over."""
        assert self._process.stdout is not None
        return not select.select([self._process.stdout], [], [], 0)[0]

    def end(self) -> dict[str, Any]:
        """The answer to what was begun."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a program ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        self.wrong += answer["wrong"]
        if answer["bytes_reserved"] > answer["bytes_limit"]:
            raise SystemExit(f"more than the limit is held: {answer}")
        return answer

    def do(self, **command: Any) -> dict[str, Any]:
        """Says what to do; the answer."""
        self.begin(**command)
        return self.end()

    def stop(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()


def grow_together(programs: list[Program], pieces: int) -> dict[str, Any]:
    """Both at once, to their limits, and one piece beyond."""
    for program in programs:
        program.begin(grow=pieces)
    answers = [program.end() for program in programs]
    held = sum(answer["bytes_reserved"] for answer in answers)
    beyond = [program.do(grow=1).get("error", "") for program in programs]
    return {
        "held_share": round(held / device.total(), 3),
        "grow_errors": [answer["error"] for answer in answers if "error" in answer],
        "limits_refuse": all("Over the limit" in error for error in beyond),
    }


def exchange(programs: list[Program], rounds: int, pieces: int) -> dict[str, Any]:
    """What one gives back, the other gets; and back."""
    errors = []
    for turn in range(rounds):
        giver, taker = programs[turn % 2], programs[1 - turn % 2]
        for program, command in (
            (giver, {"drop": pieces, "give_back": True}),
            (taker, {"grow": pieces}),
            (taker, {"drop": pieces, "give_back": True}),
            (giver, {"grow": pieces}),
        ):
            answer = program.do(**command)
            errors += [answer["error"]] if "error" in answer else []
    return {"exchanges": 2 * rounds, "exchange_errors": errors}


def wait_for_each_other(programs: list[Program], pieces: int, wait_s: float) -> dict[str, Any]:
    """One asks for what the other holds: it gets it when that is given back, and fails in time when it is not."""
    giver, taker = programs
    taker.begin(grow=pieces)
    time.sleep(min(wait_s / 3, 2))
    waits = taker.is_busy()
    given = giver.do(drop=pieces, give_back=True)
    waited = taker.end()
    refused = taker.do(grow=2 * pieces)
    report = refused.get("error", "")
    return {
        "waits": waits,
        "waited_s": round(waited["seconds"], 2),
        "wait_error": waited.get("error"),
        "given": given["given"],
        "refused_after_s": round(refused["seconds"], 2),
        "refused_with_report": "RESOURCE_EXHAUSTED" in report and "outside gmlake_jax" in report,
        "report": report[:600],
    }


def fill(wanted: int, size: int, limit_s: float) -> tuple[list[int], float]:
    """Takes what is free, and what becomes free, until it has `wanted`; pointers to `size` each, and seconds."""
    pointers: list[int] = []
    start, last = time.monotonic(), 0.0
    while time.monotonic() - start < limit_s and len(pointers) * size < wanted:
        pointer = device.allocate(size)
        if pointer is None:
            time.sleep(0.2)
            continue
        pointers.append(pointer)
        last = time.monotonic() - start
    return pointers, last


def press(programs: list[Program], pieces: int, options: argparse.Namespace) -> dict[str, Any]:
    """Both have idle memory, and a third fills the device: do they give it back, unasked?"""
    idle = 0
    for program in programs:
        answer = program.do(drop=pieces)
        idle += answer["bytes_reserved"] - answer["bytes_in_use"]
    free = device.memory_info()[0]
    pointers, seconds = fill(free + idle * 3 // 4, options.piece, options.press)
    taken = len(pointers) * options.piece
    for program in programs:
        program.do()
    for pointer in pointers:
        device.free(pointer)
    return {"idle": idle, "free_before": free, "third_got": taken, "third_got_after_s": round(seconds, 1)}


def play(options: argparse.Namespace, shared: str) -> dict[str, Any]:
    """All of it."""
    total, spare = device.total(), int(options.spare * device.total())
    count = int((total - spare) // options.piece // 2)
    limit = count * options.piece + options.piece // 2
    programs = [Program(options, limit, shared) for _ in range(2)]
    try:
        for program in programs:
            program.do()
        figures = grow_together(programs, count - 1)
        for program in programs:
            program.do(limit=limit + (count // 2 + 4) * options.piece)
        figures |= exchange(programs, options.rounds, count // 2)
        figures |= wait_for_each_other(programs, count // 3, options.wait)
        figures |= press(programs, count // 4, options)
        figures["wrong"] = sum(program.wrong for program in programs)
    finally:
        for program in programs:
            program.stop()
    return {"total": total, "limit_each": limit, "piece": options.piece, "pieces_each": count} | figures


def is_right(figures: dict[str, Any], wait_s: float) -> bool:
    """Whether all went as it must."""
    errors = [*figures["grow_errors"], *figures["exchange_errors"], *filter(None, [figures["wait_error"]])]
    went = figures["limits_refuse"] and not errors
    waited = figures["waits"] and wait_s * 0.9 <= figures["refused_after_s"] <= wait_s + 5
    given_back = figures["third_got"] >= figures["free_before"] + figures["idle"] // 2
    return bool(went and waited and figures["refused_with_report"] and given_back and figures["wrong"] == 0)


def main() -> None:
    """Parses, runs, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--piece", type=int, default=512 * device.MIB, help="bytes of one array")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--spare", type=float, default=0.04, help="share of the device for contexts and kernels")
    parser.add_argument("--wait", type=float, default=6, help="GMLAKE_WAIT of the programs")
    parser.add_argument("--press", type=float, default=40, help="seconds in which idle memory must go back")
    parser.add_argument("--emulate", default="", help="on an emulated device of such a size")
    parser.add_argument("--log", type=Path, help="file for what the programs say; else standard error")
    parser.add_argument("--program", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--shared", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        be_a_program(options.piece, options.emulate, options.shared)
        return
    options.log = options.log.open("w") if options.log else None
    with tempfile.NamedTemporaryFile() as shared:
        if options.emulate:
            from gmlake_jax import emulator

            emulator.start(memory=options.emulate, shared=shared.name)
        figures = play(options, shared.name)
    print(json.dumps({"benchmark": "two_processes"} | figures | {"ok": is_right(figures, options.wait)}))


if __name__ == "__main__":
    main()
