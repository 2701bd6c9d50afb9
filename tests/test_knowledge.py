"""The packaged files are sound, the reader says what is wrong, and the figures are those of the papers."""

from __future__ import annotations

import csv
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from modak import knowledge
from modak.errors import DataError
from modak.facts import Accelerator, Fact, HostMpi, Image, Node, Partition, Processor, Rule, System
from modak.knowledge import Knowledge, packaged_root, read_all, read_array, read_system

PAGE = (Path(__file__).parent.parent / "docs/systems.md").read_text()
SYSTEM = """\
name = "small"
title = "Small"
site = "Here"

[[partitions]]
name = "cpu"
nodes = 4

[partitions.node]
processor = "p1"
sockets = 2
cores = 20

[[sources]]
fields = ["partitions.cpu"]
citation = "us"
"""
HARDWARE = """\
[[processors]]
name = "p1"
vendor = "intel"
model = "P 1"
microarchitecture = "skylake_avx512"
cores = 10

[[processors.sources]]
fields = ["cores"]
citation = "maker"
"""
ACCELERATOR = """\
[[accelerators]]
name = "a1"
vendor = "nvidia"
model = "A 1"
memory_gb = 16

[[accelerators.sources]]
fields = ["*"]
citation = "maker"
"""
RULE = """\
[[rules]]
name = "threads"
title = "Threads"
source = "us"
when = { framework = ["tensorflow"] }
environment = { OMP_PROC_BIND = "close" }
"""
IMAGE = """\
[[images]]
reference = "docker://tensorflow/tensorflow:2.1.0"
source = "hub"
labels = { framework = "tensorflow", version = "2.1", source = "hub" }
"""


@pytest.fixture(scope="module")
def packaged() -> Knowledge:
    """What comes with MODAK."""
    return read_all(packaged_root())


def system(known: Knowledge, name: str) -> System:
    """A packaged system by name."""
    return next(item for item in known.systems if item.name == name)


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a packaged table."""
    with (packaged_root() / "results" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def times(table: list[dict[str, str]], **where: str) -> dict[int, float]:
    """Values by node count of the rows that say what ``where`` says."""
    return {int(row["nodes"]): float(row["value"]) for row in table if all(row[key] == value for key, value in where.items())}


def write(folder: Path, name: str, text: str) -> Path:
    """A file with that text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def complaint(read: object, path: Path) -> list[str]:
    """The faults that ``read`` finds, one line each, without the path that was given."""
    with pytest.raises(DataError) as caught:
        read(path)  # type: ignore[operator]
    return [str(fault).removeprefix(f"{path}: ").removeprefix(f"{path}/") for fault in caught.value.faults]


# --- what is packaged


def test_packaged_files_are_sound(packaged: Knowledge) -> None:
    """Every packaged file passes its model, the source check and the checks between files."""
    assert {item.name for item in packaged.systems} >= {
        *("supermuc-ng", "hlrs-testbed", "intel-xeon-gold-6148", "stampede2", "zenith", "dgx-1", "skylake-bronze-1080ti"),
        *("fujitsu-primeflex-small", "fujitsu-primeflex-moderate", "fujitsu-primeflex-large"),
    }
    assert packaged.processors
    assert packaged.accelerators
    assert {path.name for path in packaged.result_files} >= {"3dgan.csv", "charliecloud-overheads.csv", "prace-deep-learning.csv"}


def test_order_is_by_name(packaged: Knowledge) -> None:
    """What is read does not depend on the order of files."""
    assert list(packaged.systems) == sorted(packaged.systems, key=lambda item: item.name)
    assert list(packaged.rules) == sorted(packaged.rules, key=lambda item: item.name)


def test_hardware_is_known_to_archspec(packaged: Knowledge) -> None:
    """A processor's microarchitecture is a target of archspec."""
    from archspec.cpu import TARGETS

    assert {item.microarchitecture for item in packaged.processors} <= set(TARGETS)


