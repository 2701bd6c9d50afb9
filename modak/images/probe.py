"""The probe: a program for an image's own shell and Python. :mod:`modak.images.verification` reads its output."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from modak import plugins
from modak.frameworks.base import Inspection

Claims = Mapping[str, Any]
"""Fields of :class:`modak.facts.ImageLabels` without those that are not claimed. ``framework`` is always there."""
MARK: Final = "modak: "
"""Marks the lines of output for :func:`modak.images.verification.read_probe`."""
UNDECIDED: Final = 75
LONGEST_CHECK_S: Final = 300
_PLAIN: Final = r"""tr -d '\\"' | tr '\n\t' '  '"""
"""Removes what cannot stand between the quotes of JSON."""
_DRIVER: Final = r"""
import ctypes, json, subprocess, sys
def tell(name, value):
    print("modak: " + json.dumps([name, value]))
tell("python", "%d.%d.%d" % sys.version_info[:3])
for name in ("libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi.so"):
    try:
        said, length = ctypes.create_string_buffer(8192), ctypes.c_int()
        ctypes.CDLL(name).MPI_Get_library_version(said, ctypes.byref(length))
        tell("mpi", said.value.decode("utf-8", "replace"))
        break
    except (OSError, AttributeError):
        pass
for name, code in json.loads(sys.stdin.read()):
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    try:
        out, err = child.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = "", "no end within LIMIT s"
    tell(name, {"status": child.wait(), "out": out[-20000:], "why": (err.strip().splitlines() or [""])[-1][-300:]})
    sys.stdout.flush()
"""


def probe(claims: Claims) -> str:
    """A program for ``sh``: it prints the machine and the MPI library, then runs Python that imports and tests what is claimed."""
    asked = inspection(claims)
    checks = json.dumps(list(_checks(claims, asked)))
    driver = _DRIVER.replace("LIMIT", str(LONGEST_CHECK_S))
    return f"""\
export PATH="${{PATH:-/usr/local/bin:/usr/bin:/bin}}" HOME="${{HOME:-/tmp}}" PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
printf '{MARK}["ran", true]\\n{MARK}["architecture", "%s"]\\n' "$(uname -m)"
while read -r name colon words; do
  case $name in flags|Features) printf '{MARK}["flags", "%s"]\\n' "$words"; break;; esac
done </proc/cpuinfo
for ask in 'ompi_info --version' 'impi_info -V' mpichversion 'mpirun --version' 'mpiexec --version'; do
  command -v "${{ask%% *}}" >/dev/null 2>&1 || continue
  printf '{MARK}["mpi", "%s"]\\n' "$($ask 2>&1 </dev/null | head -n 4 | {_PLAIN})"
done
library=$(find /lib /usr /opt \\( -name 'libmpi.so*' -o -name 'libmpich.so*' \\) 2>/dev/null | head -n 1)
[ -z "$library" ] || printf '{MARK}["mpi_library", "%s"]\\n' "$library"
{_tried(asked.shell) if asked and asked.shell else ""}for python in python3 python; do command -v "$python" >/dev/null 2>&1 && break; done
command -v "$python" >/dev/null 2>&1 || exit 0
"$python" -c '{driver}' <<'MODAK_CHECKS'
{checks}
MODAK_CHECKS
"""


def inspection(claims: Claims) -> Inspection | None:
    """How the framework is tested inside an image; ``None``: that is not known."""
    known = plugins.names("frameworks")
    found: Inspection | None = plugins.find("frameworks", claims["framework"]).inspection if claims["framework"] in known else None
    return found


def _tried(commands: str) -> str:
    """Shell commands in a temporary folder; they print the version of an MPI library."""
    return f"""\
if trial=$(mktemp -d); then
(cd "$trial" && {{ {commands.strip()}
}}) >"$trial/out" 2>"$trial/why"
printf '{MARK}["exercise", {{"status": %d, "why": "%s"}}]\\n' $? "$(grep -m 1 '[a-z]' "$trial/why" | {_PLAIN})"
[ ! -s "$trial/out" ] || printf '{MARK}["mpi", "%s"]\\n' "$(head -n 4 "$trial/out" | {_PLAIN})"
fi
"""


def _checks(claims: Claims, asked: Inspection | None) -> Iterator[tuple[str, str]]:
    """Pieces of Python by name. Each runs in a process of its own, because a wrong build can be killed by a signal."""
    if asked is None or not asked.module:
        return
    told = "".join(f"\ntry: told[{name!r}] = {code}\nexcept Exception: pass" for name, code in asked.says.items())
    show = f"\nimport json\ntold = {{}}{told}\nprint({MARK!r} + json.dumps({{k: str(v) for k, v in told.items() if v is not None}}))"
    yield "framework", f"import {asked.module}{show}"
    yield "exercise", f"import {asked.module}\n{asked.exercise}"
    for name in claims.get("compilers", asked.compilers):
        if name in asked.compilers:
            yield f"compiler {name}", f"import {asked.module}\n{asked.compilers[name]}"
    for name in claims.get("distribution", ()):
        yield f"distribution {name}", f"import {name}.{asked.module}"
