"""Arrays of the caller as columns of data."""

from collections.abc import Mapping

import numpy as np

from .errors import ConfigError, DataError

INTEGERS = ("labels", "other_labels", "tokens", "targets", "masks", "positions")
_IMAGES = ("images", "target_images")


def view(array):
    """The array as one that the engine reads, without a copy where that is possible."""
    if isinstance(array, np.ndarray):
        return array
    if getattr(array, "requires_grad", False):  # of PyTorch, which exports no tensor of its graph
        array = array.detach()
    if hasattr(array, "__dlpack_device__"):
        on_host = int(array.__dlpack_device__()[0]) == 1
        return np.from_dlpack(array) if on_host else array
    return np.asarray(array)


def _is_integer(array) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "iub"


def _narrow(name, array):
    """Integers of other sizes become int32, float16 becomes float32: a copy."""
    if not isinstance(array, np.ndarray):
        return array
    if array.dtype in (np.float32, np.float64, np.int32) or (array.dtype == np.uint8 and name not in INTEGERS):
        return array
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind not in "iub":
        raise DataError(f"array '{name}': its dtype is {array.dtype}; give float32, float64, uint8 or an integer type")
    if array.size and (array.max() > 2**31 - 1 or array.min() < -(2**31)):
        raise DataError(f"array '{name}': it has numbers beyond 32 bits")
    return array.astype(np.int32)


def _name_input(x) -> str:
    if x.ndim == 4:
        return "images"
    if x.ndim == 2:
        return "tokens" if _is_integer(x) and x.dtype != np.uint8 else "features"
    raise DataError(
        f"x has {x.ndim} axes; images have 4 (N, H, W, C), features and tokens 2. "
        "For other columns give a dict {name: array}"
    )


def _name_target(y) -> str:
    if y.ndim == 4:
        return "target_images"
    if _is_integer(y):
        return {1: "labels", 3: "masks"}.get(y.ndim, "targets")
    return "values"


def columns(data, what="data") -> list:
    """(name, array) for each column of (x, y), of x alone, or of a dict."""
    if data is None:
        return []
    if isinstance(data, Mapping):
        return [(str(name), _narrow(name, view(array))) for name, array in data.items()]
    if not isinstance(data, (tuple, list)):
        data = (data,)
    if len(data) not in (1, 2):
        raise DataError(f"{what}: give (x, y), or a dict {{name: array}}")
    x = view(data[0])
    if isinstance(x, np.ndarray) and x.ndim == 3:
        x = x[..., np.newaxis]  # grey images
    named = [(_name_input(x), x)]
    if len(data) == 2:
        y = view(data[1])
        name = _name_target(y)
        if name == "values" and y.ndim == 1:
            y = y[:, np.newaxis]
        named.append((name, y))
    return [(name, _narrow(name, array)) for name, array in named]


def check_classes(named, classes) -> None:
    """Floats are the values of a regression, which has no classes."""
    if classes and "values" in dict(named):
        raise ConfigError("classes: y is of floats, the values of a regression; labels are integers: y.astype(int)")


def count_of(named) -> int:
    """How many samples the arrays have, which are in the host's memory."""
    for name, array in named:
        if not isinstance(array, np.ndarray):
            raise DataError(f"array '{name}': a Trainer's batches are in the host's memory")
    counts = [len(array) if array.ndim else 0 for _, array in named]
    if len(set(counts)) > 1:
        raise DataError(f"the arrays have {', '.join(map(str, counts))} samples")
    return counts[0]


def dense(named, integers=INTEGERS) -> list:
    """Dense arrays of float32, or of int32 for the columns `integers`: what a step of a Trainer reads. Those that are
    so already stay."""
    arrays = []
    count_of(named)
    for name, array in named:
        if name in integers:
            if not _is_integer(array):
                raise DataError(f"array '{name}': its dtype is {array.dtype}; {name} are integers")
            arrays.append(np.ascontiguousarray(array, dtype=np.int32))
        elif name in _IMAGES and array.dtype == np.uint8:
            arrays.append(array.astype(np.float32) * np.float32(1 / 255))
        else:
            arrays.append(np.ascontiguousarray(array, dtype=np.float32))
    return arrays
