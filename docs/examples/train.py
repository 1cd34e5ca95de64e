"""Trains a classifier of points on arrays in memory, with a model of its own, then looks at its weights."""

import tempfile

import numpy as np
import spire

rng = np.random.default_rng(1)
x = rng.uniform(-1, 1, (4000, 2)).astype(np.float32)
y = (x**2).sum(axis=1) < 0.5  # is the point inside the circle?
config = {
    "batch_size": 100,
    "towers": 1,
    "tower_threads": 1,
    "epochs": 10,
    "optimizer": {"name": "sgd", "lr": 0.3, "momentum": 0.9},
}


def layers(graph, inputs):
    hidden = spire.layers.relu(graph, spire.layers.dense(graph, "hidden", inputs.first, 32))
    return spire.layers.dense(graph, "head", hidden, inputs.classes)


model = spire.Model(layers)


def report(step):
    if step.step % 100 == 0:
        print(f"step {step.step}: loss {step.loss:.3f}")


# A whole run, with files and checkpoints in its folder.
with tempfile.TemporaryDirectory() as folder:
    run = spire.train(config | {"output": folder + "/run"}, data=(x, y), test=(x, y), model=model, callbacks=report)
print(f"accuracy {run.summary.val.metric.value:.3f}")
assert run.summary.val.metric.value > 0.95

# The same, step by step.
trainer = spire.Trainer(config, columns={"features": (2,), "labels": ()}, classes=2, model=model)
for step in range(400):
    batch = slice(step % 40 * 100, step % 40 * 100 + 100)
    result = trainer.step(x[batch], y[batch])
print(f"loss {result.loss:.3f}, accuracy {trainer.evaluate(x, y).metric.value:.3f}")
print({name: weight.shape for name, weight in trainer.weights.items()})
