"""Tests of the Python package, without a test framework: python3 test_spire.py. Each function test_* is one."""

import gc
import io
import os
import pickle
import signal
import sys
import tempfile
import threading

import numpy as np
import spire
from checks import raises, run_tests

rng = np.random.default_rng(7)
X = rng.uniform(-1, 1, (256, 2)).astype(np.float32)
Y = (X.sum(axis=1) > 0).astype(np.int32)
CONFIG = {
    "model": {"name": "mlp", "hidden": [16]},
    "optimizer": {"name": "sgd", "lr": 0.2, "momentum": 0.9},
    "towers": 1,
    "tower_threads": 1,
    "batch_size": 32,
    "epochs": 4,
}


def config(folder, **more):
    return CONFIG | {"output": os.path.join(folder, "run")} | more


def losses_of(data, **more):
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        run = spire.train(config(folder), data=data, callbacks=lambda step: losses.append(step.loss), **more)
    return losses, run.summary.parameter_hash


def trainer(**more):
    return spire.Trainer(CONFIG, columns={"features": (2,), "labels": ()}, classes=2, **more)


def own_model():
    def layers(graph, inputs):
        return spire.layers.dense(graph, "head", inputs["features"], inputs.classes)

    return spire.Model(layers)


def test_a_run_reports_and_ends():
    class Events:
        def __init__(self):
            self.seen = []

        def on_start(self, start):
            self.seen.append(("start", start.total_steps))

        def on_eval(self, evaluation):
            self.seen.append(("eval", evaluation.samples))

        def on_end(self, summary):
            self.seen.append(("end", summary.steps))

    events, steps = Events(), []
    with tempfile.TemporaryDirectory() as folder:
        run = spire.train(config(folder), data=(X, Y), test=(X[:64], Y[:64]), callbacks=[events, steps.append])
    assert run.exit_code == 0 and run.summary.steps == 32 == len(steps)
    assert events.seen[0] == ("start", 32) and ("eval", 64) in events.seen and events.seen[-1] == ("end", 32)
    assert steps[-1].loss < steps[0].loss and run.summary.val.metric.name == "accuracy"
    assert len(run.summary.parameter_hash) == 16


def test_configs_are_dicts_text_or_files():
    with tempfile.TemporaryDirectory() as folder:
        text = "model: {name: mlp, hidden: [16]}\nbatch_size: 32\ntowers: 1\nepochs: 1\n"
        path = os.path.join(folder, "run.yaml")
        with open(path, "w") as file:
            file.write(text)
        words = [f"output={folder}/run"]
        runs = [
            spire.train(each, data=(X, Y), overrides=words, overwrite=True)
            for each in (text, path, {"model": {"name": "mlp", "hidden": [16]}, "batch_size": np.int64(32), "towers": 1, "epochs": 1})
        ]
    assert len({run.summary.parameter_hash for run in runs}) == 1


def test_any_strides_and_integers_train_the_same_bits():
    wide = np.zeros((256, 6), np.float32)
    wide[:, 1:5:3] = X
    expected = losses_of((X, Y))
    assert losses_of((wide[:, 1:5:3], Y.astype(np.int64))) == expected
    assert losses_of((X.astype(np.float64), Y.astype(bool))) == expected
    assert losses_of({"labels": Y, "features": X}) == expected


def test_a_trainer_trains_evaluates_and_predicts():
    one = trainer()
    assert one.global_batch == 32
    for step in range(80):
        rows = slice(step % 8 * 32, step % 8 * 32 + 32)
        result = one.step(X[rows], Y[rows].astype(np.int64))
    assert result.step == 80 == one.steps_done and result.samples == 32
    evaluation = one.evaluate(X, Y)
    logits = one.predict(X)
    assert logits.shape == (256, 2) and logits.dtype == np.float32
    assert evaluation.metric.value == np.mean(logits.argmax(axis=1) == Y) > 0.9