def test_supermuc_ng_as_published(packaged: Knowledge) -> None:
    """SuperMUC-NG: islands, cores, memory, NUMA modes, and what the site allows."""
    sng = system(packaged, "supermuc-ng")
    thin, fat = sng.partitions
    assert (thin.nodes, thin.island_nodes, thin.node.cores, thin.node.threads_per_core) == (8 * 792, 792, 48, 2)
    assert (thin.node.memory_gb, thin.node.usable_memory_gb, fat.nodes, fat.node.memory_gb) == (96, 77, 144, 768)
    assert [(mode.domains, mode.standard) for mode in thin.node.numa_modes] == [(2, True), (4, False)]
    assert (sng.scheduler, sng.cpu_unit, sng.internet, sng.ssh_between_nodes) == ("slurm", "thread", False, False)
    assert sng.account_required
    allowed = {policy.name: policy.allowed for policy in sng.runtimes}
    assert allowed == {"charliecloud": True, "none": True, "singularity": False, "apptainer": False, "podman-hpc": False}
    assert all(policy.reason and policy.as_of for policy in sng.runtimes if not policy.allowed)
    assert sng.default_partition is thin


def test_hlrs_testbed_as_published(packaged: Knowledge) -> None:
    """The HLRS testbed: five nodes with a GTX 1080 Ti, Torque, Singularity, internet; found with an underscore too."""
    testbed = system(packaged, "hlrs-testbed")
    node = testbed.default_partition.node
    assert (testbed.default_partition.nodes, testbed.scheduler, testbed.internet) == (5, "torque", True)
    assert (node.processor, node.accelerator, node.accelerators, node.memory_gb) == ("xeon-e5-2630-v4", "gtx-1080-ti", 1, 125)
    assert "hlrs_testbed" in testbed.aliases
    assert [policy.name for policy in testbed.runtimes if policy.allowed] == ["singularity", "none"]


@pytest.mark.parametrize(
    ("name", "nodes", "gpus", "tera"),
    [("fujitsu-primeflex-small", 4, 8, 896), ("fujitsu-primeflex-moderate", 16, 32, 3584), ("fujitsu-primeflex-large", 64, 128, 14336)],
)
def test_reference_configurations_add_up(packaged: Knowledge, name: str, nodes: int, gpus: int, tera: int) -> None:
    """GPUs and tensor FLOP/s of a reference configuration are the white paper's sums, in both kinds of cooling."""
    reference = system(packaged, name)
    rates = {item.name: item.fp16_tflops or 0 for item in packaged.accelerators}
    assert reference.kind == "reference"
    assert reference.default_partition.nodes == nodes
    assert {partition.nodes * partition.node.accelerators for partition in reference.partitions} == {gpus}
    assert gpus * rates[str(reference.default_partition.node.accelerator)] == tera


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("p100-sxm2-16gb", (21.2, 10.6, 5.3, 16, 732, 15.75, 160)),
        ("v100-sxm2-32gb", (125, 15.7, 7.8, 32, 900, 15.75, 300)),
        ("mi60", (29.5, 14.7, 7.4, 32, 1024, 31.51, 200)),
        ("mi25", (24.6, 12.29, 0.77, 16, 484, 15.75, None)),
    ],
)
def test_accelerators_of_the_guide(packaged: Knowledge, name: str, figures: tuple[float | None, ...]) -> None:
    """Table 1 of the PRACE guide: FLOP/s by precision, memory, bandwidths."""
    it = next(item for item in packaged.accelerators if item.name == name)
    bandwidths = (it.memory_bandwidth_gbs, it.pcie_gbs, it.interconnect_gbs)
    assert (it.fp16_tflops, it.fp32_tflops, it.fp64_tflops, it.memory_gb, *bandwidths) == figures


