"""What measured figures hold for: the processor, its cores and its system."""

import os
import platform
from pathlib import Path


def cpu_field(name):
    """The field of the first processor in /proc/cpuinfo; "" if there is none."""
    lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "")


def cpu_name():
    """With family and model, as virtual machines hide the name: "Intel(R) Xeon(R) Processor, family 6 model 207"."""
    name = cpu_field("model name") or platform.machine()
    return f"{name}, family {cpu_field('cpu family')} model {cpu_field('model')}"


def describe():
    flags = cpu_field("flags").split()
    return {
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "extensions": [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags],
        "system": platform.platform(),
    }
