"""What this package raises. Every message says what happened, why, and what to do, in one line."""


class GmlakeError(Exception):
    """Base of all errors of gmlake_jax."""


class ConfigError(GmlakeError):
    """A GMLAKE_* or XLA_* variable, or an argument of enable(), that cannot be followed."""


class PluginError(GmlakeError):
    """The allocator cannot be put under JAX here; JAX's own allocator keeps working."""


class NotActiveError(GmlakeError):
    """A question that only a device with our allocator can answer."""


class SleepError(GmlakeError):
    """A device cannot be put to sleep, or woken, now."""


class CommandError(GmlakeError):
    """A command line verb failed; `exit_code` goes to the shell."""

    def __init__(self, message: str, exit_code: int = 1):
        super().__init__(message)
        self.exit_code = exit_code
