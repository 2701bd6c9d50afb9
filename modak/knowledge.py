"""The files of `benchmarks_db`, read into :mod:`modak.facts`. A shell room: it reads files and decides nothing.

One file holds one system, or an array of processors, accelerators, images or rules, in TOML or JSON. What is wrong is
reported all at once, one fault a line, as ``FILE: dotted.field: what is wrong``; items of an array go by their name.
Every figure of a system, processor or accelerator must say where it comes from.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from modak import plugins
from modak.errors import BadSyntax, DataError, Fault, unknown
from modak.facts import Accelerator, Fact, Image, Processor, Rule, Source, System
from modak.sizing.guide import Guide
from modak.text.documents import strict_json
from modak.text.faults import faults_of, join

Model = TypeVar("Model", bound=BaseModel)
Item = TypeVar("Item")


class Sourced(Protocol):
    """A fact that says where its figures come from."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """Citations, with the fields that each covers."""


@dataclass(frozen=True)
class Knowledge:
    """All that a folder of knowledge holds, each kind in the order of its names."""

    systems: tuple[System, ...] = ()
    processors: tuple[Processor, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    images: tuple[Image, ...] = ()
    rules: tuple[Rule, ...] = ()
    result_files: tuple[Path, ...] = ()
    """Tables of results; :mod:`modak.ingest` reads them."""

    @property
    def entries(self) -> tuple[Fact, ...]:
        """All but the results."""
        return (*self.systems, *self.processors, *self.accelerators, *self.images, *self.rules)


def packaged_root() -> Path:
    """The `benchmarks_db` that came with this MODAK: inside an installed package, or beside it in a checkout.

    :raises DataError: where neither is there.
    """
    here = Path(__file__).resolve().parent
    candidates = (here / "_data" / "benchmarks_db", here.parent / "benchmarks_db")
    found = next((root for root in candidates if (root / "systems").is_dir()), None)
    if found is None:
        raise DataError(f"no systems in {' or '.join(map(str, candidates))}; install MODAK again", field="benchmarks_db")
    return found


def read_all(root: Path) -> Knowledge:
    """Everything below ``root``: folders `systems`, `hardware`, `images`, `rules` and `results`, each of which may be missing.

    :raises DataError: with the faults of every file, and those between files: a name that two carry, a node of hardware
        that no file describes.
    """
    systems, bad_systems = _gather(lambda path: (read_system(path),), _files(root / "systems"))
    processors, bad_processors = _gather(read_processors, _files(root / "hardware", "processors*"))
    accelerators, bad_accelerators = _gather(read_accelerators, _files(root / "hardware", "accelerators*"))
    images, bad_images = _gather(read_images, _files(root / "images"))
    rules, bad_rules = _gather(read_rules, _files(root / "rules"))
    knowledge = Knowledge(
        systems=tuple(sorted((item for _, item in systems), key=lambda item: item.name)),
        processors=tuple(sorted((item for _, item in processors), key=lambda item: item.name)),
        accelerators=tuple(sorted((item for _, item in accelerators), key=lambda item: item.name)),
        images=tuple(sorted((item for _, item in images), key=lambda item: item.reference)),
        rules=tuple(sorted((item for _, item in rules), key=lambda item: item.name)),
        result_files=tuple(sorted((root / "results").glob("*.csv"))),
    )
    hardware_is_known = not (bad_processors or bad_accelerators)
    _complain(
        *chain(bad_systems, bad_processors, bad_accelerators, bad_images, bad_rules),
        *_twice((path, name) for path, system in systems for name in _names(system)),
        *_twice((path, item.name) for path, item in processors),
        *_twice((path, item.name) for path, item in accelerators),
        *_twice((path, item.reference) for path, item in images),
        *_twice((path, item.name) for path, item in rules),
        *(fault for path, system in systems if hardware_is_known for fault in _dangling(path, system, knowledge)),
    )
    return knowledge


def read_system(path: Path) -> System:
    """One system; all its figures have a source.

    :raises DataError: with a fault for each thing that is wrong.
    """
    system = _validate(path, System, _load(path), at="")
    _complain(*_unsourced(path, system, ""), *(Fault(_where(path, field), why) for field, why in unknown_variants(system)))
    return system


def read_processors(path: Path) -> tuple[Processor, ...]:
    """The processors of a ``[[processors]]`` array.

    :raises DataError: with a fault for each thing that is wrong.
    """
    return _sourced(path, "processors", _read_array(path, "processors", Processor))


def read_accelerators(path: Path) -> tuple[Accelerator, ...]:
    """The accelerators of an ``[[accelerators]]`` array.

    :raises DataError: with a fault for each thing that is wrong.
    """
    return _sourced(path, "accelerators", _read_array(path, "accelerators", Accelerator))


def read_guide(path: Path) -> Guide:
    """Guidance for sizing; all its figures have a source.

    :raises DataError: with a fault for each thing that is wrong.
    """
    guide = _validate(path, Guide, _load(path), at="")
    _complain(*_unsourced(path, guide, ""))
    return guide


def read_images(path: Path) -> tuple[Image, ...]:
    """The catalogue entries of an ``[[images]]`` array.

    :raises DataError: with a fault for each thing that is wrong.
    """
    return _read_array(path, "images", Image)


def read_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of a ``[[rules]]`` array.

    :raises DataError: with a fault for each thing that is wrong.
    """
    return _read_array(path, "rules", Rule)


