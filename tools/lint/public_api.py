#!/usr/bin/env python3
"""Finds headers of the engine that the program `trainer` includes beside the public ones (docs/library.md)."""
import pathlib
import re
import sys

# Programs of their own: the check of HDF5 files, which the library starts, and what measures the engine from inside.
OTHERS = ("tools/hdf5_check.cpp", "tools/bench/")
# The subcommands devices, version, doctor and sweep still look into the engine. This list only shrinks.
INSIDE = {
    "tools/machine.cpp", "tools/doctor.cpp", "tools/sweep.cpp",
    "tools/devices/host_use.cpp", "tools/devices/watch_devices.cpp", "tools/devices/watch_table.cpp",
    "tools/devices/watch_table.h", "tools/output/gpu_memory.cpp", "tools/output/gpu_memory.h",
    "tools/doctor/doctor_report.cpp", "tools/doctor/doctor_report.h", "tools/doctor/peer_trial.cpp",
    "tools/doctor/peer_trial.h",
    "tools/sweep/point_result.cpp", "tools/sweep/slots.cpp", "tools/sweep/slots.h", "tools/sweep/sweep_folder.cpp",
    "tools/sweep/sweep_plan.cpp", "tools/sweep/sweep_plan.h", "tools/sweep/sweep_report.cpp", "tools/sweep/sweep_runs.cpp",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)

problems, inside = [], set()
for file in sorted(pathlib.Path("tools").rglob("*")):
    if file.suffix not in (".h", ".cpp") or str(file).startswith(OTHERS):
        continue
    for header in INCLUDE.findall(file.read_text(encoding="utf-8")):
        if not header.startswith(("engine/", "kernels/", "models/")):
            continue
        inside.add(str(file))
        if str(file) not in INSIDE:
            problems.append(f"{file}: includes {header}; trainer uses the public headers (CONTRIBUTING.md)")
problems += [f"{file}: needs no header of the engine any more; take it off the list in tools/lint/public_api.py"
             for file in sorted(INSIDE - inside)]
for file in sorted(pathlib.Path("engine/api").rglob("*.h")):
    problems += [f"{file}: is public, and includes {header}, which is not"
                 for header in INCLUDE.findall(file.read_text(encoding="utf-8"))]
print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)
