"""The `jax_plugins` entry point. JAX imports this file in every process, so it is tiny: unless GMLAKE is set, nothing
is loaded. What GMLAKE means is read by config.py; what follows from it is done by activation.py."""

import os


def initialize() -> None:
    """Called by JAX when it discovers plugins, before or after the stock CUDA plugin: the order does not matter."""
    if "GMLAKE" in os.environ:
        if "GMLAKE_EMULATOR_CHILDREN" in os.environ:
            from gmlake_jax.emulator import start_as_child

            start_as_child()
        from gmlake_jax.activation import activate_from_environment

        activate_from_environment()
