"""Emulated servers: what their GPUs and the scripted NVML say, state by state."""
import dataclasses
import json


@dataclasses.dataclass
class State:
    busy: tuple = ()                   # GPUs on which others compute
    lost: bool = False                 # NVML lists one more GPU, which fell off the bus
    peers: str = ""                    # EMULATED_PEERS
    hidden_by: str | None = None       # CUDA_VISIBLE_DEVICES; {uuid}: that of the last GPU
    shown: int | None = None           # number of GPUs that it shows

    def visible(self, gpus):
        """The number of GPUs that a process sees."""
        return min(gpus if self.shown is None else self.shown, gpus)


STATES = {
    "idle": State(),
    "busy": State(busy=(0, 2, 3)),
    "lost": State(lost=True),
    "apart": State(peers="none"),
    "one": State(hidden_by="0", shown=1),
    "uuid": State(hidden_by="{uuid}", shown=1),
    "ended": State(hidden_by="0,99,1", shown=1),
    "none": State(hidden_by="", shown=0),
}


def uuid_of(gpu):
    return f"GPU-00000000-0000-0000-0000-{gpu:012x}"


def scripted_gpu(gpu, state):
    """A GPU as tests/scripted_nvml/README.md describes it."""
    busy = gpu in state.busy
    entry = {"name": "emulation", "uuid": uuid_of(gpu), "pci": f"00000000:E{gpu:X}:00.0", "minor": gpu,
             "memory_mib": {"total": 16384, "reserved": 100, "used": 9000 if busy else 4},
             "compute_percent": 97 if busy else 0,
             "processes": [{"pid": 4000000 + gpu, "mib": 8900}] if busy else []}
    return entry


def environment_of(name, gpus, work, nvml):
    """Variables of a process on this server; writes the script of its NVML into `work`."""
    state = STATES[name]
    script = work / "nvml.json"
    listed = [scripted_gpu(gpu, state) for gpu in range(gpus)]
    if state.lost:
        listed.append(scripted_gpu(gpus, state) | {"lost": True})
    script.write_text(json.dumps({"driver": "580.65.06", "gpus": listed}))
    variables = {"EMULATED_GPUS": str(gpus), "EMULATED_PCI": "yes", "SPIRE_NVML": str(nvml),
                 "SPIRE_SCRIPTED_NVML": str(script), "SPIRE_LOCKS": str(work), "XDG_CACHE_HOME": str(work / "cache")}
    if state.peers:
        variables["EMULATED_PEERS"] = state.peers
    if state.hidden_by is not None:
        variables["CUDA_VISIBLE_DEVICES"] = state.hidden_by.format(uuid=uuid_of(gpus - 1))
    return variables
