"""A system file and the machine of today: what differs, and what does not."""

from __future__ import annotations

import pytest

from modak.detect import SLURM
from modak.detected.drift import Drift, drift
from modak.facts import System
from tests.detect.told import MIXED, OPENPBS, SHIPPED, XEON, limited, partition, read, seen


def test_the_same_machine_has_not_drifted() -> None:
    """A stored system against itself, seen again."""
    found = seen({**MIXED, **XEON}).system
    assert drift(found, found) == ()


@pytest.mark.parametrize(("entered", "differs"), [(2, False), (4, True)])
def test_gpus_that_were_entered_by_hand_are_compared_by_their_number(entered: int, differs: bool) -> None:
    """The scheduler counts them and does not name their model; they were reported as not seen, each time."""
    found = seen({name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-epyc-vm.json"})
    node = partition(found, "gpu").node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": entered})
    parts = tuple(one.model_copy(update={"node": node}) if one.name == "gpu" else one for one in found.system.partitions)
    stored = found.system.model_copy(update={"partitions": parts})
    told = drift(stored, found.system, found.unnamed_gpus)
    assert told == (Drift("partitions.gpu.node.accelerators", entered, 2),) * differs


def test_gpus_that_were_entered_by_hand_are_not_said_to_be_missing() -> None:
    """The note stays for a partition into which nobody has entered them."""
    found = seen({name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-epyc-vm.json"})
    node = partition(found, "gpu").node.model_copy(update={"accelerator": "v100-sxm2-16gb", "accelerators": 2})
    parts = tuple(one.model_copy(update={"node": node}) if one.name == "gpu" else one for one in found.system.partitions)
    left_out = [note for note in found.notes if "the model is unknown" in note]
    assert left_out
    assert found.notes_beside(found.system) == list(found.notes)
    beside = found.notes_beside(found.system.model_copy(update={"partitions": parts}))
    assert beside == [note for note in found.notes if note not in left_out]


def test_a_changed_size_of_jobs_is_drift() -> None:
    """And a quality of service; where the scheduler says nothing of one, that of the file is the site's."""
    first, then = (limited(fields) for fields in ("MinNodes=0", "MinNodes=2 AllowQos=long"))
    stored, now = first.system, then.system
    assert drift(stored, now) == tuple(
        Drift(f"partitions.{name}.{field}", *values)
        for name in ("batch", "batch-kind2")
        for field, values in (("min_nodes", (1, 2)), ("qos", (None, "long")), ("allowed_qos", (None, "long")))
    )
    assert {one.field.rpartition(".")[2] for one in drift(now, stored, shown_lists=first.shown_lists)} == {"allowed_qos"}


def test_a_list_that_sinfo_does_not_show_is_not_gone() -> None:
    """Where users may not run scontrol, the accounts of a partition are the site's word."""
    probes = {name: {"lscpu": "lscpu-epyc-vm.json"} for name in ("main", "gpu")}
    found = seen({"sinfo": "sinfo.txt", "lscpu": "lscpu-epyc-vm.json"}, probes=probes)
    parts = tuple(one.model_copy(update={"allowed_accounts": ("chem",)}) for one in found.system.partitions)
    assert drift(found.system.model_copy(update={"partitions": parts}), found.system, shown_lists=found.shown_lists) == ()


@pytest.mark.parametrize(("accounts", "gone"), [(257, False), (0, True)])
def test_a_list_that_is_too_long_to_be_entered_is_not_gone(accounts: int, gone: bool) -> None:
    """A shorter one that somebody has entered stays; where the partition has none, it is gone."""
    names = ",".join(f"a{number}" for number in range(accounts))
    found = limited(f"AllowAccounts={names}" if accounts else "MinNodes=0")
    parts = tuple(one.model_copy(update={"allowed_accounts": ("chem",)}) if one.name == "batch" else one for one in found.system.partitions)
    told = drift(found.system.model_copy(update={"partitions": parts}), found.system, shown_lists=found.shown_lists)
    assert told == (Drift("partitions.batch.allowed_accounts", "chem", None),) * gone


def test_a_changed_default_time_is_drift() -> None:
    """Jobs without a prediction get it."""
    shown = read(MIXED["scontrol-partition"])
    before, after, none = (
        seen({**MIXED, **XEON}, scontrol_partition=shown.replace("DefaultTime=01:00:00", f"DefaultTime={time}")).system
        for time in ("00:10:00", "00:20:00", "NONE")
    )
    assert drift(before, after) == tuple(Drift(f"partitions.{name}.default_wall_time_s", 600, 1200) for name in ("batch", "batch-kind2"))
    assert drift(after, none) == ()


def test_changed_features_are_drift_in_whatever_order_they_are() -> None:
    """They lead jobs that ask for them to a partition."""
    now = seen({name: f"{name}.txt" for name in SLURM} | {"lscpu": "lscpu-epyc-vm.json"}).system

    def with_features(*features: str) -> System:
        return now.model_copy(update={"partitions": tuple(one.model_copy(update={"features": features}) for one in now.partitions)})

    assert drift(with_features("ssd", "v100"), with_features("v100", "ssd")) == ()
    assert {one[1:] for one in drift(with_features("ssd"), with_features("v100", "ssd"))} == {("ssd", "v100, ssd")}


def test_features_that_are_not_shown_are_not_gone() -> None:
    """PBS and Grid Engine show none; those of the file are the site's word."""
    now = seen({**MIXED, **XEON}).system
    shown = now.model_copy(update={"partitions": tuple(one.model_copy(update={"features": ()}) for one in now.partitions)})
    assert drift(now, shown) == ()


def test_changed_numa_domains_are_drift() -> None:
    """Ranks are bound by them."""
    now = seen({**XEON, "numactl": "numactl.txt"}).system
    stored = now.model_dump(mode="json", exclude_unset=True)
    stored["partitions"][0]["node"]["numa_modes"] = [{"domains": 4, "standard": True}]
    assert drift(System.model_validate(stored), now) == (Drift("partitions.local.node.numa_modes", 4, 2),)


def test_limits_of_jobs_are_compared_with_the_queue_of_no_quality_of_service() -> None:
    """Which the file may have under the same name, with limits of its own."""
    text = read(OPENPBS["qstat"]).replace("resources_max.walltime", "resources_min.ngpus = 2\n    resources_max.walltime")
    now = seen({**OPENPBS, **XEON}, "n001", qstat=text).system
    stored = now.model_dump(mode="json", exclude_unset=True)
    (gpuq,) = (one for one in stored["partitions"] if one["name"] == "gpuq")
    gpuq["queues"].insert(0, {**gpuq["queues"][0], "qos": "large", "min_gpus": 4})
    assert drift(System.model_validate(stored), now) == ()
    gpuq["queues"][1]["min_gpus"] = 1
    assert drift(System.model_validate(stored), now) == (Drift("partitions.gpuq.min_gpus", 1, 2),)


def test_drift_names_field_stored_and_seen() -> None:
    """What changed, what came and what went; what a machine does not show is not compared."""
    old = seen({**MIXED, **XEON}).system
    data = old.model_dump(mode="json", exclude_unset=True)
    data["title"], data["site"] = "Another title", "Another site"
    data["partitions"][0]["node"]["usable_memory_gb"] = 100
    data["partitions"][0]["max_wall_time_s"] = None
    data["partitions"][0]["nodes"] = 9
    data["partitions"][1]["name"] = "gone"
    data["runtimes"] = [
        {"name": "singularity"},
        {"name": "charliecloud", "version": "0.31"},
        {"name": "apptainer", "allowed": False},
        {"name": "none"},
    ]
    assert drift(System.model_validate(data), old) == (
        Drift("partitions.batch.max_wall_time_s", None, 86400),
        Drift("partitions.batch.nodes", 9, 4),
        Drift("partitions.batch.node.usable_memory_gb", 100.0, 200.23607296),
        Drift("partitions.batch-kind2", None, "2 nodes"),
        Drift("partitions.gone", "stored", None),
        Drift("runtimes.charliecloud", "0.31", None),
        Drift("runtimes.singularity", "installed", None),
    )


def test_a_queue_by_size_is_compared_with_its_own_limits() -> None:
    """SuperMUC-NG's partitions are queues of one set of nodes."""
    stored = next(one for one in SHIPPED.systems if one.name == "supermuc-ng")
    seen_now = System.model_validate(
        {
            "name": "supermuc-ng",
            "title": "x",
            "site": "x",
            "scheduler": "slurm",
            "cpu_unit": "thread",
            "partitions": [
                {
                    "name": "large",
                    "nodes": 3168,
                    "max_wall_time_s": 43200,
                    "node": {"processor": "xeon-platinum-8174", "sockets": 2, "cores": 48},
                },
            ],
            "sources": [{"fields": ["partitions"], "citation": "x"}],
        }
    )
    assert Drift("partitions.large.max_wall_time_s", 86400, 43200) in drift(stored, seen_now)
    assert not [one for one in drift(stored, seen_now) if one.field.endswith(("large.nodes", "node.cores"))]
