"""The six models of the comparison: what each contender trains, in one place. Any Python can read it.

Optimizers' keys are both Spire's (optimizer.KEY) and PyTorch's; every other number of theirs is the common default
(beta1 0.9, beta2 0.999, epsilon 1e-8). Weight decay, where there is one, is of all parameters.
"""

from dataclasses import dataclass, field

PRECISIONS = ("fp32", "bf16")
OPTIMIZERS = {
    "adam": {"lr": 0.001},
    "sgd": {"lr": 0.05, "momentum": 0.9},
    "adamw": {"lr": 3e-4, "weight_decay": 0.1},
}


@dataclass(frozen=True)
class Workload:
    """One model, its samples and its step."""

    shape: tuple  # of a sample: (height, width, channels) of images, (tokens,) of text
    classes: int  # of labels; text: size of the vocabulary
    batch: int  # samples of a step, over all towers
    optimizer: str  # key of OPTIMIZERS
    model: dict = field(default_factory=dict)  # Spire's keys model.KEY
    seconds: float = 5.0  # timed in a run
    warm_up_steps: int = 20  # at least, before the clock starts
    trial_steps: int = 64  # from which Spire's number of steps is found

    @property
    def is_text(self):
        return len(self.shape) == 1


WORKLOADS = {
    "mlp": Workload((28, 28, 1), 10, 128, "adam", {"name": "mlp", "hidden": "[512,256]"}, trial_steps=1000),
    "cnn": Workload((28, 28, 1), 10, 128, "adam", {"name": "cnn"}),
    "resnet20": Workload((32, 32, 3), 10, 128, "sgd", {"name": "resnet", "depth": 20, "shortcut": "projection"}),
    "resnet50": Workload((224, 224, 3), 1000, 16, "sgd", {"name": "resnet", "variant": "imagenet", "depth": 50},
                         seconds=20, warm_up_steps=2, trial_steps=3),
    "gpt": Workload((256,), 65, 16, "adamw", {"name": "gpt", "blocks": 6, "width": 384, "heads": 6},
                    warm_up_steps=3, trial_steps=6),
    "gpt2": Workload((256,), 50257, 4, "adamw", {"name": "gpt", "size": "gpt2"},
                     seconds=20, warm_up_steps=2, trial_steps=3),
}
MODELS = tuple(WORKLOADS)


def spire_settings(name):
    """key=value words for `trainer`: the model, random samples in memory, the optimizer, and steps alone."""
    workload = WORKLOADS[name]
    settings = [f"model.{key}={value}" for key, value in workload.model.items()]
    settings += [f"optimizer.name={workload.optimizer}"]
    settings += [f"optimizer.{key}={value}" for key, value in OPTIMIZERS[workload.optimizer].items()]
    settings += [
        "data.name=synthetic",
        f"data.synthetic.kind={'tokens' if workload.is_text else 'images'}",
        f"data.synthetic.shape=[{','.join(map(str, workload.shape))}]",
        f"data.synthetic.classes={workload.classes}",
        f"data.synthetic.samples={64 * workload.batch}",
        "data.synthetic.test_samples=2",  # the end of a run is always evaluated
        "data.last_batch=drop",
        "schedule.name=constant",
        "eval.every_epochs=0",
        "checkpoint.every_epochs=0",
        "checkpoint.snapshot=never",
    ]
    return settings