def from_document(kind: str, document: object, name: str) -> tuple[System | Processor | Accelerator | Image | Rule, ...]:
    """What a document adds to the ``systems``, ``images`` or ``rules``: one of them by itself, or arrays as in the files.

    Beside ``systems`` there may be the ``processors`` and ``accelerators`` that they need. ``name`` is what faults call the document.

    :raises DataError: with a fault for each thing that is wrong.
    """
    path, models = Path(name), _KINDS[kind]
    told = document if isinstance(document, Mapping) and kind in document else {kind: [document]}
    _complain(*(Fault(_where(path, key), unknown("key", key, models)) for key in told if key not in models))

    def every(key: str) -> tuple[System | Processor | Accelerator | Image | Rule, ...]:
        items = _array(path, told, key, models[key])
        return _sourced(path, key, items) if kind == "systems" else items

    found, bad = _gather(every, [key for key in models if key in told])
    _complain(*bad)
    return tuple(item for _, item in found)


_KINDS: Mapping[str, Mapping[str, type[System | Processor | Accelerator | Image | Rule]]] = {
    "systems": {"systems": System, "processors": Processor, "accelerators": Accelerator},
    "images": {"images": Image},
    "rules": {"rules": Rule},
}


# --- reading and validating one file


def _files(folder: Path, pattern: str = "*") -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.suffix in {".toml", ".json"})


