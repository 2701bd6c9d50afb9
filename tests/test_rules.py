from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modak import knowledge
from modak.facts import Condition, Rule
from modak.jobs.spec import BINDINGS
from modak.rules import Applied, Situation, apply, rule_faults, rulebook
from modak.text.words import line


def rule(name: str, *, when: dict[str, Any] | None = None, **values: Any) -> Rule:
    """A rule of a test."""
    return Rule.model_validate({"name": name, "title": name, "source": "a test", "when": when or {}, **values})


def holds(when: dict[str, Any], situation: Situation) -> bool:
    """Whether a rule with that condition applies in a situation."""
    return bool(apply(rulebook([rule("one", when=when)]), situation).held)


PACKAGED = tuple(rule for path in sorted((knowledge.packaged_root() / "rules").glob("*.toml")) for rule in knowledge.read_array(path, Rule))


@pytest.fixture
def packaged() -> tuple[Rule, ...]:
    """The rules that come with MODAK."""
    return PACKAGED


HERE = Situation(
    application="3dgan",
    application_version="1.0",
    app_type="ai_training",
    framework="tensorflow",
    framework_version="2.1.0",
    compilers=("xla",),
    distribution="horovod",
    system="supermuc-ng",
    system_aliases=("sng",),
    partition="thin",
    scheduler="slurm",
    launcher="srun",
    runtime="charliecloud",
    processor_vendor="intel",
    accelerator="none",
    interconnect="omni-path",
    mpi="intel-mpi",
    mpi_from="host",
    mpi_version="2019",
    storage_class="default-high",
    multi_node=True,
    threaded=True,
)
MATCHING: dict[str, Any] = {
    "application": ["3dgan", "other"],
    "application_version": ">=1",
    "app_type": ["ai_training"],
    "framework": ["tensorflow"],
    "framework_version": "2.1",
    "compiler": ["xla"],
    "distribution": ["horovod"],
    "system": ["supermuc_ng"],
    "partition": ["thin"],
    "scheduler": ["slurm"],
    "launcher": ["srun"],
    "runtime": ["charliecloud"],
    "processor_vendor": ["intel"],
    "accelerator": ["none"],
    "interconnect": ["omni-path"],
    "mpi": ["intel-mpi"],
    "mpi_from": ["host"],
    "mpi_version": ">=2019",
    "storage_class": ["default-high"],
    "multi_node": True,
    "threaded": True,
}
OTHER: dict[str, Any] = {
    **{key: ["elsewhere"] for key, value in MATCHING.items() if isinstance(value, list)},
    **{
        "application_version": "<1",
        "framework_version": "2.10",
        "mpi_version": "<2019",
        "app_type": ["hpc"],
        "mpi_from": ["container"],
        "multi_node": False,
        "threaded": False,
    },
}


def test_the_tables_ask_for_every_key() -> None:
    """A key that is added to conditions must be matched, and tested here."""
    assert set(MATCHING) == set(OTHER) == set(Condition.model_fields), "give each key of Condition a value in both, above, and in HERE"


@pytest.mark.parametrize("key", sorted(MATCHING))
def test_a_key_matches_or_the_rule_does_not_hold(key: str) -> None:
    """A condition holds where its key matches, and neither where it differs nor where it is unknown."""
    assert holds({key: MATCHING[key]}, HERE)
    assert not holds({key: OTHER[key]}, HERE)
    assert not holds({key: MATCHING[key]}, Situation())


@pytest.mark.parametrize("key", sorted(MATCHING))
def test_every_key_must_match(key: str) -> None:
    """One key that differs is enough for a rule not to hold."""
    assert holds(MATCHING, HERE)
    assert not holds({**MATCHING, key: OTHER[key]}, HERE)


def test_an_empty_condition_holds_everywhere() -> None:
    """A rule without a condition is for every job."""
    assert holds({}, Situation())


