"""Container runtimes: the command inside the image, in the words of the site's version."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from modak import plugins
from modak.errors import Conflict
from modak.facts import HostMpi, RuntimePolicy
from modak.jobs.spec import Container, JobSpec, Resources, Staging
from modak.script.job import render
from modak.text import words
from modak.text.words import Joined, Variable, parse
from tests.golden.scripts.jobs import GAN
from tests.script.test_whole import ran, stub

COMMAND = ("python3", "train.py")
JOB = JobSpec(COMMAND, Resources(), container=Container(runtime="apptainer", reference="docker://x/y:1", file="y_1.sif"))
DESCRIBED = RuntimePolicy(name="charliecloud", cdi=True)


def line(name: str, job: JobSpec = JOB, command: tuple[words.Word, ...] = COMMAND) -> str:
    """The wrapped command as the script has it."""
    return words.line(plugins.find("runtimes", name).wrap(job, command))


def setup(name: str, job: JobSpec = JOB) -> list[str]:
    """Lines that come before."""
    return [each.text for each in plugins.find("runtimes", name).setup(job)]


def having(job: JobSpec = JOB, **container: Any) -> JobSpec:
    """The job with another container."""
    assert job.container is not None
    return replace(job, container=replace(job.container, **container))


def of_version(version: str | None, **more: Any) -> JobSpec:
    """The job where the site has that Charliecloud."""
    return having(policy=RuntimePolicy(name="charliecloud", version=version), **more)


@pytest.mark.parametrize("name", ["apptainer", "singularity"])
def test_apptainer_and_singularity_differ_in_the_commands_name(name: str) -> None:
    """The site's policy says which one there is."""
    assert line(name) == f'{name} exec "${{MODAK_IMAGE:?}}" python3 train.py'


@pytest.mark.parametrize(("vendor", "flag"), [("nvidia", " --nv"), ("amd", " --rocm"), ("intel", ""), (None, "")])
def test_gpu_flags_go_before_the_image(vendor: str | None, flag: str) -> None:
    """By vendor."""
    assert line("apptainer", having(gpu_vendor=vendor)) == f'apptainer exec{flag} "${{MODAK_IMAGE:?}}" python3 train.py'


def test_the_sites_directories_are_bound_in() -> None:
    """Each at its own place."""
    policy = RuntimePolicy(name="apptainer", binds=("/scratch", "/work"))
    assert "exec --bind /scratch --bind /work " in line("apptainer", having(policy=policy))
    assert "--bind=/scratch:/scratch --bind=/work:/work " in line("charliecloud", having(policy=policy))


def test_an_image_lies_where_callers_put_it() -> None:
    """In SINGULARITY_DIR; Charliecloud's may have a directory of its own; a path of the caller's is taken as it is."""
    assert setup("singularity") == ['MODAK_IMAGE="${SINGULARITY_DIR:-${PWD}}"/y_1.sif']
    assert setup("charliecloud")[1:] == ['MODAK_IMAGE="${CHARLIECLOUD_DIR:-${SINGULARITY_DIR:-${PWD}}}"/y_1']
    assert setup("apptainer", having(reference="/data/own.sif", file="own.sif")) == ["MODAK_IMAGE=/data/own.sif"]


@pytest.mark.parametrize(
    ("runtime", "file", "place"),
    [
        ("apptainer", "own.sif", "images/own.sif"),
        ("enroot", "own.sqsh", "images/own.sqsh"),
        ("charliecloud", "own.sqfs", "images/own.sqfs"),
        ("charliecloud", "own.sif", "images/own"),
    ],
)
def test_a_relative_path_of_an_image_keeps_its_folder(runtime: str, file: str, place: str) -> None:
    """It starts in the directory of submission, as those of programs do; the variable for the directory of images is of names alone."""
    assert f'MODAK_IMAGE="${{PWD}}"/{place}' in setup(runtime, having(reference=f"images/{file}", file=file))


@pytest.mark.parametrize(("runtime", "place"), [("apptainer", "own.sif"), ("enroot", "own.sqsh"), ("charliecloud", "own")])
def test_an_absolute_path_has_the_ending_of_the_runtimes_images(runtime: str, place: str) -> None:
    """As a relative one: Charliecloud's image is a directory beside the file."""
    assert f"MODAK_IMAGE=/data/{place}" in setup(runtime, having(reference="/data/own.sif", file="own.sif"))


