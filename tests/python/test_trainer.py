"""Arrays given to fit(), weights as a dict and as files, and models of runs: python3 test_trainer.py."""

import io
import json
import os
import pickle
import sys
import tempfile

import numpy as np
import spire
from checks import raises, run_tests
from test_spire import CONFIG, X, Y, config, own_model, trainer


def order(epoch, count):
    return np.random.default_rng([7, epoch]).permutation(count)  # 7: the config's seed


def stepped(one, count, sizes, epochs):
    """One that made the steps of fit(), batches of these sizes."""
    for epoch in epochs:
        for rows in np.split(order(epoch, count), np.cumsum(sizes))[: len(sizes)]:
            one.step(X[rows], Y[rows])
    return one.parameter_hash


def test_fit_takes_arrays_in_numpys_order():
    steps, epochs = [], []
    one, parts, named = trainer(), trainer(), trainer()
    last = one.fit(X, Y, on_step=lambda step: steps.append(step.step), on_epoch=lambda *seen: epochs.append(seen))
    assert steps == list(range(1, 33)) and [epoch for epoch, _ in epochs] == [1, 2, 3, 4]
    assert last.samples == 256 and last.loss == epochs[-1][1].loss == one.evaluate(X, Y).loss
    assert one.parameter_hash == stepped(trainer(), 256, [32] * 8, range(4))
    parts.fit(X.astype(np.float64), Y.astype(np.int64), epochs=3)
    kept = io.BytesIO()
    parts.save(kept)
    resumed = trainer()
    resumed.load(kept.getvalue())
    resumed.fit((X, Y), steps=8)
    named.fit({"labels": Y, "features": X})
    assert one.parameter_hash == resumed.parameter_hash == named.parameter_hash
    short = trainer(overrides=["steps=5"])
    assert short.fit(X, Y).samples == 256 and short.steps_done == 5
    data = spire.Trainer(CONFIG, data=(X[:64], Y[:64]))
    data.fit(X, Y)
    assert data.parameter_hash == one.parameter_hash


def test_the_last_batch_of_an_epoch():
    def fitted(**more):
        one = trainer(**more)
        return one.fit(X[:100], Y[:100], epochs=2).samples, one.steps_done, one.parameter_hash

    full = stepped(trainer(), 100, [32] * 3, range(2))
    smaller = stepped(trainer(any_batch=True), 100, [32] * 3 + [4], range(2))
    assert fitted() == (96, 6, full) == fitted(train_samples=101)
    assert fitted(any_batch=True) == (100, 8, smaller) and fitted(train_samples=100) == (96, 8, smaller)
    assert fitted(train_samples=100, test_samples=100)[0] == 100
    for more in ({"any_batch": True}, {"train_samples": 100}):
        assert fitted(overrides=["data.last_batch=drop"], **more)[1:] == (6, full)


def test_fit_on_arrays_ends_and_evaluates():
    one = trainer()
    rates = []
    last = one.fit(X, Y, test=(X[:64], Y[:64]), steps=11, lr=lambda step: 0.1 / (step + 1), on_step=lambda step: rates.append(step.lr))
    assert np.allclose(rates, [0.1 / step for step in range(1, 12)]) and last.loss == one.evaluate(X[:64], Y[:64]).loss
    assert one.fit(X, Y, on_step=lambda step: step.step < 13).samples == 0 and one.steps_done == 13
    one.fit(X, Y, lr=0.5, on_epoch=lambda epoch, result: False)
    assert one.steps_done == 16 and one.fit(X, Y, steps=0).samples == 0

    def fails(_):
        raise KeyError("mine")

    raises(KeyError, "mine", one.fit, X, Y, on_step=fails)
    assert one.steps_done == 17


