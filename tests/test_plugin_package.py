"""A package of somebody else's with a scheduler, a launcher and a runtime: built, installed beside MODAK, asked for by a request."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from modak import testing
from modak.jobs.spec import JobSpec
from modak.schedulers.header import Directives, with_site
from tests.conftest import ROOT

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "modak-oar"
version = "1.0"

[project.entry-points."modak.schedulers"]
oar = "modak_oar:OAR"
[project.entry-points."modak.launchers"]
taktuk = "modak_oar:TAKTUK"
[project.entry-points."modak.runtimes"]
kameleon = "modak_oar:KAMELEON"
"""
MODULE = '''
"""OAR, TakTuk and a container runtime, as far as a test needs them."""

from dataclasses import dataclass

from modak.launchers import Launcher
from modak.runtimes import Runtime
from modak.schedulers import Scheduler
from modak.schedulers.header import FIELDS, with_site
from modak.schedulers.notices import no_option
from modak.schedulers.qsub import walltime
from modak.script.bash import assign
from modak.text.words import variable, word


@dataclass(frozen=True)
class Oar(Scheduler):
    name: str = "oar"
    prefix: str = "#OAR"
    submit: tuple[str, ...] = ("oarsub", "-S")
    aliases: tuple[str, ...] = ("oarsub",)
    submit_dir: str | None = "OAR_WORKING_DIRECTORY"
    job_id: str | None = "OAR_JOB_ID"
    array_index: str | None = "OAR_ARRAY_INDEX"
    host_file: str | None = "OAR_NODEFILE"
    launcher: str | None = "taktuk"

    def directives(self, job):
        says, has = job.attributes, job.resources
        wanted = f"nodes={has.nodes}/core={has.ranks_per_node * has.cores_per_rank}"
        limit = f",walltime={walltime(says.wall_time_s)}" if says.wall_time_s else ""
        unsaid = [field for field in FIELDS if field not in ("name", "nodes", "wall_time_s")]
        options = [("-n", says.name), ("-l", f"{wanted}{limit}")]
        return with_site(job, options, no_option(job, "OAR", *unsaid), asking=["-l nodes"])


@dataclass(frozen=True)
class TakTuk(Launcher):
    name: str = "taktuk"

    def unfit(self, job, scheduler):
        return "" if scheduler.host_file else f"taktuk needs a file with the job's hosts, which {scheduler.name} has not"

    def needs_ssh(self, job, scheduler):
        return job.resources.nodes > 1

    def words(self, job, scheduler, exported):
        return ("taktuk", "-f", variable(scheduler.host_file), "broadcast", "exec")


@dataclass(frozen=True)
class Kameleon(Runtime):
    name: str = "kameleon"
    reads: frozenset[str] = frozenset((".sif",))

    def setup(self, job):
        return (assign("MODAK_IMAGE", job.container.file),)

    def wrap(self, job, command):
        return ("kameleon", "run", variable("MODAK_IMAGE"), "--", *command)

    def build(self, job, definition, context):
        return ()


OAR, TAKTUK, KAMELEON = Oar(), TakTuk(), Kameleon()
'''
CHECKED = """
from modak import plugins, testing

testing.check_scheduler(plugins.find("schedulers", "oar"))
testing.check_launcher(plugins.find("launchers", "taktuk"), plugins.all_of("schedulers"))
testing.check_runtime(plugins.find("runtimes", "kameleon"))
"""
SYSTEM = """
name = "grid"
title = "A cluster with OAR"
site = "Somewhere"
scheduler = "oar"
launcher = "taktuk"

[[partitions]]
name = "default"
nodes = 4
node = {processor = "xeon-gold-6148", sockets = 2, cores = 40}

[[runtimes]]
name = "kameleon"

[[sources]]
fields = ["*", "partitions.default"]
citation = "made for this test"
"""
JOB = {
    "application": {"app_tag": "solver", "app_type": "mpi", "executable": "./solve 'a b'", "container_runtime": "solver.sif"},
    "job_options": {"node_count": 2, "process_count_per_node": 4},
    "target": {"name": "grid", "container_runtime": "kameleon"},
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package is installed in, by pip from a wheel that was built here."""
    source, target = tmp_path_factory.mktemp("package"), tmp_path_factory.mktemp("installed")
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "modak_oar.py").write_text(MODULE)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", target, source], check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def package(installed: Path) -> dict[str, Any]:
    """What its module holds: the contracts ask nothing of the process that they are checked in."""
    return runpy.run_path(str(installed / "modak_oar.py"))


def python(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Another Python, which sees the package."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(installed), str(ROOT))),
        "HOME": str(folder),
        "XDG_DATA_HOME": f"{folder}/data",
    }
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)


def modak(installed: Path, folder: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    """These commands, one after the other; the exit status is the last one's."""
    each = "import sys; from modak.cli import main; sys.exit([main(command.split()) for command in sys.argv[1:]][-1])"
    return python(installed, folder, "-c", each, *commands)


def test_its_variants_keep_the_contracts(installed: Path, tmp_path: Path) -> None:
    """The checks that MODAK's own pass, found by their entry points."""
    done = python(installed, tmp_path, "-c", CHECKED)
    assert done.returncode == 0, done.stderr


def test_a_variant_that_breaks_its_contract_is_told(package: dict[str, Any]) -> None:
    """The check runs, and says what is wrong."""
    with pytest.raises(AssertionError, match="broken: submit holds the command that takes a script"):
        testing.check_scheduler(replace(package["OAR"], submit=()))


@pytest.mark.parametrize(("check", "base"), [(testing.check_launcher, "launchers.Launcher"), (testing.check_runtime, "runtimes.Runtime")])
def test_a_variant_without_the_defaults_is_told_where_they_are(check: Callable[..., None], base: str) -> None:
    """A later version may ask it for more than it has."""
    bare = type("Bare", (), {"name": "bare"})()
    with pytest.raises(AssertionError, match=f"broken: Bare derives from modak.{base}"):
        check(bare, *([()] if "launcher" in base else []))


@pytest.mark.parametrize(
    ("asked", "asking", "told"),
    [
        ([], None, "drops mandatory_directives; directives has to end in modak.schedulers.header.with_site"),
        ([("-l", "nodes={}")], (), "asks for nodes beside resource_directives: -l nodes=4"),
        (  # in the words that header.note takes
            [("-l", "nodes={}")],
            ("-l nodes",),
            "drops name, account, queue, partition, qos, reservation, site_resources, wall_time_s, constraint, node_list, array,",
        ),
    ],
)
def test_a_scheduler_that_drops_something_is_told_what_and_how_to_keep_it(
    package: dict[str, Any], asked: Sequence[tuple[str, str]], asking: Sequence[str] | None, told: str
) -> None:
    """What the site requires, what it asks for nodes with, and all fields of the request that are lost."""

    oar: Any = package["Oar"]

    class Careless(oar):  # type: ignore[misc]
        def directives(self, job: JobSpec) -> Directives:
            options = [(option, value.format(job.resources.nodes)) for option, value in asked]
            return Directives((("-n", "x"),)) if asking is None else with_site(job, options, asking=asking)

    with pytest.raises(AssertionError, match=f"broken: oar {told}"):
        testing.check_scheduler(Careless(launcher=None))  # its own is not installed in this process


def test_a_system_and_a_request_can_name_them(installed: Path, tmp_path: Path) -> None:
    """From the system's file to the script; without the package the file is refused."""
    (tmp_path / "grid.toml").write_text(SYSTEM)
    (tmp_path / "request.json").write_text(json.dumps({"job": JOB}))
    answer = modak(installed, tmp_path, "systems add grid.toml", "optimise request.json --script")
    assert answer.returncode == 0, answer.stderr
    script = answer.stdout
    assert "#OAR -l nodes=2/core=4\n" in script
    assert 'MODAK_JOB="${MODAK_JOB//[!A-Za-z0-9._-]/-}"\n' in script, "nothing is known of its jobs' numbers"
    assert 'taktuk -f "${OAR_NODEFILE:?}" broadcast exec \\\n    kameleon run "${MODAK_IMAGE:?}" -- \\\n    ./solve \'a b\'\n' in script
    refused = modak(tmp_path / "nothing", tmp_path, "systems add grid.toml")
    assert refused.returncode == 1
    assert "scheduler: unknown scheduler 'oar'" in refused.stderr


def test_the_launcher_that_belongs_to_a_scheduler_starts_its_jobs(installed: Path, tmp_path: Path) -> None:
    """Without a system that names one."""
    job = {**JOB, "target": {"job_scheduler_type": "oar", "container_runtime": "none"}}
    (tmp_path / "request.json").write_text(json.dumps({"job": job}))
    answer = modak(installed, tmp_path, "optimise request.json --script")
    assert 'taktuk -f "${OAR_NODEFILE:?}" broadcast exec' in answer.stdout, answer.stderr


def test_a_request_may_call_it_by_its_other_name(installed: Path, tmp_path: Path) -> None:
    """As it may call MODAK's own."""
    (tmp_path / "request.json").write_text(json.dumps({"job": {**JOB, "target": {"job_scheduler_type": "oarsub"}}}))
    answer = modak(installed, tmp_path, "optimise request.json --script")
    assert "#OAR -l nodes=2/core=4\n" in answer.stdout, answer.stderr


def test_a_rule_holds_none_of_its_options(installed: Path, tmp_path: Path) -> None:
    """Its jobs would not have them: they are read in the header alone."""
    asked = "from modak.script.shelltext import rule_fault\nprint(rule_fault('#OAR -l nodes=9'))"
    assert python(installed, tmp_path, "-c", asked).stdout.startswith("it contains scheduler options")


@pytest.mark.parametrize("preferred", ["taktuk", "mpirun"])
def test_a_launcher_that_needs_ssh_does_not_stand_in_for_one_that_does(installed: Path, tmp_path: Path, preferred: str) -> None:
    """The job would hang at its start."""
    (tmp_path / "grid.toml").write_text(SYSTEM.replace('"taktuk"', f'"{preferred}"\nssh_between_nodes = false'))
    (tmp_path / "request.json").write_text(json.dumps({"job": JOB}))
    refused = modak(installed, tmp_path, "systems add grid.toml", "optimise request.json")
    assert refused.returncode == 1
    assert f"{preferred} needs ssh between nodes, which grid does not have; use one node" in refused.stderr


def test_tuning_is_refused_where_the_scheduler_cannot_be_asked_for_jobs(installed: Path, tmp_path: Path) -> None:
    """With the way that there is."""
    job = {**JOB, "target": {"job_scheduler_type": "oar", "container_runtime": "none"}}
    space = {"autotuning": {"tuner": "autotune", "space": {"environment": {"LEVEL": [1, 3]}}}, "enable_autotuning": True}
    (tmp_path / "request.json").write_text(json.dumps({"job": {**job, "optimisation": space}}))
    refused = modak(installed, tmp_path, "tune request.json")
    assert refused.returncode == 1
    assert "the plug-in of oar does not say how trials are submitted; inside an allocation, --here" in refused.stderr


def test_a_runtime_is_offered_only_the_images_that_it_says_it_reads(installed: Path, tmp_path: Path) -> None:
    """By the scheme of the reference or the ending of the file."""
    asked = """
from modak.facts import Image
from modak.images.suitability import Wanted, obstacle
labels = {"framework": "mpi", "version": "1.0", "source": "hub"}
for reference in ("docker://a/b:1", "b.sif"):
    print(obstacle(Image(reference=reference, labels=labels, source="a test"), Wanted("mpi", runtime="kameleon")))
"""
    assert python(installed, tmp_path, "-c", asked).stdout == "in a format that kameleon cannot read\nNone\n"


def test_the_example_on_the_page_is_this_package() -> None:
    """What a newcomer copies from there passes the checks."""
    shown = re.findall(r"```(?:python|toml)\n(.*?)```", (ROOT / "docs/scripts.md").read_text().partition("of your own\n")[2], re.DOTALL)
    assert len(shown) == 3
    assert shown[0] in MODULE
    assert shown[1] in PROJECT
