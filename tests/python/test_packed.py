"""Packed documents of Python: python3 test_packed.py. Models made here have the bits of the engine's own."""

import sys

import numpy as np
import spire
from checks import raises, run_tests

s = spire.layers
WIDTH, HEADS, VOCABULARY, LENGTH = 8, 2, 11, 12
MODELS = {
    "llama": {"name": "llama", "blocks": 1, "width": WIDTH, "heads": HEADS, "mlp_width": 20},
    "gpt": {"name": "gpt", "blocks": 1, "width": WIDTH, "heads": HEADS},
}
CONFIG = {
    "optimizer": {"name": "adamw", "lr": 0.01}, "towers": 2, "tower_threads": 1, "batch_size": 2, "epochs": 3,
    "schedule": {"name": "constant"},
}


def packed_rows(rows=8):
    """Documents of 1 to 7 tokens, one behind the other."""
    rng = np.random.default_rng(5)
    text = rng.integers(0, VOCABULARY, rows * LENGTH + 1)
    places = np.concatenate([np.arange(n) for n in rng.integers(1, 8, rows * LENGTH)])[: rows * LENGTH]
    places = places.reshape(rows, LENGTH)
    for row in places:  # a document that goes on in the next row is a document of its own there
        first = np.flatnonzero(row == 0)
        row[: first[0] if first.size else LENGTH] -= row[0]
    return {"tokens": text[:-1].reshape(rows, LENGTH), "targets": text[1:].reshape(rows, LENGTH), "positions": places}


DATA = packed_rows()


def branch_end():
    return s.normal(0.02 / np.sqrt(2))  # one block


def dense(graph, name, x, units, bias, initialize=None):
    return s.dense(graph, name, x, units, bias, initialize or s.normal(0.02))


def block(graph, x, norm, attention, hidden, bias):
    y = attention(norm("block1.norm1", x))
    x = s.add(graph, x, dense(graph, "block1.attention.project", y, WIDTH, bias, branch_end()))
    y = hidden(norm("block1.norm2", x))
    return s.add(graph, x, dense(graph, "block1.mlp.down", y, WIDTH, bias, branch_end()))


def llama(graph, inputs):
    places = inputs["positions"] if "positions" in inputs else None

    def norm(name, x):
        return s.rms_norm(graph, name, x)

    def attention(x):
        qkv = dense(graph, "block1.attention.qkv", x, 3 * WIDTH, False)
        qkv = s.rope(graph, qkv, heads=2 * HEADS, size=WIDTH // HEADS, positions=places)
        return s.attention(graph, qkv, HEADS, causal=True, positions=places)

    def hidden(x):
        return s.swiglu(graph, dense(graph, "block1.mlp.gate_up", x, 2 * 20, False))

    x, _ = s.embedding(graph, "tokens", inputs["tokens"], inputs.classes, WIDTH)
    x = block(graph, x, norm, attention, hidden, False)
    return dense(graph, "head", norm("norm", x), inputs.classes, False)


def gpt(graph, inputs):
    places = inputs["positions"] if "positions" in inputs else None

    def norm(name, x):
        return s.layer_norm(graph, name, x)

    def attention(x):
        qkv = dense(graph, "block1.attention.qkv", x, 3 * WIDTH, True)
        return s.attention(graph, qkv, HEADS, causal=True, positions=places)

    def hidden(x):
        return s.gelu_tanh(graph, dense(graph, "block1.mlp.up", x, 4 * WIDTH, True))

    x, table = s.embedding(graph, "tokens", inputs["tokens"], inputs.classes, WIDTH)
    x = s.position_embedding(graph, "positions", x, positions=LENGTH, at=places)
    return s.tied_dense(graph, table, norm("norm", block(graph, x, norm, attention, hidden, True)))


def trained(data, name, layers=None):
    own = spire.Model(layers) if layers else None
    one = spire.Trainer(CONFIG | {"model": MODELS[name]}, data=data, model=own)
    one.fit()
    return one


def test_own_models_have_the_bits_of_the_engines():
    joined = {name: DATA[name] for name in ("tokens", "targets")}
    for name, layers in {"llama": llama, "gpt": gpt}.items():
        expected, own = trained(DATA, name), trained(DATA, name, layers)
        assert list(own.weights) == list(expected.weights)
        assert own.parameter_hash == expected.parameter_hash, name
        assert own.parameter_hash != trained(joined, name, layers).parameter_hash, name


def test_a_trainer_without_positions_predicts():
    for name, layers in {"llama": llama, "gpt": gpt}.items():
        own = trained(DATA, name, layers)
        raises(spire.ConfigError, "reads column 'positions' besides the first", own.predict, DATA["tokens"])
        columns = {"tokens": (LENGTH,), "targets": (LENGTH,)}
        reader = spire.Trainer(CONFIG, columns=columns, classes=VOCABULARY, model=spire.Model(layers))
        for weight, values in own.weights.items():
            reader.weights[weight] = values
        assert np.array_equal(reader.predict(DATA["tokens"]), trained(DATA, name).predict(DATA["tokens"])), name


def test_steps_take_positions():
    columns = {name: (LENGTH,) for name in DATA}
    batch = {name: rows[:4] for name, rows in DATA.items()}
    config = CONFIG | {"model": MODELS["llama"]}
    one = spire.Trainer(config, columns=columns, classes=VOCABULARY, model=spire.Model(llama))
    other = spire.Trainer(config, columns=columns, classes=VOCABULARY)
    assert [one.step(batch).loss for _ in range(3)] == [other.step(batch).loss for _ in range(3)]
    wrong = dict(batch, positions=np.tile([0, 3], (4, LENGTH // 2)))
    raises(spire.DataError, "column 'positions' has 3 at position 1", one.step, wrong)
    halves = dict(batch, positions=batch["positions"] + 0.5)
    raises(spire.DataError, "array 'positions': its dtype is float64; positions are integers", one.step, halves)
    assert one.step(batch).step == 4


def test_wrong_positions_are_refused():
    wrong = dict(DATA, positions=DATA["positions"] + 1)
    raises(spire.DataError, "array 'positions': sample 0 has 1 at position 0", trained, wrong, "llama")
    raises(spire.DataError, "its dtype is fp32; positions are i32 or u8", trained, dict(DATA, positions=np.ones((8, LENGTH), np.float32)), "llama")

    def without_rows(graph, inputs):
        x, table = s.embedding(graph, "tokens", inputs["tokens"], inputs.classes, WIDTH)
        return s.tied_dense(graph, table, s.position_embedding(graph, "p", x, at=inputs["positions"]))

    raises(spire.ConfigError, "with `at` give the weight's rows, positions", trained, DATA, "gpt", without_rows)

    def both_ways(graph, inputs):
        x, table = s.embedding(graph, "tokens", inputs["tokens"], inputs.classes, 3 * WIDTH)
        return s.attention(graph, x, HEADS, positions=inputs["positions"])

    raises(spire.ConfigError, "documents need a causal mask", trained, DATA, "gpt", both_ways)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
