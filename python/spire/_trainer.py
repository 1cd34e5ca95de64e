"""Training step by step."""

import os
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from . import _core
from ._arrays import INTEGERS, dense
from ._arrays import columns as columns_of
from ._config import given
from .errors import ConfigError


class Weights(Mapping):
    """The weights of a Trainer by name: reading gives a new float32 array in PyTorch's layout, assigning writes."""

    def __init__(self, core: _core.Trainer):
        self._core = core
        self._infos = {info.name: info for info in core.weights()}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._infos:
            raise KeyError(name)
        return self._core.read_weight(name)

    def __setitem__(self, name: str, values) -> None:
        info = self.info(name)
        array = np.ascontiguousarray(values, dtype=np.float32)
        if array.shape != tuple(info.shape):
            raise ConfigError(f"weight '{name}' is {tuple(info.shape)}, not {array.shape}")
        self._core.write_weight(name, array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._infos)

    def __len__(self) -> int:
        return len(self._infos)

    def info(self, name: str) -> _core.WeightInfo:
        """Shape of a weight, and whether it is trained."""
        if name not in self._infos:
            raise KeyError(name)
        return self._infos[name]


class Trainer:
    """Trains a model step by step.

    config: as of train(). data, test: as of train(), or none for what the config names; fit() and evaluate() then
    work on them. Or instead of data, columns: {name: shape of one sample}, in the order in which step() takes the arrays, such as
    {"images": (28, 28, 1), "labels": ()}, with classes. train_samples, test_samples: how many samples the batches
    are taken from, so that the last one may be smaller.

    One thread at a time calls the methods. They release the GIL, so trainers on several threads work at once. A step
    that is bad, as the config's `guard` says, changes nothing: it raises DivergedError, or is skipped. ConfigError and
    DataError come before anything changes, too; of one process a sample of the data that cannot be read ends fit() or
    evaluate() only. After other errors of a step there is no valid state, and all methods that need one raise.
    """

    def __init__(
        self,
        config,
        data=None,
        *,
        test=None,
        columns: Mapping | None = None,
        classes: int = 0,
        model: _core.Model | None = None,
        train_samples: int = 0,
        test_samples: int = 0,
        overrides=(),
    ):
        if data is not None and columns is not None:
            raise ConfigError("Trainer: give either data or columns")
        if columns is not None and not columns:
            raise ConfigError("Trainer: columns is empty")
        arrays = columns_of(data)
        names = columns if columns is not None else (name for name, _ in arrays)
        names = list(names)
        described = [
            (name, [int(dim) for dim in shape], name in INTEGERS) for name, shape in (columns or {}).items()
        ]
        self._core = _core.Trainer(
            given(config, overrides), arrays, columns_of(test, "test"), described, classes, model,
            train_samples, test_samples,
        )
        self._columns = [name for name, _ in self._core.columns()]  # in the engine's order
        self._integers = [name for name, integers in self._core.columns() if integers]
        self._names = names or self._columns  # in the caller's
        self._model = model  # lives as long as its trainer
        self.weights = Weights(self._core)

    def _batch(self, arrays):
        if len(arrays) == 1 and isinstance(arrays[0], (tuple, list, Mapping)):
            arrays = arrays[0]
        if not isinstance(arrays, Mapping):
            arrays = dict(zip(self._names, arrays)) if len(arrays) == len(self._names) else {}
        if set(arrays) != set(self._names):
            raise ConfigError(f"give an array for each column: {', '.join(self._names)}")
        return self._dense({name: arrays[name] for name in self._columns})

    def _dense(self, arrays):
        named = [(name, self._whole(name, array)) for name, array in columns_of(arrays)]
        return list(zip(arrays, dense(named, self._integers)))

    @staticmethod
    def _whole(name, array):
        if name in ("images", "target_images") and array.ndim == 3:
            return array[..., np.newaxis]
        return array[:, np.newaxis] if name == "values" and array.ndim == 1 else array

    def step(self, *arrays, lr: float | None = None) -> _core.StepResult:
        """One optimizer step on a global batch: step(x, y). lr: instead of the schedule's. Arrays of other shapes than
        the columns' are refused.

        Dense float32 and int32 arrays are read in place; others are copied.
        """
        return self._core.step(self._batch(arrays), lr)

    def evaluate(self, *arrays) -> _core.EvaluationResult:
        """Measures the present weights on arrays, or on the test data if none are given."""
        return self._core.evaluate(self._batch(arrays) if arrays else None)

    def fit(
        self,
        on_step: Callable[[_core.StepResult], bool | None] | None = None,
        on_epoch: Callable[[int, _core.EvaluationResult], bool | None] | None = None,
    ) -> _core.EvaluationResult:
        """Trains the config's epochs on the data and returns the last evaluation. A callback that returns False ends
        it, as does what it raises."""
        return self._core.fit(on_step, on_epoch)

    def predict(self, x) -> np.ndarray:
        """The model's outputs (N, ...) for rows of the first column."""
        return self._core.predict(self._dense({self._columns[0]: x}))

    def save(self, file: str | os.PathLike) -> None:
        """Writes a checkpoint with the optimizer's state."""
        self._core.save(os.fspath(file))

    def load(self, file: str | os.PathLike) -> None:
        """Reads a checkpoint, and continues from it with the same bits."""
        self._core.load(os.fspath(file))

    def memory(self) -> list[_core.TrainerMemory]:
        """What the trainer has on each device of this process: bytes in use now, and at most so far."""
        return self._core.memory()

    def release_memory(self) -> None:
        """Gives back what fit() and evaluate() have left for later calls, and freed memory of the process.

        Deleting the trainer frees the rest, also on GPUs.
        """
        self._core.release_memory()

    @property
    def parameter_hash(self) -> str:
        """Hash of the weights, as in the summary of a run."""
        return f"{self._core.parameter_hash():016x}"

    @property
    def global_batch(self) -> int:
        """Samples of a step."""
        return self._core.global_batch

    @property
    def steps_done(self) -> int:
        return self._core.steps_done

    @property
    def devices(self) -> list[str]:
        return self._core.devices