def test_names_of_systems_match_with_aliases_and_underscores() -> None:
    """hlrs_testbed and hlrs-testbed are one site; aliases count."""
    for name in ("supermuc-ng", "supermuc_ng", "SNG"):
        assert holds({"system": (name,)}, HERE)


def test_a_rule_for_apptainer_holds_for_singularity() -> None:
    """The two run the same images in the same way."""
    assert holds({"runtime": ("apptainer",)}, replace(HERE, runtime="singularity"))


def test_a_rule_of_one_site_and_application_leaks_nowhere() -> None:
    """A rule for one site and one application reaches neither another application there nor the application elsewhere."""
    site = rule(
        "site", when={"system": ["supermuc-ng"], "application": ["3dgan"]}, environment={"A": "1"}, modules=["m"], script="true", advice="a"
    )
    assert apply(rulebook([site]), HERE).environment == {"A": "1"}
    for elsewhere in (replace(HERE, system="hlrs-testbed", system_aliases=()), replace(HERE, application="other"), Situation()):
        assert apply(rulebook([site]), elsewhere) == Applied()


@pytest.mark.parametrize(
    ("version", "is_held"), [("2.1", True), ("2.1.0", True), ("2.1.1", False), ("2.10", False), ("odd", False), (None, False)]
)
def test_versions_of_conditions_are_versions(version: str | None, is_held: bool) -> None:
    """2.1 is neither 2.1.1 nor 2.10; what is no version, or unknown, matches nothing."""
    assert holds({"framework_version": "2.1"}, Situation(framework_version=version)) is is_held


@pytest.mark.parametrize(
    ("strong", "weak", "why"),
    [
        (
            rule("z", priority=60, environment={"A": "1"}),
            rule("a", priority=50, environment={"A": "2"}, when={"system": ["sng"]}),
            "priority 60 over 50",
        ),
        (
            rule("z", environment={"A": "1"}, when={"system": ["sng"], "threaded": True}),
            rule("a", environment={"A": "2"}),
            "2 conditions over 0",
        ),
        (rule("a", environment={"A": "1"}), rule("z", environment={"A": "2"}), "first in the alphabet"),
    ],
)
def test_the_stronger_rule_sets_the_variable(strong: Rule, weak: Rule, why: str) -> None:
    """Higher priority, then more conditions, then the name that sorts first; the loser is reported with the reason."""
    applied = apply(rulebook([weak, strong]), HERE)
    assert applied.environment == {"A": "1"}
    assert [line for line in applied.decisions if weak.name + ":" in line and why in line]


def test_each_rule_is_told_with_the_variables_that_it_sets_itself() -> None:
    """Not with one that a stronger rule has set."""
    rules = [rule("strong", priority=100, environment={"A": "1"}), rule("weak", environment={"A": "2", "B": "3"})]
    told = [line for line in apply(rulebook(rules), HERE).decisions if " is not set" not in line]
    assert told == ["rule strong: sets A=1 (strong)", "rule weak: sets B=3 (weak)"]


def test_equal_values_are_no_conflict() -> None:
    """Two rules that want the same are both content."""
    applied = apply(rulebook([rule("a", environment={"A": "1"}), rule("b", environment={"A": "1"})]), HERE)
    assert applied.environment == {"A": "1"}
    assert not any("is not set" in line for line in applied.decisions)


