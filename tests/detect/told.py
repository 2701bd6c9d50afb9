"""Recorded outputs of commands, and the descriptions that they give."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from modak.detect import ALWAYS, OF_EACH, QOS, SLURM, WITHOUT_SCONTROL
from modak.detected import Asked, Description, describe
from modak.detected.seen import NOT_THERE, CommandOutput
from modak.detected.slurm import QOS_FORMAT
from modak.facts import Partition
from modak.knowledge import packaged_root, read_all

DATA = Path(__file__).parent.parent / "data/detect"
SHIPPED = read_all(packaged_root())
PROCESSORS = {one.name: one for one in SHIPPED.processors}
ACCELERATORS = {one.name: one for one in SHIPPED.accelerators}
DAY = date(2026, 11, 20)
MIXED = {"scontrol-partition": "scontrol-partition-mixed.txt", "scontrol-node": "scontrol-node-mixed.txt"}
XEON = {"lscpu": "lscpu-xeon.json", "meminfo": "meminfo.txt"}
TWO_V100 = {"nvidia-smi": "nvidia-smi.txt", "nvidia-smi-capability": "nvidia-smi-capability.txt"}
OPENPBS = {"pbsnodes": "pbsnodes-openpbs.txt", "qstat": "qstat-openpbs.txt", "qstat-server": "qstat-server-openpbs.txt"}


def read(name: str) -> str:
    """A recorded output."""
    return (DATA / name).read_text()


def answers(files: Mapping[str, str], **texts: str) -> dict[str, CommandOutput]:
    """Answers from files, from texts, and nothing from any other command."""
    commands: dict[str, tuple[str, ...]] = {**SLURM, **QOS, **WITHOUT_SCONTROL, "qconf-sp": OF_EACH, **ALWAYS}
    every = {key: CommandOutput(" ".join(words), trouble=NOT_THERE) for key, words in commands.items()}
    said = {**{key: read(name) for key, name in files.items()}, **{key.replace("_", "-"): text for key, text in texts.items()}}
    return {**every, **{key: CommandOutput(every[key].command, text) for key, text in said.items()}}


def seen(
    files: Mapping[str, str], host: str = "login1", probes: Mapping[str, Mapping[str, str]] | None = None, **texts: str
) -> Description:
    """The description that these outputs give; of ``sacctmgr``, the last columns of a row may be left out."""
    if "sacctmgr" in texts:
        columns = QOS_FORMAT.count(",")
        texts["sacctmgr"] = "".join(f"{row}{'|' * (columns - row.count('|'))}\n" for row in texts["sacctmgr"].splitlines())
    probed = {name: answers(given) for name, given in (probes or {}).items()}
    return describe(answers(files, **texts), probed, Asked(host, DAY), PROCESSORS, ACCELERATORS)


def partition(found: Description, name: str) -> Partition:
    """One of its partitions."""
    return next(one for one in found.system.partitions if one.name == name)


def limited(fields: str, config: str = "") -> Description:
    """The mixed cluster, whose partition batch has more fields."""
    shown = read(MIXED["scontrol-partition"]).replace("MinNodes=0", fields, 1)
    return seen({"scontrol-node": MIXED["scontrol-node"], **XEON}, scontrol_partition=shown, scontrol_config=config)