def test_an_image_with_an_absolute_path_is_looked_for_there_alone() -> None:
    """The variable for the directory of images would change nothing."""
    checks = plugins.find("runtimes", "apptainer").preflight(having(reference="/data/own.sif", file="own.sif"))
    assert not any("SINGULARITY_DIR" in each.text for each in checks)


@pytest.mark.parametrize(
    ("image", "how"),
    [
        ({"to_build": True}, "submit the build job first, which creates the image"),
        ({"to_build": True, "reference": "/data/own.sif"}, "submit the build job first, which creates the image"),
        ({"reference": "/data/own.sif"}, "the job uses it under this path: is its file system mounted on this node?"),
        ({"reference": "images/own.sif"}, "relative paths start in the directory from which you submit"),
        ({"reference": "own.sif"}, "set SINGULARITY_DIR to its directory"),
        ({}, "apptainer pull y_1.sif docker://x/y:1 fetches it, or set SINGULARITY_DIR to its directory"),
        *(
            ({"reference": f"{kind}://x/y:1"}, f"apptainer pull y_1.sif {kind}://x/y:1 fetches it, or set SINGULARITY_DIR to its directory")
            for kind in ("oras", "library", "shub")
        ),
    ],
)
def test_of_an_image_that_is_missing_the_script_says_how_to_get_it(image: dict[str, Any], how: str, tmp_path: Path) -> None:
    """One that a build job makes, one of the user's own, one of a registry."""
    stub(tmp_path, "apptainer", "exit 0")
    done = ran(render(having(**image), "shell").text, tmp_path)
    assert done.stderr.endswith(f" cannot be read: {how}\n")


@pytest.mark.parametrize("reference", ["own.sif", "oras://x/own:1", "library://x/own:1", "shub://x/own:1"])
def test_charliecloud_says_how_an_image_of_apptainers_becomes_its_directory(reference: str) -> None:
    """It reads none, though a request may name one."""
    script = render(having(runtime="charliecloud", reference=reference, file="own.sif"), "shell").text
    assert script.count(f"apptainer build --sandbox own {reference} makes it") == 2  # in the comment, and where it is missing
    assert "--sandbox" not in render(having(runtime="charliecloud", reference="own.sqfs", file="own.sqfs"), "shell").text


@pytest.mark.parametrize(
    ("version", "file", "option"),
    [
        (None, "y_1.sif", '--set-env="${MODAK_IMAGE:?}"/ch/environment '),
        ("0.21", "y_1.sif", '--no-home --set-env="${MODAK_IMAGE:?}"/ch/environment '),
        ("0.26", "y_1.sif", '--no-home --set-env="${MODAK_IMAGE:?}"/ch/environment '),
        ("0.27", "y_1.sif", "--no-home --set-env "),
        ("0.31", "y_1.sif", "--set-env "),
        ("0.38", "y_1.sqfs", "--set-env "),
        ("0.45.2", "y_1.sif", "--set-env "),
        (None, "y_1.sqfs", ""),
    ],
)
def test_each_version_of_charliecloud_gets_its_own_options(version: str | None, file: str, option: str) -> None:
    """The image's environment in, the home directory out; an unknown version gets what every version has."""
    said = line("charliecloud", of_version(version, file=file))
    assert said == f'ch-run {option}--bind="${{PWD:?}}":/mnt/0 --cd=/mnt/0 "${{MODAK_IMAGE:?}}" -- python3 train.py'


@pytest.mark.parametrize(("version", "needed"), [("0.26", False), ("0.27", True)])
def test_an_older_charliecloud_than_the_system_file_says_is_found_out(version: str, needed: bool) -> None:
    """Before it fails on an option that it does not know."""
    checks = plugins.find("runtimes", "charliecloud").preflight(of_version(version))
    assert any("0.27" in each.text for each in checks) == needed


