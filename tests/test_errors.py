"""What unknown names are told: the one that may have been meant."""

from __future__ import annotations

import pytest

from modak.errors import nearest_name, unknown

GPUS = ("a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb", "gtx-1080-ti", "t4", "v100-sxm2-16gb", "v100-sxm2-32gb")
PROCESSORS = ("epyc-7601", "xeon-gold-6148", "xeon-platinum-8174")


@pytest.mark.parametrize(
    ("written", "known", "meant"),
    [
        ("A100", GPUS, "a100-pcie-40gb"),
        ("A100-SXM-80GB", GPUS, "a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", GPUS, "a100-pcie-80gb"),
        ("GeForce GTX 1080 Ti", GPUS, "gtx-1080-ti"),
        ("NVIDIA T4", GPUS, "t4"),
        ("Tesla V100", GPUS, "v100-sxm2-16gb"),
        ("NVIDIA Tesla V100", GPUS, "v100-sxm2-16gb"),
        ("LambdaCloud V100 16GB", ("dgx-1-v100", "zenith"), None),
        ("Intel Xeon Gold 6148", PROCESSORS, "xeon-gold-6148"),
        ("AMD EPYC 7601", PROCESSORS, "epyc-7601"),
        ("SuperMUC_NG", ("supermuc-ng", "zenith"), "supermuc-ng"),
        ("supermuc", ("supermuc-ng", "zenith"), "supermuc-ng"),
        ("tensorfow", ("tensorflow", "pytorch"), "tensorflow"),
        ("Open MPI", ("openmpi", "mpich"), "openmpi"),
        ("MI300X", GPUS, None),
        ("cray", ("slurm", "torque"), None),
        ("", GPUS, None),
        ("%", GPUS, None),
        ("a100", (), None),
    ],
)
def test_the_name_that_was_meant(written: str, known: tuple[str, ...], meant: str | None) -> None:
    """As people and programs call things: with maker and size, in capitals, shortened, or misspelt; and nothing where nothing is near."""
    assert nearest_name(written, known) == meant


def test_a_long_name_costs_little() -> None:
    """What others send may be long; its beginning is looked at."""
    assert nearest_name("x" * 10_000_000, [f"system-{number}" for number in range(1000)]) is None


def test_of_a_long_name_the_beginning_is_repeated() -> None:
    """The known names stay in sight."""
    assert unknown("system", "x" * 10_000, ["zenith"]) == f"unknown system '{'x' * 200}'…; known: zenith"


def test_beside_the_name_that_was_meant_not_all_of_many_are_listed() -> None:
    """Only those with the same words, and few of them; without such a name all are."""
    rules = [f"rhino-{name}" for name in ("openfoam", "gromacs", "lammps", "namd", "cp2k", "qe", "vasp", "wrf")]
    assert unknown("rule", "rhino-openfaom", rules) == "unknown rule 'rhino-openfaom'; did you mean 'rhino-openfoam'?"
    assert unknown("accelerator", "A100", GPUS).endswith("? similar: a100-pcie-80gb, a100-sxm4-40gb, a100-sxm4-80gb")
    few = "rhino-cp2k, rhino-gromacs, rhino-lammps, rhino-namd, rhino-openfoam, rhino-vasp"
    assert unknown("rule", "rhino", rules) == f"unknown rule 'rhino'; did you mean 'rhino-qe'? similar: {few}, …"
    assert unknown("rule", "zzz", rules).endswith(f"; known: {', '.join(sorted(rules))}")
