"""Settings come from the environment and one file, and say which name is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from modak.errors import DataError
from modak.settings import Settings, read_settings, settings_table


def test_the_default_database_lies_in_the_users_data_folder() -> None:
    """XDG_DATA_HOME wins over HOME; without both nothing is made up."""
    assert read_settings({"HOME": "/home/ada"}).database_url == "sqlite:////home/ada/.local/share/modak/modak.db"
    assert read_settings({"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}).database_url == "sqlite:////data/modak/modak.db"
    assert read_settings({"HOME": "/home/ada", "XDG_DATA_HOME": "data"}).database_url == "sqlite:////home/ada/.local/share/modak/modak.db"
    assert read_settings({}).database_url == ""


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    """What both set is taken from the environment; the rest from the file."""
    config = tmp_path / "modak.toml"
    config.write_text('database_url = "sqlite:///file.db"\nmax_points = 7\n')
    settings = read_settings({"MODAK_CONFIG": str(config), "MODAK_DATABASE_URL": "sqlite:///environment.db"})
    assert (settings.database_url, settings.max_points) == ("sqlite:///environment.db", 7)


def test_a_byte_order_mark_before_the_file_is_skipped(tmp_path: Path) -> None:
    """Some editors write one."""
    config = tmp_path / "modak.toml"
    config.write_bytes(b"\xef\xbb\xbfmax_points = 7\n")
    assert read_settings({"MODAK_CONFIG": str(config)}).max_points == 7


def test_an_unknown_key_of_the_file_names_the_nearest_known_one(tmp_path: Path) -> None:
    """A misspelt setting is never ignored."""
    config = tmp_path / "modak.toml"
    config.write_text('databse_url = "sqlite:///file.db"\n')
    with pytest.raises(DataError, match="did you mean 'database_url'"):
        read_settings({"MODAK_CONFIG": str(config)})


@pytest.mark.parametrize(
    ("content", "says"), [(None, "No such file"), ("= 1", "not a TOML file"), ("max_points = 0", "allowed: at least 1")]
)
def test_a_file_that_cannot_be_used_is_one_clear_fault(tmp_path: Path, content: str | None, says: str) -> None:
    """A missing file, one that is no TOML, and a value out of range each say so."""
    config = tmp_path / "modak.toml"
    if content is not None:
        config.write_text(content)
    with pytest.raises(DataError, match=says) as raised:
        read_settings({"MODAK_CONFIG": str(config)})
    assert len(raised.value.faults) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SERVER", "s3cret with blanks"),
        ("SERVER", "http://127.0.0.1:99999"),
        ("SERVER", "http://[::1"),
        ("TOKEN", "s3cret\nX-Header: 1"),
        ("TOKEN", "s3cret€"),
        ("BROWSER_ORIGINS", "https://ide.example.org, *"),
        ("BROWSER_ORIGINS", "https://ide.example.org:443"),
    ],
)
def test_what_no_connection_can_be_made_with_is_refused(name: str, value: str) -> None:
    """By its variable, before anything is sent; a secret that was put into the wrong one does not appear in the message."""
    with pytest.raises(DataError) as raised:
        read_settings({f"MODAK_{name}": value})
    assert raised.value.faults[0].field == f"MODAK_{name}"
    assert "s3cret" not in str(raised.value)


def test_the_token_does_not_show() -> None:
    """Printing settings prints no secret."""
    assert "s3cret" not in repr(read_settings({"MODAK_TOKEN": "s3cret"}))


def test_the_table_names_every_setting() -> None:
    """The list that help and documentation print is complete."""
    named = {name for rows in settings_table().values() for name, _, _ in rows}
    assert named == {f"MODAK_{name.upper()}" for name in Settings.model_fields} | {"MODAK_CONFIG"}


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [("RATE_PER_MINUTE", "many", "a whole number"), ("ANONYMOUS", "perhaps", "true or false"), ("REQUEST_S", "-1", "more than 0")],
)
def test_what_a_setting_may_be_is_said_in_the_words_of_all_documents(name: str, value: str, allowed: str) -> None:
    """Not in those of the library that reads them."""
    with pytest.raises(DataError, match=f"^MODAK_{name}: allowed: ({allowed})"):
        read_settings({f"MODAK_{name}": value})