def test_a_charliecloud_that_cannot_run_an_image_in_one_file_is_found_out() -> None:
    """It would take it for a directory."""
    checks = plugins.find("runtimes", "charliecloud").preflight(having(file="y_1.sqfs"))
    assert any("0.26" in each.text for each in checks)


@pytest.mark.parametrize(("file", "kind"), [("y_1", "-d"), ("y_1.sqfs", "-r")])
def test_charliecloud_looks_for_a_directory_or_for_one_file(file: str, kind: str) -> None:
    """A job whose image is there is not refused."""
    checks = plugins.find("runtimes", "charliecloud").preflight(having(file=file))
    assert [each.text[:8] for each in checks if "cannot be read" in each.text] == [f"test {kind} "]


@pytest.mark.parametrize(("vendor", "told"), [("nvidia", True), (None, False)])
def test_podman_hpc_is_told_of_gpus_where_there_are_some(vendor: str | None, told: bool) -> None:
    """Without them its option would fail."""
    assert (" --gpu " in line("podman-hpc", having(gpu_vendor=vendor))) == told


@pytest.mark.parametrize("launcher", ["srun", "mpirun", "flux", "jsrun", "pals"])
def test_ranks_of_a_node_share_a_charliecloud_container(launcher: str) -> None:
    """Under an MPI launcher; else MPI cannot share their memory."""
    job = replace(JOB, resources=Resources(ranks_per_node=4), launcher=launcher)
    assert '--join --join-ct=4 --join-tag="${MODAK_GROUP:?}"' in line("charliecloud", job)
    assert setup("charliecloud", job)[2] == 'MODAK_GROUP="${SLURM_JOB_ID:-${PBS_JOBID:-$$}}"'
    assert "--join" not in line("charliecloud", replace(job, launcher="torchrun"))
    assert "--join" not in line("charliecloud", replace(job, resources=Resources()))
    assert "--join" not in line("charliecloud", replace(job, resources=Resources(nodes=2))), "each has its node for itself"


def test_directories_that_the_command_names_are_bound_into_a_read_only_image() -> None:
    """A mount point that is there takes each, and the word follows it; what is no directory of the host's stays."""
    command = parse("run ${SCRATCH}/a ${PWD}/b ${TMPDIR}/c ${HOME} ${MODAK_RANKS} '${SCRATCH}'")
    said = line("charliecloud", JOB, command)
    assert '--bind="${PWD:?}":/mnt/0 --bind="${HOME:?}":/mnt/1 --bind="${SCRATCH:?}":/mnt/2 ' in said
    assert said.endswith("-- env HOME=/mnt/1 SCRATCH=/mnt/2 run /mnt/2/a /mnt/0/b /tmp/c /mnt/1 \"${MODAK_RANKS:?}\" '${SCRATCH}'")


def test_directories_that_the_command_names_are_bound_at_their_own_place() -> None:
    """Apptainer makes the mount point; home is there anyway."""
    said = line("apptainer", JOB, parse("run ${SCRATCH}/a ${HOME}/b"))
    assert said == 'apptainer exec --bind "${SCRATCH:?}" "${MODAK_IMAGE:?}" run "${SCRATCH:?}"/a "${HOME:?}"/b'
    others = line("apptainer", JOB, parse("run ${WORKSPACE_DIR}/a ${WORK}/b ${PROJECT}/c"))
    assert 'exec --bind "${PROJECT:?}" --bind "${WORK:?}" --bind "${WORKSPACE_DIR:?}" "${MODAK_IMAGE:?}"' in others


def test_a_gpu_under_charliecloud_is_warned_about() -> None:
    """The image has to be prepared, unless the nodes say what a GPU needs."""
    charliecloud = plugins.find("runtimes", "charliecloud")
    assert [warning.field for warning in charliecloud.warnings(having(gpu_vendor="nvidia"))] == ["target.container_runtime"]
    assert charliecloud.warnings(JOB) == ()
    assert charliecloud.warnings(having(gpu_vendor="nvidia", policy=DESCRIBED)) == ()


