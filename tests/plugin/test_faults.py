"""Driver calls that fail: JAX gets an error or never notices, no array is harmed, and when the driver is well again
everything works. The scripts are those of cc/emulator/calls/faults.h.
"""

import contextlib

import pytest
from emulated import emulated

SCRIPTS = [
    "cuMemCreate@2",
    "cuMemCreate@2+",
    "cuMemAddressReserve@2+",
    "cuMemMap@3=999",
    "cuMemMap%30/1",
    "cuMemSetAccess@2=999",
    "cuMemSetAccess%30/2=1",
    "cuMemSetAccess%50/3=600",  # not ready, which CUDA documents as passing
    "cuMemUnmap@1=999",
    "cuMemRelease@1=1",
    "cuEventRecord@5+=999",
    # Not the copies: XLA itself ends the process where a copy cannot be queued.
    "cuMemCreate%5/3,cuMemMap%5/4,cuMemSetAccess%5/5,cuMemUnmap%5/6,cuMemRelease%5/7,cuMemAddress*%5/8",
]


def _is_sound(array):
    try:
        array.block_until_ready()
    except Exception:
        return False
    return True


def _put_or_fail(churn):
    """JAX's error for the failed request is fine; an array that was not served is forgotten."""
    with contextlib.suppress(Exception):
        churn.put()
    churn.arrays = [(content, array) for content, array in churn.arrays if _is_sound(array)]
    if len(churn.arrays) > churn.live:
        churn.arrays.pop(0)[1].delete()


@pytest.mark.parametrize("script", SCRIPTS)
@emulated(memory="256MiB", asynchronous=True, delay_us=50)
def test_a_failing_driver_call_harms_no_array(script):
    import numpy as np
    from programs import Churn, filled, is_filled

    from gmlake_jax import emulator

    kept = [filled(6, i) for i in range(4)]
    assert all(is_filled(array, i) for i, array in enumerate(kept))
    churn = Churn(seed=5, largest=16 << 20, live=12)
    emulator.set_faults(script)
    for _ in range(60):
        _put_or_fail(churn)
    emulator.set_faults("")
    assert all(is_filled(array, i) for i, array in enumerate(kept))
    assert all(np.array_equal(np.asarray(array), content) for content, array in churn.arrays)
    churn.run(rounds=40)
