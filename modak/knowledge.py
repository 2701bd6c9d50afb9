"""The files of `benchmarks_db`, read into :mod:`modak.facts`. It reads files and decides nothing.

One file holds one system, or an array of processors, accelerators, images or rules, in TOML or JSON. What is wrong is
reported all at once, one fault a line, as ``FILE: dotted.field: what is wrong``; items of an array go by their name.
Every figure of a system, processor or accelerator must say where it comes from.
"""

from __future__ import annotations

import re
import sys
import tomllib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from modak.admission import unknown_hardware, unknown_variants
from modak.errors import BadSyntax, DataError, Fault, unknown
from modak.facts import Accelerator, Fact, Image, Known, Processor, Rule, System
from modak.facts.citations import label, unsourced
from modak.sizing.guide import Guide
from modak.text.documents import strict_json, without_schema
from modak.text.faults import faults_of, join

Model = TypeVar("Model", bound=BaseModel)
Entry = TypeVar("Entry", Processor, Accelerator, Image, Rule)
Item = TypeVar("Item")

STANDARD_INPUT: Final = Path("-")
ARRAYS: Final[Mapping[type[Fact], str]] = {Processor: "processors", Accelerator: "accelerators", Image: "images", Rule: "rules"}
"""What the array of each kind of entry is called."""
_YAML: Final = re.compile(r"(?:\s*(?:#.*|---.*)\n)*\s*(?:- )?[A-Za-z_][A-Za-z0-9_-]*:\s")
"""A document whose first line, but for comments, has a colon after its key."""


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


PACKAGE: Final = Path(__file__).resolve().parent


def packaged_root(package: Path = PACKAGE) -> Path:
    """The `benchmarks_db` that came with this MODAK: inside the installed package, or beside it in a checkout.

    Raises :class:`modak.errors.DataError` where neither is there.
    """
    candidates = (package / "_data" / "benchmarks_db", package.parent / "benchmarks_db")
    found = next((root for root in candidates if (root / "systems").is_dir()), None)
    if found is None:
        raise DataError(f"no systems in {' or '.join(map(str, candidates))}; install MODAK again", field="benchmarks_db")
    return found


def read_all(root: Path) -> Knowledge:
    """Everything below ``root``: folders `systems`, `hardware`, `images`, `rules` and `results`, each of which may be missing.

    Raises :class:`modak.errors.DataError` with the faults of every file, and those between files: a name that two carry, a node of
    hardware that no file describes.
    """
    systems, bad_systems = _gather(lambda path: (read_system(path),), _files(root / "systems"))
    processors, bad_processors = _gather(lambda path: read_array(path, Processor), _files(root / "hardware", "processors*"))
    accelerators, bad_accelerators = _gather(lambda path: read_array(path, Accelerator), _files(root / "hardware", "accelerators*"))
    images, bad_images = _gather(lambda path: read_array(path, Image), _files(root / "images"))
    rules, bad_rules = _gather(lambda path: read_array(path, Rule), _files(root / "rules"))
    hardware_is_known = not (bad_processors or bad_accelerators)
    hardware = {item.name for _, item in processors}, {item.name for _, item in accelerators}
    DataError.raise_for(
        *(bad_systems, bad_processors, bad_accelerators, bad_images, bad_rules),
        _twice((path, name) for path, system in systems for name in system.folded_names),
        *(_twice((path, item.name) for path, item in found) for found in (processors, accelerators, rules)),
        _twice((path, item.reference) for path, item in images),
        (_at(path, "", fault) for path, system in systems if hardware_is_known for fault in unknown_hardware(system, *hardware)),
    )
    return Knowledge(
        systems=_in_order(systems),
        processors=_in_order(processors),
        accelerators=_in_order(accelerators),
        images=_in_order(images, "reference"),
        rules=_in_order(rules),
        result_files=tuple(sorted((root / "results").glob("*.csv"))),
    )


def read_system(path: Path) -> System:
    """One system; all its figures have a source.

    Raises :class:`modak.errors.DataError` with a fault for each thing that is wrong.
    """
    system = _validate(path, System, _load(path), at="")
    DataError.raise_for(_at(path, "", fault) for fault in (*unsourced(system), *unknown_variants(system)))
    return system


def read_array(path: Path, model: type[Entry]) -> tuple[Entry, ...]:
    """The entries of a file with one array: ``[[processors]]``, ``[[accelerators]]``, ``[[images]]`` or ``[[rules]]``, by their model.

    Raises :class:`modak.errors.DataError` with a fault for each thing that is wrong; so is a figure of hardware without a source.
    """
    key, document = ARRAYS[model], _load(path)
    if key not in document and not document.keys().isdisjoint(_NAMES):  # one entry, as ``show`` prints it
        document = {key: [document]}
    others = [Fault(_where(path, other), unknown("key", other, [key])) for other in document if other != key]
    DataError.raise_for(others, _no_array(path, document, key))
    items = _array(path, document, key, model)
    return _sourced(path, key, items) if model in (Processor, Accelerator) else items


def read_guide(path: Path) -> Guide:
    """Guidance for sizing; all its figures have a source.

    Raises :class:`modak.errors.DataError` with a fault for each thing that is wrong.
    """
    guide = _validate(path, Guide, _load(path), at="")
    DataError.raise_for(_at(path, "", fault) for fault in unsourced(guide))
    return guide


