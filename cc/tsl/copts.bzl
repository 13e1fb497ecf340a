"""How code that includes XLA's headers is compiled.

The headers bring inline code that calls absl's logging. Nothing of ours reaches that code; with every function in a
section of its own the linker drops it, and no symbol of absl stays undefined. Without RTTI no type of tsl is named. What
UBSan adds would keep that code alive, so it does not look here.
"""

XLA_COPTS = [
    "-O2",
    "-fno-rtti",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-sanitize=undefined",
]
