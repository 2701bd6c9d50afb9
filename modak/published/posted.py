"""Bodies that are sent to the published addresses, and the rules and images that they become.

:mod:`modak.published.shapes` is the other direction. Systems are read by :mod:`modak.published.postedsystems`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, ConfigDict, StrictBool, StringConstraints

from modak import plugins
from modak.choosing.requirements import graph_compilers
from modak.errors import Conflict, RequestError, unknown
from modak.facts import ARCHITECTURES, Condition, Fact, Facts, HostMpi, Image, ImageLabels, Rule, StorageClass
from modak.rules import NO_APPLICATION_VERSION
from modak.script.shelltext import rule_fault
from modak.target import find_system
from modak.text.described import Described
from modak.text.faults import fault_in, validated
from modak.text.grammar import ImageReference, Name, VersionText, registry_host

UNTITLED: Final = "a script without a description"
"""The title of a rule that was sent without one."""
SINGULARITY_HUB: Final = "singularity-hub.org"
DOCKER_HUB: Final = "docker.io"
PLACES: Final[Mapping[type[Fact], Mapping[str, str]]] = {Image: {"reference": "container_name"}, Rule: {"name": ""}}
"""Of what a body becomes, fields that are called otherwise in the body, or are not in it."""
MPI_FAMILIES: Final[tuple[str, ...]] = get_args(HostMpi.model_fields["family"].annotation)
_DOCKER_HUB: Final = frozenset(("", "docker", "dockerhub", DOCKER_HUB, "hub.docker.com", "index.docker.io", "registry-1.docker.io"))
_SINGULARITY_HUB: Final = frozenset(("", "shub", SINGULARITY_HUB))

Feature = StrictBool | Annotated[str, StringConstraints(max_length=64)]


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("one line of printable text")
    return text


def _sound_bash(text: str) -> str:
    if not text.strip():
        raise ValueError("shell text; a script without it does nothing")
    if wrong := rule_fault(text):
        raise ValueError(wrong)
    return text


Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), AfterValidator(_one_line)]


class Posted(Described):
    """Base of the bodies: nothing unknown, and ``null`` is the same as nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PostedApplication(Posted):
    """What a script is for."""

    name: Name
    """A framework, an MPI library (for programs of type `hpc`), or else an application's `app_tag`."""
    feature: Mapping[Name, Feature] = {}
    """What must be on: a graph compiler (`true`), `distribution` (its name), `version` (one version)."""


class PostedPlace(Posted):
    """Where a script is for."""

    name: Name | None = None
    """A known system, by its name or an alias."""
    storage_class: StorageClass | None = None
    """The kind of storage that the job prefers."""


class PostedConditions(Posted):
    """When a script is added to a job: all that is given must hold; nothing given: to every job."""

    application: PostedApplication | None = None
    infrastructure: PostedPlace | None = None


class PostedText(Posted):
    """The shell text."""

    stage: Literal["pre", "post"]
    """Before or after the run."""
    raw: Annotated[str, StringConstraints(max_length=20_000), AfterValidator(_sound_bash)]
    """Text for bash; it is checked, and stored as it is."""


class PostedScript(Posted):
    """A script of `/scripts`."""

    description: Line | None = None
    """What it does: the title of the rule."""
    conditions: PostedConditions
    data: PostedText


class PostedTarget(Posted):
    """What an image was built for."""

    cpu_type: Literal["x86", "amd", "arm", "power"]
    """The processors' architecture; ``amd`` is x86."""
    acc_type: Literal["nvidia", "amd", "intel", "none", ""] | None = None
    """The maker of the GPUs; not given: none."""


class PostedMapping(Posted):
    """A container mapping of `/container_mappings`."""

    opt_dsl_code: Name
    """The name of the mapping."""
    app_name: Name
    """A framework, or an MPI library."""
    version: VersionText
    """Of the framework or library."""
    enable_opt_build: bool = False
    """Whether the image was built from source."""
    target: PostedTarget
    selectors: Mapping[Name, Feature] = {}
    """What the image has: graph compilers and distributions (`true`), `version`."""
    container_name: Annotated[str, StringConstraints(max_length=500)]
    """`repository/name:tag`."""
    container_type: Literal["docker", "shub"]
    """The kind of registry."""
    container_registry: Annotated[str, StringConstraints(max_length=200)] | None = None
    """Host of the registry, or `library`; not given: Docker Hub, or Singularity Hub."""


def script(document: Any, facts: Facts) -> tuple[Rule]:
    """The rule for a script. The same script (stage, text, conditions) always has the same name.

    Raises :class:`modak.errors.RequestError` for fields that are wrong, and :class:`modak.errors.Conflict` for a system that is not known,
    or that has no storage of that class.
    """
    sent = validated(PostedScript, document, RequestError)
    when = condition(sent.conditions)
    _refuse_unknown_place(sent.conditions.infrastructure, facts)
    identity = hashlib.sha256(f"{when.model_dump_json()}\n{sent.data.stage}\n{sent.data.raw}".encode()).hexdigest()[:16]
    stage: Literal["environment", "after"] = "after" if sent.data.stage == "post" else "environment"
    title = sent.description or UNTITLED
    return (Rule(name=f"script-{identity}", title=title, when=when, stage=stage, script=sent.data.raw, source="POST /scripts"),)


def condition(of: PostedConditions) -> Condition:
    """The condition of the rule. Raises :class:`~modak.errors.RequestError` for what no condition expresses."""
    application, place = of.application, of.infrastructure
    given: dict[str, Any] = _subject(application) if application else {}
    if place and place.name:
        given["system"] = (place.name,)
    if place and place.storage_class:
        given["storage_class"] = (place.storage_class,)
    return Condition(**given)


