"""A registry of images on the loopback interface, over HTTPS with a certificate of its own."""

from __future__ import annotations

import os
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from tests.conftest import free_port, tool, until

CONFIGURATION = """\
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}/stored}}}}
http: {{addr: "{address}", tls: {{certificate: {folder}/certificate, key: {folder}/key}}}}
"""


@dataclass(frozen=True)
class Registry:
    """A registry that runs."""

    address: str
    """Host and port."""
    certificate: Path

    @property
    def trusted(self) -> Mapping[str, str]:
        """Variables by which Apptainer and Charliecloud believe it."""
        return {"SSL_CERT_FILE": str(self.certificate), "REQUESTS_CA_BUNDLE": str(self.certificate)}

    def push(self, name: str) -> str:
        """Put an image of ch-image's storage there; the name by which it is pulled."""
        there = f"{self.address}/{name}"
        words: list[str | Path] = [tool("Charliecloud", "ch-image"), "push", name, there]
        subprocess.run(words, check=True, capture_output=True, env={**os.environ, **self.trusted, "PATH": "/usr/bin:/bin"})
        return there


@contextmanager
def registry(folder: Path) -> Iterator[Registry]:
    """Debian's docker-registry, which ends with the block."""
    program = tool("docker-registry", "docker-registry")
    folder.mkdir()
    address = f"127.0.0.1:{free_port()}"
    certificate = folder / "certificate"
    names = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    new = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names, "-keyout", folder / "key", "-out", certificate)
    subprocess.run(new, check=True, capture_output=True)
    (folder / "config.yml").write_text(CONFIGURATION.format(folder=folder, address=address))
    with (folder / "log").open("wb") as log, subprocess.Popen([program, "serve", folder / "config.yml"], stdout=log, stderr=log) as process:
        try:
            until(lambda: _answers(address, certificate))
            yield Registry(address, certificate)
        finally:
            process.terminate()


def _answers(address: str, certificate: Path) -> bool:
    try:
        urlopen(f"https://{address}/v2/", context=ssl.create_default_context(cafile=str(certificate)), timeout=10).close()
    except (OSError, HTTPException):  # not only URLError: a busy server may be late, or close the connection before it answers
        return False
    return True
