"""The end of a program: whatever is queued or held, it ends well and says nothing."""

import pytest

LATE = {"GMLAKE": "1", "GMLAKE_EMULATOR_ASYNC": "1", "GMLAKE_EMULATOR_DELAY_US": "20000"}

QUEUED = """
arrays = [jax.device_put(np.full(4 * MIB, i, np.uint8)) for i in range(4)]
copy = jax.jit(lambda x: x.copy())
for _ in range(10):
    arrays = [copy(array) for array in arrays]  # nobody waits for these
"""


@pytest.mark.parametrize("end", ["", "raise SystemExit(0)", "api.clear_backends()"])
def test_a_program_may_end_while_work_is_queued(run_jax, end):
    run = run_jax("from jax._src import api\n" + QUEUED + end, **LATE)
    assert run.code == 0, run.errors[-2000:]
    assert "VIOLATION" not in run.errors
    assert not run.lines_of_ours


def test_a_program_may_end_in_an_error_while_work_is_queued(run_jax):
    run = run_jax(QUEUED + "raise ValueError('the program is wrong')", **LATE)
    assert run.code == 1
    assert "the program is wrong" in run.errors
    assert "VIOLATION" not in run.errors