@pytest.mark.parametrize(
    ("vendor", "option"),
    [("nvidia", "--cdi=nvidia.com/gpu "), ("amd", "--cdi=amd.com/gpu "), ("intel", "--cdi=intel.com/gpu "), (None, "")],
)
def test_charliecloud_finds_gpus_by_the_nodes_own_files(vendor: str | None, option: str) -> None:
    """Where the site says that there are some; the option needs a version that has it."""
    job = having(gpu_vendor=vendor, policy=DESCRIBED)
    assert f'/ch/environment {option}--bind="${{PWD:?}}"' in line("charliecloud", job)
    checks = [each.text for each in plugins.find("runtimes", "charliecloud").preflight(job)]
    assert any("older than 0.42" in each for each in checks) == bool(vendor)


def test_ranks_that_share_the_mount_of_a_file_are_warned_about() -> None:
    """It ends with the rank that made it; a directory stays."""
    charliecloud = plugins.find("runtimes", "charliecloud")
    job = replace(JOB, resources=Resources(ranks_per_node=4), launcher="srun")
    assert ["as a directory" in each.message for each in charliecloud.warnings(having(job, file="y_1.sqfs"))] == [True]
    assert charliecloud.warnings(job) == charliecloud.warnings(having(file="y_1.sqfs")) == ()


@pytest.mark.parametrize(("name", "more"), [("charliecloud", ""), ("apptainer", ":/.singularity.d/libs")])
def test_the_hosts_mpi_is_bound_over_the_same_directory(name: str, more: str) -> None:
    """And found before the image's own, whatever the image's environment says."""
    job = having(host_mpi=HostMpi(family="openmpi", library_dir="/opt/mpi/lib"))
    assert "/opt/mpi/lib:/opt/mpi/lib" in line(name, job)
    assert line(name, job).endswith('env LD_LIBRARY_PATH="${MODAK_LIBRARY_PATH:?}" python3 train.py')
    assert setup(name, job)[-1] == f'MODAK_LIBRARY_PATH=/opt/mpi/lib"${{LD_LIBRARY_PATH:+:${{LD_LIBRARY_PATH}}}}"{more}'


@pytest.mark.parametrize(("module", "named"), [("mpi/2019", "mpi/2019"), (None, "intel-mpi")])
def test_a_host_mpi_that_a_module_places_is_bound_by_its_variable(module: str | None, named: str) -> None:
    """The directory is not public; the variable must be set: the message names the module, or else the library."""
    job = having(host_mpi=HostMpi(family="intel-mpi", library_dir_variable="I_MPI_ROOT", module=module))
    assert '"${I_MPI_ROOT:?}":"${I_MPI_ROOT:?}"' in line("charliecloud", job)
    assert setup("charliecloud", job)[2] == f': "${{I_MPI_ROOT:?load the module of the host MPI, {named}}}"'


def test_the_fabrics_libraries_come_with_the_hosts_mpi() -> None:
    """libfabric and UCX of the host, at their own places, searched after the MPI's directory."""
    fabric = ("/opt/libfabric/lib", "/opt/ucx/lib")
    job = having(host_mpi=HostMpi(family="mpich", library_dir="/opt/mpi/lib", fabric_dirs=fabric))
    for folder in fabric:
        assert f"--bind {folder}:{folder}" in line("apptainer", job)
        assert any(f"test -e {folder}" in each.text for each in plugins.find("runtimes", "apptainer").preflight(job))
    assert setup("charliecloud", job)[-1].startswith("MODAK_LIBRARY_PATH=/opt/mpi/lib:/opt/libfabric/lib:/opt/ucx/lib")


SIGNED = RuntimePolicy(name="apptainer", require_signature=True)
DIGEST = f"sha256:{'a' * 64}"


def test_an_image_is_compared_only_where_the_site_asks() -> None:
    """Reading gigabytes at every start is not the rule."""
    assert "sha256sum" not in "".join(setup("apptainer", having(digest=DIGEST)))
    assert "sha256sum" in "".join(setup("apptainer", having(policy=SIGNED, digest=DIGEST)))
    assert "apptainer verify --local" in "".join(setup("apptainer", having(policy=SIGNED)))
    assert not any("verify" in each for each in setup("apptainer", having(policy=SIGNED, to_build=True)))
    squashed = having(policy=SIGNED, digest=DIGEST, file="a.sqfs", reference="a.sqfs")
    assert "sha256sum" in "".join(setup("charliecloud", squashed))


