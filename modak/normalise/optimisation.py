"""The request's ``optimisation`` section, in both forms of the section for the chosen kind of application.

Short: ``"ai_training": {"tensorflow": {…}}``. Published: ``"app_type-ai_training": {"config": {"ai_framework":
"tensorflow"}, "data": {}, "ai_framework-tensorflow": {…}}``; for applications of HPC ``"hpc": {"mpi": {…}}`` and
``"app_type-hpc": {"config": {"parallelisation": "mpi"}, "parallelisation-mpi": {…}}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from modak import dsl
from modak.errors import Fault
from modak.normalise.frameworks import framework
from modak.normalise.sections import OBJECT, as_object, checked, fields_of, label, remembered, section, section_of, spelt
from modak.normalise.spellings import (
    LEFT_OUT,
    Read,
    Reader,
    choice,
    flag,
    fold,
    gigabytes,
    name_of,
    number,
    prose,
    several,
    share,
    size,
    spellings,
    text,
    whole,
    wrong,
)
from modak.text.faults import join

_PROCESSORS: Final = {
    **dict.fromkeys(("x86_64", "amd64", "intel"), "x86"),
    **dict.fromkeys(("aarch64", "arm64"), "arm"),
    "ppc64le": "power",
}
_DEVICES: Final = {
    **{"": "none", "cpu": "none", "cuda": "nvidia", "rocm": "amd"},
    **dict.fromkeys(("ponte vecchio", "pvc", "max 1550", "max1550", "xpu"), "intel"),
}
_APP_TYPES: Final = dsl.Optimisation.allowed("app_type")
_APP_TYPE_SPELLINGS: Final = {"training": "ai_training", "inference": "ai_inference", "bigdata": "big_data"}
_SECTIONS: Final = {
    f"{prefix}{word}": kind for word, kind in spellings(_APP_TYPES, _APP_TYPE_SPELLINGS).items() for prefix in ("", "app_type_")
}


def optimisation(value: Any, path: str) -> Read:
    """Reads the whole section: the value is a :class:`modak.dsl.Optimisation`."""
    opened = as_object(value, path)
    if not isinstance(opened.value, OBJECT):
        return opened
    kinds = {key: kind for key in opened.value if key not in PLAIN and (kind := _kind(key))}
    rest = _PLAIN({key: inner for key, inner in opened.value.items() if key not in kinds}, path)
    key, kind, notes = _chosen_kind(rest.value.get("app_type"), {k: v for k, v in kinds.items() if opened.value[k] is not None}, path)
    shown = label(key)
    chosen = _CHOSEN(opened.value[key], join(path, shown)) if key is not None else Read({})
    values = {**rest.value, **({"app_type": kind} if kind else {}), **(chosen.value if isinstance(chosen.value, OBJECT) else {})}
    so_far = Read(LEFT_OUT, opened.notes + rest.notes + notes + chosen.notes, rest.faults + chosen.faults)
    written = {name: join(shown, name) for name in ("config", "data")} if key is not None else {}
    return checked(dsl.Optimisation, values, path, written, so_far)


def _kind(key: Any) -> str | None:
    """The kind of application whose section a key is; ``None`` for other keys."""
    return name_of(key, _SECTIONS)


def _chosen_kind(said: str | None, sections: Mapping[str, str], path: str) -> tuple[str | None, str | None, tuple[Fault, ...]]:
    """Key of the chosen section and its kind, with notes on other spellings and unused sections."""
    kind = said or next(iter(sections.values()), None)
    key = next((key for key, its in sections.items() if its == kind), None)
    notes = [
        Fault(join(path, label(other)), f"ignored: {f'{key!r} is given, too' if its == kind else f'the application is {kind}'}")
        for other, its in sections.items()
        if other != key
    ]
    if kind and not said:
        notes.append(Fault(join(path, "app_type"), f"is not given; read from the section: {kind}"))
    if key is not None and key not in (kind, f"app_type-{kind}"):
        notes.append(Fault(join(path, label(key)), f"the key is read as {f'app_type-{kind}'!r}"))
    return key, kind, tuple(notes)


def _switch_or_count(value: Any, path: str) -> Read:
    """``prefetch`` and ``cache`` are counts or switches."""
    words = {"true", "false", "yes", "no", "on", "off"}
    got = flag(value, path) if isinstance(value, bool) or (isinstance(value, str) and fold(value) in words) else whole(value, path)
    return wrong(path, "true, false or a number of at least 0") if got.faults or (got.value is not LEFT_OUT and got.value < 0) else got


def _amount(value: Any, path: str) -> Read:
    """A number of bytes, also with a unit."""
    return size(value, path) if isinstance(value, str) else number(value, path)


def _parameters(value: Any, path: str) -> Read:
    """Further parameters of the application: numbers or text by name; ``true`` and ``false`` become words, as in results, and whole numbers
    with more digits than a float has become text."""
    got = _as_it_is(value, path)
    return got._replace(value={key: _said(inner) for key, inner in got.value.items()}) if isinstance(got.value, OBJECT) else got


def _said(value: Any) -> Any:
    if isinstance(value, str):
        return dsl.AUTO if fold(value) == dsl.AUTO else value.strip()
    return str(value).lower() if isinstance(value, bool) or (isinstance(value, int) and abs(value) > EXACT) else value


EXACT: Final = 2**53
"""All whole numbers up to this one are floats, too."""


def _as_it_is(value: Any, path: str) -> Read:
    """An object whose values the model checks; ``null`` values are left out."""
    got = as_object(value, path)
    return got._replace(value={key: each for key, each in got.value.items() if each is not None}) if isinstance(got.value, OBJECT) else got


def _auto_or(reader: Reader) -> Reader:
    """``auto`` in any case (left to the evidence), or what the reader reads."""
    return lambda value, path: Read("auto") if isinstance(value, str) and fold(value) == "auto" else reader(value, path)


def _unless_auto(reader: Reader) -> Reader:
    """What the reader reads; ``auto`` in any case is left out, because the evidence decides then, too."""
    return lambda value, path: Read(LEFT_OUT) if isinstance(value, str) and fold(value) == dsl.AUTO else reader(value, path)


PLAIN: Final[Mapping[str, Reader]] = {
    "enable_opt_build": _auto_or(flag),
    "enable_autotuning": flag,
    "app_type": choice(_APP_TYPES, _APP_TYPE_SPELLINGS),
    "opt_build": remembered(
        section_of(
            dsl.OptBuild,
            cpu_type=choice(dsl.OptBuild.allowed("cpu_type"), _PROCESSORS),
            acc_type=choice(
                dsl.OptBuild.allowed("acc_type"),
                _DEVICES,
            ),
        )
    ),
    "autotuning": section_of(
        dsl.Autotuning, tuner=choice(("cresta", "autotune"), {"creata": "cresta"}), input=prose, space=_as_it_is, setting=_as_it_is
    ),
    "objective": remembered(
        section_of(
            dsl.Objective,
            also={"minimize": "minimise"},
            minimise=choice(
                dsl.Objective.allowed("minimise"),
                {"runtime": "time", **dict.fromkeys(("core_hours", "cpu_hours", "gpu_hours"), "node_hours")},
            ),
            confidence=share,
        )
    ),
    "workload": remembered(
        section_of(
            dsl.Workload,
            batch_size=_unless_auto(whole),
            compiler=_unless_auto(text),
            params=_parameters,
            precision=_auto_or(text),
            memory_per_rank_gb=gigabytes,
            memory_per_gpu_gb=gigabytes,
            memory_aside_gb=gigabytes,
        )
    ),
}


_PLAIN: Final = section(PLAIN)
_CONFIG: Final = section(
    {
        "ai_framework": text,
        **fields_of(
            dsl.Config,
            type=choice(dsl.Config.allowed("type"), {"reinforncement_learning": "reinforcement_learning"}, otherwise="other"),
            parallelisation=several(choice(dsl.Config.allowed("parallelisation"), {"opencc": "openacc"})),
        ),
    },
    also={"parallelization": "parallelisation"},
)
_DATA: Final = section_of(dsl.Data, size_bytes=_amount, etl=section_of(dsl.Etl, prefetch=_switch_or_count, cache=_switch_or_count))


def _chosen_section(value: Any, path: str) -> Read:
    """Configuration, data, framework and options of the section for the chosen kind of application."""
    opened = as_object(value, path)
    if not isinstance(opened.value, OBJECT):
        return opened
    known = ("config", "data")
    written, odd = spelt({key: inner for key, inner in opened.value.items() if fold(key) in known}, known, path, spellings(known))
    parts = {name: opened.value[key] for name, key in written.items()}
    config = _CONFIG(parts.get("config"), join(path, label(written.get("config", "config"))))
    data = _DATA(parts.get("data"), join(path, label(written.get("data", "data"))))
    frameworks = {key: inner for key, inner in opened.value.items() if fold(key) not in known}
    settings = dict(config.value) if isinstance(config.value, OBJECT) else {}
    asked = settings.pop("ai_framework", None)
    chosen = framework(frameworks, asked, settings.get("parallelisation", ()), path)
    values = {"config": settings, **({"data": data.value} if parts.get("data") is not None else {}), **chosen.value}
    notes = opened.notes + odd + config.notes + data.notes + chosen.notes
    return Read(values, notes, config.faults + data.faults + chosen.faults)


_CHOSEN: Final = remembered(_chosen_section)
