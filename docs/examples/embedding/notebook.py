"""From Python: gradients, a session on threads, and a state in memory."""

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import spire

rng = np.random.default_rng(1)
x = rng.uniform(-1, 1, (2048, 2)).astype(np.float32)
y = (np.hypot(x[:, 0], x[:, 1]) < 0.7).astype(np.int32)
config = {"model": {"name": "mlp", "hidden": [32, 32]}, "devices": "cpu", "batch_size": 64, "towers": 1,
          "optimizer": {"lr": 0.3}, "schedule": {"name": "constant"}}

with spire.Trainer(config, columns={"features": (2,), "labels": ()}, classes=2, any_batch=True) as trainer:
    session = spire.InferenceSession(trainer, rows=16)
    for step in range(400):
        rows = rng.integers(0, len(x), 48)
        trainer.compute_gradients(x[rows], y[rows])
        for name in trainer.weights:
            np.clip(trainer.gradient(name), -0.1, 0.1, out=trainer.gradient(name))
        result = trainer.update(lr=0.3 if step < 300 else 0.03)
    session.update(trainer)
    with ThreadPoolExecutor(4) as pool:
        outputs = np.concatenate(list(pool.map(session.predict, np.split(x, 16))))
    accuracy = float((outputs.argmax(axis=1) == y).mean())
    kept = io.BytesIO()
    trainer.save(kept)
    print(f"{trainer}: loss {result.loss:.3f}, accuracy {accuracy:.3f}, a state of {len(kept.getvalue())} bytes")
assert accuracy > 0.95 and result.samples == 48
