"""Convert the trained models to weights.bin.

    python3 convert.py MODELS ../weights.bin

MODELS is a directory with vocab.txt, words.npz, ranker4.npz and static_mlp.npz as the training scripts write them.
The only dependency is NumPy. The same input always gives the same file.

Format of weights.bin, little endian:

    8 bytes   "CARRELW1"
    uint32    number of sections
    uint32    CRC-32C of the section table
    table     for each section: name (24 bytes, padded with zeros), uint32 offset, uint32 length,
              uint32 CRC-32C of the section, uint32 zero
    sections  each at a multiple of 64 bytes

A matrix of the ranker is int8, cut into panels of 32 outputs: a panel holds for each input the weights of its 32
outputs, so that a kernel reads it from the first byte to the last. Its scales and biases are float32.

The matrices of the static vectors are int16, up to 8191. Integer products make the vectors equal on all machines. With
16-bit inputs eight products fit into 32 bits.
"""

import struct
import sys
from pathlib import Path

import numpy as np

PANEL = 32
POSITIONS = 160  # the longest input of the ranker
WEIGHT_LIMIT = 8191
LAYERS = 4


def crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


CRC_TABLE = crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def panels(q):
    outputs, inputs = q.shape
    return q.reshape(outputs // PANEL, PANEL, inputs).transpose(0, 2, 1)


def integer_rows(w):
    w = w.astype(np.float64)
    scale = (np.abs(w).max(1) / WEIGHT_LIMIT).astype(np.float32)
    q = np.rint(w / scale[:, None].astype(np.float64))
    return np.clip(q, -WEIGHT_LIMIT, WEIGHT_LIMIT).astype("<i2"), scale


def float32(x):
    return x.astype("<f4").tobytes()


def static_sections(m):
    for name in ("a", "b", "p"):
        q, scale = integer_rows(m[name + ".weight"])
        yield f"static.{name}.q", q.tobytes()
        yield f"static.{name}.s", float32(scale)
    yield "static.a.b", float32(m["a.bias"])
    yield "static.b.b", float32(m["b.bias"])
    yield "static.ln.w", float32(m["ln.weight"])
    yield "static.ln.b", float32(m["ln.bias"])
    yield "static.w", float32(np.exp(m["w"].astype(np.float64)))


def linear_sections(r, source, name):
    yield name + ".q", panels(r[source + ".weight.q"]).tobytes()
    yield name + ".s", float32(r[source + ".weight.s"])
    yield name + ".b", float32(r[source + ".bias"])


def ranker_sections(r):
    dequantised = lambda n: r[n + ".q"].astype(np.float32) * r[n + ".s"].astype(np.float32)[:, None]
    yield "positions.q", r["pe.weight.q"][:POSITIONS].tobytes()
    yield "positions.s", float32(r["pe.weight.s"][:POSITIONS])
    yield "types", float32(dequantised("te.weight"))
    yield "ln.w", float32(r["ln.weight"])
    yield "ln.b", float32(r["ln.bias"])
    for i in range(LAYERS):
        for name in ("qkv", "o", "f1", "f2"):
            yield from linear_sections(r, f"layers.{i}.{name}", f"{i}.{name}")
        for name in ("ln1", "ln2"):
            yield f"{i}.{name}.w", float32(r[f"layers.{i}.{name}.weight"])
            yield f"{i}.{name}.b", float32(r[f"layers.{i}.{name}.bias"])
    yield from linear_sections(r, "d_r", "dense")
    yield "head.w", float32(dequantised("h_r.weight"))
    yield "head.b", float32(r["h_r.bias"])


def sections(models):
    words = np.load(models / "words.npz")
    yield "vocab", (models / "vocab.txt").read_bytes()
    yield "words.q", words["q"].tobytes()
    yield "words.s", float32(words["s"])
    yield from static_sections(np.load(models / "static_mlp.npz"))
    yield from ranker_sections(np.load(models / "ranker4.npz"))


def main(models, output):
    table, body = b"", b""
    all_sections = list(sections(Path(models)))
    start = 16 + 40 * len(all_sections)
    start += -start % 64
    for name, data in all_sections:
        table += struct.pack("<24sIIII", name.encode(), start + len(body), len(data), crc32c(data), 0)
        body += data + bytes(-len(data) % 64)
    head = b"CARRELW1" + struct.pack("<II", len(all_sections), crc32c(table)) + table
    Path(output).write_bytes(head + bytes(-len(head) % 64) + body)


if __name__ == "__main__":
    main(*sys.argv[1:])