@pytest.mark.parametrize("name", ["apptainer", "charliecloud"])
def test_what_is_checked_before_the_comparison_is_not_checked_again(name: str) -> None:
    """That the image is there."""
    job = having(runtime=name, policy=SIGNED, digest=DIGEST, file="a.sqfs", reference="a.sqfs")
    text = render(job, "slurm").text
    assert [text.count(f"modak_stop {status} ") for status in (72, 81)] == [1, 1]


@pytest.mark.parametrize("name", ["charliecloud", "podman-hpc", "sarus", "enroot"])
def test_a_comparison_that_cannot_be_made_is_told(name: str) -> None:
    """The site requires one, and the job runs without."""
    policy, runtime = RuntimePolicy(name=name, require_signature=True), plugins.find("runtimes", name)
    said = [each.message for each in runtime.warnings(having(runtime=name, policy=policy))]
    assert any("the site requires that images are verified" in each for each in said)
    assert not any("verified" in each.message for each in runtime.warnings(having(runtime=name, policy=policy, to_build=True)))
    assert "sha256sum" not in render(having(runtime=name, policy=policy), "slurm").text


def test_of_charliecloud_only_an_image_in_one_file_is_compared() -> None:
    """The catalogue's digest is that of the file: of a directory it would never be right. Which of both a job runs without is told."""
    policy, runtime = RuntimePolicy(name="charliecloud", require_signature=True), plugins.find("runtimes", "charliecloud")
    for file, digest, compared in (("a.sqfs", DIGEST, True), ("a", DIGEST, False), ("a.sqfs", None, False)):
        job = having(runtime="charliecloud", policy=policy, digest=digest, file=file, reference=f"/images/{file}")
        assert ("sha256sum" in "".join(setup("charliecloud", job))) == compared
        assert any("it runs unverified" in each.message for each in runtime.warnings(job)) == (not compared)


@pytest.mark.parametrize(("content", "status"), [("right", 0), ("wrong", 81), (None, 72)])
def test_a_changed_image_stops_the_job(content: str | None, status: int, tmp_path: Path) -> None:
    """The comparison that the script makes, made by bash; an image that is not there is not called a wrong one."""
    image = tmp_path / "image.sif"
    if content:
        image.write_text(content)
    digest = f"sha256:{hashlib.sha256(b'right').hexdigest()}"
    lines = setup("apptainer", having(policy=SIGNED, digest=digest, reference=str(image), file=image.name))
    stop = 'modak_stop() { exit "$1"; }; apptainer() { :; }'
    assert subprocess.run(["bash", "-c", "\n".join((stop, *lines))], check=False, capture_output=True).returncode == status


@pytest.mark.parametrize(("file", "inside"), [("a", True), ("a.sqfs", False)])
def test_charliecloud_looks_for_mount_points_in_a_directory_alone(file: str, inside: bool) -> None:
    """In an image of one file none could be found, and the job would stop for it; the host's directories are looked for anyway."""
    checks = [each.text for each in plugins.find("runtimes", "charliecloud").preflight(having(GAN, file=file, reference=f"/i/{file}"))]
    assert any(check.startswith('test -e "${MODAK_IMAGE:?}"') for check in checks) == inside
    assert any(check.startswith("[[ -d ${MODAK_IMAGE:?}/mnt/0 ") for check in checks) == inside
    assert any(check.startswith('test -e "${I_MPI_ROOT:?}"') for check in checks)


def test_slurms_process_manager_is_bound_in_for_intel_mpi_under_srun_alone() -> None:
    """mpirun brings its own."""
    assert "/usr/lib64/libpmi2.so:/usr/lib64/libpmi2.so" in line("charliecloud", GAN)
    assert "libpmi2" not in line("charliecloud", replace(GAN, launcher="mpirun"))
    assert GAN.container
    assert GAN.container.host_mpi
    other = GAN.container.host_mpi.model_copy(update={"family": "mpich"})
    assert "libpmi2" not in line("charliecloud", having(GAN, host_mpi=other))


def test_a_host_mpi_whose_place_is_not_known_is_not_bound() -> None:
    """There is nothing to bind."""
    assert line("apptainer", having(host_mpi=HostMpi(family="openmpi"))) == line("apptainer")


