"""The search of ``docs/tuning.md``: a small PyTorch job on a Slurm of its own, its process killed in the middle, then let go on.

``python -m tests.e2e.tuning_pytorch --python FOLDER`` with the folder of a ``python3`` that has PyTorch; as root, after
``make test-deps``. Prints what ``modak tune`` prints. No test: it takes minutes, and PyTorch.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import ROOT
from tests.e2e.slurm import cluster

KILLED_IN = 5
"""The trial during which the search is killed."""


def main() -> None:
    """Start a Slurm, search, kill, go on."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--python", type=Path, required=True, help="folder of a python3 with PyTorch")
    asked = options.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="modak-tuning-"))
    scratch.chmod(0o755)
    os.environ.setdefault("HOME", str(scratch))
    try:
        work = Path(shutil.copytree(ROOT / "examples", scratch / "examples"))
        with cluster(scratch / "slurm", path=(asked.python.absolute(),)) as slurm:
            environment = {**slurm.environment, "MODAK_DATABASE_URL": f"sqlite:///{scratch}/modak.db", "PYTHONPATH": str(ROOT)}
            command = [sys.executable, "-m", "modak", "tune", "tuning-pytorch.json"]
            _killed(subprocess.Popen(command, cwd=work, env=environment), work / f"tuning-tuning-pytorch/trial-{KILLED_IN:04d}/slip.json")
            subprocess.run(command, cwd=work, env=environment, check=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _killed(search: subprocess.Popen[bytes], slip: Path) -> None:
    """Kill the search as soon as the trial is submitted."""
    while not (slip.exists() and json.loads(slip.read_text()).get("job")):
        if search.poll() is not None:
            raise SystemExit(f"the search ended before trial {KILLED_IN}")
        time.sleep(0.05)
    os.kill(search.pid, signal.SIGKILL)
    search.wait()
    sys.stdout.write(f"killed while trial {KILLED_IN} ran\n")


if __name__ == "__main__":
    main()
