"""What libgmlake_pjrt.so shows to and asks of the process it is loaded into, as the dynamic linker sees it."""

import re
import shutil
import subprocess

import pytest

from gmlake_jax.library import LIBRARY_PATH

pytestmark = [
    pytest.mark.skipif(not LIBRARY_PATH.exists(), reason="libgmlake_pjrt.so is not built"),
    pytest.mark.skipif(shutil.which("readelf") is None, reason="there is no readelf"),
]


def readelf(option):
    command = ["readelf", option, "--wide", str(LIBRARY_PATH)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def dynamic_symbols():
    """(name, whether it is defined here, whether it is weak) of each symbol that the dynamic linker deals with."""
    for line in readelf("--dyn-syms").splitlines():
        fields = line.split()
        is_symbol = len(fields) >= 8 and fields[0].rstrip(":").isdigit() and fields[3] != "SECTION"
        if is_symbol:
            yield fields[7].split("@")[0], fields[6] != "UND", fields[4] == "WEAK"


def test_two_functions_are_exported_and_nothing_else():
    assert {name for name, defined, _ in dynamic_symbols() if defined} == {"GetPjrtApi", "GmlakeGetApi"}


def test_nothing_of_xla_absl_or_cuda_is_left_to_be_found_at_run_time():
    needed = [name for name, defined, weak in dynamic_symbols() if not defined and not weak]
    assert not [name for name in needed if re.search(r"absl|tsl|xla|^cu[A-Z]", name)]
    assert not [name for name in needed if name.startswith("_Z")], "the C++ library is to be linked in"


def test_only_the_c_library_is_needed():
    needed = set(re.findall(r"Shared library: \[([^]]+)\]", readelf("--dynamic")))
    assert needed <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libgcc_s.so.1"} | {
        name for name in needed if name.startswith("ld-linux")
    }