def container_mapping(document: Any, _: Facts) -> tuple[Image]:
    """The catalogue entry for a container mapping.

    Raises :class:`modak.errors.RequestError` for fields that are wrong.
    """
    sent = validated(PostedMapping, document, RequestError)
    framework = _framework_of_images(sent.app_name)
    compilers, spread_by = _selected(sent)
    image = Image(
        reference=_reference(sent),
        labels=ImageLabels(
            framework=framework,
            version=sent.version,
            source="opt-build" if sent.enable_opt_build else "hub",
            compilers=compilers,
            distribution=spread_by,
            architecture=ARCHITECTURES[sent.target.cpu_type],
            accelerator=sent.target.acc_type or "none",
            **({"mpi": framework, "mpi_version": sent.version} if framework in MPI_FAMILIES else {}),
        ),
        opt_dsl_code=sent.opt_dsl_code,
        source="POST /container_mappings",
    )
    return (image,)


def _subject(application: PostedApplication) -> dict[str, Any]:
    """The keys of a condition for an application and its features."""
    given, version_key = _program(application.name)
    for feature, value in application.feature.items():
        at = f"conditions.application.feature.{feature}"
        if feature == "version" and not version_key:
            raise RequestError(NO_APPLICATION_VERSION, field=at)
        if feature == "version" and isinstance(value, str):
            _check(VersionText, value, at)
            given[version_key] = value
        elif feature == "distribution" and value in distributions():
            given["distribution"] = (value,)
        elif feature in graph_compilers() and value is True and "compiler" not in given:
            given["compiler"] = (feature,)
        else:
            raise RequestError(_FEATURES, field=at)
    return given


def _program(name: str) -> tuple[dict[str, Any], str]:
    """The keys of a condition for a program, and the key of its version; empty: an application has none."""
    if name in MPI_FAMILIES:
        return {"mpi": (name,), "app_type": ("hpc",)}, "mpi_version"
    if framework := plugins.named("frameworks", name):
        return {"framework": (framework.name,)}, "framework_version"
    return {"application": (name,)}, ""


_FEATURES: Final = (
    "no condition of a rule: 'version' takes one version, 'distribution' a name (horovod), one graph compiler (xla) true; "
    "POST /rules takes other conditions"
)


def _check(grammar: Any, value: str, field: str) -> None:
    """Raise :class:`~modak.errors.RequestError` for a value that is not of the grammar."""
    if why := fault_in(grammar, value):
        raise RequestError(why, field=field)


def _framework_of_images(name: str) -> str:
    """The label of the images in which jobs of a framework or MPI library run."""
    images = sorted({*MPI_FAMILIES, *(one.name for one in plugins.all_of("frameworks") if one.kind == "ai")})
    framework = plugins.named("frameworks", name)
    called = framework.name if framework else name
    if called not in images:
        own = "a program's own image belongs into the request (application.container_runtime)"
        raise RequestError(f"{unknown('framework', name, images)}; {own}", field="app_name")
    carrier = framework.carrier(framework.options()) if framework and called not in MPI_FAMILIES else None
    if carrier and carrier.framework != called:
        raise RequestError(f"jobs of {called} run in images of another framework, {carrier.framework}: name that", field="app_name")
    return called


def _selected(sent: PostedMapping) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Graph compilers and distributions that the selectors name."""
    allowed = graph_compilers() | distributions()
    for name, value in sent.selectors.items():
        if name == "version" and value != sent.version:
            raise RequestError("another version than 'version'", field="selectors.version")
        if name != "version" and (name not in allowed or not isinstance(value, bool)):
            raise RequestError(f"allowed: true or false, for one of {', '.join(sorted(allowed))}", field=f"selectors.{name}")
    on = [name for name, value in sent.selectors.items() if value is True]
    return tuple(name for name in on if name in graph_compilers()), tuple(name for name in on if name in distributions())


@cache
def distributions() -> frozenset[str]:
    """The ways in which frameworks spread training over processes."""
    return frozenset(name for framework in plugins.all_of("frameworks") for name in framework.options.allowed("distribution"))


def _reference(sent: PostedMapping) -> str:
    """The image's reference: where its registry has it."""
    host, name = (sent.container_registry or "").strip(), sent.container_name
    scheme: str = sent.container_type
    if host == "library":
        scheme = host
    elif scheme == "docker" and host not in _DOCKER_HUB:
        if not registry_host(f"{host}/"):
            raise RequestError("allowed: a host with a dot or a port, 'localhost', or nothing for Docker Hub", field="container_registry")
        name = name if name.startswith(f"{host}/") else f"{host}/{name}"
    elif scheme == "shub" and host not in _SINGULARITY_HUB:
        raise RequestError(f"{SINGULARITY_HUB} or library, for images of type shub", field="container_registry")
    reference = f"{scheme}://{name}"
    _check(ImageReference, reference, "container_name")
    return reference


def _refuse_unknown_place(place: PostedPlace | None, facts: Facts) -> None:
    """A script for a system that nobody has described would never be added to a job."""
    if place is None or place.name is None:
        return
    at, system = "conditions.infrastructure", find_system(place.name, facts)
    if system is None:
        raise Conflict(unknown("system", place.name, facts.systems), field=f"{at}.name")
    classes = sorted({one.storage_class for one in system.filesystems if one.storage_class})
    if place.storage_class and place.storage_class not in classes:
        raise Conflict(f"{system.name} has no storage of that class; known: {', '.join(classes) or 'none'}", field=f"{at}.storage_class")
