"""The demand of a training run on the file system, compared with its capacity: data rate, files, space and stripes."""

from __future__ import annotations

from typing import Final

from modak import plugins
from modak.choosing.chosen import Chosen
from modak.choosing.memory import needed_gb, usable_gb
from modak.dsl import Data
from modak.facts import FileSystem
from modak.jobs.data import SMALL_FILE_BYTES
from modak.text.amounts import format_bytes, format_duration, format_number

BUSY: Final = 0.1
"""A job that needs a larger fraction of a shared file system's bandwidth is slowed down by other jobs. Judgement."""
LARGE: Final = 1e9
"""Smallest size in bytes for which striping is advised: 100 MB on each of about ten servers. Judgement."""
MEMORY_PART: Final = 0.5
"""Fraction of a node's free memory that a copy of the data set may fill. Judgement."""


def rate(chosen: Chosen) -> str | None:
    """Data rate in total and per node, with its interval, compared with the bandwidth of the shared file system."""
    data, epoch = _data(chosen), _epoch_s(chosen)
    if data is None or data.size_bytes is None or epoch is None:
        return None
    seconds, shortest, longest = epoch
    needed = data.size_bytes / seconds
    text = (
        f"{format_bytes(data.size_bytes)} per {chosen.prediction.per} of {format_duration(seconds)} is {format_bytes(needed)}/s in total, "
        f"{format_bytes(needed / chosen.nodes)}/s per node "
        f"({chosen.prediction.level:.0%} interval {format_bytes(data.size_bytes / longest)}/s "
        f"to {format_bytes(data.size_bytes / shortest)}/s; "
        f"basis: {chosen.prediction.basis})"
    )
    shared = _shared(chosen)
    if shared is None or shared.bandwidth_gbs is None:
        return f"{text}; the bandwidth of {chosen.target.title}'s shared file system is not recorded"
    part = needed / (shared.bandwidth_gbs * 1e9)
    instead = ", so read from storage on the nodes instead" if local_copy(chosen) else ""
    busy = f"; other jobs need it too{instead}" if part > BUSY else ""
    provides = f"{shared.name} provides {shared.bandwidth_gbs:g} GB/s for all jobs together"
    return f"{text}; {provides}, so the run needs {format_number(part, 2)} of it{busy}"


def small_files(chosen: Chosen) -> str | None:
    """Number and mean size of the files, if they are small; ``None`` if the job unpacks them where it runs."""
    data = _data(chosen)
    if data is None or not data.files or not data.size_bytes or data.size_bytes / data.files >= SMALL_FILE_BYTES:
        return None
    if any(copy.unpack for copy in chosen.request.application.stage_in):
        return None
    epoch = _epoch_s(chosen)
    opened = f", {data.files / epoch[0]:,.0f} opened per second (basis: {chosen.prediction.basis})" if epoch else ""
    return f"{data.files:,} files of {format_bytes(data.size_bytes / data.files)} on average{opened}"


def local_copy(chosen: Chosen) -> str | None:
    """The storage of a node that the data set fits; ``None`` if it fits none, is read only once, or the job copies data already."""
    room = None if chosen.request.application.stage_in else _room(chosen)
    if room is None:
        return None
    able = chosen.nodes == 1 or plugins.find("schedulers", chosen.target.scheduler).is_slurm
    return f"{room}; application.stage_in does so{'' if able else ' only under Slurm or on one node'}"


def _room(chosen: Chosen) -> str | None:
    """Whether the data set fits the local storage or the memory of a node; ``None`` if not, or if the run reads it only once."""
    data, node, epochs = _data(chosen), chosen.target.node, chosen.request.optimisation.workload.epochs
    if data is None or data.size_bytes is None or node is None or not epochs or epochs < 2:
        return None
    gigabytes = data.size_bytes / 1e9
    if node.local_storage_gb and gigabytes <= node.local_storage_gb:
        return (
            f"its {format_bytes(data.size_bytes)} fit the {node.local_storage_gb:g} GB of local storage on a node of {chosen.target.title}"
        )
    usable, taken = usable_gb(chosen.target), needed_gb(chosen.request, chosen.shape.ranks_per_node)
    if usable and gigabytes <= MEMORY_PART * (usable - taken):
        said = (
            f", of which the ranks need {taken:g} GB according to the request"
            if taken
            else ", and the request does not state what the ranks need"
        )
        return f"its {format_bytes(data.size_bytes)} fit the memory of a node ({usable:g} GB usable{said})"
    return None


def stripes(chosen: Chosen) -> str | None:
    """The Lustre file system to stripe on; ``None`` for small data, or without Lustre (GPFS stripes by itself)."""
    data = _data(chosen)
    lustre = next((fs for fs in _filesystems(chosen) if fs.kind == "lustre"), None)
    if data is None or data.size_bytes is None or data.size_bytes < LARGE or lustre is None or _room(chosen):
        return None
    return f"{format_bytes(data.size_bytes)} on {lustre.name}"


def _data(chosen: Chosen) -> Data | None:
    return chosen.request.optimisation.data


def _epoch_s(chosen: Chosen) -> tuple[float, float, float] | None:
    """Seconds per epoch or pass, and the ends of its interval; ``None`` if the prediction is per something else."""
    time = chosen.prediction
    if time.per not in ("epoch", "pass") or not time.per_unit or time.value is None or time.lower is None or time.upper is None:
        return None
    return time.per_unit, time.per_unit * time.lower / time.value, time.per_unit * time.upper / time.value


def _filesystems(chosen: Chosen) -> tuple[FileSystem, ...]:
    return chosen.target.system.filesystems if chosen.target.system else ()


def _shared(chosen: Chosen) -> FileSystem | None:
    """The shared file system that the request prefers, else the fastest."""
    shared = [fs for fs in _filesystems(chosen) if not fs.node_local]
    wanted = chosen.request.application.storage_class_pref
    preferred = [fs for fs in shared if fs.storage_class == wanted] if wanted else []
    return max(preferred or shared, key=lambda fs: (fs.bandwidth_gbs or 0.0, fs.name), default=None)
