#!/usr/bin/env python3
"""run_onnx.py MODEL INPUT OUTPUT...: checks a model by ONNX's checker, and its outputs by onnxruntime.

INPUT and OUTPUT are files of numbers in the model's types, OUTPUT what is expected of INPUT. Fails where an output
differs by more than 1e-4 of the largest one, for all samples at once and for the first one alone. Exit code 77: Python
lacks a package.
"""
import sys

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

if len(sys.argv) == 1:
    sys.exit(0)  # asked only whether the packages are there
path, input_path, output_path = sys.argv[1:]
onnx.checker.check_model(path, full_check=True)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
(given,), (found,) = session.get_inputs(), session.get_outputs()
dtype = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}[given.type]
samples = numpy.fromfile(input_path, dtype).reshape(-1, *given.shape[1:])
expected = numpy.fromfile(output_path, numpy.float32).reshape(-1, *found.shape[1:])
fixed = given.shape[0] if isinstance(given.shape[0], int) else None
assert len(samples) == len(expected) > 1 and numpy.isfinite(expected).all()
for count in [fixed] if fixed else [len(samples), 1]:
    outputs = session.run([found.name], {given.name: samples[:count]})[0]
    assert outputs.shape == expected[:count].shape, (outputs.shape, expected.shape)
    difference = numpy.abs(outputs - expected[:count]).max() / numpy.abs(expected).max()
    print(f"{count} samples: {difference:.1e} of the largest output {numpy.abs(expected).max():.3g}")
    assert difference < 1e-4, f"{path}: outputs differ by {difference} of the largest"
