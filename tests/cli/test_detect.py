"""`modak systems detect` as a user runs it: a file, JSON, files in a folder, and what drifted."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.conftest import Run

DATA = Path(__file__).parent.parent / "data/detect"


@pytest.fixture
def here(own: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on a copy of the packaged knowledge, on a machine with two processors that nobody knows."""
    machine(tmp_path, monkeypatch, "lscpu-epyc-vm.json")
    return own


def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lscpu: str) -> None:
    """Let PATH hold an lscpu that prints a recorded output, and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    file = folder / "lscpu"
    file.write_text(f"#!/bin/sh\nexec /bin/cat {shlex.quote(str(DATA / lscpu))}\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_the_system_file_stands_on_standard_output_and_notes_beside_it(here: Run) -> None:
    """Unknown hardware follows as comments: all of it is one system file."""
    ran = here("systems", "detect", "--name", "here")
    assert ran.status == 0, ran.err
    assert tomllib.loads(ran.out)["name"] == "here"
    assert '# [[processors]]\n# name = "epyc"' in ran.out
    assert all(line.startswith("note: ") for line in ran.err.splitlines())


@pytest.mark.parametrize("name", ["a b", "x\udcff"])
def test_a_name_that_no_system_can_have_is_a_fault_of_its_option(here: Run, name: str) -> None:
    """In one line, also for bytes that are no text."""
    (line,) = here("systems", "detect", "--name", name).err.splitlines()
    assert line.startswith("modak: --name: ")


def test_json_holds_the_system_and_its_hardware(here: Run) -> None:
    """One document."""
    found = json.loads(here("systems", "detect", "--json").out)
    assert found["system"]["partitions"][0]["node"]["processor"] == found["processors"][0]["name"] == "epyc"
    assert found["accelerators"] == []


def test_the_printed_command_adds_what_was_written(here: Run, tmp_path: Path) -> None:
    """As it stands; then nothing has drifted, and a second look knows the processor."""
    ran = here("systems", "detect", "--name", "here", "--output", tmp_path / "out")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["here-processors.toml", "here.toml"]
    words = ran.out.split()
    assert words[:3] == ["modak", "systems", "add"]
    added = here(*words[1:])
    assert added.status == 0, added.err
    assert "processors that MODAK does not know" not in here("systems", "detect").out
    same = here("systems", "detect", "--name", "here", "--diff")
    assert (same.status, same.out) == (0, "")
    assert same.err.splitlines()[-1] == "here: 0 differences"


def test_drift_is_shown_and_is_the_exit_status(here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Field: stored → seen, as diff(1) ends."""
    here(*here("systems", "detect", "--name", "here", "-o", tmp_path / "out").out.split()[1:])
    machine(tmp_path, monkeypatch, "lscpu-xeon.json")
    ran = here("systems", "detect", "--name", "here", "--diff")
    assert ran.status == 1
    assert "partitions.local.node.cores: 2 → 40\n" in ran.out
    assert "partitions.local.node.processor: epyc → xeon-gold-6148\n" in ran.out
    told = json.loads(here("systems", "detect", "--name", "here", "--diff", "--json").out)
    assert {"field": "partitions.local.node.sockets", "stored": 1, "seen": 2} in told["differences"]


def test_drift_of_a_system_that_is_not_stored_is_an_error(here: Run) -> None:
    """Which ones are, is said."""
    ran = here("systems", "detect", "--name", "nowhere", "--diff")
    assert ran.status == 1
    assert "unknown system 'nowhere'" in ran.err
    assert "supermuc-ng" in ran.err


def test_a_machine_that_says_nothing_ends_with_the_reasons(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is printed that could pass for a system."""
    monkeypatch.setenv("PATH", "/nonexistent")
    ran = here("systems", "detect")
    assert (ran.status, ran.out) == (1, "")
    assert "partition local is left out" in ran.err


def test_a_server_out_of_reach_hinders_nobody(here: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that cannot reach the service still describes itself; --diff needs it."""
    monkeypatch.setenv("MODAK_SERVER", "http://127.0.0.1:9")
    assert tomllib.loads(here("systems", "detect").out)["scheduler"] == "shell"
    assert here("systems", "detect", "--diff").status == 3