# --- the transcription


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (("1", "48", "container", "2"), {4: 3806, 8: 1910, 16: 1001, 32: 504, 64: 253, 128: 124, 256: 61, 512: 33}),
        (("2", "48", "container", "2"), {4: 2302, 8: 1238, 16: 638, 32: 323, 64: 164, 128: 88, 256: 47, 512: 25}),
        (("4", "12", "container", "4"), {4: 959, 8: 507, 16: 264, 32: 137, 64: 72, 128: 39, 256: 21, 512: 12}),
        (
            ("4", "12", "host", "4"),
            {4: 907.26, 8: 479.52, 16: 244.42, 32: 124.22, 64: 62.24, 128: 31.22, 256: 15.63, 512: 7.84, 768: 3.94},
        ),
    ],
)
def test_3dgan_on_supermuc_ng(layout: tuple[str, ...], expected: dict[int, float]) -> None:
    """Tables 1 to 4 of the PASC paper, each a layout of its own."""
    ranks, threads, mpi_from, numa = layout
    where = {"ranks_per_node": ranks, "threads_per_rank": threads, "mpi_from": mpi_from, "numa_mode": numa, "partition": "thin"}
    assert times(rows("3dgan.csv"), system="supermuc-ng", runtime="charliecloud", **where) == expected


@pytest.mark.parametrize(
    ("system_name", "threads", "expected"),
    [
        ("intel-xeon-gold-6148", "10", {1: 7453, 2: 3797, 4: 1934, 8: 990, 16: 504, 32: 263, 64: 132}),
        ("stampede2", "11", {1: 17831, 2: 8998, 4: 4545, 8: 2288, 16: 1151, 32: 581, 64: 293, 128: 148}),
    ],
)
def test_3dgan_without_containers(system_name: str, threads: str, expected: dict[int, float]) -> None:
    """Tables 5 and 6 of the PASC paper."""
    where = {"runtime": "none", "ranks_per_node": "4", "threads_per_rank": threads}
    assert times(rows("3dgan.csv"), system=system_name, **where) == expected


def test_efficiencies_follow_from_the_times() -> None:
    """The efficiencies that the paper prints follow from the loaded times to 0.5 %, but for the row that is flagged."""
    host = times(rows("3dgan.csv"), mpi_from="host", system="supermuc-ng")
    printed = {8: 94.6, 16: 92.8, 32: 91.3, 64: 91.1, 128: 90.8, 256: 90.7, 512: 90.4, 768: 89.9}
    follows = {nodes: abs(100 * host[4] * 4 / nodes / host[nodes] - percent) < 0.5 for nodes, percent in printed.items()}
    assert follows == {nodes: nodes != 768 for nodes in printed}


def test_kernel_rates_follow_the_printed_percentages() -> None:
    """Table 7: the percentages of 4.15 TFLOP/s a node follow from the rates, but for the row that is flagged."""
    rates = times(rows("3dgan-convolution.csv"))
    printed = {4: 66.17, 8: 66.21, 16: 67.01, 32: 63.14, 64: 65.17, 128: 67.60, 256: 66.39, 512: 65.60, 768: 65.29}
    follows = {nodes: abs(rates[nodes] / (nodes * 0.00415) * 100 - percent) < 0.1 for nodes, percent in printed.items()}
    assert follows == {nodes: nodes != 128 for nodes in printed}


def test_rows_that_contradict_themselves_are_flagged() -> None:
    """The two rows of the PASC paper that contradict themselves, and no other of its rows, are suspect."""
    flagged = {(name, row["nodes"]) for name in ("3dgan.csv", "3dgan-convolution.csv") for row in rows(name) if row["suspect"]}
    assert flagged == {("3dgan.csv", "768"), ("3dgan-convolution.csv", "128")}


def test_times_of_two_papers_are_loaded_once() -> None:
    """The four times that both Charliecloud papers print are there once, and say that their layout is uncertain."""
    found = [row for row in rows("3dgan.csv") if row["value"] in {"3806", "1910", "1001", "504"} and row["system"] == "supermuc-ng"]
    assert len(found) == 4
    assert all("layout uncertain" in row["source"] and "HPEC 2019" in row["source"] for row in found)


