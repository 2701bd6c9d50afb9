"""Bundles that somebody has turned around: refused in one line, and no file comes of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from modak.builds.bundle import MOST_TEXT, SUMS, is_bundle, pack, unpack
from modak.errors import Conflict, DataError, RequestError
from modak.facts import Image
from tests.conftest import Run

IMAGE = b"x" * 1000
ENTRY = {
    "reference": "x.sif",
    "labels": {"framework": "tensorflow", "version": "2.1", "source": "hub"},
    "digest": f"sha256:{hashlib.sha256(IMAGE).hexdigest()}",
    "source": "a test",
}
HUGE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "x.sif", "GNU.sparse.realsize": str(1 << 40)}
WRONG = HUGE | {"GNU.sparse.realsize": "many"}


def bundle(file: Path, entry: bytes | None = None, content: bytes = IMAGE, called: str = "x.sif", **told: object) -> None:
    """A bundle whose last member, the image, is told to be something else."""
    entry = json.dumps(ENTRY | {"reference": called}).encode() if entry is None else entry
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in ((called, IMAGE), ("entry.json", entry)))
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in (("entry.json", entry), ("SHA256SUMS", sums.encode()), (called, content)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for key, value in told.items() if name == called else ():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(data))


def bring(file: Path, folder: Path) -> str:
    """Bring a bundle's image into a folder; what it is called."""
    image, settle = unpack(file, folder)
    with settle:
        return image.reference


def test_a_bundle_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """Also where not even its folder is one."""
    image = tmp_path / "x.sif"
    image.write_bytes(IMAGE)
    with pytest.raises(RequestError, match=r"cannot be written: "):
        pack(Image.model_validate(ENTRY), image, "", image / "x.tar")


def packed(file: Path) -> None:
    """A bundle as a gzip file."""
    bundle(file)
    file.write_bytes(gzip.compress(file.read_bytes()))


def cut(file: Path) -> None:
    """Half a bundle."""
    bundle(file)
    file.write_bytes(file.read_bytes()[:2900])


def altered(file: Path) -> None:
    """A bundle of which somebody has changed the entry, but not its checksum."""
    bundle(file)
    file.write_bytes(file.read_bytes().replace(b"tensorflow", b"tensorfl0w"))


SPARSE = b"1\n0\n1\n".ljust(512, b"\0") + b"y".ljust(512, b"\0")
TURNED: dict[str, tuple[Callable[[Path], None], str]] = {
    "an entry of a hundred thousand levels": (lambda file: bundle(file, b"[" * 100_000), "entry.json is no JSON document"),
    "a terabyte in a kilobyte": (lambda file: bundle(file, content=SPARSE, pax_headers=HUGE), "x.sif is missing"),
    "a size that is no number": (lambda file: bundle(file, content=SPARSE, pax_headers=WRONG), "is not a bundle|x.sif is missing"),
    "a link to a file of the machine": (
        lambda file: bundle(file, content=b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        "x.sif is missing",
    ),
    "a device": (lambda file: bundle(file, content=b"", type=tarfile.CHRTYPE), "x.sif is missing"),
    "a path out of the folder": (lambda file: bundle(file, called=str(file.with_name("x.sif"))), "the reference is no file's name"),
    "another image than its digest says": (lambda file: bundle(file, content=b"y" * len(IMAGE)), "x.sif is damaged: sha256:"),
    "another entry than its checksum says": (altered, "entry.json is missing or is not what SHA256SUMS says"),
    "an entry that would fill the memory": (lambda file: bundle(file, b" " * (MOST_TEXT + 1)), "contains no entry.json"),
    "packed": (packed, "unpack a compressed one first"),
    "cut off": (cut, "is not a bundle"),
}


@pytest.mark.parametrize("what", TURNED)
def test_a_bundle_that_was_turned_around_is_refused(tmp_path: Path, what: str) -> None:
    """Nothing of it is written; what it is said to hold is not either."""
    make, why = TURNED[what]
    file, folder = tmp_path / "b.tar", tmp_path / "images"
    make(file)
    with pytest.raises(DataError, match=why):
        bring(file, folder)
    assert not folder.exists() or not any(folder.iterdir())
    assert not (tmp_path / "x.sif").exists()


def test_a_bundle_brings_its_image(tmp_path: Path) -> None:
    """The same bundle, as it should be: a file that everybody may read, whatever the umask of who brings it."""
    bundle(tmp_path / "b.tar")
    assert is_bundle(tmp_path / "b.tar")
    before = os.umask(0o077)
    try:
        assert bring(tmp_path / "b.tar", tmp_path / "images") == "x.sif"
    finally:
        os.umask(before)
    image = tmp_path / "images/x.sif"
    assert (image.read_bytes(), image.stat().st_mode & 0o777) == (IMAGE, 0o644)


def test_what_is_packed_comes_out_as_it_was(tmp_path: Path) -> None:
    """The image and its entry, under the file's name, beside the recipe; the same image and recipe make the same bundle."""
    file, (one, again) = tmp_path / "x.sif", (tmp_path / "one.tar", tmp_path / "again.tar")
    file.write_bytes(IMAGE)
    image = Image.model_validate(ENTRY | {"reference": "/images/x.sif", "digest": None})
    for output in (one, again):
        assert pack(image, file, "FROM a/b:1\n", output)["recipe"] is True
    assert one.read_bytes() == again.read_bytes()
    with tarfile.open(one) as packed:
        assert packed.getnames() == ["entry.json", "recipe", SUMS, "x.sif"]
    found, settle = unpack(one, tmp_path / "there")
    with settle:
        assert found == Image.model_validate(ENTRY)
    assert (tmp_path / "there/x.sif").read_bytes() == IMAGE


def test_another_file_than_the_catalogues_is_not_packed(tmp_path: Path) -> None:
    """It says which one it is, and no bundle is begun."""
    (tmp_path / "x.sif").write_bytes(b"another")
    with pytest.raises(Conflict, match=r"x\.sif is not the file in the catalogue: sha256:[0-9a-f]{64} instead of sha256:"):
        pack(Image.model_validate(ENTRY), tmp_path / "x.sif", "", tmp_path / "out.tar")
    assert not (tmp_path / "out.tar").exists()


def test_a_bundle_replaces_no_other_image(tmp_path: Path) -> None:
    """Jobs may be running in the one of that name."""
    bundle(tmp_path / "b.tar")
    (tmp_path / "images").mkdir()
    (tmp_path / "images/x.sif").write_bytes(b"another")
    with pytest.raises(Conflict, match="another image is called"):
        bring(tmp_path / "b.tar", tmp_path / "images")
    assert [(file.name, file.read_bytes()) for file in (tmp_path / "images").iterdir()] == [("x.sif", b"another")]


def test_the_command_adds_a_bundles_image(own: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file goes into the folder of images, and the catalogue names it there; with --replace also where it is already."""
    monkeypatch.setenv("MODAK_IMAGES_DIR", str(tmp_path / "images"))
    bundle(tmp_path / "b.tar")
    place = tmp_path / "images/x.sif"
    assert own("images", "add", tmp_path / "b.tar").out == f"image {place} is in the database\n"
    assert place.read_bytes() == IMAGE
    assert json.loads(own("images", "show", place).out)["digest"] == ENTRY["digest"]
    assert own("images", "add", tmp_path / "b.tar", "--replace").status == 0
