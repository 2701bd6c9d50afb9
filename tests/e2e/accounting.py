"""Slurm's database of accounts: a MariaDB and ``slurmdbd``, up in a few seconds."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.conftest import tool, until

NAME = "slurm_acct_db"


def begin(
    start: Callable[..., object],
    folder: Path,
    environment: Mapping[str, str],
    at: tuple[Path, int, int],
    commands: Sequence[str],
) -> None:
    """Start both, and give the words of each command to ``sacctmgr``. ``at``: munge's socket, the ports of slurmdbd and of MariaDB."""
    server, daemon, install = (tool("Slurm's accounting", name) for name in ("mariadbd", "slurmdbd", "mariadb-install-db"))

    def said(*words: str | Path) -> bool:
        return subprocess.run([str(word) for word in words], env=environment, capture_output=True).returncode == 0

    data, socket = folder / "accounts", folder / "accounts/socket"
    data.mkdir()
    assert said("chown", "mysql", data)
    assert said(install, "--no-defaults", "--user=mysql", f"--datadir={data}/data", "--auth-root-authentication-method=socket")
    options = ("--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin")
    port = ("--bind-address=127.0.0.1", f"--port={at[2]}")
    start(server, "--no-defaults", "--user=mysql", f"--datadir={data}/data", f"--socket={socket}", *port, *options)
    client = ("mariadb", "--no-defaults", f"--socket={socket}", "-e")
    until(lambda: said(*client, "SELECT 1"))
    users = (f"'slurm'@'{host}'" for host in ("localhost", "127.0.0.1"))
    granted = "; ".join(f"CREATE USER {user} IDENTIFIED BY 'slurm'; GRANT ALL ON {NAME}.* TO {user}" for user in users)
    assert said(*client, f"CREATE DATABASE {NAME}; {granted}")
    settings = folder / "etc/slurmdbd.conf"
    settings.write_text(_configuration(folder, *at))
    settings.chmod(0o600)
    start(daemon, "-D")
    until(lambda: said("sacctmgr", "-n", "show", "cluster"))
    for command in commands:
        assert said("sacctmgr", "--immediate", "--quiet", *command.split()), command


def _configuration(folder: Path, munge: Path, port: int, database: int) -> str:
    values = {
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={munge}",
        "DbdHost": "localhost",
        "DbdAddr": "127.0.0.1",
        "DbdPort": port,
        "SlurmUser": "root",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "127.0.0.1",
        "StoragePort": database,
        "StorageUser": "slurm",
        "StoragePass": "slurm",
        "StorageLoc": NAME,
        "LogFile": f"{folder}/log/slurmdbd",
        "PidFile": f"{folder}/run/slurmdbd.pid",
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())