def test_weights_are_a_mapping():
    one = trainer()
    assert len(one.weights) == 4 and "nothing" not in one.weights
    for name, values in one.weights.items():
        new = np.arange(values.size, dtype=np.float32).reshape(values.shape)
        one.weights[name] = new[::-1]
        assert (one.weights[name] == new[::-1]).all() and one.weights.info(name).trained
    raises(KeyError, "nothing", lambda: one.weights["nothing"])
    raises(spire.ConfigError, "not (1,)", one.weights.__setitem__, name, np.zeros(1))


def test_a_checkpoint_continues_with_the_same_bits():
    one, other = trainer(), trainer()
    one.step(X[:32], Y[:32])
    with tempfile.TemporaryDirectory() as folder:
        one.save(os.path.join(folder, "a.h5"))
        other.load(os.path.join(folder, "a.h5"))
    assert one.parameter_hash == other.parameter_hash
    assert one.step(X[:32], Y[:32]).loss == other.step(X[:32], Y[:32]).loss


def test_a_state_goes_through_memory_and_pickle():
    made = trainer()
    made.step(X[:32], Y[:32])
    kept = io.BytesIO()
    made.save(kept)
    other = trainer()
    other.load(io.BytesIO(kept.getvalue()))
    copy = pickle.loads(pickle.dumps(made))
    for each in (other, copy):
        assert each.parameter_hash == made.parameter_hash and each.steps_done == 1
    made.step(X[32:64], Y[32:64])
    for each in (other, copy):
        each.step(X[32:64], Y[32:64])
        assert each.parameter_hash == made.parameter_hash  # the optimizer's state came along
    raises(spire.CheckpointError, "in memory", other.load, kept.getvalue()[:-100])


def test_gradients_are_read_and_changed():
    parts, whole = trainer(), trainer()
    towers = []
    computed = parts.compute_gradients(X[:32], Y[:32], on_tower=lambda tower, weight, g: towers.append((weight, g)))
    for weight, of_tower in towers:  # there is one tower
        gradient = parts.gradient(weight)
        assert np.array_equal(gradient, of_tower)
        gradient *= 2
    assert {weight for weight, _ in towers} == set(parts.weights)
    updated, stepped = parts.update(lr=0.125), whole.step(X[:32], Y[:32], lr=0.25)
    assert computed.loss == updated.loss == stepped.loss
    assert parts.parameter_hash == whole.parameter_hash
    parts.compute_gradients(X[:32], Y[:32])
    raises(spire.ConfigError, "step(): gradients of step 2 wait for it to end", parts.step, X[:32], Y[:32])
    kept = parts.gradient("dense1.weight")
    parts.reject()
    assert parts.parameter_hash == whole.parameter_hash and parts.steps_done == 1

    def fails(*_):
        raise KeyError("mine")

    del parts  # `kept` keeps its memory
    assert kept.shape == (16, 2) and np.isfinite(kept).all()
    raises(KeyError, "mine", whole.compute_gradients, X[:32], Y[:32], on_tower=fails)
    assert whole.update().samples == 32  # the gradients are there
    data = spire.Trainer(CONFIG, (X, Y))
    raises(KeyError, "mine", data.fit, lr=fails)
    assert data.steps_done == 0 and data.step(X[:32], Y[:32]).step == 1


