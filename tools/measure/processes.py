"""Runs one contender to its end and says what the kernel saw of it."""

import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass


@dataclass
class Finished:
    """A process that ended well."""

    stdout: str
    seconds: float  # wall time, start-up included
    peak_rss: int  # bytes: ru_maxrss of the process and the children it waited for


def run_measured(command, timeout=600.0):
    """Runs `command`; raises RuntimeError with the tail of its stderr if it fails or takes too long."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=err)
        watchdog = threading.Timer(timeout, process.kill)
        watchdog.start()
        _, status, usage = os.wait4(process.pid, 0)
        watchdog.cancel()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"exit {process.returncode}: {' '.join(map(str, command))}\n{err.read()[-2000:]}")
        return Finished(out.read(), seconds, usage.ru_maxrss * 1024)
