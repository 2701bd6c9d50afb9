"""A database on a file system without locks: NFS without the daemon of locks, Lustre that was mounted without ``flock``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import tool

REFUSES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
static int answer(const char *name, int file, int command, void *value) {
    if (command == F_SETLK || command == F_SETLKW || command == F_GETLK) { errno = REFUSAL; return -1; }
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, name))(file, command, value);
}
#define PASSED(name) int name(int file, int command, ...) { \
    va_list all; va_start(all, command); void *value = va_arg(all, void *); va_end(all); return answer(#name, file, command, value); }
PASSED(fcntl)
PASSED(fcntl64)
"""
"""A library between a program and the system, which refuses to lock files as such file systems do."""

OPENS = """
import sys
from modak.errors import Unavailable
from modak.store.engine import connect, quick, reading, supported
try:
    with reading(quick(connect(supported("sqlite:///modak.db")))):
        print("opened")
except Unavailable as error:
    print(error)
"""
"""Opens a database, without waiting for half a minute."""


@pytest.mark.parametrize("refusal", ["ENOLCK", "ENOSYS"])
def test_a_file_system_without_locks_is_named(tmp_path: Path, refusal: str) -> None:
    """SQLite takes the one for a lock of another process, the other for a fault of the disk."""
    (tmp_path / "refuses.c").write_text(REFUSES)
    options = ("-shared", "-fPIC", f"-DREFUSAL={refusal}", "-o", "refuses.so", "refuses.c", "-ldl")
    subprocess.run([tool("a C compiler", "gcc"), *options], cwd=tmp_path, check=True)
    environment = os.environ | {"LD_PRELOAD": f"{tmp_path}/refuses.so"}
    told = subprocess.run([sys.executable, "-c", OPENS], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "takes no locks (" in told.stdout, told.stderr
