"""Exceptions of Spire. A message says what is wrong, where, and what to do about it."""


class Error(Exception):
    """An error of Spire. exit_code: what the program `trainer` would exit with."""

    exit_code = 1


class ConfigError(Error):
    """The config is wrong, or an argument is."""

    exit_code = 2


class DeviceError(Error):
    """A device or the system fails, or is missing."""

    exit_code = 3


class DataError(Error):
    """The data is wrong."""

    exit_code = 4


class CheckpointError(Error):
    """A checkpoint is missing, corrupt, or of another model."""

    exit_code = 5


class OutOfMemoryError(Error):
    """A device or the host has too little memory."""

    exit_code = 6


class DivergedError(Error):
    """The loss or the gradients are not finite."""

    exit_code = 7


class CollectiveError(Error):
    """A process or a GPU was lost; a restart may succeed."""

    exit_code = 8


def of_category(code: int) -> type[Error]:
    """The class for an exit code."""
    for kind in Error.__subclasses__():
        if kind.exit_code == code:
            return kind
    return Error
