"""What cannot be served is not: JAX runs on with its own allocator, `is_active()` is false, and one line says why."""

import pytest

from gmlake_jax import stock

PROGRAM = """
array = jax.device_put(np.arange(1000))
right = np.array_equal(np.asarray(array), np.arange(1000))
answer(right=right, active=gmlake_jax.is_active(), state=gmlake_jax.state())
"""

CASES = {
    "a switch that is no switch": ({"GMLAKE": "maybe"}, "GMLAKE=maybe"),
    "a limit that is no size": ({"GMLAKE_LIMIT": "much"}, "GMLAKE_LIMIT=much"),
    "a limit above the device": ({"GMLAKE_LIMIT": "2TiB"}, "more than the device has"),
    "a variable that is none": ({"GMLAKE_LIMITS": "1GiB"}, "GMLAKE_LIMITS"),
    "another allocator by variable": ({"XLA_PYTHON_CLIENT_ALLOCATOR": "bfc"}, "XLA_PYTHON_CLIENT_ALLOCATOR=bfc"),
    "a plugin that is no plugin": ({"GMLAKE_STOCK_PLUGIN": "/lib/x86_64-linux-gnu/libm.so.6"}, "no GetPjrtApi"),
    "a driver that is not there": ({"GMLAKE_DRIVER": "/no/such/libcuda.so.1"}, "no such file"),
    "a driver that cannot map": ({"GMLAKE_EMULATOR_FAULTS": "cuMemMap@1+=801"}, "cuMemMap"),
    "a driver that refuses access": ({"GMLAKE_EMULATOR_FAULTS": "cuMemSetAccess@1+=999"}, "cuMemSetAccess"),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.replace(" ", "-"))
def test_jax_runs_on_and_one_line_says_why(run_jax, case):
    variables, reason = CASES[case]
    # The stock allocators map memory too where the driver has it, so only our own start meets the faults.
    program = PROGRAM if "FAULTS" not in str(variables) else WITH_FAULTS_ENDED
    run = run_jax(program, **({"GMLAKE": "1"} | variables))
    found = run.answer
    assert found["right"]
    assert not found["active"]
    assert reason in found["state"]
    assert len(run.lines_of_ours) == 1, run.errors
    assert reason in run.lines_of_ours[0]


# Creating the client meets the faults, which we find out about and XLA does not: it takes its first memory later.
WITH_FAULTS_ENDED = 'jax.devices(); emulator.set_faults("")' + PROGRAM


def test_unified_memory_is_left_to_xla(run_jax):
    program = "jax.devices(); answer(active=gmlake_jax.is_active(), state=gmlake_jax.state())"
    found = run_jax(program, GMLAKE="1", TF_FORCE_UNIFIED_MEMORY="1").answer
    assert not found["active"]
    assert "TF_FORCE_UNIFIED_MEMORY" in found["state"]


def test_the_allocator_named_in_the_clients_own_options_wins(run_jax):
    run = run_jax(PROGRAM, GMLAKE="1", JAX_PJRT_CLIENT_CREATE_OPTIONS="allocator:bfc")
    assert not run.answer["active"]
    assert "allocator=bfc" in run.answer["state"]


def test_a_flag_under_which_xla_takes_another_allocator_is_named(run_jax):
    plugin = stock.find_stock_plugin().read_bytes()
    known = [name for name in ("NEVER_UPDATE", "SKIP_TEMP", "SKIP_PROFILED") if name.encode() in plugin]
    assert known, "this jaxlib has no other update mode; drop this test"
    run = run_jax(PROGRAM, GMLAKE="1", XLA_FLAGS=f"--xla_gpu_command_buffer_update_mode={known[0]}")
    assert not run.answer["active"]
    assert "xla_gpu_command_buffer_update_mode" in run.answer["state"]


def test_enabling_after_a_device_was_used_is_refused(run_jax):
    program = """
jax.device_put(1.0)
try:
    gmlake_jax.enable()
    refused = ""
except gmlake_jax.GmlakeError as error:
    refused = str(error)
answer(refused=refused, active=gmlake_jax.is_active())
"""
    found = run_jax(program).answer
    assert "too late" in found["refused"]
    assert not found["active"]


def test_enabling_before_a_device_is_used_works(run_jax):
    program = """
gmlake_jax.enable(limit="512MiB")
gmlake_jax.enable(limit="512MiB")
limit = jax.devices()[0].memory_stats()["bytes_limit"]
answer(active=gmlake_jax.is_active(), limit=limit)
"""
    found = run_jax(program).answer
    assert found["active"]
    assert found["limit"] == 512 << 20