@pytest.mark.parametrize(("kmp", "openmp", "expected"), [(60, 50, {"KMP_AFFINITY"}), (40, 50, {"OMP_PROC_BIND", "OMP_PLACES"})])
def test_threads_are_bound_in_one_way(kmp: int, openmp: int, expected: set[str]) -> None:
    """KMP_AFFINITY and OpenMP's own variables never stand together: the stronger rule's way is taken."""
    rules = [
        rule("kmp", priority=kmp, environment={"KMP_AFFINITY": "compact"}),
        rule("openmp", priority=openmp, environment={"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}),
    ]
    assert set(apply(rulebook(rules), HERE).environment) == expected


def test_a_way_of_binding_that_is_not_taken_is_told() -> None:
    """With the rule that binds threads instead."""
    rules = [rule("kmp", priority=60, environment={"KMP_AFFINITY": "compact"}), rule("openmp", environment={"OMP_PLACES": "cores"})]
    told = apply(rulebook(rules), HERE).decisions
    assert "rule openmp: OMP_PLACES is not set, because KMP_AFFINITY of rule kmp binds threads already" in told


def test_texts_of_stronger_rules_run_last() -> None:
    """What the stronger rule's text sets stands, because it runs after the others."""
    rules = [rule("strong", priority=90, script="export A=1"), rule("weak", priority=10, script="export A=2")]
    assert [text.rule for text in apply(rulebook(rules), HERE).texts] == ["weak", "strong"]


SOME = [
    rule(name, priority=priority, environment=environment, modules=[f"module-{name}"], script="true", advice=f"advice of {name}")
    for name, priority, environment in (
        ("a", 50, {"A": "1", "KMP_AFFINITY": "compact"}),
        ("b", 50, {"A": "2", "B": "1"}),
        ("c", 70, {"OMP_PLACES": "cores"}),
        ("d", 10, {"A": "3", "C": "1"}),
    )
]


@given(st.permutations(SOME))
def test_the_order_of_rules_decides_nothing(rules: list[Rule]) -> None:
    """The same rules in any order add the same, in the same order, for the same reasons."""
    assert apply(rulebook(rules), HERE) == apply(rulebook(SOME), HERE)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"environment": {"LD_PRELOAD": "/x.so"}}, "environment.LD_PRELOAD"),
        ({"environment": {"BASH_ENV": "/x.sh"}}, "environment.BASH_ENV"),
        ({"environment": {"PATH": "/x"}}, "environment.PATH"),
        ({"environment": {"SLURM_JOB_ID": "1"}}, "environment.SLURM_JOB_ID"),
        ({"environment": {"PYTHONPATH": "/x"}}, "environment.PYTHONPATH"),
        ({"environment": {"A": "b\x00c"}}, "environment.A"),
        ({"environment": {"A": "b\n#PBS -q c"}}, "environment.A"),
        ({"environment": {"KMP_AFFINITY": "compact", "OMP_PLACES": "cores"}}, "environment.KMP_AFFINITY"),
        ({"script": "echo 'open"}, "script"),
        ({"script": "rm -rf {{ somewhere }}/*"}, "script"),
        ({"script": "true\n#SBATCH --wrap=x"}, "script"),
        ({"script": "true\n#PBS -q x"}, "script"),
        ({"script": "true\rfalse"}, "script"),
        ({}, ""),
    ],
)
def test_a_bad_rule_is_refused_before_it_is_stored(values: dict[str, Any], field: str) -> None:
    """Names that run code, text that is no whole bash, scheduler options, unknown placeholders, and rules that add nothing."""
    assert [fault.field for fault in rule_faults(rule("bad", **values))] == [field]


@pytest.mark.parametrize(
    "values",
    [
        {"environment": {"PYTHONNOUSERSITE": "1", "A": "two words; $(not run)"}},
        {"script": 'cp -r "{{preferred_storage_location}}" . && make -j {{BUILD_PARALLELISM}}'},
        {"advice": "look out"},
        {"modules": ["gcc/13"]},
    ],
)
def test_a_sound_rule_passes(values: dict[str, Any]) -> None:
    """Values may hold what a shell would act on, scripts the published placeholders."""
    assert rule_faults(rule("good", **values)) == ()


def test_packaged_rules_are_sound_and_sourced(packaged: tuple[Rule, ...]) -> None:
    """The rules that come with MODAK pass their own check, and none is for a site."""
    assert packaged
    for each in packaged:
        assert rule_faults(each) == (), each.name
        assert each.source
        assert not each.when.system, "a rule for a site belongs to the site's data"