def _load(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
        document = strict_json(content) if path.suffix == ".json" else tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", field=str(path)) from None
    except BadSyntax as wrong:
        raise DataError(wrong.faults[0].message, field=str(path)) from None
    except UnicodeDecodeError as wrong:
        raise DataError(f"byte {wrong.start + 1}: not valid UTF-8", field=str(path)) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what = "nested too deep" if isinstance(error, RecursionError) else error
        raise DataError(f"is not a TOML document: {what}", field=str(path)) from None
    if not isinstance(document, dict):
        raise DataError("holds no table of keys and values", field=str(path))
    return document


def _read_array(path: Path, key: str, model: type[Model]) -> tuple[Model, ...]:
    document = _load(path)
    _complain(
        *(Fault(_where(path, other), unknown("key", other, [key])) for other in document if other != key), *_no_array(path, document, key)
    )
    return _array(path, document, key, model)


def _array(path: Path, document: Mapping[str, Any], key: str, model: type[Model]) -> tuple[Model, ...]:
    _complain(*_no_array(path, document, key))

    def one(numbered: tuple[int, object]) -> tuple[Model, ...]:
        number, item = numbered
        return (_validate(path, model, item, at=f"{key}.{_label(item, number)}"),)

    found, bad = _gather(one, enumerate(document[key]))
    _complain(*bad)
    return tuple(item for _, item in found)


def _no_array(path: Path, document: Mapping[str, Any], key: str) -> Iterator[Fault]:
    if not isinstance(document.get(key), list):
        yield Fault(_where(path, key), f"an array of tables [[{key}]] is required")


def _validate(path: Path, model: type[Model], data: object, *, at: str) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        faults = _innermost(faults_of(error, model=model))
        raise DataError(faults=[Fault(_where(path, join(at, fault.field)), fault.message) for fault in faults]) from None


def _innermost(faults: Sequence[Fault]) -> Iterator[Fault]:
    """Without those about an array that only came up short because its items are wrong."""
    for fault in faults:
        if not any(other.field.startswith(f"{fault.field}.") for other in faults):
            yield fault


def _label(item: object, step: str | int) -> str:
    if not isinstance(step, int) or not isinstance(item, Mapping):
        return str(step)
    return next((str(item[key]) for key in ("name", "reference", "family") if isinstance(item.get(key), str)), str(step))


def _where(path: Path, at: str) -> str:
    return f"{path}: {at}" if at else str(path)


def _gather(read: Callable[[Item], tuple[Model, ...]], given: Iterable[Item]) -> tuple[list[tuple[Item, Model]], list[Fault]]:
    """What could be read, each with what it was read from, and the faults of what could not."""
    found: list[tuple[Item, Model]] = []
    faults: list[Fault] = []
    for one in given:
        try:
            found.extend((one, item) for item in read(one))
        except DataError as error:
            faults.extend(error.faults)
    return found, faults


def _complain(*faults: Fault) -> None:
    if faults:
        raise DataError(faults=faults)


# --- every figure has a source


def _sourced(path: Path, key: str, items: tuple[Model, ...]) -> tuple[Model, ...]:
    labels = (f"{key}.{_label(item.model_dump(), number)}" for number, item in enumerate(items))
    _complain(*chain.from_iterable(_unsourced(path, item, at) for item, at in zip(items, labels, strict=True)))
    return items


def _unsourced(path: Path, item: BaseModel, at: str) -> Iterator[Fault]:
    """Figures that no source covers, and sources that cover nothing (a slip in a field's name)."""
    leaves = tuple(_leaves(item.model_dump(exclude={"sources"}, exclude_unset=True)))
    patterns = [tuple(pattern.split(".")) for source in _sources(item) for pattern in source.fields]
    for steps, value in leaves:
        if _is_figure(value) and not any(_covers(pattern, steps) for pattern in patterns):
            where = _where(path, join(at, *steps))
            yield Fault(where, "no source covers this figure; name it in the fields of one of 'sources'")
    for pattern in patterns:
        if not any(_covers(pattern, steps) for steps, _ in leaves):
            known = {".".join(steps[: len(pattern)]) for steps, _ in leaves}
            yield Fault(_where(path, join(at, "sources")), unknown("field", ".".join(pattern), known))


def _sources(item: Any) -> tuple[Source, ...]:
    sourced: Sourced = item
    return sourced.sources


def _leaves(value: object, steps: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*steps, str(key)))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*steps, _label(inner, number)))
    else:
        yield steps, value


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _covers(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    """Whether a field's path is at or below the pattern's; ``*`` in a pattern stands for any text within one step."""
    return len(pattern) <= len(steps) and all(map(fnmatchcase, steps, pattern))


# --- between files


def _names(system: System) -> set[str]:
    """The system's name and aliases; case, underscores and hyphens do not tell systems apart."""
    return {name.lower().replace("_", "-") for name in (system.name, *system.aliases)}


def _twice(named: Iterable[tuple[Path, str]]) -> Iterator[Fault]:
    first: dict[str, Path] = {}
    for path, name in named:
        if name in first:
            yield Fault(str(path), f"the name {name!r} is taken already, by {first[name]}")
        first.setdefault(name, path)


def unknown_variants(system: System) -> Iterator[tuple[str, str]]:
    """Fields that name a scheduler, launcher or runtime which neither MODAK nor another installed package offers, and what is known."""
    named = [("schedulers", "scheduler", system.scheduler), ("launchers", "launcher", system.launcher)]
    named += [("runtimes", "runtimes", policy.name) for policy in system.runtimes]
    for kind, field, name in named:
        known = plugins.names(kind)
        if name and name not in known:
            yield field, unknown(plugins.TITLES[kind], name, known)


def _dangling(path: Path, system: System, knowledge: Knowledge) -> Iterator[Fault]:
    """Nodes whose processor or accelerator no hardware file describes."""
    for partition in system.partitions:
        at = f"partitions.{partition.name}.node"
        processors, accelerators = ({item.name for item in items} for items in (knowledge.processors, knowledge.accelerators))
        if partition.node.processor not in processors:
            yield Fault(_where(path, f"{at}.processor"), unknown("processor", partition.node.processor, processors))
        if partition.node.accelerator and partition.node.accelerator not in accelerators:
            yield Fault(_where(path, f"{at}.accelerator"), unknown("accelerator", partition.node.accelerator, accelerators))
