"""Tests of spire.layers: python3 test_layers.py. All of <spire/layers.h> is there, and means the same."""

import pathlib
import re
import sys

import numpy as np
import spire
from checks import raises, run_tests

s = spire.layers
HEADER = pathlib.Path(__file__).parents[2] / "engine" / "api" / "spire" / "layers.h"
CONFIG = {"optimizer": {"name": "sgd", "lr": 0.0}, "towers": 1, "tower_threads": 1, "batch_size": 4}
IMAGES = np.random.default_rng(3).uniform(0.1, 1, (4, 3, 2, 2)).astype(np.float32)
LABELS = np.array([0, 1, 2, 1], np.int32)


def trainer(layers, classes=3, **more):
    columns = {"images": IMAGES.shape[1:], "labels": ()}
    return spire.Trainer(CONFIG, columns=columns, classes=classes, model=spire.Model(layers, **more))


def computed(layer):
    """What the layer makes of IMAGES."""
    return trainer(lambda graph, inputs: layer(graph, inputs.first), loss=mean_as_loss).predict(IMAGES)


def mean_as_loss(graph, output, inputs):
    s.add_mean_loss(graph, output)
    s.mark_score(graph, output)


def loss_of(add, layer=lambda graph, x: s.dense(graph, "head", s.flatten(graph, x), 3)):
    one = trainer(lambda graph, inputs: layer(graph, inputs.first), loss=add)
    return one.step(IMAGES, LABELS).loss, one.predict(IMAGES).astype(np.float64)


def test_each_public_function_is_bound():
    text = HEADER.read_text()
    names = set(re.findall(r"SPIRE_API\s+[\w:]+\s+(\w+)\(", text))
    assert len(names) > 50 and {"conv2d", "l1_loss", "kaiming_normal"} <= names
    assert not names - set(dir(s)), names - set(dir(s))
    assert all(getattr(s, name).__doc__ for name in names)


def test_initializers():
    def constant(graph, x):
        return s.dense(graph, "d", s.flatten(graph, x), 2, initialize=s.constant(0.5))

    rows = IMAGES.reshape(4, -1).sum(axis=1)
    assert np.allclose(computed(constant), 0.5 * rows[:, np.newaxis], atol=1e-6)
    bounds = {s.uniform(0.25): 0.25, s.kaiming_uniform(6): 1, s.linear_uniform(4): 0.5}
    for initialize, bound in bounds.items():
        one = trainer(lambda graph, inputs: s.dense(graph, "d", s.flatten(graph, inputs.first), 3, True, initialize))
        most = np.abs(one.weights["d.weight"]).max()
        assert bound / 2 < most <= bound, (initialize, most)
    wide = {s.normal(0.1): 0.1, s.kaiming_normal(8): 0.5}
    for initialize, deviation in wide.items():
        one = trainer(lambda graph, inputs: s.dense(graph, "d", s.flatten(graph, inputs.first), 900, True, initialize), 900)
        assert abs(one.weights["d.weight"].std() / deviation - 1) < 0.05
    assert repr(s.normal(0.5)) == "spire.layers.normal(0.5)"


def test_images_change_their_size():
    assert np.array_equal(computed(lambda g, x: s.resize(g, x, (6, 4))), IMAGES.repeat(2, axis=1).repeat(2, axis=2))
    assert computed(lambda g, x: s.resize(g, x, (5, 7), "bilinear")).shape == (4, 5, 7, 2)
    padded = computed(lambda g, x: s.pad_channels(g, x, 5))
    assert np.array_equal(padded[..., :2], IMAGES) and not padded[..., 2:].any()
    # A kernel of ones with stride 2 copies each pixel's sum of channels to 2 x 2 pixels.
    ones = s.constant(1)
    up = computed(lambda g, x: s.conv_transpose2d(g, "up", x, 1, kernel=2, stride=2, bias=False, initialize=ones))
    assert np.allclose(up, IMAGES.sum(-1, keepdims=True).repeat(2, axis=1).repeat(2, axis=2), atol=1e-6)
    raises(spire.ConfigError, "it is nearest or bilinear", computed, lambda g, x: s.resize(g, x, 4, "cubic"))


