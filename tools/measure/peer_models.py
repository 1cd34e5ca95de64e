"""The models of the comparison in PyTorch. Layers, order and shapes are those of models/ in Spire."""

from functools import partial

import torch
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


class Bottleneck(nn.Module):
    """1x1, 3x3 (which has the stride: v1.5), 1x1 to four times the width."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.norm3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.projection = None
        if stride != 1 or inputs != 4 * width:
            self.projection = nn.Sequential(
                nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x):
        shortcut = x if self.projection is None else self.projection(x)
        x = F.relu(self.norm1(self.conv1(x)), inplace=True)
        x = F.relu(self.norm2(self.conv2(x)), inplace=True)
        return F.relu(self.norm3(self.conv3(x)) + shortcut, inplace=True)


class ResNet50(nn.Module):
    """ImageNet's: 25 557 032 parameters."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        blocks, inputs = [], 64
        for stage, (width, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
            for index in range(count):
                blocks.append(Bottleneck(inputs, width, 2 if stage > 0 and index == 0 else 1))
                inputs = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.dense = nn.Linear(2048, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x)), inplace=True), 3, 2, 1)
        return self.dense(self.blocks(x).mean(dim=(2, 3)))


class GptBlock(nn.Module):
    """Layer norm, causal attention, layer norm, two dense layers; each pair around a shortcut."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2's architecture, its head sharing its weights with the table of tokens."""

    def __init__(self, vocabulary, context, width, heads, blocks):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(GptBlock(width, heads) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._initialise)
        self.head.weight = self.tokens.weight

    @staticmethod
    def _initialise(layer):
        if isinstance(layer, (nn.Linear, nn.Embedding)):
            nn.init.normal_(layer.weight, std=0.02)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.positions(places))))


def gpt2(context=1024):
    """GPT-2 124M. The vocabulary of 50257 is filled up to 50304, as Spire pads its rows of logits."""
    return Gpt(vocabulary=50304, context=context, width=768, heads=12, blocks=12)


class LlamaBlock(nn.Module):
    """RMS norm, causal attention with rotary positions, RMS norm, SwiGLU; each pair around a shortcut; no biases."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.qkv, self.project = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate_up, self.down = nn.Linear(width, 2 * hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def forward(self, x, cos, sin):
        rows, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(rotated(q, cos, sin), rotated(k, cos, sin), v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(rows, length, width))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


def rotated(x, cos, sin):
    """Queries or keys (rows, heads, length, columns), each pair (i, i + columns / 2) turned by its position's angle."""
    left, right = x.chunk(2, dim=-1)
    return (x * cos + torch.cat((-right, left), dim=-1) * sin).to(x.dtype)


class Llama(nn.Module):
    """Llama's architecture, its head sharing its weights with the table of tokens: 109 529 856 parameters."""

    def __init__(self, vocabulary=32000, context=1024, width=768, heads=12, blocks=12, hidden=2048):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, hidden) for _ in range(blocks))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.head = nn.Linear(width, vocabulary, bias=False)
        for layer in self.modules():
            if isinstance(layer, (nn.Linear, nn.Embedding)):
                nn.init.normal_(layer.weight, std=0.02)
        self.head.weight = self.tokens.weight
        columns = width // heads
        angles = torch.arange(context)[:, None] / 10000 ** (torch.arange(0, columns, 2) / columns)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, tokens):
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return self.head(self.norm(x))


ON_FASHION_MNIST = {"mlp": Mlp, "cnn": Cnn, "resnet20": ResNet20}  # as their recorded losses are
MODELS = {
    "mlp": Mlp,
    "cnn": Cnn,
    "resnet20": partial(ResNet20, channels=3),
    "resnet50": ResNet50,
    "gpt": partial(Gpt, vocabulary=65, context=256, width=384, heads=6, blocks=6),
    "gpt2": gpt2,
}
