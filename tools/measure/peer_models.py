"""The small models of the comparison in PyTorch. Layers, order and shapes are those of models/ in Spire."""

from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    """784-512-256-10 with relu."""

    input_shape = (784,)

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(784, 512), nn.Linear(512, 256), nn.Linear(256, 10)])

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class Cnn(nn.Module):
    """conv32-pool-conv64-pool-dense128-dense10; the first dense layer reads (H, W, C), as NHWC lies in memory."""

    input_shape = (1, 28, 28)

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.dense1 = nn.Linear(7 * 7 * 64, 128)
        self.dense2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)
        return self.dense2(F.relu(self.dense1(x)))


class Block(nn.Module):
    """Two 3x3 convolutions with batch norm; a 1x1 projection where the shape changes."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.projection = None
        if stride != 1 or inputs != outputs:
            self.projection = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        shortcut = x if self.projection is None else self.projection(x)
        x = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(x)) + shortcut)


class ResNet20(nn.Module):
    """Three stages of three blocks, 16/32/64 channels, with projections."""

    input_shape = (1, 28, 28)

    def __init__(self, channels=1):
        super().__init__()
        self.conv = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        blocks, inputs = [], 16
        for stage, outputs in enumerate((16, 32, 64)):
            for index in range(3):
                blocks.append(Block(inputs, outputs, 2 if stage > 0 and index == 0 else 1))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.dense = nn.Linear(64, 10)

    def forward(self, x):
        x = self.blocks(F.relu(self.norm(self.conv(x))))
        return self.dense(x.mean(dim=(2, 3)))


MODELS = {"mlp": Mlp, "cnn": Cnn, "resnet20": ResNet20}  # on Fashion-MNIST, as their recorded losses are
