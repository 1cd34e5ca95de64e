"""The files that the pages' commands name, tiny, and the commands that make their runs."""
import base64
import gzip
import shutil
import struct
import zlib

CLASSES, SIDE = 10, 28

# What the pages' commands find there: runs that earlier examples of the same page or another page have made.
PREPARING = [
    "trainer init --data flowers.csv > run.yaml",
    "trainer --config run.yaml -o runs/a seed=1 checkpoint.every_steps=2",
    "trainer --config run.yaml -o runs/b seed=2",
    "trainer --config run.yaml -o runs/wine",
    "trainer --config text.yaml -o runs/gpt_char && ln -s runs/gpt_char RUN",
    "trainer --config configs/fashion_mnist_cnn.yaml",
    "trainer --config configs/fashion_mnist_mlp.yaml -o runs/long",
]

# run.yaml as those have it who want several devices.
FOUR_TOWERS = "sed -i 's/^towers: .*/towers: 4/; s/^output: .*/output: runs\\/flowers4/' run.yaml && grep -q '^towers: 4' run.yaml"

# 8 x 8 pixels, grey.
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgy"
    "PC4zNDL/wAALCAAIAAgBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEG"
    "E1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJ"
    "ipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/APn+v//Z")

TEXT = """\
model: {name: gpt, blocks: 1, width: 16, heads: 2}
data: {name: tokens, tokens: {text: chapter.txt, vocabulary: characters, length: 16}}
batch_size: 2
"""


def png(side):
    rows = b"".join(b"\0" + bytes((x * y) % 256 for x in range(side)) for y in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_images(path, count):
    """The two files of a part of Fashion-MNIST, with `count` images."""
    pixels = bytes((i * 37 + j * (i % CLASSES)) % 256 for i in range(count) for j in range(SIDE * SIDE))
    path.parent.mkdir(exist_ok=True)
    (path.parent / f"{path.name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, SIDE, SIDE) + pixels)
    labels = bytes(i % CLASSES for i in range(count))
    (path.parent / f"{path.name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels)


def write(repository, work):
    shutil.copytree(repository / "configs", work / "configs")
    write_images(work / "small_fashion/train", 160)
    write_images(work / "small_fashion/t10k", 20)
    rows = [f"{i % 7 + 0.5},{i % 5 - 1.5},{('iris', 'rose', 'lily')[i % 3]}" for i in range(90)]
    (work / "flowers.csv").write_text("length,width,flower\n" + "\n".join(rows) + "\n")
    (work / "new.csv").write_text("length,width\n1.5,0.5\n3.5,2.5\n")
    (work / "text.yaml").write_text(TEXT)
    (work / "chapter.txt").write_text("A training run is a chapter of a book. " * 40)
    (work / "eight.txt").write_text("A training run \n" * 8)
    (work / "grid.yaml").write_text("model.hidden: [[4], [8]]\n")
    for name in ("photo.jpg", "shoe.jpg"):
        (work / name).write_bytes(JPEG)
    (work / "scans").mkdir()
    (work / "scans/page.png").write_bytes(png(32))
    images = (work / "small_fashion/t10k-images-idx3-ubyte").read_bytes()
    (work / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
