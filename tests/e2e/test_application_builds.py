"""Applications that are built before they run: on one node, in the container, from Git and from an archive over HTTPS."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import images
from tests.e2e.slurm import Slurm
from tests.e2e.test_scripts_for_real import answered, ran, system

COMPILER = """#!/bin/sh
exec >"$2" && chmod +x "$2" && echo '#!/bin/sh' && cat "$1"
"""
"""What stands in for a compiler, in the image alone: it makes a program of its source."""


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a word on the error stream."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A folder with an application's source, as a Git repository."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "hello.src").write_text('echo "built and run with $(cat jobs)"\n')
    (code / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("built and run"); return 0; }\n')
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(code)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    return code


class Git(Quiet):
    """Git repositories of a folder, by Git's own server."""

    def do_GET(self) -> None:
        """What git asks before, and what it fetches by."""
        path, _, query = self.path.partition("?")
        told = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.directory, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path}
        asked = {"REQUEST_METHOD": self.command, "QUERY_STRING": query, "CONTENT_TYPE": self.headers.get("Content-Type", "")}
        encoding = {"HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        done = subprocess.run(["git", "http-backend"], input=body, env=told | asked | encoding, capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET  # noqa: N815 - what http.server calls


@contextmanager
def over_https(folder: Path, kind: type[SimpleHTTPRequestHandler]) -> Iterator[tuple[str, Path]]:
    """The address of a folder, and the certificate of who serves it."""
    certificate, key = folder.with_name("certificate"), folder.with_name("key")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    new = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names, "-keyout", key, "-out", certificate)
    subprocess.run(new, check=True, capture_output=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(kind, directory=str(folder)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://localhost:{server.server_port}", certificate
    server.shutdown()
    server.server_close()


@pytest.fixture
def served(sources: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of the sources as an archive, and the certificate of who serves it."""
    (tmp_path / "served").mkdir()
    with tarfile.open(tmp_path / "served/code.tar.gz", "w:gz") as archive:
        archive.add(sources / "hello.src", "code-1.0/hello.src")
    with over_https(tmp_path / "served", Quiet) as (address, certificate):
        yield f"{address}/code.tar.gz", certificate


@pytest.fixture
def compiler_image(tmp_path: Path) -> Path:
    """An image, as the directory ``compiler`` (and ``compiler.sif`` for Apptainer), with bash and the compiler above."""
    folder = images.busybox(tmp_path / "images/compiler")
    shutil.copy("/bin/bash", folder / "bin/bash")
    images.add_libraries(folder, Path("/bin/bash"))
    (folder / "opt/compile").write_text(COMPILER)
    (folder / "opt/compile").chmod(0o755)
    folder.with_suffix(".sif").symlink_to(folder.name)
    return folder


def request(src: str, runtime: str, command: str = "/opt/compile hello.src hello") -> dict[str, Any]:
    """Build it, then run it on two nodes."""
    command += "\necho {{BUILD_PARALLELISM}} processes >jobs"
    return {
        "application": {
            "app_tag": "hello",
            "app_type": "mpi",
            "executable": "sh -c 'cd code && ./hello'",
            "container_runtime": "compiler.sif",
            "build": {"src": src, "build_command": command, "build_parallelism": 2},
        },
        "job_options": {"node_count": 2, "process_count_per_node": 1, "wall_time_limit": 300},
        "target": {"name": "throwaway", "container_runtime": runtime},
    }


def built(slurm: Slurm, texts: Any, folder: Path) -> Any:
    """The build script's job."""
    (folder / "build.sh").write_text(texts.build_script)
    return slurm.submit(folder / "build.sh", folder)


def test_from_git_with_the_nodes_own_compiler(slurm: Slurm, sources: Path, tmp_path: Path) -> None:
    """No container: real C, one process a node runs what was made."""
    texts = answered(system("mpich"), request(f"{sources}/.git", "none", "cc -o hello hello.c"))
    place = tmp_path / "work"
    place.mkdir()
    first = built(slurm, texts, place)
    assert (first.state, (place / "code/jobs").read_text()) == ("COMPLETED", "2 processes\n"), first
    job = ran(slurm, texts, place)
    assert (job.state, job.output.count("built and run")) == ("COMPLETED", 2), job


def test_from_git_in_apptainer(slurm: Slurm, apptainer: Path, sources: Path, compiler_image: Path, tmp_path: Path) -> None:
    """Cloned once, compiled by what the image holds; a second build clones nothing."""
    texts = answered(system("mpich"), request(f"{sources}/.git", "apptainer"))
    user, place = slurm.knowing(SINGULARITY_DIR=compiler_image.parent), tmp_path / "work"
    place.mkdir()
    first = built(user, texts, place)
    assert first.state == "COMPLETED", first
    assert "srun" not in texts.build_script
    job = ran(user, texts, place)
    assert (job.state, job.output.count("built and run with 2 processes\n")) == ("COMPLETED", 2), job
    shutil.rmtree(sources)
    again = built(user, texts, place)
    assert again.state == "COMPLETED", again


def test_from_an_archive_in_charliecloud(
    slurm: Slurm, ch_run: Path, served: tuple[str, Path], compiler_image: Path, tmp_path: Path
) -> None:
    """Over HTTPS, from a server whose certificate is known."""
    address, certificate = served
    texts = answered(system("mpich"), request(address, "charliecloud"))
    place = tmp_path / "work"
    place.mkdir()
    user = slurm.knowing(SINGULARITY_DIR=compiler_image.parent)
    refused = built(user, texts, place)
    assert (refused.state, "certificate" in refused.output, (place / "code").exists()) == ("FAILED", True, False), refused
    first = built(user.knowing(CURL_CA_BUNDLE=certificate), texts, place)
    assert first.state == "COMPLETED", first
    job = ran(user, texts, place)
    assert (job.state, job.output.count("built and run with 2 processes\n")) == ("COMPLETED", 2), job


def test_a_repository_comes_with_its_submodules(slurm: Slurm, sources: Path, tmp_path: Path) -> None:
    """Over HTTPS, also where their address is relative, and those of submodules."""
    folder = tmp_path / "repositories"
    folder.mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always", "-C"]
    shutil.copytree(sources, tmp_path / "library")
    shutil.copytree(sources, tmp_path / "app")
    for holder, held in (("library", "code"), ("app", "library")):
        subprocess.run(["git", "clone", "-q", "--bare", tmp_path / held, folder / f"{held}.git"], check=True)
        subprocess.run([*git, tmp_path / holder, "remote", "add", "origin", folder / f"{holder}.git"], check=True)
        subprocess.run([*git, tmp_path / holder, "submodule", "--quiet", "add", f"../{held}.git", "lib"], check=True)
        subprocess.run([*git, tmp_path / holder, "commit", "-q", "-m", "with its library"], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", tmp_path / "app", folder / "app.git"], check=True)
    place = tmp_path / "work"
    place.mkdir()
    with over_https(folder, Git) as (address, certificate):
        texts = answered(system("mpich"), request(f"{address}/app.git", "none", "cc -o hello lib/lib/hello.c"))
        done = built(slurm.knowing(GIT_SSL_CAINFO=certificate), texts, place)
    assert (done.state, (place / "app/hello").exists()) == ("COMPLETED", True), done
