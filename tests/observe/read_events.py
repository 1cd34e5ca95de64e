#!/usr/bin/env python3
"""Prints what TensorBoard reads from a folder, as JSON: {"scalars": {tag: [[step, value], ...]}, "texts": {tag: text}}."""
import json
import sys

try:
    from tensorboard.backend.event_processing import plugin_event_multiplexer
    from tensorboard.util import tensor_util
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

runs = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 0})
runs.AddRunsFromDirectory(sys.argv[1])
runs.Reload()
found = {"scalars": {}, "texts": {}}
for run, tags in runs.Runs().items():
    for tag in tags["tensors"]:
        plugin = runs.SummaryMetadata(run, tag).plugin_data.plugin_name
        values = [[event.step, tensor_util.make_ndarray(event.tensor_proto).tolist()] for event in runs.Tensors(run, tag)]
        if plugin == "scalars":
            found["scalars"][tag] = values
        else:
            found["texts"][tag] = str(values)
json.dump(found, sys.stdout)