def test_fit_refuses_before_anything_changes():
    one = trainer()
    before = one.parameter_hash
    raises(spire.DataError, "the arrays have 100, 99 samples", one.fit, X[:100], Y[:99])
    raises(spire.DataError, "array 'labels': its dtype is float32; labels are integers", one.fit, X, X[:, 0])
    raises(spire.ConfigError, "an array for each column: features, labels", one.fit, X)
    raises(spire.ConfigError, "an array for each column: features, labels", one.fit, print)
    raises(spire.ConfigError, "an array for each column: features, labels", one.fit, {"features": X, "label": Y})
    raises(spire.ConfigError, "it must be (32, 2)", one.fit, np.ones((64, 9)), Y[:64])
    raises(spire.ConfigError, "20 samples are no batch of 32", one.fit, X[:20], Y[:20])
    raises(spire.ConfigError, "a batch of 1, but the global batch is 32", one.fit, X, Y, test=(X[:33], Y[:33]))
    raises(spire.ConfigError, "it must be (32, 2)", one.fit, X, Y, test=(np.ones((64, 9)), Y[:64]))
    raises(spire.ConfigError, "none to evaluate", one.fit, X, Y, test=(X[:0], Y[:0]))
    raises(spire.ConfigError, "either steps or epochs", one.fit, X, Y, steps=1, epochs=1)
    raises(spire.ConfigError, "-8 steps are negative", one.fit, X, Y, epochs=-1)
    raises(spire.ConfigError, "no datasets", one.fit)
    for more in ({"epochs": 3}, {"test": (X, Y)}):
        raises(spire.ConfigError, "epochs and test go with arrays", spire.Trainer(CONFIG, data=(X, Y)).fit, **more)
    assert one.parameter_hash == before and one.steps_done == 0


def test_weights_are_got_and_set():
    one, other = trainer(), trainer(overrides=["seed=8"])
    weights = one.get_weights()
    assert list(weights) == list(one.weights) and one.parameter_hash != other.parameter_hash
    other.set_weights(weights)
    assert one.parameter_hash == other.parameter_hash
    other.set_weights({"dense1.bias": np.full(16, 2.0)})
    assert (other.get_weights()["dense1.bias"] == 2).all() and not (weights["dense1.bias"] == 2).any()
    before = other.parameter_hash
    bias = {"dense1.bias": np.zeros(16)}
    raises(spire.ConfigError, "the model has no weight 'dense1.bia'", other.set_weights, bias | {"dense1.bia": np.zeros(16)})
    raises(spire.ConfigError, "weight 'dense2.bias' is (2,), not (3,)", other.weights.update, bias | {"dense2.bias": np.zeros(3)})
    assert other.parameter_hash == before


def test_weights_go_through_files():
    one, small = trainer(), spire.Trainer(CONFIG | {"batch_size": 8, "seed": 8}, columns={"features": (2,), "labels": ()}, classes=2)
    one.fit(X, Y, steps=3)
    small.step(X[:8], Y[:8])
    fresh, written, state = small.get_weights(), io.BytesIO(), io.BytesIO()
    one.save_weights(written)
    one.save(state)
    size = int.from_bytes(written.getvalue()[:8], "little")  # of the header of safetensors
    assert len(json.loads(written.getvalue()[8 : 8 + size]).keys() - {"__metadata__"}) == len(one.weights)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "w.safetensors")
        one.save_weights(path)
        for file, init in ((path, {"strict": True}), (written.getvalue(), {}), (io.BytesIO(state.getvalue()), {})):
            small.set_weights(fresh)
            small.load_weights(file, **init)
            assert small.parameter_hash == one.parameter_hash and small.steps_done == 1
        small.set_weights(fresh)
        small.load_weights(path, skip=["dense2.*"])
        assert (small.weights["dense1.weight"] == one.weights["dense1.weight"]).all()
        assert (small.weights["dense2.weight"] == fresh["dense2.weight"]).all()
        raises(spire.ConfigError, "init.nam", small.load_weights, path, nam="spire")
        wider = spire.Trainer(CONFIG, columns={"features": (3,), "labels": ()}, classes=2)
        raises(spire.CheckpointError, "dense1.weight", wider.load_weights, path)
    raises(spire.ConfigError, "load_weights(): skip: only of files", small.load_weights, b"", skip=["a"])
    raises(spire.CheckpointError, "nowhere", small.load_weights, "/nowhere")
    raises(spire.CheckpointError, "in memory", small.load_weights, written.getvalue()[:-1])


def test_the_optimizer_changes_between_steps():
    one, other = trainer(), trainer(overrides=["optimizer.lr=0.01"])
    one.set_optimizer(lr=0.01)
    one.step(X[:32], Y[:32]), other.step(X[:32], Y[:32])
    assert one.parameter_hash == other.parameter_hash
    one.set_optimizer(lr_factors={"*": 0}, decay_factors={"*": 0})
    again = pickle.loads(pickle.dumps(one))
    for frozen in (one, again):
        assert frozen.step(X[:32], Y[:32]).lr == 0.01
        assert frozen.parameter_hash == other.parameter_hash
    raises(spire.ConfigError, "optimizer.lr: ", one.set_optimizer, lr=-1)
    raises(spire.ConfigError, "unknown key", one.set_optimizer, rate=1)
    raises(spire.ConfigError, "another optimizer", one.set_optimizer, name="adam")
    raises(spire.ConfigError, "lr_factors", one.set_optimizer, lr_factors={"nothing": 1})