def from_document(kind: str, document: object) -> tuple[Known, ...]:
    """The entries in a document for ``systems``, ``images`` or ``rules``: a single entry, or arrays as in the files.

    Beside ``systems`` there may be the ``processors`` and ``accelerators`` that they need.

    Raises :class:`modak.errors.DataError` with a fault for each thing that is wrong, whose field is its place in the document.
    """
    models = _KINDS[kind]
    if not isinstance(document, Mapping):
        raise DataError(f"allowed: an object, which is one entry, or has a list of entries in {kind!r}")
    document = without_schema(document)
    if kind not in document:
        entry = _validate(None, models[kind], document, at="")
        DataError.raise_for(unsourced(entry) if kind == "systems" else ())
        return (entry,)
    DataError.raise_for(Fault(key, unknown("key", key, models)) for key in document if key not in models)

    def every(key: str) -> tuple[Known, ...]:
        items = _array(None, document, key, models[key])
        return _sourced(None, key, items) if kind == "systems" else items

    found, bad = _gather(every, [key for key in models if key in document])
    DataError.raise_for(bad)
    return tuple(item for _, item in found)


_KINDS: Final[Mapping[str, Mapping[str, type[Known]]]] = {
    "systems": {"systems": System, "processors": Processor, "accelerators": Accelerator},
    "images": {"images": Image},
    "rules": {"rules": Rule},
}
_NAMES: Final = ("name", "reference")
"""What an entry is called by; the array of a file has no such key."""


# --- reading and validating one file


def _files(folder: Path, pattern: str = "*") -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.suffix in {".toml", ".json"})


def _load(path: Path) -> dict[str, Any]:
    """The document in a file, or on standard input for ``-``. No TOML document begins with a brace, so that tells JSON without a suffix."""
    try:
        content = sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()
        text = content.removeprefix(BOM_UTF8)
        is_json = path.suffix == ".json" or text.lstrip().startswith(b"{")
        document = strict_json(text) if is_json else _toml(text.decode())
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", field=str(path)) from None
    except BadSyntax as error:
        raise DataError(error.faults[0].message, field=str(path)) from None
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start + 1}: not valid UTF-8", field=str(path)) from None
    except RecursionError:
        raise DataError("is not a TOML document: nested too deep", field=str(path)) from None
    except ValueError:  # Python's own, which tomllib does not catch
        raise DataError(f"is not a TOML document: a number has more than {sys.get_int_max_str_digits()} digits", field=str(path)) from None
    if not isinstance(document, dict) or not document:
        raise DataError("holds no table of keys and values", field=str(path))
    return dict(without_schema(document))


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSyntax(f"is not a TOML or JSON document: {'it looks like YAML' if _YAML.match(text) else error}") from None


def _array(path: Path | None, document: Mapping[str, Any], key: str, model: type[Model]) -> tuple[Model, ...]:
    DataError.raise_for(_no_array(path, document, key))

    def one(numbered: tuple[int, object]) -> tuple[Model, ...]:
        number, item = numbered
        return (_validate(path, model, item, at=f"{key}.{label(item, number)}"),)

    found, bad = _gather(one, enumerate(document[key]))
    DataError.raise_for(bad)
    return tuple(item for _, item in found)


def _no_array(path: Path | None, document: Mapping[str, Any], key: str) -> Iterator[Fault]:
    if not isinstance(document.get(key), list):
        yield Fault(_where(path, key), f"an array of tables [[{key}]] is required" if path else "allowed: a list of objects")


def _validate(path: Path | None, model: type[Model], data: object, *, at: str) -> Model:
    try:
        return model.model_validate_json(to_json(data), strict=True)  # as JSON: read from Python, a list would be no tuple
    except ValidationError as error:
        raise DataError(faults=[_at(path, at, fault) for fault in faults_of(error, model=model)]) from None


def _where(path: Path | None, at: str) -> str:
    """A place in a file; without one, in a document that was sent."""
    if path is None:
        return at
    return f"{path}: {at}" if at else str(path)


def _gather(read: Callable[[Item], tuple[Model, ...]], given: Iterable[Item]) -> tuple[list[tuple[Item, Model]], list[Fault]]:
    """Everything that could be read, each with its origin, and the faults of the rest."""
    found: list[tuple[Item, Model]] = []
    faults: list[Fault] = []
    for one in given:
        try:
            found.extend((one, item) for item in read(one))
        except DataError as error:
            faults.extend(error.faults)
    return found, faults


def _sourced(path: Path | None, key: str, items: tuple[Model, ...]) -> tuple[Model, ...]:
    """The items of an array, all of whose figures have a source."""
    labels = (f"{key}.{label(item.model_dump(), number)}" for number, item in enumerate(items))
    DataError.raise_for(_at(path, at, fault) for item, at in zip(items, labels, strict=True) for fault in unsourced(item))
    return items


def _at(path: Path | None, at: str, fault: Fault) -> Fault:
    """A fault with the file and the place in it."""
    return Fault(_where(path, join(at, fault.field)), fault.message)


# --- between files


def _in_order(found: Iterable[tuple[Path, Model]], name: str = "name") -> tuple[Model, ...]:
    return tuple(sorted((item for _, item in found), key=attrgetter(name)))


def _twice(named: Iterable[tuple[Path, str]]) -> Iterator[Fault]:
    first: dict[str, Path] = {}
    for path, name in named:
        if name in first:
            yield Fault(str(path), f"the name {name!r} is taken already, by {first[name]}")
        first.setdefault(name, path)
