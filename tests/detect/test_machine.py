"""What a machine says of itself: processors, accelerators, file systems, runtimes, MPI libraries."""

from __future__ import annotations

import pytest

from modak.detected import hardware, machine, software
from modak.detected.seen import SeenGpu, SeenProcessor
from tests.detect.told import ACCELERATORS, MIXED, PROCESSORS, TWO_V100, XEON, answers, read, seen


def test_a_machine_alone_is_a_system_of_one_node() -> None:
    """Its scheduler is the shell; memory and NUMA domains are its own."""
    found = seen({**XEON, "numactl": "numactl.txt", **TWO_V100}, "ws1.example.org")
    one = found.system.default_partition
    assert (found.system.name, found.system.scheduler, one.nodes, one.node.cores) == ("ws1", "shell", 1, 40)
    assert (one.node.memory_gb, one.node.standard_numa_domains, one.node.threads_per_core) == (201.2, 2, 2)
    assert (one.node.accelerator, one.node.accelerators) == ("v100-sxm2-16gb", 2)
    assert (found.processors, found.accelerators) == ((), ())


def test_gpus_of_intel_are_seen_by_xpu_smi() -> None:
    """In the form that its manual shows; a model that is not known gets an entry of its maker."""
    rows = "Device Name,Memory Physical Size\n" + '"Intel(R) Data Center GPU Max 1550","131072.00 MiB"\n' * 6
    node = seen(XEON, xpu_smi=rows).system.default_partition.node
    assert (node.accelerator, node.accelerators) == ("max-1550", 6)
    (new,) = seen(XEON, xpu_smi=rows.replace("1550", "1450")).accelerators
    assert (new.name, new.vendor, new.model, new.memory_gb) == ("max-1450", "intel", "Intel Data Center GPU Max 1450", 137.4)
    assert hardware.of_type("intel_data_center_gpu_max_1550", ACCELERATORS)[0] == ACCELERATORS["max-1550"]


def test_unknown_hardware_gets_an_entry_with_a_source() -> None:
    """Only what was seen: no peak rates."""
    gpu, capability = (read(f"{name}-h200.txt").replace("H200", "H2000") for name in ("nvidia-smi", "nvidia-smi-capability"))
    found = seen({"lscpu": "lscpu-epyc-vm.json"}, nvidia_smi=gpu, nvidia_smi_capability=capability)
    assert [one.model_dump(exclude={"sources"}, exclude_unset=True) for one in found.processors] == [
        {"name": "epyc", "vendor": "amd", "model": "AMD EPYC", "microarchitecture": "x86_64_v4", "cores": 2, "threads_per_core": 1}
    ]
    assert [one.model_dump(exclude={"sources"}, exclude_unset=True) for one in found.accelerators] == [
        {"name": "h2000", "vendor": "nvidia", "model": "NVIDIA H2000", "compute_capability": "9.0", "memory_gb": 150.7}
    ]
    assert "nvidia-smi --query-gpu (2026-11-20), on login1" in found.accelerators[0].sources[0].citation


def test_a_virtual_machine_is_said_to_be_one() -> None:
    """Its processor's name is the hypervisor's word."""
    assert any("virtual machine (KVM)" in note for note in seen({"lscpu": "lscpu-epyc-vm.json"}).notes)


@pytest.mark.parametrize(
    ("model", "vendor", "name"),
    [
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "GenuineIntel", "xeon-gold-6148"),
        ("Intel(R) Xeon(R) CPU E5-2630 v4 @ 2.20GHz", "GenuineIntel", "xeon-e5-2630-v4"),
        ("AMD EPYC 7601 32-Core Processor", "AuthenticAMD", "epyc-7601"),
        ("Intel(R) Xeon(R) Platinum 8480+", "GenuineIntel", "xeon-platinum-8480+"),
    ],
)
def test_processors_are_known_by_the_names_that_the_kernel_gives_them(model: str, vendor: str, name: str) -> None:
    """Trade marks, clock rates and core counts are no part of a name."""
    found = hardware.processor(SeenProcessor(model, vendor, "x86_64"), PROCESSORS, "lscpu")
    assert found
    assert found.name == name


@pytest.mark.parametrize(
    ("model", "vendor", "architecture"),
    [("Acme 1", "Acme", "x86_64"), ("Intel Acme 1", "GenuineIntel", "vax"), ("°", "GenuineIntel", "x86_64")],
)
def test_a_processor_without_vendor_microarchitecture_or_name_gets_no_entry(model: str, vendor: str, architecture: str) -> None:
    """An entry needs all three."""
    assert hardware.processor(SeenProcessor(model, vendor, architecture), PROCESSORS, "lscpu") is None


