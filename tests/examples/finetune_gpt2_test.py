"""Runs configs/finetune_gpt2.yaml with a small model:  finetune_gpt2_test.py ROOT TRAINER

The folder in the place of models/gpt2 has random weights in the names and shapes of Hugging Face's GPT2LMHeadModel,
its config.json, and a tokenizer.json of bytes. Needs Python's standard library alone."""

import json
import os
import random
import struct
import subprocess
import sys
import tempfile

root, trainer = sys.argv[1:]
blocks, width, heads, context = 2, 16, 2, 48


def bytes_as_characters():
    """GPT-2's printable stand-ins of the 256 bytes (bytes_to_unicode of its encoder.py)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def tokenizer():
    characters = bytes_as_characters()
    vocabulary = {characters[b]: i for i, b in enumerate(sorted(characters))}
    vocabulary["th"] = 256
    vocabulary["<|endoftext|>"] = 257
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": 257, "content": "<|endoftext|>", "special": True}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    model = {"type": "BPE", "vocab": vocabulary, "merges": ["t h"]}
    return {"version": "1.0", "added_tokens": [{**end, **flags}], "pre_tokenizer": level, "decoder": level, "model": model}


def shapes():
    yield "transformer.wte.weight", (258, width)
    yield "transformer.wpe.weight", (context, width)
    for i in range(blocks):
        block = f"transformer.h.{i}."
        for norm in "ln_1", "ln_2":
            yield from ((f"{block}{norm}.{part}", (width,)) for part in ("weight", "bias"))
        for name, inputs, outputs in (
            ("attn.c_attn", width, 3 * width),
            ("attn.c_proj", width, width),
            ("mlp.c_fc", width, 4 * width),
            ("mlp.c_proj", 4 * width, width),
        ):
            yield f"{block}{name}.weight", (inputs, outputs)
            yield f"{block}{name}.bias", (outputs,)
    yield from ((f"transformer.ln_f.{part}", (width,)) for part in ("weight", "bias"))


def write_safetensors(path, seed):
    numbers, header, body = random.Random(seed), {}, b""
    for name, shape in shapes():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        centre = 1.0 if name.endswith("weight") and len(shape) == 1 else 0.0
        values = struct.pack(f"<{count}f", *(numbers.gauss(centre, 0.1) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
        body += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def make_folder(folder):
    os.makedirs(folder)
    write_safetensors(f"{folder}/model.safetensors", 7)
    config = {"model_type": "gpt2", "n_layer": blocks, "n_embd": width, "n_head": heads, "n_positions": context}
    config |= {"vocab_size": 258, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}
    for name, content in ("config.json", config), ("tokenizer.json", tokenizer()):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            json.dump(content, file)


with tempfile.TemporaryDirectory() as scratch:
    make_folder(f"{scratch}/models/gpt2")  # where the config looks, seen from the folder of the run
    with open(f"{scratch}/my.txt", "w", encoding="utf-8") as file:
        file.write("the weather on the other side of the path. " * 60)
    small = ["model.size=auto", f"model.blocks={blocks}", f"model.width={width}", f"model.heads={heads}"]
    small += [f"model.context={context}", "data.tokens.length=32", "precision=fp32", "epochs=1", "devices=cpu"]
    small += ["eval.samples=0", "schedule.warmup_steps=1"]

    def run(*words, code=0):
        done = subprocess.run([trainer, *words], cwd=scratch, capture_output=True, encoding="utf-8", errors="replace")
        print(done.stdout, done.stderr)
        assert done.returncode == code, words
        return done.stdout + done.stderr

    config = f"{root}/configs/finetune_gpt2.yaml"
    plan = run("plan", "--config", config, *small)
    assert "28 tensors of models/gpt2/model.safetensors (huggingface names)" in plan
    wrong = run("plan", "--config", config, *small, "model.width=32", code=5)
    assert "of another shape: tokens.weight (258, 32) where the file has transformer.wte.weight (258, 16)" in wrong
    run("--config", config, *small, 'freeze=["tokens.*", "positions.*", "block1.*"]')
    run("export", "--checkpoint", "runs/finetune_gpt2", "--to", "exported/model.safetensors")

    def tensor(path, name):
        with open(f"{scratch}/{path}/model.safetensors", "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            begin, end = json.loads(file.read(size))[name]["data_offsets"]
            file.seek(8 + size + begin)
            return file.read(end - begin)

    def kept(name):
        return tensor("models/gpt2", name) == tensor("exported", name)

    assert kept("transformer.wte.weight") and kept("transformer.h.0.attn.c_attn.weight")
    assert not kept("transformer.h.1.attn.c_attn.weight")
    assert json.load(open(f"{scratch}/exported/config.json"))["eos_token_id"] == 257
    run("predict", "--checkpoint", "runs/finetune_gpt2", "--prompt", "the ")
