"""Training step by step, outputs meanwhile, and trained models."""

import copy
import os
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from . import _core
from ._arrays import INTEGERS, check_classes, count_of, dense, view
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
        self._core.write_weight(name, self._fitting(name, values))

    def _fitting(self, name, values) -> np.ndarray:
        shape = tuple(self.info(name).shape)
        array = np.ascontiguousarray(view(values), dtype=np.float32)
        if array.shape != shape:
            raise ConfigError(f"weight '{name}' is {shape}, not {array.shape}")
        return array

    def update(self, values: Mapping) -> None:
        """Assigns some of the weights, or all, if all names and shapes are right."""
        for name in values:
            if name not in self:
                raise ConfigError(f"the model has no weight '{name}'; `weights` lists them")
        for name, array in [(name, self._fitting(name, array)) for name, array in values.items()]:
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


def _whole(name, array):
    """With the last axis that the engine has: a grey image's, a single value's."""
    if name in ("images", "target_images") and array.ndim == 3:
        return array[..., np.newaxis]
    return array[:, np.newaxis] if name == "values" and array.ndim == 1 else array


def _content(file):
    """The bytes that a file object has, or that are given; None: it is a path."""
    if hasattr(file, "read"):
        file = file.read()
    return bytes(file) if isinstance(file, (bytes, bytearray, memoryview)) else None


def _dense(arrays, integers):
    named = [(name, _whole(name, array)) for name, array in columns_of(arrays)]
    return list(zip(arrays, dense(named, integers)))