@pytest.mark.parametrize(("architecture", "model", "vendor"), [("aarch64", "Neoverse-X9", "arm"), ("ppc64le", "POWER9, no altivec", "ibm")])
def test_the_architecture_tells_the_vendor_where_no_identifier_does(architecture: str, model: str, vendor: str) -> None:
    """Only processors of x86 say who made them; what is not shown is no figure of the entry."""
    found = hardware.processor(SeenProcessor(model, "", architecture), PROCESSORS, "lscpu")
    assert found
    assert (found.vendor, found.sources[0].fields) == (vendor, ("model", "microarchitecture"))


def test_another_model_of_a_name_that_is_taken_gets_a_number() -> None:
    """The next free one."""
    taken = dict.fromkeys(("acme", "acme-2"), PROCESSORS["xeon-gold-6148"])
    found = hardware.processor(SeenProcessor("Acme", "GenuineIntel", "x86_64"), taken, "lscpu")
    assert found
    assert found.name == "acme-3"


@pytest.mark.parametrize(("model", "entry"), [("NVIDIA Tesla", None), ("Acme", ("acme", ("model",)))])
def test_an_accelerator_gets_an_entry_of_what_is_shown_if_it_has_a_name(model: str, entry: tuple[str, tuple[str, ...]] | None) -> None:
    """That of its maker and family is none; memory and compute capability may not be shown."""
    found = hardware.accelerator(SeenGpu(model), ACCELERATORS, "nvidia-smi")
    assert (found and (found.name, found.sources[0].fields)) == entry


@pytest.mark.parametrize("model", ["Tesla V100-SXM2-16GB", "NVIDIA GeForce GTX 1080 Ti", "Tesla T4", "Tesla P100-SXM2-16GB"])
def test_accelerators_are_known_by_the_names_that_nvidia_smi_gives_them(model: str) -> None:
    """With and without the maker's and the family's name."""
    found = hardware.accelerator(SeenGpu(model), ACCELERATORS, "nvidia-smi")
    assert found
    assert found.name in ACCELERATORS


@pytest.mark.parametrize(
    ("architecture", "vendor", "model", "flags", "target"),
    [
        ("x86_64", "GenuineIntel", "x", "haswell", "haswell"),
        ("x86_64", "AuthenticAMD", "x", "zen2", "zen2"),
        ("aarch64", "ARM", "Neoverse-N1", "neoverse_n1", "neoverse_n1"),
        ("ppc64le", "", "POWER9, altivec supported", "", "power9le"),
        ("pdp11", "", "x", "", None),
    ],
)
def test_the_microarchitecture_is_what_archspec_would_say(
    architecture: str, vendor: str, model: str, flags: str, target: str | None
) -> None:
    """From the flags alone, wherever this runs."""
    import archspec.cpu

    features = frozenset(archspec.cpu.TARGETS[flags].features) if flags else frozenset()
    assert hardware.microarchitecture(SeenProcessor(model, vendor, architecture, features)) == target


def test_lscpu_is_read_flat_and_nested() -> None:
    """As util-linux wrote it before and since 2.38."""
    nested, flat = (machine.lscpu(read(f"lscpu-{name}.json")) for name in ("xeon", "epyc-vm"))
    assert nested
    assert flat
    assert (nested.topology, nested.numa_domains, nested.vendor) == ((2, 40, 2), 2, "GenuineIntel")
    assert (flat.topology, flat.numa_domains, flat.hypervisor) == ((1, 2, 1), 1, "KVM")


@pytest.mark.parametrize("document", ["[]", '{"lscpu": 1}', '{"lscpu": [1, {"field": 1}, {"field": "Model name:", "data": 1}]}'])
def test_what_lscpu_never_prints_is_no_processor(document: str) -> None:
    """A program of that name may print anything."""
    assert machine.lscpu(document) is None


def test_a_processor_of_which_lscpu_does_not_know_the_sockets_has_unknown_cores() -> None:
    """As it prints in some virtual machines."""
    found = machine.lscpu(read("lscpu-xeon.json").replace("Socket(s):", "Sockets:"))
    assert found
    assert (found.sockets, found.topology.cores) == (None, None)


def test_a_processor_without_a_name_is_none() -> None:
    """As in some virtual machines: nothing says which it is."""
    assert machine.lscpu(read("lscpu-xeon.json").replace("Model name:", "Model:")) is None


def test_numa_domains_without_processors_do_not_count() -> None:
    """High-bandwidth or GPU memory appears as a domain of its own; no rank can be put there."""
    assert machine.numactl(read("numactl.txt")) == 2