def test_overheads_of_charliecloud() -> None:
    """Throughput and free memory with Charliecloud and without, as both papers print them."""
    found = {(row["application"], row["metric"], row["runtime"]): float(row["value"]) for row in rows("charliecloud-overheads.csv")}
    assert found == {
        ("alexnet", "throughput", "charliecloud"): 1968,
        ("alexnet", "throughput", "none"): 1973,
        ("resnet50", "throughput", "charliecloud"): 75,
        ("resnet50", "throughput", "none"): 74,
        ("alexnet", "free_memory", "charliecloud"): 331.29,
        ("alexnet", "free_memory", "none"): 331.33,
        ("resnet50", "free_memory", "charliecloud"): 324.47,
        ("resnet50", "free_memory", "none"): 324.89,
    }


def test_throughputs_of_the_guide() -> None:
    """Tables 8 and 9 of the PRACE guide, and the figure on synthetic data in its text, by number of GPUs."""
    table = [row for row in rows("prace-deep-learning.csv") if row["metric"] == "throughput"]
    by_gpus = {(row["framework"], row["dataset"], int(row["nodes"]) * int(row["gpus_per_node"])): float(row["value"]) for row in table}
    mxnet = {1: 182, 4: 705, 8: 1402, 16: 2680, 32: 5120, 64: 7080}
    pytorch = {1: 208, 4: 768, 8: 1497, 16: 2942, 32: 5796}
    assert by_gpus == {
        **{("mxnet", "imagenet-1k", gpus): value for gpus, value in mxnet.items()},
        **{("pytorch", "synthetic", gpus): value for gpus, value in pytorch.items()},
        ("mxnet", "synthetic", 4): 728,
    }
    assert {row["batch_size"] for row in table} == {"64"}


def test_times_of_the_guide() -> None:
    """Days, hours and seconds of the PRACE guide, in seconds."""
    table = [row for row in rows("prace-deep-learning.csv") if row["unit"] == "s"]
    found = {
        (row["application"], row["framework"], row["nodes"], row["gpus_per_node"], row["params.phase"]): float(row["value"])
        for row in table
    }
    assert found == {
        ("traffic-gan", "pytorch", "1", "1", ""): 14 * 86400,
        ("traffic-gan", "pytorch", "1", "8", ""): 5 * 86400,
        ("resnet50", "intel-caffe", "1", "", ""): 400 * 3600,
        ("resnet50", "intel-caffe", "448", "", ""): 3600,
        ("resnet50", "intel-caffe", "448", "", "collapsed decay"): 300,
        ("resnet50", "tensorflow", "200", "", ""): 2.6 * 3600,
        ("resnet50", "keras", "128", "", ""): 85,
        ("resnet50", "tensorflow", "128", "", ""): 18,
    }


def test_one_process_drives_the_gpus_of_the_gan() -> None:
    """``nn.DataParallel`` is one process (section 6.1.3): a process for each GPU was not measured."""
    gan = [row for row in rows("prace-deep-learning.csv") if row["params.distribution"] == "data-parallel"]
    assert {row["ranks_per_node"] for row in gan} == {"1"}


def test_stated_speed_ups() -> None:
    """The percentages of the MODAK paper as ratios, each with what it is measured against."""
    table = rows("modak-containers.csv")
    assert [float(row["value"]) for row in table] == [1.54, 1.04, 1.17, 1.02, 1.02, 1.30]
    assert all(row["metric"] == "speedup" and row["unit"] == "1" and row["params.baseline"] for row in table)
    assert [bool(row["suspect"]) for row in table] == [False] * 5 + [True]


def test_every_row_cites_a_publication_and_a_unit(packaged: Knowledge) -> None:
    """Each row of results names its unit, and a paper with its table, figure or section."""
    for path in packaged.result_files:
        for row in rows(path.name):
            assert row["unit"], path.name
            assert any(place in row["source"] for place in ("Table ", "Figure ", "section ", "Conclusion")), row