def test_without_a_container_there_is_the_command() -> None:
    """And nothing to build."""
    assert line("none", replace(JOB, container=None)) == "python3 train.py"
    with pytest.raises(Conflict, match="without a container runtime"):
        plugins.find("runtimes", "none").build(JOB, "recipe", ".")


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        (
            "apptainer",
            "y_1.sif",
            [
                'MODAK_PART="$(mktemp -u -- "${MODAK_IMAGE:?}.part.XXXXXX")"',
                'apptainer build --fakeroot "${MODAK_PART:?}" d/recipe',
                'mv -f -- "${MODAK_PART:?}" "${MODAK_IMAGE:?}"',
            ],
        ),
        (
            "charliecloud",
            "Y+1.sif",
            [
                "ch-image build --force -t y-1 -f d/recipe d",
                'MODAK_PART="$(mktemp -u -- "${MODAK_IMAGE:?}.part.XXXXXX")"',
                'ch-convert -i ch-image -o dir y-1 "${MODAK_PART:?}"',
                'mv -f -T --backup=numbered -- "${MODAK_PART:?}" "${MODAK_IMAGE:?}"',
            ],
        ),
        (
            "charliecloud",
            "y_1.sqfs",
            [
                "ch-image build --force -t y_1.sqfs -f d/recipe d",
                'MODAK_PART="$(mktemp -u -- "${MODAK_IMAGE:?}.part.XXXXXX")"',
                'ch-convert -i ch-image -o squash y_1.sqfs "${MODAK_PART:?}"',
                'mv -f -- "${MODAK_PART:?}" "${MODAK_IMAGE:?}"',
            ],
        ),
    ],
)
def test_images_are_built_without_privileges(name: str, file: str, said: list[str]) -> None:
    """Where jobs look for them, once they are whole."""
    built = plugins.find("runtimes", name).build(having(file=file), "d/recipe", "d")
    assert [each.text for each in built[1:]] == said
    assert built[0].text.startswith("command -v ")


def test_podman_hpc_brings_gpus_and_mpi_in_by_modules() -> None:
    """The module follows the image's MPI; one rank needs none."""
    job = replace(having(gpu_vendor="nvidia", mpi="mpich"), launcher="srun", resources=Resources(ranks_per_node=4))
    assert line("podman-hpc", job) == (
        'podman-hpc run --rm --env-host --gpu --mpich --volume "${PWD:?}":"${PWD:?}" --workdir "${PWD:?}" '
        '"${MODAK_IMAGE:?}" python3 train.py'
    )
    assert " --openmpi-pmi2 " in line("podman-hpc", replace(having(job, mpi="openmpi"), pmi="pmi2"))
    assert " --openmpi-pmix " in line("podman-hpc", replace(having(job, mpi="openmpi", mpi_version="5.0.3"), pmi="pmi2"))
    assert " --openmpi-pmix " in line("podman-hpc", replace(having(job, mpi="openmpi"), pmi="pmix"))
    assert all(" --mpich " in line("podman-hpc", replace(having(job, mpi=mpi), pmi="pmi2")) for mpi in ("mvapich", "intel-mpi"))
    assert "--mpich" not in line("podman-hpc", having(mpi="mpich"))


def test_podman_hpc_takes_the_module_of_the_hosts_mpi_where_the_images_is_not_known() -> None:
    """Both have one interface, or the job would not run; where neither is known, it is Open MPI's."""
    job = replace(JOB, launcher="srun", resources=Resources(ranks_per_node=4))
    assert [" --mpich " in line("podman-hpc", replace(job, launcher_flavour=flavour)) for flavour in ("mpich", "openmpi", None)] == [
        True, False, False,
    ]  # fmt: skip


def test_gpus_of_intel_need_their_device_files_alone() -> None:
    """Podman has a /dev of its own; Charliecloud has the host's, and an image that brings the driver's libraries needs no preparation."""
    job = having(gpu_vendor="intel")
    assert " --device=/dev/dri " in line("podman-hpc", job)
    assert plugins.find("runtimes", "charliecloud").warnings(job) == ()


