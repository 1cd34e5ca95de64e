"""Spire: data-parallel training on CPUs and GPUs.

    run = spire.train({"model": {"name": "mlp"}, "epochs": 3}, data=(x, y), test=(x2, y2))

See train() and Trainer; spire.layers has the layers of models of one's own.
"""

from . import _core
from ._core import (
    CheckpointReport,
    Device,
    EvalReport,
    EvaluationResult,
    Graph,
    Inputs,
    Model,
    Run,
    RunSummary,
    StartInfo,
    StepReport,
    StepResult,
    TrainerMemory,
    Value,
    __version__,
    devices,
    layers,
)
from ._arrays import check_classes as _check_classes
from ._arrays import columns as _columns
from ._config import given as _given
from ._trainer import InferenceSession, TrainedModel, Trainer, Weights
from .errors import (
    CheckpointError,
    CollectiveError,
    ConfigError,
    DataError,
    DeviceError,
    DivergedError,
    Error,
    OutOfMemoryError,
)


_EVENTS = ("on_start", "on_step", "on_eval", "on_test", "on_checkpoint", "on_note", "on_warning", "on_end")


class _OnStep:
    def __init__(self, function):
        self.on_step = function


def train(
    config,
    data=None,
    *,
    test=None,
    model: Model | None = None,
    callbacks=(),
    classes: int = 0,
    overwrite: bool = False,
    resume: str | None = None,
    overrides=(),
) -> Run:
    """Trains as the config says and returns the run.

    config: nested dicts, YAML text, or the path of a YAML file. overrides: "key.path=value" words, which win.
    data, test: (x, y), or a dict {column: array}; without data the config names it, without test evaluations read
    the training data. x: images (N, H, W, C) or (N, H, W), features (N, F), or integer tokens (N, T); y: integer
    labels (N) or targets (N, T), or float values (N) or (N, K). Arrays of NumPy, and of others by DLPack, of
    float32, float64, uint8 or int32 with any strides are read in place: do not change them during the run. int64
    and other integers, uint8 labels and float16 are converted once, by a copy. uint8 images stand for x / 255.
    classes: number of labels, or tokens; 0: the largest one + 1.
    model: a spire.Model in place of the config's.
    callbacks: a function of a StepReport, an object with methods on_start, on_step, on_eval, on_test, on_checkpoint,
    on_note, on_warning, on_end, or a list of such. They run on a thread of the engine, with the GIL. One that returns False
    ends the run after a checkpoint; one that raises ends it, too, and train() raises the same exception.
    resume: "auto", "latest", "best", a run's folder or a checkpoint. overwrite: delete an earlier run's files.

    The GIL is released meanwhile. Ctrl+C saves a checkpoint, then raises KeyboardInterrupt. Errors are spire.Error.
    """
    if callable(callbacks) or not isinstance(callbacks, (tuple, list)):
        callbacks = [callbacks]
    objects = [_OnStep(each) if callable(each) else each for each in callbacks]
    for each in objects:
        unknown = [name for name in dir(each) if name.startswith("on_") and name not in _EVENTS]
        if unknown:
            raise ConfigError(f"callbacks: there is no event {', '.join(unknown)}; they are {', '.join(_EVENTS)}")
    arrays = _columns(data)
    _check_classes(arrays, classes)
    return _core.train(
        _given(config, overrides), arrays, _columns(test, "test"), classes, model, objects, overwrite, resume
    )


__all__ = [
    "CheckpointError",
    "CheckpointReport",
    "CollectiveError",
    "ConfigError",
    "DataError",
    "Device",
    "DeviceError",
    "DivergedError",
    "Error",
    "EvalReport",
    "EvaluationResult",
    "Graph",
    "InferenceSession",
    "Inputs",
    "Model",
    "OutOfMemoryError",
    "Run",
    "RunSummary",
    "StartInfo",
    "StepReport",
    "StepResult",
    "TrainedModel",
    "Trainer",
    "TrainerMemory",
    "Value",
    "Weights",
    "__version__",
    "devices",
    "layers",
    "train",
]