def test_results_name_known_places(packaged: Knowledge) -> None:
    """A system or partition in the results is one of ours, or the one whose site is not known; without a name it would be the reader's."""
    known = {item.name: {partition.name for partition in item.partitions} for item in packaged.systems}
    for path in packaged.result_files:
        for row in rows(path.name):
            assert row["system"] in {"xeon-platinum-8160-448-node", *known}
            assert row.get("partition", "") in {"", *known.get(row["system"], ())}


# --- what the reader refuses


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("cores = 20", "coers = 20", "partitions.0.node.coers: unknown key; did you mean 'cores'?"),
        ("title =", "titel =", "titel: unknown key; did you mean 'title'?"),
        ('site = "Here"\n', "", "site: is required"),
        ("cores = 20", 'cores = "20"', "partitions.0.node.cores: allowed: a whole number"),
        ("nodes = 4", "nodes = 0", "partitions.0.nodes: allowed: at least 1"),
        ("nodes = 4", "nodes = 4\nprice_per_node_hour = true", "partitions.0.price_per_node_hour: allowed: a number"),
        (
            'site = "Here"',
            'site = "Here"\nscheduler = "slurmy"',
            "scheduler: unknown scheduler 'slurmy'; did you mean 'slurm'?",
        ),
        ("cores = 20", "cores = 20\naccelerators = 1", "partitions.0.node: accelerators are counted but 'accelerator' names no type"),
        ("cores = 20", "cores = 20\nreserved_cores = 20", "partitions.0.node: reserved_cores must leave at least one core"),
        (
            '["partitions.cpu"]',
            '["partitions.cpu.node"]',
            "partitions.cpu.nodes: no source covers this figure; name it in the fields of one of 'sources'",
        ),
        (
            '["partitions.cpu"]',
            '["partitions", "interconect"]',
            "sources: unknown field 'interconect'; known: name, partitions, site, title",
        ),
    ],
)
def test_faults_of_a_system(tmp_path: Path, old: str, new: str, line: str) -> None:
    """A wrong field is reported by file and dotted path, with what is allowed there."""
    assert line in complaint(read_system, write(tmp_path, "small.toml", SYSTEM.replace(old, new, 1)))


def test_a_fault_inside_is_not_repeated_outside(tmp_path: Path) -> None:
    """An array whose only item is wrong is not also called too short."""
    path = write(tmp_path, "small.toml", SYSTEM.replace("cores = 20", 'cores = "20"'))
    assert complaint(read_system, path) == ["partitions.0.node.cores: allowed: a whole number"]


def test_all_figures_without_a_source_are_named(tmp_path: Path) -> None:
    """Each uncovered figure has its own line; text and defaults need no source."""
    path = write(tmp_path, "small.toml", SYSTEM.replace('["partitions.cpu"]', '["name"]'))
    fields = [line.split(":")[0] for line in complaint(read_system, path)]
    assert fields == ["partitions.cpu.nodes", "partitions.cpu.node.sockets", "partitions.cpu.node.cores"]


def test_a_source_covers_its_field_and_what_is_below(tmp_path: Path) -> None:
    """A field that goes on below a figure does not cover it."""
    path = write(tmp_path, "small.toml", SYSTEM.replace('["partitions.cpu"]', '["partitions.cpu.node", "partitions.cpu.nodes.all"]'))
    assert [line.split(":")[0] for line in complaint(read_system, path)] == ["partitions.cpu.nodes", "sources"]


def test_of_many_misspelt_sources_the_first_are_named(tmp_path: Path) -> None:
    """Each is compared with all names of the system; the rest is counted."""
    fields = ", ".join(f'"partitoins.cpu.q{number}"' for number in range(25))
    path = write(tmp_path, "small.toml", SYSTEM.replace('["partitions.cpu"]', f'["partitions.cpu", {fields}]'))
    *named, last = complaint(read_system, path)
    assert (len(named), last) == (20, "sources: 5 more unknown fields")


