#!/usr/bin/env python3
"""Records tests/data/bpe: a small vocabulary in GPT-2's file formats, and ids of texts by it.

Learnt with the tokenizers library from a text given by name; ids by tokenizers and by tiktoken with
GPT-2's pattern, which must agree. usage: record_bpe.py TEXT FOLDER
"""
import json
import sys

import tiktoken
from tokenizers import ByteLevelBPETokenizer

PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

TEXTS = [
    "",
    " ",
    "Hello world",
    "The gradient of a tower is written into one flat buffer.",
    "It's what they've said: I'm sure we'll, you'd, don't; 'so 'tis 'S",
    "  two  spaces   three\n\n\nlines \n then\ttabs\t\t x ",
    "trailing   ",
    "\r\n\u00a0\u3000wide\u2003x",
    "x=3.14159e-7, 1/2 \u00bd \u2167 \u0663 99 bottles",
    "na\u00efve caf\u00e9 \u00fcber \u0394\u03b5\u03bb\u03c4\u03b1 \u041f\u0440\u0438\u0432\u0435\u0442 \u4f60\u597d\u4e16\u754c \u3053\u3093",
    "e\u0301 combining, \U0001f600 emoji \U0001f1eb\U0001f1f7!?",
    "!!!'s ...'re aaaaaaaaaaaaaaaa      \u200b\ufeff",
    "\x00\x01\x1c\x1f\x7f\x85",
    "for (int i = 0; i < n; ++i) { sum += a[i]; }  // {braces}",
]


def byte_alphabet():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(b): b for b in printable}
    others = [b for b in range(256) if b not in printable]
    letters.update({chr(256 + n): b for n, b in enumerate(others)})
    return letters


def main():
    text, folder = sys.argv[1:]
    learnt = ByteLevelBPETokenizer(add_prefix_space=False)
    learnt.train([text], vocab_size=700, min_frequency=2, special_tokens=[])
    learnt.save_model(folder)
    vocabulary = json.load(open(folder + "/vocab.json"))
    alphabet = byte_alphabet()
    ranks = {bytes(alphabet[c] for c in token): id for token, id in vocabulary.items()}
    # In the order of ids merges come after bytes and ascend, as tiktoken wants ranks.
    other = tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    cases = []
    for case in TEXTS:
        ids = learnt.encode(case).ids
        assert ids == other.encode(case), case
        cases.append({"text": case, "ids": ids})
    vocabulary["<|endoftext|>"] = len(vocabulary)
    json.dump(vocabulary, open(folder + "/vocab.json", "w"), separators=(",", ":"))
    with open(folder + "/ids.json", "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


main()
