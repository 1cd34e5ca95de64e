"""Fashion-MNIST's training set as arrays, read from the four IDX files that Spire reads too."""

import gzip
import struct
from pathlib import Path

import numpy as np

DEFAULT_PATH = Path("/usr/share/datasets/fashion-mnist")  # Debian: dataset-fashion-mnist


def read_idx(folder, stem, count=None):
    """uint8 array of the first `count` entries of the file `stem` or `stem.gz`; None: all of them."""
    plain = Path(folder) / stem
    with open(plain, "rb") if plain.exists() else gzip.open(f"{plain}.gz", "rb") as stream:
        zeros, dtype, rank = struct.unpack(">HBB", stream.read(4))
        if zeros != 0 or dtype != 8:
            raise ValueError(f"{stem}: not an IDX file of bytes")
        shape = list(struct.unpack(f">{rank}I", stream.read(4 * rank)))
        shape[0] = min(count or shape[0], shape[0])
        return np.frombuffer(stream.read(int(np.prod(shape))), np.uint8).reshape(shape)


def pixel_statistics(images):
    """(mean, standard deviation) of p/255 over all pixels: integer sums, one float64 division at the end."""
    counts = sum(np.bincount(image.reshape(-1), minlength=256) for image in images)
    values = np.arange(256)
    n = images.size
    total = int((counts * values).sum())
    squares = int((counts * values * values).sum())
    mean = total / n
    return mean / 255.0, float(np.sqrt(squares / n - mean * mean)) / 255.0


def normalized(images, mean, std):
    """float32 (p/255 - mean) / std, computed in float64 for each of the 256 pixel values."""
    table = ((np.arange(256) / 255.0 - mean) / std).astype(np.float32)
    return table[images]


def load_train(count, folder=DEFAULT_PATH):
    """First `count` samples in file order: (count, 28, 28) float32, normalized by their own statistics, and
    (count,) int64 labels. Reads no more of the files than that, to keep the peak of resident memory low."""
    images = read_idx(folder, "train-images-idx3-ubyte", count)
    labels = read_idx(folder, "train-labels-idx1-ubyte", count).astype(np.int64)
    return normalized(images, *pixel_statistics(images)), labels