def test_sessions_compute_on_threads():
    with spire.Trainer(CONFIG, (X, Y)) as made:
        assert repr(made) == "Trainer(82 weights, 0 steps done, batches of 32 on cpu:0)"
        session = spire.InferenceSession(made)
        before = session.predict(X)
        made.fit(steps=3, lr=0.05)
        assert np.array_equal(session.predict(X), before)
        session.update(made)
        expected = made.predict(X)
        assert np.allclose(session.predict({"features": X}), expected, atol=1e-5)
        found = []
        threads = [threading.Thread(target=lambda: found.append(session.predict(X[:1]))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4 and all(np.allclose(each, expected[:1], atol=1e-5) for each in found)
    raises(spire.ConfigError, "closed", made.fit)
    raises(spire.ConfigError, "closed", pickle.dumps, made)
    assert repr(made) == "Trainer(closed)"
    raises(spire.ConfigError, "an array for each column: features", session.predict, X, X)
    raises(TypeError, "of a spire.Model is not pickled", pickle.dumps, trainer(model=own_model()))
    own = spire.InferenceSession(trainer(model=own_model()))  # which keeps the model
    gc.collect()
    threads = [threading.Thread(target=lambda: found.append(own.predict(X[:64]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    with tempfile.TemporaryDirectory() as folder:
        run = spire.train(config(folder), data=(X, Y))
        assert spire.InferenceSession(os.path.join(folder, "run")).predict(X[:3]).shape == (3, 2)
        assert run.exit_code == 0


def test_devices_are_listed_with_their_memory():
    cpu = spire.devices()[0]
    assert (cpu.id, cpu.host_number, cpu.problem) == ("cpu", -1, "")
    assert cpu.memory_used + cpu.memory_free == cpu.memory_total


def test_a_trainer_tells_its_memory_and_gives_back_what_it_can():
    trainer = spire.Trainer(CONFIG, (X, Y))
    trainer.fit()
    before = trainer.parameter_hash
    (memory,) = trainer.memory()
    assert memory.device.startswith("cpu:")
    assert 0 < memory.in_use <= memory.peak
    assert sum(memory.kinds.values()) == memory.in_use
    trainer.release_memory()
    assert trainer.parameter_hash == before
    trainer.evaluate()


def test_fit_is_train():
    expected = losses_of((X, Y))
    losses, epochs = [], []
    one = spire.Trainer(CONFIG, data=(X, Y))
    one.fit(on_step=lambda step: losses.append(step.loss), on_epoch=lambda epoch, result: epochs.append(epoch))
    assert (losses, one.parameter_hash) == expected and epochs == [1, 2, 3, 4]
    one.fit(on_step=lambda step: False)
    assert one.steps_done == 32  # nothing is left


def test_own_models():
    def layers(graph, inputs):
        s = spire.layers
        x = s.conv2d(graph, "c", inputs["images"], channels=4, kernel=(3, 3), padding=1)
        assert x.shape == (inputs.batch, 8, 8, 4)
        x = s.relu(graph, s.batch_norm(graph, "b", x))
        x = s.concat(graph, [s.max_pool2d(graph, x), s.avg_pool2d(graph, x)], axis=-1)
        x = s.dropout(graph, s.gelu(graph, x), 0.1)
        x = s.group_norm(graph, "g", x, groups=4)
        x = s.layer_norm(graph, "n", s.reshape(graph, x, (inputs.batch, 16, 8)))
        x = s.gru(graph, "u", s.lstm(graph, "l", s.conv1d(graph, "v", x, 6, padding=1), 5), 8)
        qkv = s.dense(graph, "qkv", x, 24)
        x = s.add(graph, x, s.mul(graph, x, s.attention(graph, qkv, heads=2)))
        return s.dense(graph, "head", s.flatten(graph, x), inputs.classes)

    images = rng.integers(0, 255, (64, 8, 8), dtype=np.uint8)
    images[:32, :4] //= 4
    labels = np.repeat([0, 1], 32)
    short = {key: CONFIG[key] for key in CONFIG if key != "model"} | {"epochs": 15, "optimizer": {"lr": 0.01}}
    one = spire.Trainer(short, data=(images, labels), model=spire.Model(layers))
    assert {"c.weight", "qkv.weight", "n.gamma", "g.beta", "v.weight", "l.weight_hh", "u.bias_ih"} <= set(one.weights)
    losses = []
    result = one.fit(on_step=lambda step: losses.append(step.loss))
    assert np.mean(losses[-4:]) < np.mean(losses[:4])
    assert result.samples == 64
    assert one.step(images[:32], labels[:32]).samples == 32


def test_own_losses():
    def layers(graph, inputs):
        return spire.layers.dense(graph, "head", inputs.first, 2)

    def loss(graph, output, inputs):
        spire.layers.cross_entropy_loss(graph, output, inputs["labels"], 0.1)

    own = spire.Model(layers, loss=loss, metric="accuracy")
    one = trainer(model=own)
    assert one.step(X[:32], Y[:32]).metric.name == "accuracy"
    raises(spire.ConfigError, "metric is 'best'", trainer, model=spire.Model(layers, metric="best"))


def test_exceptions_of_callbacks_and_models_arrive_as_themselves():
    class Mine(Exception):
        pass

    mine = Mine("ended")

    def raise_it(*_):
        raise mine

    with tempfile.TemporaryDirectory() as folder:
        assert raises(Mine, "ended", spire.train, config(folder), data=(X, Y), callbacks=raise_it) is mine
    assert raises(Mine, "ended", trainer, model=spire.Model(raise_it)) is mine
    one = spire.Trainer(CONFIG, data=(X, Y))
    assert raises(Mine, "ended", one.fit, on_step=raise_it) is mine
    raises(spire.ConfigError, "returned no spire.Value", trainer, model=spire.Model(lambda graph, inputs: 3))


def test_a_graph_is_of_no_use_outside():
    kept = []

    def layers(graph, inputs):
        kept.extend([graph, inputs, inputs.first])
        return spire.layers.dense(graph, "head", inputs.first, inputs.classes)

    trainer(model=spire.Model(layers))
    raises(spire.ConfigError, "only in the model's function", spire.layers.relu, kept[0], kept[2])
    raises(spire.ConfigError, "only in the model's function", lambda: kept[1].batch)


def test_false_ends_a_run_with_a_checkpoint():
    with tempfile.TemporaryDirectory() as folder:
        run = spire.train(config(folder), data=(X, Y), callbacks=lambda step: step.step < 3)
        assert run.exit_code == 75 and run.summary.steps < 32 and os.path.exists(run.summary.checkpoint)


def test_an_interrupt_saves_a_checkpoint_and_arrives():
    def interrupt(step):
        if step.step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Python ignores it in a shell's background
    with tempfile.TemporaryDirectory() as folder:
        long = config(folder, epochs=100000)
        raises(KeyboardInterrupt, "", spire.train, long, data=(X, Y), callbacks=interrupt)
        signal.signal(signal.SIGINT, before)
        run = spire.train(long, data=(X, Y), resume="latest", callbacks=lambda step: False)
        assert run.summary.steps >= 3  # after what the first one saved


def test_trainers_on_threads():
    hashes = []

    def work():
        one = spire.Trainer(CONFIG, data=(X, Y))
        one.fit()
        hashes.append(one.parameter_hash)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hashes == [losses_of((X, Y))[1]] * 2


def test_errors_have_categories():
    assert issubclass(spire.ConfigError, spire.Error) and spire.CheckpointError.exit_code == 5
    raises(spire.ConfigError, "lrr", spire.train, {"optimizer": {"lrr": 1}})
    raises(spire.DataError, "labels", spire.train, CONFIG, data=(X, Y[1:]))
    raises(spire.DataError, "its dtype is complex64", spire.train, CONFIG, data=(X.astype(np.complex64), Y))
    raises(spire.DataError, "axes", spire.train, CONFIG, data=(X[:, 0], Y))
    raises(TypeError, "config is a dict", spire.train, 3)
    raises(spire.ConfigError, "either data or columns", spire.Trainer, CONFIG, data=(X, Y), columns={"a": ()})
    one = trainer()
    raises(spire.ConfigError, "batch", one.step, X[:31], Y[:31])
    raises(spire.ConfigError, "an array for each column", one.step, X[:32])
    raises(spire.DataError, "32, 31 samples", one.step, X[:32], Y[:31])
    raises(spire.CheckpointError, "nowhere", one.load, "/nowhere.h5")
    assert one.step(X[:32], Y[:32]).step == 1  # it goes on


def test_labels_out_of_range_change_nothing():
    one = trainer()
    before = one.parameter_hash
    wrong = Y[:32].copy()
    wrong[5] = 2
    raises(spire.DataError, "sample 5: column 'labels' has 2; numbers are 0 to 1", one.step, X[:32], wrong)
    raises(spire.DataError, "sample 5", one.evaluate, X[:32], wrong)
    assert one.parameter_hash == before and one.step(X[:32], Y[:32]).step == 1


def test_arrays_of_other_shapes_are_refused():
    one = trainer()
    wide, huge = np.ones((32, 9), np.float32), spire.Trainer(CONFIG, columns={"features": (200000,), "labels": ()}, classes=2)
    for call in (one.step, one.evaluate):
        raises(spire.ConfigError, "the shape of its array is (32, 9); it must be (32, 2)", call, wide, Y[:32])
        raises(spire.ConfigError, "column 'labels': the shape of its array is (32, 1)", call, X[:32], Y[:32, np.newaxis])
    raises(spire.ConfigError, "the shape of its array is (32, 9); it must be (32, 2)", one.predict, wide)
    raises(spire.ConfigError, "the shape of its array is (2)", one.predict, X[0])
    raises(spire.ConfigError, "it must be (32, 200000)", huge.step, wide, Y[:32])
    raises(spire.ConfigError, "it must be (32, 200000)", huge.predict, wide)
    raises(spire.ConfigError, "an array for each column: features, labels", one.step, {"features": X[:32]})
    raises(spire.ConfigError, "has no elements", spire.Trainer, CONFIG, columns={"features": (-3,), "labels": ()}, classes=2)
    assert one.step(X[:32], Y[:32]).step == 1


def test_columns_are_found_by_name_in_any_order():
    one, other = trainer(), spire.Trainer(CONFIG, data={"labels": Y, "features": X})
    loss = one.step(X[:32], Y[:32]).loss
    assert other.step(Y[:32], X[:32]).loss == loss  # the order of `data`
    assert (other.predict(X) == one.predict(X)).all()
    assert one.step({"labels": Y[:32], "features": X[:32]}).loss == other.step({"features": X[:32], "labels": Y[:32]}).loss


class Provider:
    """An array that is no NumPy array, and speaks DLPack; device: what it claims."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


def test_arrays_pass_by_dlpack_without_copies():
    from spire._arrays import columns, dense

    (_, x), (_, y) = columns((Provider(X), Provider(Y)))
    assert np.shares_memory(x, X) and np.shares_memory(y, Y)
    assert all(map(np.shares_memory, dense([("features", x), ("labels", y)]), (X, Y)))
    assert losses_of((Provider(X), Provider(Y))) == losses_of((X, Y))
    one = trainer()
    one.step(Provider(X[:32]), Provider(Y[:32]))
    logits = one.predict(Provider(X))
    assert np.shares_memory(np.from_dlpack(logits), logits)


def test_batches_of_any_size():
    made = trainer(any_batch=True)
    assert [made.step(X[:n], Y[:n]).samples for n in (31, 32, 1)] == [31, 32, 1]
    assert made.evaluate(X[:33], Y[:33]).samples == 33
    raises(spire.ConfigError, "a batch of 33", made.step, X[:33], Y[:33])
    raises(spire.ConfigError, "for smaller ones any_batch", trainer().step, X[:31], Y[:31])


def test_tensors_of_a_graph_are_detached():
    class Tensor:  # as PyTorch's, which refuses to be exported with requires_grad
        requires_grad = True

        def detach(self):
            return Y

    assert np.shares_memory(spire._arrays.view(Tensor()), Y)


def test_a_step_refuses_arrays_of_gpus():
    on_gpu = Provider(X[:32], (2, 0))
    raises(spire.DataError, "in the host's memory", trainer().step, on_gpu, Y[:32])


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