def test_elementwise_functions():
    x = IMAGES.astype(np.float64)
    e = np.exp(x - x.max(-1, keepdims=True))
    softmax = e / e.sum(-1, keepdims=True)
    cases = {
        s.exp: np.exp(x), s.log: np.log(x), s.square: x * x, s.sqrt: np.sqrt(x), s.abs: x,
        s.softmax: softmax, s.log_softmax: np.log(softmax),
    }
    for function, expected in cases.items():
        assert np.allclose(computed(function), expected, atol=1e-5), function
    assert np.allclose(computed(lambda g, x: s.scale(g, x, 2, 1)), 2 * x + 1, atol=1e-6)
    assert np.allclose(computed(lambda g, x: s.div(g, s.sub(g, x, s.square(g, x)), x)), 1 - x, atol=1e-5)
    assert np.allclose(computed(lambda g, x: s.mean(g, s.sum(g, x, -1), 1)), x.sum(-1).mean(1), atol=1e-5)


def test_layers_of_llama():
    x = IMAGES.astype(np.float64)
    silu = x / (1 + np.exp(-x))
    assert np.allclose(computed(s.silu), silu, atol=1e-5)
    assert np.allclose(computed(s.swiglu), silu[..., :1] * x[..., 1:], atol=1e-5)
    root = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    assert np.allclose(computed(lambda g, v: s.rms_norm(g, "n", v)), x / root, atol=1e-5)
    rows = x.reshape(4, 3, 4)
    turned = computed(lambda g, v: s.rope(g, s.reshape(g, v, (4, 3, 4)), heads=1, size=2, theta=100))
    t = np.arange(3)
    first = rows[..., 0] * np.cos(t) - rows[..., 1] * np.sin(t)
    assert np.allclose(turned[..., 0], first, atol=1e-5) and np.array_equal(turned[..., 2:], rows[..., 2:].astype(np.float32))
    # Two heads of queries share a head of keys and one of values.
    grouped = computed(lambda g, v: s.attention(g, s.reshape(g, v, (4, 3, 4)), heads=2, kv_heads=1))
    assert grouped.shape == (4, 3, 2)


def test_losses_of_labels():
    one_hot = np.eye(3)[LABELS]
    for add, of in ((s.mse_loss, np.square), (s.l1_loss, np.abs)):
        loss, logits = loss_of(lambda g, output, inputs: add(g, output, inputs["labels"]))
        assert abs(loss - of(logits - one_hot).mean()) < 1e-5
    loss, logits = loss_of(mean_as_loss)
    assert abs(loss - logits.mean()) < 1e-5
    weights = [0.5, 1, 2]

    def focal(**more):
        def add(graph, output, inputs):
            s.focal_loss(graph, output, inputs["labels"], gamma=2, class_weights=weights, **more)

        return loss_of(add)

    loss, logits = focal()
    p = (np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))[np.arange(4), LABELS]
    expected = (np.array(weights)[LABELS] * (1 - p) ** 2 * -np.log(p)).mean()
    assert abs(loss - expected) < 1e-5
    assert abs(focal(weight=3)[0] - 3 * expected) < 1e-5
    assert focal(z_loss=1)[0] > expected + 1e-3


def test_losses_of_values():
    """Against what the inputs give: ones for the binary loss, the pixels themselves for Huber's."""
    def pixels(graph, x):
        return s.flatten(graph, x)

    def head(graph, x):
        return s.dense(graph, "head", pixels(graph, x), IMAGES[0].size)

    def binary(graph, output, inputs):
        s.binary_loss(graph, output, s.scale(graph, pixels(graph, inputs.first), 0.0, 1.0))

    def huber(graph, output, inputs):
        s.huber_loss(graph, output, pixels(graph, inputs.first), 0.25)

    loss, logits = loss_of(binary, head)
    assert abs(loss - np.log1p(np.exp(-logits)).mean()) < 1e-5
    loss, predicted = loss_of(huber, head)
    d = np.abs(predicted - IMAGES.reshape(4, -1))
    assert (d < 0.25).any() and (d > 0.25).any()
    assert abs(loss - np.where(d <= 0.25, d ** 2 / 2, 0.25 * (d - 0.125)).mean()) < 1e-5


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
