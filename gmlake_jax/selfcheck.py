"""Run as a program of its own (`python -m gmlake_jax.selfcheck`) by `gmlake doctor`: creates JAX's devices, moves data
to one and back, and prints as JSON what came of it. In its own process, because a sick driver may end it."""

import json
import sys


def check() -> dict[str, object]:
    import jax
    import numpy as np

    import gmlake_jax

    device = jax.local_devices()[0]
    sent = np.arange(1 << 18, dtype=np.int32)
    received = np.asarray(jax.device_put(sent, device))
    return {
        "devices": [str(each) for each in jax.local_devices()],
        "kind": device.device_kind,
        "data": bool((sent == received).all()),
        "active": gmlake_jax.is_active(),
        "state": gmlake_jax.state(),
    }


if __name__ == "__main__":
    if "--emulate" in sys.argv:
        from gmlake_jax import emulator

        emulator.start()
    print(json.dumps(check()))