def test_a_star_covers_every_name(tmp_path: Path) -> None:
    """``*`` in a source's field stands for any one name."""
    path = write(tmp_path, "small.toml", SYSTEM.replace('["partitions.cpu"]', '["partitions.*.nodes", "partitions.*.node"]'))
    assert read_system(path).name == "small"


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"images": {}}, "images: allowed: a list of objects"),
        ([], "allowed: an object, which is one entry, or has a list of entries in 'images'"),
    ],
)
def test_what_a_document_has_to_be_is_told_in_words_of_json(document: object, says: str) -> None:
    """It is no TOML file, and has no tables."""
    with pytest.raises(DataError) as caught:
        knowledge.from_document("images", document)
    assert [str(fault) for fault in caught.value.faults] == [says]


def test_many_sources_of_many_figures_are_read_at_once() -> None:
    """Figures are looked up, not compared with every source: these would take minutes."""
    queues = [{"name": f"q{number}", "max_nodes": 4} for number in range(5000)]
    partition = {"name": "cpu", "nodes": 4, "node": {"processor": "p1", "sockets": 2, "cores": 20}, "queues": queues}
    fields = ("nodes", "node", *(f"queues.q{number}" for number in range(5000)))
    sources = [{"fields": [f"partitions.cpu.{field}"], "citation": "us"} for field in fields]
    system = {"name": "small", "title": "Small", "site": "Here", "partitions": [partition], "sources": sources}
    assert len(knowledge.from_document("systems", system)) == 1


@pytest.mark.parametrize(
    ("model", "text", "old", "new", "line"),
    [
        (Processor, HARDWARE, "cores = 10", "cores = 1.5", "processors.p1.cores: allowed: a whole number"),
        (
            Processor,
            HARDWARE,
            "[[processors]]",
            "[[processor]]",
            "processor: unknown key 'processor'; did you mean 'processors'? known: processors",
        ),
        (Processor, HARDWARE, "[[processors]]", "[[processor]]", "processors: an array of tables [[processors]] is required"),
        (
            Processor,
            HARDWARE,
            '["cores"]',
            '["model"]',
            "processors.p1.cores: no source covers this figure; name it in the fields of one of 'sources'",
        ),
        (Accelerator, ACCELERATOR, '"nvidia"', '"ibm"', "accelerators.a1.vendor: allowed: one of 'nvidia', 'amd' or 'intel'"),
        (
            Image,
            IMAGE,
            'version = "2.1"',
            'versoin = "2.1"',
            "images.docker://tensorflow/tensorflow:2.1.0.labels.version: is required",
        ),
        (
            Image,
            IMAGE,
            '"2.1", source = "hub"',
            '"2.1"',
            "images.docker://tensorflow/tensorflow:2.1.0.labels.source: is required: one of 'hub', 'pip' or 'opt-build'",
        ),
        (
            Image,
            IMAGE,
            'version = "2.1"',
            'version = "2.1", versoin = "2.1"',
            "images.docker://tensorflow/tensorflow:2.1.0.labels.versoin: unknown key; did you mean 'version'?",
        ),
        (Rule, RULE, "framework =", "framewrok =", "rules.threads.when.framewrok: unknown key; did you mean 'framework'?"),
    ],
)
def test_faults_of_arrays(tmp_path: Path, model: Any, text: str, old: str, new: str, line: str) -> None:
    """Items of an array go by their names; a key that is not the array's is a fault."""
    path = write(tmp_path, "items.toml", text.replace(old, new))
    assert line in complaint(partial(read_array, model=model), path)


def test_a_wrong_name_is_repeated_in_printable_letters() -> None:
    """And not at any length: answers and terminals show it."""
    with pytest.raises(DataError) as caught:
        knowledge.from_document("rules", {"name": f"a\n\u202e{'b' * 5000}"})
    assert all(str(fault).isprintable() and len(str(fault)) < 500 for fault in caught.value.faults)