def test_podman_hpc_gives_torchrun_the_nodes_own_network_and_name() -> None:
    """Else no node would be the one where the others meet; shared memory is the node's in any case, of Podman's own there are 64 MB."""
    job = replace(having(), launcher="torchrun", resources=Resources(nodes=2, ranks_per_node=4))
    assert " --ipc=host --network=host --uts=host --volume " in line("podman-hpc", job)
    assert " --ipc=host --volume " in line("podman-hpc", replace(job, resources=Resources(ranks_per_node=4)))


@pytest.mark.parametrize(("ranks", "connected"), [(1, False), (2, True)])
def test_the_sites_mpi_is_for_several_ranks(ranks: int, connected: bool) -> None:
    """A single process needs none, also where a launcher of MPI programs starts it."""
    job = replace(having(mpi="mpich"), launcher="srun", resources=Resources(ranks_per_node=ranks))
    assert (" --mpich " in line("podman-hpc", job), " --mpi " in line("sarus", job)) == (connected, connected)


def test_ranks_with_a_network_of_their_own_have_the_nodes_and_no_mpi() -> None:
    """Sarus' hook refuses an image without MPI; Podman's containers would have a network each."""
    job = replace(having(), launcher="srun", resources=Resources(nodes=2, ranks_per_node=4), distribution="jax-distributed")
    assert "--mpi" not in line("sarus", job)
    assert " --ipc=host --network=host --uts=host --volume " in line("podman-hpc", job)


@pytest.mark.parametrize("name", ["enroot", "podman-hpc"])
@pytest.mark.parametrize(
    "host_mpi",
    [HostMpi(family="openmpi", library_dir="/opt/openmpi/lib"), HostMpi(family="intel-mpi", library_dir_variable="I_MPI_ROOT"), None],
)
def test_a_runtime_says_that_it_binds_no_mpi_of_the_host_where_one_is_wanted(name: str, host_mpi: HostMpi | None) -> None:
    """Ranks use the image's, or that of a module of the site's."""
    found = plugins.find("runtimes", name).warnings(having(host_mpi=host_mpi))
    assert any("not bound" in each.message for each in found) == (host_mpi is not None)


@pytest.mark.parametrize(
    ("reference", "called", "listed"),
    [
        ("docker://x/y:1", "docker.io/x/y:1", "docker.io/x/y"),
        ("docker://localhost:5000/x/y:1", "localhost:5000/x/y:1", "localhost:5000/x/y"),
        ("private://x/y:1", "x/y:1", "x/y"),
    ],
)
def test_podman_hpc_looks_for_an_image_under_its_own_name_for_it(reference: str, called: str, listed: str) -> None:
    """With the registry, and without the tag, which is in another column; a private image has the name that its owner gave it."""
    podman, job = plugins.find("runtimes", "podman-hpc"), having(reference=reference)
    assert setup("podman-hpc", job) == [f"MODAK_IMAGE={called}"]
    assert any(each.text.startswith(f"podman-hpc images 2>&1 | grep -F -e {listed} >") for each in podman.preflight(job))


@pytest.mark.parametrize(
    ("launcher", "step", "warned"), [("mpirun", False, True), ("jsrun", False, True), ("srun", True, False), ("none", False, False)]
)
def test_enroot_without_pyxis_brings_no_launchers_variables_in(launcher: str, step: bool, warned: bool) -> None:
    """Ranks of MPI would not find each other."""
    job = replace(having(), launcher=launcher, slurm_step=step, resources=Resources(ranks_per_node=1 if launcher == "none" else 4))
    assert any("Enroot hands no variables" in each.message for each in plugins.find("runtimes", "enroot").warnings(job)) == warned


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("apptainer", '--bind "${MODAK_SCRATCH:?}" --bind "${MODAK_STORAGE:?}"'),
        ("charliecloud", "-- env MODAK_SCRATCH=/mnt/1 MODAK_STORAGE=/mnt/2 python3 train.py"),
        ("podman-hpc", '--volume "${MODAK_SCRATCH:?}":"${MODAK_SCRATCH:?}" --volume "${MODAK_STORAGE:?}":"${MODAK_STORAGE:?}"'),
        ("sarus", 'source="${MODAK_SCRATCH:?}",destination="${MODAK_SCRATCH:?}"'),
        ("enroot", '--env MODAK_SCRATCH --mount "${PWD:?}":"${PWD:?}" --mount "${MODAK_SCRATCH:?}":"${MODAK_SCRATCH:?}"'),
    ],
)
def test_directories_that_the_script_exports_are_where_their_variables_say(name: str, said: str) -> None:
    """Though the command names none of them: the program may."""
    job = replace(having(), staging=Staging(), storage="/work", environment={"MODAK_SCRATCH": ""})
    assert said in line(name, job)