def test_mistakes_of_calls_are_named():
    class Listener:
        def on_epoch(self, report):
            pass

    raises(spire.ConfigError, "there is no event on_epoch; they are on_start", spire.train, CONFIG, (X, Y), callbacks=Listener())
    for call in (spire.train, spire.Trainer):
        raises(spire.ConfigError, "y.astype(int)", call, CONFIG, (X, Y.astype(np.float32)), classes=2)
    raises(spire.ConfigError, "optimizer.lr", spire.Trainer, CONFIG, (X, Y), overrides="optimizer.lr=-1")


def test_warming_up_changes_nothing():
    one, other = trainer(), trainer()
    one.warm_up()
    assert one.steps_done == 0 and one.parameter_hash == other.parameter_hash
    assert one.step(X[:32], Y[:32]).loss == other.step(X[:32], Y[:32]).loss and one.parameter_hash == other.parameter_hash


def test_a_closed_trainer_says_so():
    one = trainer()
    one.close()
    for call in (lambda: one.fit(X, Y), one.get_weights, lambda: one.set_weights({}), one.warm_up):
        raises(spire.ConfigError, "this Trainer is closed", call)
    for call in (one.save_weights, one.load_weights):
        raises(spire.ConfigError, "this Trainer is closed", call, io.BytesIO())


def test_models_of_runs_predict():
    with tempfile.TemporaryDirectory() as folder:
        spire.train(config(folder), data=(X, Y))
        model = spire.TrainedModel(os.path.join(folder, "run"), device="cpu", batch=7)
        assert model.columns == {"features": (2,), "labels": ()} and model.output_shape == (2,)
        assert (model.task, model.classes, model.class_names, model.device) == ("classify", 2, [], "cpu:0")
        assert model.normalization == ([], [])
        expected = spire.InferenceSession(os.path.join(folder, "run")).predict(X)
        outputs = model.predict(X.astype(np.float64))
        assert outputs.shape == (256, 2) and np.allclose(outputs, expected, atol=1e-5)
        raises(spire.ConfigError, "'features': the shape of its array is (3, 9); it must be (3, 2)", model.predict, np.ones((3, 9)))
        raises(spire.ConfigError, "there are no rows", model.predict, X[:0])
        raises(spire.ConfigError, "batch: 0 rows", spire.TrainedModel, os.path.join(folder, "run"), batch=0)
        raises(spire.ConfigError, "gpux", spire.TrainedModel, os.path.join(folder, "run"), device="gpux")
        spire.train(config(folder, precision="bf16"), data=(X, Y), overwrite=True)
        assert np.allclose(spire.TrainedModel(os.path.join(folder, "run"), "cpu").predict(X), expected, atol=0.1)
        spire.train(config(folder), data=(X, Y), model=own_model(), overwrite=True)
        raises(spire.CheckpointError, "unknown value 'own'", spire.TrainedModel, os.path.join(folder, "run"))
    raises(spire.CheckpointError, "nowhere", spire.TrainedModel, "/nowhere")


def test_models_of_images_and_tokens_predict():
    images = np.random.default_rng(1).integers(0, 255, (64, 6, 6), dtype=np.uint8)
    tokens = np.random.default_rng(1).integers(0, 11, (8, 12))
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        spire.train(config(folder, epochs=1), data=(images, Y[:64]))
        model = spire.TrainedModel(run, "cpu")
        assert np.allclose(model.predict(images), model.predict(images[..., np.newaxis] / 255), atol=1e-5)
        model = {"name": "gpt", "blocks": 1, "width": 8, "heads": 2}
        spire.train(config(folder, model=model, batch_size=4), data=(tokens, tokens), overwrite=True)
        model = spire.TrainedModel(run, "cpu")
        assert model.task == "predict_tokens" and model.predict(tokens[:3]).shape == (3, *model.output_shape) == (3, 12, 11)
        raises(spire.DataError, "array 'tokens': it has 11, but numbers are from 0 to 10", model.predict, tokens * 0 + 11)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