@pytest.mark.parametrize(
    ("accelerator", "flags"),
    [("nvidia", "--tf_xla_auto_jit=2"), ("none", "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"), (None, "--tf_xla_auto_jit=2")],
)
def test_xla_is_switched_on_where_it_is_asked_for(packaged: tuple[Rule, ...], accelerator: str | None, flags: str) -> None:
    """TF_XLA_FLAGS enables auto-clustering, on processors with the second flag; without XLA nothing is set."""
    here = Situation(framework="tensorflow", compilers=("xla",), accelerator=accelerator)
    assert apply(rulebook(packaged), here).environment["TF_XLA_FLAGS"] == flags
    assert "TF_XLA_FLAGS" not in apply(rulebook(packaged), replace(here, compilers=())).environment


@pytest.mark.parametrize(
    ("mpi_from", "version", "expected"),
    [
        ("host", "2019", {"I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "psm2"}),
        ("host", "2017.4", {"I_MPI_FABRICS": "shm:tmi", "I_MPI_TMI_PROVIDER": "psm2"}),
        ("container", "2019", {"I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp"}),
        ("host", None, {}),
    ],
)
def test_the_fabric_of_omni_path_follows_the_mpi(
    packaged: tuple[Rule, ...], mpi_from: str, version: str | None, expected: dict[str, str]
) -> None:
    """psm2 with the host's Intel MPI, TMI only before 2019, TCP where the container has no psm2, nothing where the version is unknown."""
    found = apply(rulebook(packaged), replace(HERE, mpi_from=mpi_from, mpi_version=version)).environment
    assert {name: value for name, value in found.items() if name.startswith(("I_MPI", "FI_"))} == expected


def test_the_stronger_rules_options_come_last() -> None:
    """Of two options that say one thing, launchers take the last."""
    usual = rule("usual", launcher_options=["--cpu-bind=cores", "-hostfile ${SGE_JOB_HOSTLIST}"])
    masks = rule("masks", when={"launcher": ["srun"]}, launcher_options=["--cpu-bind=mask_cpu:fe,fe00"])
    found = apply(rulebook([masks, usual]), HERE)
    assert line(found.launcher_options) == '--cpu-bind=cores -hostfile "${SGE_JOB_HOSTLIST:?}" --cpu-bind=mask_cpu:fe,fe00'
    assert "rule masks: gives the launcher --cpu-bind=mask_cpu:fe,fe00 (masks)" in found.decisions
    assert rule_faults(masks) == ()


@pytest.mark.parametrize("option", ["gpu-bind=closest", "--gpu-bind=closest; id", "-o a b", "--x=$(id)", "--x='a'"])
def test_a_launchers_option_is_one_option(option: str) -> None:
    """Not a command, nor several."""
    with pytest.raises(ValueError, match="launcher_options"):
        rule("odd", launcher_options=[option])


@pytest.mark.parametrize(
    ("version", "accelerator", "applies"), [("3.1.4", "nvidia", True), ("4.1.8", "nvidia", False), ("3.1.4", "none", False)]
)
def test_horovod_s_old_options_stay_where_they_belong(packaged: tuple[Rule, ...], version: str, accelerator: str, applies: bool) -> None:
    """-mca btl ^openib and -bind-to none: only GPU runs under Open MPI before 4, since they undo pinning elsewhere."""
    here = replace(HERE, mpi="openmpi", mpi_version=version, accelerator=accelerator, launcher="mpirun")
    found = apply(rulebook(packaged), here).environment
    assert ("OMPI_MCA_btl" in found) is applies
    assert ("OMPI_MCA_hwloc_base_binding_policy" in found) is applies
    assert ("OMP_PROC_BIND" in found) is applies


@pytest.mark.parametrize("launcher", ["srun", "mpirun", "torchrun", "none"])
def test_no_packaged_rule_binds_threads_where_the_launcher_does_not(packaged: tuple[Rule, ...], launcher: str) -> None:
    """The launcher knows whether ranks have cores of their own; a rule would take precedence."""
    assert "OMP_PLACES" not in apply(rulebook(packaged), replace(HERE, launcher=launcher, threaded=True)).environment


@pytest.mark.parametrize(
    ("framework", "layer", "needed"),
    [
        ("tensorflow", "multi-worker", "TF_CONFIG"),
        ("tensorflow", "multi-worker", "TF_USE_LEGACY_KERAS=1"),
        ("tensorflow", "parameter-server", "TF_CONFIG"),
        ("mxnet", "parameter-server", "DMLC_ROLE"),
        ("jax", "jax-distributed", "jax.distributed.initialize()"),
        ("tensorflow", "horovod", "hvd.init()"),
    ],
)
def test_what_connects_the_processes_of_a_framework_is_told(packaged: tuple[Rule, ...], framework: str, layer: str, needed: str) -> None:
    """The script only starts them: a program without it would train once in each process."""
    held = apply(rulebook(packaged), replace(HERE, framework=framework, distribution=layer)).held
    assert any(needed in (rule.advice or "") for rule in held)


@pytest.mark.parametrize(
    ("scheduler", "accelerator", "told"), [("slurm", "none", True), ("slurm", "nvidia", False), ("lsf", "none", False)]
)
def test_slurms_resolver_of_tensorflow_needs_more_where_there_are_no_gpus(
    packaged: tuple[Rule, ...], scheduler: str, accelerator: str, told: bool
) -> None:
    """Without arguments it counts them by a program that is not there."""
    here = replace(HERE, framework="tensorflow", distribution="multi-worker", scheduler=scheduler, accelerator=accelerator)
    assert ("tensorflow-cluster-cpu" in apply(rulebook(packaged), here).names) is told


@given(
    st.sampled_from(["tensorflow", "pytorch", "mxnet", "intel-caffe", None]),
    st.sampled_from(["nvidia", "none"]),
    st.sampled_from(["srun", "mpirun", "torchrun", "none"]),
    st.sampled_from([("openmpi", "3.1"), ("openmpi", "5.0"), ("intel-mpi", "2019"), ("mpich", "4.0"), (None, None)]),
    st.booleans(),
)
def test_packaged_rules_never_bind_threads_twice(
    framework: str | None, accelerator: str, launcher: str, mpi: tuple[str | None, str | None], threaded: bool
) -> None:
    """Whatever the job: one way of binding threads, at most."""
    here = replace(HERE, framework=framework, accelerator=accelerator, launcher=launcher, mpi=mpi[0], mpi_version=mpi[1], threaded=threaded)
    found = apply(rulebook(PACKAGED), here).environment
    assert sum(any(name in found for name in family) for family in BINDINGS) <= 1


@pytest.mark.parametrize(("named", "held"), [("keras", True), ("tensorflow", True), ("jax", False)])
def test_a_framework_on_another_is_both(named: str, held: bool) -> None:
    """A Keras job runs in an image of TensorFlow: rules for either hold."""
    assert holds({"framework": (named,)}, Situation(framework="tensorflow", front_end="keras")) == held


@pytest.mark.parametrize(("version", "held"), [("1.11", True), ("2.21", False), (None, False)])
def test_the_time_of_keras_beside_tensorflow_is_told_with_the_versions_that_it_is_of(
    packaged: tuple[Rule, ...], version: str | None, held: bool
) -> None:
    """The Keras of later ones is another."""
    situation = replace(HERE, framework="tensorflow", front_end="keras", framework_version=version)
    assert ("keras-front-end" in apply(rulebook(packaged), situation).names) == held


def test_the_rules_of_tensorflow_are_not_for_keras_on_jax(packaged: tuple[Rule, ...]) -> None:
    """They follow the backend."""
    situation = replace(HERE, framework="jax", front_end="keras", compilers=(), framework_version="0.5.3")
    names = apply(rulebook(packaged), situation).names
    assert not [name for name in names if name.startswith(("tensorflow", "keras"))]
