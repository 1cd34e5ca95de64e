"""What the examples that make data of Fashion-MNIST share: its IDX files, and PNG files of gray pixels."""

import gzip
import struct
import zlib


def read_idx(folder, name):
    """Returns the bytes of an IDX file, plain or gzip, behind its header."""
    for path, opener in ((folder / name, open), (folder / (name + ".gz"), gzip.open)):
        if path.exists():
            with opener(path, "rb") as file:
                data = file.read()
            return data[4 + 4 * data[3]:]  # behind the magic number and the dimensions
    raise SystemExit(f"{folder}: has no {name}; install dataset-fashion-mnist, or name another folder")


def png(pixels, side):
    """Returns a PNG file of side x side pixels of 8 bits."""

    def part(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + bytes(pixels[y * side:(y + 1) * side]) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)  # 8 bits of gray
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")