def test_lscpu_tells_numa_domains_where_numactl_is_not_installed() -> None:
    """The source names the command that did."""
    found = seen(XEON).system
    assert found.default_partition.node.standard_numa_domains == 2
    assert any("numa_modes" in " ".join(one.fields) and one.citation.startswith("lscpu -J") for one in found.sources)


def test_shared_file_systems_are_those_of_the_mount_table() -> None:
    """A path that no script can hold is left out and said, and so is a second one with the same name."""
    found = seen({**XEON, "mounts": "mounts.txt"})
    assert [(one.name, one.kind, one.path) for one in found.system.filesystems] == [
        ("beegfs", "beegfs", "/beegfs"),
        ("home", "nfs", "/home"),
        ("lustre-scratch", "nfs", "/lustre-scratch"),
    ]
    allowed = "allowed: an absolute path of letters, digits and ._+@-; at most 512 characters"
    assert rf"filesystems: /gpfs/odd\040name is left out: path: {allowed}" in found.notes
    assert "filesystems: /lustre/scratch is left out: the name lustre-scratch is taken" in found.notes


def test_runtimes_are_programs_then_modules() -> None:
    """A module counts where no program of that name is on PATH; jobs without a container always run."""
    found = seen({**XEON, "modules": "module-avail.txt"}, ch_run="\n0.31\n")
    assert [(one.name, one.version, one.module) for one in found.system.runtimes] == [
        ("charliecloud", "0.31", None),
        ("apptainer", "1.3.0", "apptainer/1.3.0"),
        ("none", None, None),
    ]


@pytest.mark.parametrize(
    ("singularity", "listed"),
    [("apptainer version 1.4.5", ["apptainer"]), ("singularity-ce version 4.1.0-jammy", ["apptainer", "singularity"])],
)
def test_singularity_that_is_apptainer_is_listed_once(singularity: str, listed: list[str]) -> None:
    """Apptainer installs a link of that name, where there is no Singularity."""
    given = answers({}, apptainer="apptainer version 1.4.5", singularity=singularity)
    assert [name for name, *_ in software.runtimes(given)] == listed


def test_mpi_libraries_are_modules_then_what_path_has() -> None:
    """The newest of each family by version, not by text; pmi is what srun offers for it."""
    found = seen({**MIXED, **XEON, "modules": "module-avail.txt", "srun-mpi": "srun-mpi.txt"}, mpirun="mpirun (Open MPI) 4.1.4")
    assert [(one.family, one.version, one.module, one.pmi) for one in found.system.mpi] == [
        ("mpich", "4.2.1", "mpich/4.2.1", "pmi2"),
        ("openmpi", "5.0.3", "openmpi/5.0.3", "pmix"),
    ]
    assert any(note.startswith("mpi: pmi is offered by srun") for note in found.notes)


@pytest.mark.parametrize(
    ("listed", "version", "module"),
    [
        ("mpi/openmpi-x86_64", None, "mpi/openmpi-x86_64"),
        ("mpi/openmpi3-x86_64", None, "mpi/openmpi3-x86_64"),
        ("openmpi4/4.1.6\nopenmpi5/5.0.3", "5.0.3", "openmpi5/5.0.3"),
        ("mpi/openmpi/4.1", "4.1", "mpi/openmpi/4.1"),
        ("openmpi/4.1.4\nmpi/openmpi-x86_64", "4.1.4", "openmpi/4.1.4"),
    ],
)
def test_modules_of_mpi_may_be_in_a_folder_of_their_own(listed: str, version: str | None, module: str) -> None:
    """As Red Hat's packages have them, without a version."""
    assert [found[:3] for found in software.mpi(answers({}, modules=f"/usr/share/modulefiles:\n{listed}\n"))] == [
        ("openmpi", version, module)
    ]


def test_what_srun_offers_is_of_jobs_of_slurm() -> None:
    """A machine of another scheduler may have its commands as well."""
    found = seen({**XEON, "modules": "module-avail.txt", "srun-mpi": "srun-mpi.txt"})
    assert [(one.family, one.pmi) for one in found.system.mpi] == [("mpich", None), ("openmpi", None)]
    assert not any("pmi" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "family", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n", "openmpi", "4.1.4"),
        ("HYDRA build details:\n    Version:                                 4.0.2\n", "mpich", "4.0.2"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307", "intel-mpi", "2021.9"),
    ],
)
def test_mpirun_says_whose_it_is(text: str, family: str, version: str) -> None:
    """Each family in its own words."""
    assert [(name, number) for name, number, *_ in software.mpi(answers({}, mpirun=text))] == [(family, version)]
