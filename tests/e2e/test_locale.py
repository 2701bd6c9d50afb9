"""The command line of a user whose language has other capitals: none of MODAK's texts or numbers depends on the locale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import missing, tool

SOURCES = Path("/usr/share/i18n/locales/tr_TR")
ROWS = "application,nodes,metric,value,unit\nI,1,wall_time,80,s\nI,2,wall_time,41,s\n"


@pytest.fixture(scope="module")
def turkish(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a Turkish user: the small letter of I is ı there, and the capital of i is İ."""
    if not SOURCES.exists():
        missing("locales")
    folder = tmp_path_factory.mktemp("locales")
    subprocess.run([tool("locales", "localedef"), "-i", "tr_TR", "-f", "UTF-8", folder / "tr_TR.UTF-8"], check=True)
    return {"LOCPATH": str(folder), "LC_ALL": "tr_TR.UTF-8"}


def test_loaded_rows_are_counted_in_a_turkish_locale(turkish: dict[str, str], tmp_path: Path) -> None:
    """Where Python's own driver of SQLite takes INSERT for a statement that changes nothing."""
    (tmp_path / "results.csv").write_text(ROWS)
    environment = os.environ | turkish | {"MODAK_DATABASE_URL": f"sqlite:///{tmp_path}/modak.db"}
    load = [sys.executable, "-m", "modak", "load", "results.csv"]
    ran = [subprocess.run(load, cwd=tmp_path, env=environment, capture_output=True, text=True) for _ in range(2)]
    said = [each.stdout.splitlines()[0] for each in ran]
    assert said == ["2 rows read, 2 new, 0 there already, 0 suspicious", "2 rows read, 0 new, 2 there already, 0 suspicious"]