def test_variables_of_the_commands_directories_hold_inside_charliecloud() -> None:
    """As its words do."""
    command = ("python3", "train.py", Joined(parts=(Variable(variable="WORK"), "/data")))
    assert line("charliecloud", having(), command).endswith("-- env WORK=/mnt/1 python3 train.py /mnt/1/data")


@pytest.mark.parametrize(
    ("reference", "listed"),
    [
        ("docker://library/ubuntu:24.04", "ubuntu"),
        ("docker://x/y:1", "x/y"),
        (f"docker://x/y@sha256:{'a' * 64}", "x/y"),
        ("docker://localhost:5000/x/y", "localhost:5000/x/y"),
    ],
)
def test_sarus_lists_images_without_the_name_of_dockers_own(reference: str, listed: str) -> None:
    """The check looks for the name as ``sarus images`` shows it, with tag and digest in other columns."""
    checks = [each.text for each in plugins.find("runtimes", "sarus").preflight(having(reference=reference))]
    assert any(check.startswith(f"sarus images 2>&1 | grep -F -e {listed} >") for check in checks)


def test_sarus_replaces_mpi_of_mpichs_interface() -> None:
    """Open MPI in the image stays, with a warning."""
    job = replace(having(mpi="mpich"), launcher="srun", resources=Resources(ranks_per_node=4))
    assert line("sarus", job) == (
        'sarus run --mpi --mount=type=bind,source="${PWD:?}",destination="${PWD:?}" --workdir="${PWD:?}" '
        '"${MODAK_IMAGE:?}" python3 train.py'
    )
    other = having(job, mpi="openmpi")
    assert "--mpi" not in line("sarus", other)
    alone, torch = replace(other, resources=Resources()), replace(other, launcher="torchrun")
    found = [plugins.find("runtimes", "sarus").warnings(each) for each in (other, job, alone, torch)]
    assert [bool(warnings) for warnings in found] == [True, False, False, False], "where MPI connects no ranks there is nothing to replace"


def test_pyxis_stands_on_srun_and_enroot_by_itself() -> None:
    """Options of srun under srun; else the program, which is told each variable."""
    command = ("python3", "train.py")
    assert JOB.container is not None
    bound = replace(JOB.container, policy=RuntimePolicy(name="enroot", binds=("/scratch",)))
    step = replace(JOB, launcher="srun", slurm_step=True, container=bound)
    assert line("enroot", step, command) == (
        '--container-image="${MODAK_IMAGE:?}" --container-mounts="${PWD:?}":"${PWD:?}",/scratch:/scratch --container-workdir="${PWD:?}" '
        "python3 train.py"
    )
    alone = replace(JOB, environment={"A": "1"})
    assert line("enroot", alone) == (
        'enroot start --env A --mount "${PWD:?}":"${PWD:?}" "${MODAK_IMAGE:?}" env --chdir="${PWD:?}" python3 train.py'
    )
    assert setup("enroot") == ['MODAK_IMAGE="${ENROOT_DIR:-${SINGULARITY_DIR:-${PWD}}}"/y_1.sqsh']


@pytest.mark.parametrize("name", ["apptainer", "singularity", "charliecloud", "enroot", "podman-hpc", "sarus"])
def test_a_script_says_first_how_its_image_comes(name: str) -> None:
    """In a remark, with the command."""
    told = [text for text in render(having(runtime=name), "slurm").text.splitlines() if text.startswith("# image: ")]
    assert len(told) == 1
    assert " x/y:1" in told[0].replace("docker://", "").replace("docker.io/", "")