class Trainer:
    """Trains a model step by step, or by fit().

    config: as of train(). data, test: as of train(), or none for what the config names; fit() and evaluate() then
    work on them. Or instead of data, columns: {name: shape of one sample}, in the order in which step() takes the arrays, such as
    {"images": (28, 28, 1), "labels": ()}, with classes. train_samples, test_samples: how many samples the batches
    are taken from, so that the last one may be smaller. any_batch: batches have any number of samples up to
    global_batch; the model is then compiled for each.

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
        any_batch: bool = False,
        overrides=(),
    ):
        if data is not None and columns is not None:
            raise ConfigError("Trainer: give either data or columns")
        if columns is not None and not columns:
            raise ConfigError("Trainer: columns is empty")
        arrays = columns_of(data)
        check_classes(arrays, classes)
        names = columns if columns is not None else (name for name, _ in arrays)
        names = list(names)
        described = [
            (name, [int(dim) for dim in shape], name in INTEGERS) for name, shape in (columns or {}).items()
        ]
        self._optimizer = {}  # keys that set_optimizer() has changed
        self._made_from = (copy.deepcopy(config), data), {
            "test": test, "columns": columns, "classes": classes, "model": model,
            "train_samples": train_samples, "test_samples": test_samples, "any_batch": any_batch,
            "overrides": overrides,
        }
        self._made = _core.Trainer(
            given(config, overrides), arrays, columns_of(test, "test"), described, classes, model,
            train_samples, test_samples, any_batch,
        )
        self._columns = [name for name, _ in self._engine.columns()]  # in the engine's order
        self._integers = [name for name, integers in self._engine.columns() if integers]
        self._names = names or self._columns  # in the caller's
        self._smaller = any_batch, train_samples, test_samples  # than global_batch
        self._model = model  # lives as long as its trainer
        self.weights = Weights(self._engine)

    def _named(self, arrays) -> dict:
        """By column, in the engine's order."""
        if len(arrays) == 1 and isinstance(arrays[0], (tuple, list, Mapping)):
            arrays = arrays[0]
        if not isinstance(arrays, Mapping):
            arrays = dict(zip(self._names, arrays)) if len(arrays) == len(self._names) else {}
        if set(arrays) != set(self._names):
            raise ConfigError(f"give an array for each column: {', '.join(self._names)}")
        return {name: arrays[name] for name in self._columns}

    def _batch(self, arrays):
        return _dense(self._named(arrays), self._integers)

    @property
    def _engine(self) -> _core.Trainer:
        if self._made is None:
            raise ConfigError("this Trainer is closed")
        return self._made

    def __repr__(self) -> str:
        if self._made is None:
            return "Trainer(closed)"
        numbers = sum(int(np.prod(self.weights.info(name).shape)) for name in self.weights)
        return (
            f"Trainer({numbers} weights, {self.steps_done} steps done, batches of {self.global_batch} "
            f"on {', '.join(self.devices)})"
        )

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Frees the trainer's memory and threads, as does the end of `with Trainer(...) as trainer:`."""
        self._made = self._made_from = None
        self.weights = {}

    def __reduce__(self):  # what it was made from, and its state
        state = self._engine.save_bytes(False)
        if self._model is not None:
            raise TypeError("a Trainer of a spire.Model is not pickled; pickle its state, by save(io.BytesIO())")
        return _restored, (*self._made_from, state, self._optimizer)

    def step(self, *arrays, lr: float | None = None) -> _core.StepResult:
        """One optimizer step on a global batch: step(x, y). lr: instead of the schedule's. Arrays of other shapes than
        the columns' are refused.

        Dense float32 and int32 arrays are read in place; others are copied.
        """
        return self._engine.step(self._batch(arrays), lr)

    def compute_gradients(
        self, *arrays, on_tower: Callable[[int, str, np.ndarray], None] | None = None
    ) -> _core.StepResult:
        """Forward and backward of a step on a global batch; update() or reject() ends the step. Called again before
        that, it adds a batch: gradients, loss and metric are then means over the samples of all of them.

        on_tower(tower, weight, gradient): is called in the end with the gradient of each tower (share of the batch)
        of this process for each weight; all towers' add up to gradient(weight).
        """
        return self._engine.compute_gradients(self._batch(arrays), on_tower)

    def gradient(self, weight: str) -> np.ndarray:
        """The averaged gradient of a trained weight: writing into the array changes the update. Of use until the step
        ends."""
        return self._engine.gradient(weight)

    def update(self, lr: float | None = None) -> _core.StepResult:
        """Ends the step: updates the weights with the gradients as they are now."""
        return self._engine.update(lr)

    def reject(self) -> None:
        """Ends the step as if it had not begun."""
        self._engine.reject()

    def evaluate(self, *arrays) -> _core.EvaluationResult:
        """Measures the present weights on arrays, or on the test data if none are given."""
        return self._engine.evaluate(self._batch(arrays) if arrays else None)

    def fit(
        self,
        *arrays,
        test=None,
        epochs: int | None = None,
        steps: int | None = None,
        lr: float | Callable[[int], float] | None = None,
        on_step: Callable[[_core.StepResult], bool | None] | None = None,
        on_epoch: Callable[[int, _core.EvaluationResult], bool | None] | None = None,
    ) -> _core.EvaluationResult:
        """Trains, evaluates after each epoch and at the end, and returns the last evaluation; its `samples` is 0 if
        there was none.

        fit(): on the Trainer's data, `steps` steps or to the end of the config's epochs, with the bits of train().
        fit(x, y): on these arrays, `steps` more steps, or `epochs` (default: as many as the config has). Each epoch
        takes them in an order that NumPy draws from the config's seed and the epoch's number, which steps_done tells: a
        Trainer that has loaded a checkpoint goes on in the same order. What is left over at the end of an epoch is a
        smaller batch with any_batch, or if train_samples has the same rest; else these samples are left out, others in
        each epoch. Batches go through step(): one that it refuses ends fit(), and keys of `data` that augment do
        nothing. test: arrays that evaluate() takes; default: those of the training, in whole batches.

        lr: the learning rate, or a function of the step, the first of which is 0, in place of the schedule's. A
        callback that returns False ends it, as does what it raises."""
        if lr is not None and not callable(lr):
            rate, lr = float(lr), lambda _: rate
        if arrays:
            return self._fit(self._named(arrays), test, epochs, steps, lr, on_step, on_epoch)
        if test is not None or epochs is not None:
            raise ConfigError("fit(): epochs and test go with arrays, fit(x, y); else the config has the epochs")
        return self._engine.fit(steps, lr, on_step, on_epoch)

    def _fit(self, arrays, test, epochs, steps, lr, on_step, on_epoch):
        seed, run_epochs, run_steps, drops = self._engine.run_settings()
        if steps is not None and epochs is not None:
            raise ConfigError("fit(): give either steps or epochs")
        arrays, batch = columns_of(arrays), self.global_batch
        count = count_of(arrays)
        rest = count % batch
        any_batch, *sizes = self._smaller
        used, shown = (count if any_batch or rest == size % batch else count - rest for size in sizes)
        if drops and used == count:
            used -= rest
        if used == 0 or (test is None and shown == 0):
            raise ConfigError(f"fit(): {count} samples are no batch of {batch}; make the Trainer with any_batch=True")
        per_epoch = -(-used // batch)
        if steps is None:
            by_epochs = per_epoch * (run_epochs if epochs is None else epochs)
            steps = run_steps if run_steps and epochs is None else by_epochs
        if steps < 0:
            raise ConfigError(f"fit(): {steps} steps are negative")
        if test is None:
            test = {name: array[:shown] for name, array in arrays}
        else:
            test = columns_of(self._named((test,)))
            last = (count_of(test) - 1) // batch * batch
            self.evaluate({name: array[last:] for name, array in test})  # the end of an epoch is late to refuse it
            test = dict(test)
        result, end, drawn = _core.EvaluationResult(), self.steps_done + steps, None
        while (step := self.steps_done) < end:  # a callback may move it
            epoch, at = divmod(step, per_epoch)
            if epoch != drawn:
                drawn, order = epoch, np.random.default_rng([seed, epoch]).permutation(count)[:used]
            rows = order[at * batch : (at + 1) * batch]
            done = self.step({name: array[rows] for name, array in arrays}, lr=lr(step) if lr else None)
            if on_step and on_step(done) is False:
                break
            if self.steps_done % per_epoch and self.steps_done != end:
                continue
            result = self.evaluate(test)
            if on_epoch and on_epoch(-(-self.steps_done // per_epoch), result) is False:
                break
        return result

    def predict(self, x) -> np.ndarray:
        """The model's outputs (N, ...) for rows of the first column."""
        return self._engine.predict(_dense({self._columns[0]: x}, self._integers))

    def set_optimizer(self, **keys) -> None:
        """Changes keys of the config's `optimizer` for later steps: set_optimizer(lr=0.01, lr_factors={"stem.*": 0}).

        load() leaves them as they are.
        """
        self._engine.set_optimizer(given({"optimizer": keys}))
        self._optimizer |= copy.deepcopy(keys)

    def warm_up(self) -> None:
        """Runs a step on zeros, up to its update, and an evaluation, and forgets both: the first step finds all else
        warm."""
        self._engine.warm_up()

    def save(self, file) -> None:
        """Writes a checkpoint with the optimizer's state to a path, or a file object such as io.BytesIO."""
        self._save(file, False)

    def load(self, file) -> None:
        """Reads a checkpoint from a path, a file object or bytes, and continues from it with the same bits."""
        content = _content(file)
        if content is not None:
            self._engine.load_bytes(content, False)
        else:
            self._engine.load(os.fspath(file))

    def save_weights(self, file) -> None:
        """Writes weights (their averages with ema.decay) and running statistics alone, as safetensors, to a path or a
        file object."""
        self._save(file, True)

    def load_weights(self, file, **init) -> None:
        """Reads weights and running statistics alone: of a checkpoint of any batch and optimizer, or safetensors.

        file: a path, a file object or bytes. init: for paths, the keys names, map, skip and strict of the config's
        `init`. Steps and the optimizer's state stay.
        """
        content = _content(file)
        if content is None:
            self._engine.load_weights(given({"init": {"from": os.fspath(file), **init}}))
        elif init:
            raise ConfigError(f"load_weights(): {', '.join(init)}: only of files that are named by their path")
        else:
            self._engine.load_bytes(content, True)

    def _save(self, file, weights):
        if hasattr(file, "write"):
            file.write(self._engine.save_bytes(weights))
        else:
            self._engine.save(os.fspath(file), weights)

    def get_weights(self) -> dict[str, np.ndarray]:
        """Copies of all weights and running statistics by name."""
        return dict(Weights(self._engine))

    def set_weights(self, values: Mapping) -> None:
        """Writes some of them, or all: nothing, if a name or a shape is wrong."""
        Weights(self._engine).update(values)

    def memory(self) -> list[_core.TrainerMemory]:
        """What the trainer has on each device of this process: bytes in use now, and at most so far."""
        return self._engine.memory()

    def release_memory(self) -> None:
        """Gives back what fit() and evaluate() have left for later calls, and freed memory of the process.

        Deleting the trainer frees the rest, also on GPUs.
        """
        self._engine.release_memory()

    @property
    def parameter_hash(self) -> str:
        """Hash of the weights, as in the summary of a run."""
        return f"{self._engine.parameter_hash():016x}"

    @property
    def global_batch(self) -> int:
        """Samples of a step."""
        return self._engine.global_batch

    @property
    def steps_done(self) -> int:
        return self._engine.steps_done

    @property
    def devices(self) -> list[str]:
        return self._engine.devices


def _restored(positional, keywords, state, optimizer=None):
    trainer = Trainer(*positional, **keywords)
    trainer.load(state)
    if optimizer:
        trainer.set_optimizer(**optimizer)
    return trainer


class InferenceSession:
    """A model's outputs on any threads at once, also while it trains: it has weights of its own.

    model: a Trainer, whose present weights it copies, or a run's folder (its best checkpoint) or a checkpoint, which
    it computes on the CPU, a core for each thread that calls. rows: computed at a time. For a run's model on a GPU, or
    on all cores, take TrainedModel.
    """

    def __init__(self, model, rows: int = 32):
        made = model._engine if isinstance(model, Trainer) else os.fspath(model)
        self._model = model._model if isinstance(model, Trainer) else None  # lives as long as the session
        self._core = _core.InferenceSession(made, rows)
        self._columns = self._core.columns()

    def update(self, trainer: Trainer) -> None:
        """Copies the trainer's present weights, on the thread that uses the trainer. predict() goes on meanwhile."""
        self._core.update(trainer._engine)

    def predict(self, *arrays) -> np.ndarray:
        """The outputs (N, ...) for rows of the model's first column, or of each column that its output depends on."""
        names = [name for name, _ in self._columns]
        if len(arrays) == 1 and isinstance(arrays[0], Mapping):
            arrays = [arrays[0].get(name) for name in names]
        if len(arrays) != len(names) or any(array is None for array in arrays):
            raise ConfigError(f"give an array for each column: {', '.join(names)}")
        return self._core.predict(
            _dense(dict(zip(names, arrays)), [name for name, integers in self._columns if integers])
        )


class TrainedModel(_core.TrainedModel):
    """A run's model on a whole device, for one thread at a time, and what the run knew of its data.

    checkpoint: a run's folder (its best checkpoint), or a checkpoint. device: a word of the config's `devices`; auto:
    an idle GPU, or the CPU. batch: rows computed at a time. For many threads, beside a Trainer, and for models of a
    spire.Model take InferenceSession.
    """

    def __init__(self, checkpoint, device: str = "auto", batch: int = 64):
        super().__init__(os.fspath(checkpoint), device, batch)

    def predict(self, x) -> np.ndarray:
        """The outputs (N, ...) for rows of the first of `columns`: numbers as the model's training read them."""
        return super().predict(_dense({next(iter(self.columns)): x}, INTEGERS))
