"""Overhead of containers: start time, and throughput of a computation, in Charliecloud and Apptainer relative to the host.

``python -m benchmarks.container_overhead [--rounds 15] [--megabytes 256]`` prints medians of ratios to the host over rounds. All ways
take turns in a round, so that other load on the machine affects all of them; processor time, which is affected least, is printed, too.
The program is one static busybox, the same file inside and outside; it hashes a file that is visible everywhere.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.output import say
from tests.e2e.conftest import APPTAINER
from tests.e2e.images import busybox, sif

Measured = dict[str, list[tuple[float, float]]]
"""Wall and processor seconds of each way, round by round."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--megabytes", type=int, default=256)
    asked = parser.parse_args()
    os.environ["USER"] = os.environ.get("USER", "root")
    with tempfile.TemporaryDirectory(prefix="modak-overhead-", dir="/tmp") as folder:  # both runtimes show the host's /tmp
        ways = _ways(Path(folder))
        data = Path(folder) / "data"
        data.write_bytes(os.urandom(1 << 20) * asked.megabytes)
        start = _measured(ways, ("true",), asked.rounds)
        rate = _measured(ways, ("sha256sum", str(data)), asked.rounds)
    _print(start, rate, asked.megabytes)


def _ways(folder: Path) -> dict[str, tuple[str, ...]]:
    """The words before ``busybox``, by the name of the way; ways whose programs are missing are left out."""
    root = busybox(folder / "root")
    found: dict[str, tuple[str, ...]] = {"native": (str(root / "bin/busybox"),)}
    apptainer = shutil.which("apptainer", path=os.pathsep.join((str(APPTAINER), os.environ["PATH"])))
    if shutil.which("ch-run"):
        found["charliecloud, directory"] = ("ch-run", str(root), "--", "/bin/busybox")
        squash = folder / "root.sqfs"
        if shutil.which("mksquashfs"):
            _run("mksquashfs", str(root), str(squash), "-quiet", "-no-progress")
            found["charliecloud, SquashFS"] = ("ch-run", str(squash), "--", "/bin/busybox")
    if apptainer:
        found["apptainer, directory"] = (apptainer, "exec", str(root), "/bin/busybox")
        found["apptainer, SIF"] = (apptainer, "exec", str(sif(Path(apptainer), root, folder / "root.sif")), "/bin/busybox")
    return found


def _measured(ways: Mapping[str, Sequence[str]], command: Sequence[str], rounds: int) -> Measured:
    """Wall and processor seconds of each way, round by round; one round before them is thrown away."""
    found: Measured = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, words in ways.items():
            before, begun = getrusage(RUSAGE_CHILDREN), time.perf_counter()
            _run(*words, *command)
            wall, after = time.perf_counter() - begun, getrusage(RUSAGE_CHILDREN)
            if number:
                found[name].append((wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return found


def _run(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - words of ours


def _print(start: Measured, rate: Measured, megabytes: int) -> None:
    """One line a way. Throughput is that of the work alone: what starting takes is taken off."""
    say(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, {len(start['native'])} rounds, medians")
    say(f"{'way':26}{'start s':>9}{'CPU s':>8}{'more s':>8}{'MB/s':>8}{'of native':>11}{'of native, CPU':>16}")
    begun = {name: tuple(statistics.median(each[part] for each in runs) for part in (0, 1)) for name, runs in start.items()}
    for name, runs in start.items():
        more = statistics.median(ours[0] - native[0] for ours, native in zip(runs, start["native"], strict=True))
        speed = megabytes / (statistics.median(each[0] for each in rate[name]) - begun[name][0])
        pairs = list(zip(rate[name], rate["native"], strict=True))
        ratios = [
            statistics.median((native[part] - begun["native"][part]) / (ours[part] - begun[name][part]) for ours, native in pairs)
            for part in (0, 1)
        ]
        say(f"{name:26}{begun[name][0]:9.3f}{begun[name][1]:8.3f}{more:8.3f}{speed:8.0f}{ratios[0]:11.3f}{ratios[1]:16.3f}")


if __name__ == "__main__":
    main()