@pytest.mark.parametrize(
    ("of", "field", "value"),
    [
        *((Partition, "price_per_node_hour", value) for value in (1e308, 5e-324)),
        *((Node, "power_w", value) for value in (1e308, 5e-324)),
        (Node, "accelerators", 10**18),
        (System, "start_up_s", 1e308),
    ],
)
def test_a_figure_can_be_computed_with(packaged: Knowledge, of: type[Fact], field: str, value: float) -> None:
    """One that nothing has would make every request for the system fail."""
    system = packaged.systems[0]
    entries: dict[type[Fact], Fact] = {System: system, Partition: system.partitions[0], Node: system.partitions[0].node}
    with pytest.raises(ValidationError, match=field):
        of.model_validate({**entries[of].model_dump(), field: value})


@pytest.mark.parametrize(
    ("name", "data", "start"),
    [
        ("broken.toml", b"name = ", "is not a TOML or JSON document: Invalid value"),
        ("site.yaml", b"# ours\n---\nname: ours\n", "is not a TOML or JSON document: it looks like YAML"),
        ("images.txt", b"- reference: a\n", "is not a TOML or JSON document: it looks like YAML"),
        ("table.toml", b"[node]\nname: ours\n", "is not a TOML or JSON document: Expected '='"),
        ("broken.json", b"{", "line 1, column 2: not valid JSON: "),
        ("marked.toml", b"\xef\xbb\xbfname = ", "is not a TOML or JSON document: Invalid value"),
        ("latin.toml", b'name = "\xe9"', "byte 9: not valid UTF-8"),
        ("long.toml", b"a = " + b"1" * 5000, "is not a TOML document: a number has more than 4300 digits"),
        ("list.json", b"[1]", "holds no table of keys and values"),
        ("empty.toml", b"\n", "holds no table of keys and values"),
        ("deep.json", b"[" * 100_000, "more than 64 levels"),
    ],
)
def test_files_that_are_no_documents(tmp_path: Path, name: str, data: bytes, start: str) -> None:
    """A file that cannot be parsed is one fault, by the file's name."""
    path = tmp_path / name
    path.write_bytes(data)
    [line] = complaint(read_system, path)
    assert line.startswith(start)


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there is a fault of the data, not a crash."""
    assert complaint(read_system, tmp_path / "none.toml") == ["cannot be read: No such file or directory"]


def test_json_is_read_as_toml_is(tmp_path: Path) -> None:
    """The same processor in JSON."""
    item = {
        "name": "p1",
        "vendor": "amd",
        "model": "P",
        "microarchitecture": "zen",
        "cores": 8,
        "sources": [{"fields": ["cores"], "citation": "maker"}],
    }
    [found] = read_array(write(tmp_path, "processors.json", json.dumps({"processors": [item]})), Processor)
    assert found == Processor.model_validate(item)


def test_faults_between_files(tmp_path: Path) -> None:
    """Unknown hardware and names that two files carry are found, with faults of all files at once."""
    other = SYSTEM.replace('"small"', '"other"').replace('title = "Small"', 'title = "Other"\naliases = ["SMALL", "small"]')
    write(tmp_path, "systems/a.toml", SYSTEM)
    write(tmp_path, "systems/b.toml", other.replace('"p1"', '"p11"').replace("cores = 20", 'cores = 20\naccelerator = "a11"'))
    write(tmp_path, "systems/c.toml", "x = 1")
    write(tmp_path, "hardware/processors.toml", HARDWARE)
    write(tmp_path, "hardware/accelerators.toml", ACCELERATOR + ACCELERATOR)
    write(tmp_path, "rules/a.toml", RULE)
    write(tmp_path, "rules/b.toml", RULE)
    write(tmp_path, "images/a.toml", IMAGE + IMAGE)
    lines = complaint(read_all, tmp_path)
    taken = "the name {!r} is taken already, by " + str(tmp_path) + "/{}"
    assert "systems/c.toml: x: unknown key; known: " in "\n".join(line[:39] for line in lines)
    assert f"systems/b.toml: {taken.format('small', 'systems/a.toml')}" in lines
    assert f"hardware/accelerators.toml: {taken.format('a1', 'hardware/accelerators.toml')}" in lines
    assert f"rules/b.toml: {taken.format('threads', 'rules/a.toml')}" in lines
    assert f"images/a.toml: {taken.format('docker://tensorflow/tensorflow:2.1.0', 'images/a.toml')}" in lines
    assert "systems/b.toml: partitions.cpu.node.processor: unknown processor 'p11'; did you mean 'p1'? known: p1" in lines
    assert "systems/b.toml: partitions.cpu.node.accelerator: unknown accelerator 'a11'; did you mean 'a1'? known: a1" in lines


def test_underscores_and_hyphens_are_one_name(tmp_path: Path) -> None:
    """Two systems whose names differ only in case, ``_`` and ``-`` clash."""
    write(tmp_path, "hardware/processors.toml", HARDWARE)
    write(tmp_path, "systems/a.toml", SYSTEM.replace('"small"', '"My-system"'))
    write(tmp_path, "systems/b.toml", SYSTEM.replace('"small"', '"my_system"'))
    [line] = complaint(read_all, tmp_path)
    assert line.startswith("systems/b.toml: the name 'my-system' is taken already")


def test_a_broken_hardware_file_is_the_only_fault(tmp_path: Path) -> None:
    """Systems are not blamed for hardware whose file could not be read."""
    write(tmp_path, "hardware/processors.toml", HARDWARE.replace("cores = 10", "cores = 1.5"))
    write(tmp_path, "systems/a.toml", SYSTEM)
    assert complaint(read_all, tmp_path) == ["hardware/processors.toml: processors.p1.cores: allowed: a whole number"]


@pytest.mark.parametrize("directives", re.findall(r"^resource_directives = \[.*?\]$", PAGE, re.DOTALL | re.MULTILINE))
def test_the_documented_resource_directives_are_accepted(tmp_path: Path, directives: str) -> None:
    """Those of real sites."""
    document = SYSTEM.replace("[[partitions]]\n", f"[[partitions]]\n{directives}\n", 1)
    assert read_system(write(tmp_path, "systems/a.toml", document)).partitions[0].resource_directives


def test_a_resource_directive_with_an_unknown_placeholder_is_refused(tmp_path: Path) -> None:
    """The message has those that there are."""
    write(tmp_path, "systems/a.toml", SYSTEM.replace("[[partitions]]\n", '[[partitions]]\nresource_directives = ["-l n={node}"]\n', 1))
    [line] = complaint(read_all, tmp_path)
    assert line.startswith("systems/a.toml: partitions.0.resource_directives.0: allowed: an option, ")
    assert "NAME is nodes, ranks, ranks_per_node" in line


def test_an_empty_folder_is_empty_knowledge(tmp_path: Path) -> None:
    """Folders may be missing."""
    assert read_all(tmp_path) == Knowledge()


def test_the_packaged_root_is_found_in_an_installed_package(tmp_path: Path) -> None:
    """Data inside the package comes before data beside it; without either the fault says where it was looked for."""
    package = tmp_path / "modak"
    with pytest.raises(DataError, match="no systems in "):
        packaged_root(package)
    (tmp_path / "benchmarks_db" / "systems").mkdir(parents=True)
    assert packaged_root(package) == tmp_path / "benchmarks_db"
    (package / "_data" / "benchmarks_db" / "systems").mkdir(parents=True)
    assert packaged_root(package) == package / "_data" / "benchmarks_db"


def test_a_value_that_earlier_versions_accepted_is_still_read() -> None:
    """A database that holds it must stay readable: `srun` has no value `pmi1`, its default is what was meant."""
    assert HostMpi.model_validate({"family": "mpich", "pmi": "pmi1"}).pmi is None
