"""MPI libraries that a recipe can install: families, released versions, and the checksums of their sources.

Checksums: Spack's package files (spack/spack-packages) and Homebrew's formulas, which repeat what the projects publish.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from packaging.version import Version

from modak.text.grammar import version_range

OPENMPI: Final[Mapping[str, str]] = {
    "5.0.11": "e668a3c4acd50c41dc204c8a6dd98a611e0f26af89cf677577fa9be8a2698003",
    "5.0.10": "0acecc4fc218e5debdbcb8a41d182c6b0f1d29393015ed763b2a91d5d7374cc6",
    "5.0.9": "dfb72762531170847af3e4a0f21d77d7b23cf36f67ce7ce9033659273677d80b",
    "5.0.8": "53131e1a57e7270f645707f8b0b65ba56048f5b5ac3f68faabed3eb0d710e449",
    "5.0.7": "119f2009936a403334d0df3c0d74d5595a32d99497f9b1d41e90019fee2fc2dd",
    "5.0.6": "bd4183fcbc43477c254799b429df1a6e576c042e74a2d2f8b37d537b2ff98157",
    "5.0.5": "6588d57c0a4bd299a24103f4e196051b29e8b55fbda49e11d5b3d32030a32776",
    "5.0.4": "64526852cdd88b2d30e022087c16ab3e03806c451b10cd691d5c1ac887d8ef9d",
    "5.0.3": "990582f206b3ab32e938aa31bbf07c639368e4405dca196fabe7f0f76eeda90b",
    "5.0.2": "ee46ad8eeee2c3ff70772160bff877cbf38c330a0bc3b3ddc811648b3396698f",
    "5.0.1": "e357043e65fd1b956a47d0dae6156a90cf0e378df759364936c1781f1a25ef80",
    "5.0.0": "9d845ca94bc1aeb445f83d98d238cd08f6ec7ad0f73b0f79ec1668dbfdacd613",
    "4.1.8": "466f68e3132a1dc02710cc2011fafced8336d98359fa2dae4dddcfd5719f12a9",
    "4.1.7": "54a33cb7ad81ff0976f15a6cc8003c3922f0f3d8ceed14e1813ef3603f22cd34",
    "4.1.6": "f740994485516deb63b5311af122c265179f5328a0d857a567b85db00b11e415",
    "4.1.5": "a640986bc257389dd379886fdae6264c8cfa56bc98b71ce3ae3dfbd8ce61dbe3",
    "4.1.4": "92912e175fd1234368c8730c03f4996fe5942e7479bb1d10059405e7f2b3930d",
    "4.1.3": "3d81d04c54efb55d3871a465ffb098d8d72c1f48ff1cbaf2580eb058567c0a3b",
    "4.1.2": "9b78c7cf7fc32131c5cf43dd2ab9740149d9d87cadb2e2189f02685749a6b527",
    "4.1.1": "e24f7a778bd11a71ad0c14587a7f5b00e68a71aa5623e2157bafee3d44c07cda",
    "4.1.0": "73866fb77090819b6a8c85cb8539638d37d6877455825b74e289d647a39fd5b5",
    "4.0.7": "7d3ecc8389161eb721982c855f89c25dca289001577a01a439ae97ce872be997",
    "4.0.6": "94b7b59ae9860f3bd7b5f378a698713e7b957070fdff2c43453b6cbf8edb410c",
    "4.0.5": "c58f3863b61d944231077f344fe6b4b8fbb83f3d1bc93ab74640bf3e5acac009",
    "4.0.4": "47e24eb2223fe5d24438658958a313b6b7a55bb281563542e1afc9dec4a31ac4",
    "4.0.3": "1402feced8c3847b3ab8252165b90f7d1fa28c23b6b2ca4632b6e4971267fd03",
    "4.0.2": "900bf751be72eccf06de9d186f7b1c4b5c2fa9fa66458e53b77778dffdfe4057",
    "4.0.1": "cce7b6d20522849301727f81282201d609553103ac0b09162cf28d102efb9709",
    "4.0.0": "2f0b8a36cfeb7354b45dda3c5425ef8393c9b04115570b615213faaa3f97366b",
    "3.1.6": "50131d982ec2a516564d74d5616383178361c2f08fdd7d1202b80bdf66a0d279",
    "3.1.5": "fbf0075b4579685eec8d56d34d4d9c963e6667825548554f5bf308610af72133",
    "3.1.4": "17a69e0054db530c7dc119f75bd07d079efa147cf94bf27e590905864fe379d6",
    "3.1.3": "8be04307c00f51401d3fb9d837321781ea7c79f2a5a4a2e5d4eaedc874087ab6",
    "3.1.2": "c654ed847f34a278c52a15c98add40402b4a90f0c540779f1ae6c489af8a76c5",
    "3.1.1": "3f11b648dd18a8b878d057e9777f2c43bf78297751ad77ae2cef6db0fe80c77c",
    "3.1.0": "b25c044124cc859c0b4e6e825574f9439a51683af1950f6acda1951f5ccdf06c",
    "3.0.5": "f8976b95f305efc435aa70f906b82d50e335e34cffdbf5d78118a507b1c6efe8",
    "3.0.4": "2ff4db1d3e1860785295ab95b03a2c0f23420cda7c1ae845c419401508a3c7b5",
    "3.0.3": "fb228e42893fe6a912841a94cd8a0c06c517701ae505b73072409218a12cf066",
    "3.0.2": "d2eea2af48c1076c53cabac0a1f12272d7470729c4e1cb8b9c2ccd1985b2fb06",
    "3.0.1": "663450d1ee7838b03644507e8a76edfb1fba23e601e9e0b5b2a738e54acd785d",
    "3.0.0": "f699bff21db0125d8cccfe79518b77641cd83628725a1e1ed3e45633496a82d7",
}
MPICH: Final[Mapping[str, str]] = {
    "5.0.2": "928c2f18d350a91443fe8024ad01ce2c6009e9c551e0a73e797fc567f119137d",
    "5.0.1": "8c1832a13ddacf071685069f5fadfd1f2877a29e1a628652892c65211b1f3327",
    "5.0.0": "e9350e32224283e95311f22134f36c98e3cd1c665d17fae20a6cc92ed3cffe11",
    "4.3.2": "47d774587a7156a53752218c811c852e70ac44db9c502dc3f399b4cb817e3818",
    "4.3.1": "acc11cb2bdc69678dc8bba747c24a28233c58596f81f03785bf2b7bb7a0ef7dc",
    "4.3.0": "5e04132984ad83cab9cc53f76072d2b5ef5a6d24b0a9ff9047a8ff96121bcc63",
    "4.2.3": "7a019180c51d1738ad9c5d8d452314de65e828ee240bcb2d1f80de9a65be88a8",
    "4.2.2": "883f5bb3aeabf627cb8492ca02a03b191d09836bbe0f599d8508351179781d41",
    "4.2.1": "23331b2299f287c3419727edc2df8922d7e7abbb9fd0ac74e03b9966f9ad42d7",
    "4.2.0": "a64a66781b9e5312ad052d32689e23252f745b27ee8818ac2ac0c8209bc0b90e",
    "4.1.2": "3492e98adab62b597ef0d292fb2459b6123bc80070a8aa0a30be6962075a12f0",
    "4.1.1": "ee30471b35ef87f4c88f871a5e2ad3811cd9c4df32fd4f138443072ff4284ca2",
    "4.1": "8b1ec63bc44c7caa2afbb457bc5b3cd4a70dbe46baba700123d67c48dc5ab6a0",
    "4.0.3": "17406ea90a6ed4ecd5be39c9ddcbfac9343e6ab4f77ac4e8c5ebe4a3e3b6c501",
    "4.0.2": "5a42f1a889d4a2d996c26e48cbf9c595cbf4316c6814f7c181e3320d21dedd42",
    "4.0.1": "66a1fe8052734af2eb52f47808c4dfef4010ceac461cb93c42b99acfb1a43687",
    "4.0": "df7419c96e2a943959f7ff4dc87e606844e736e30135716971aba58524fbff64",
    "3.4.3": "8154d89f3051903181018166678018155f4c2b6f04a9bb6fe9515656452c4fd7",
    "3.4.2": "5c19bea8b84e8d74cca5f047e82b147ff3fba096144270e3911ad623d6c587bf",
    "3.4.1": "8836939804ef6d492bcee7d54abafd6477d2beca247157d92688654d13779727",
    "3.4": "ce5e238f0c3c13ab94a64936060cff9964225e3af99df1ea11b130f20036c24b",
    "3.3.2": "4bfaf8837a54771d3e4922c84071ef80ffebddbb6971a006038d91ee7ef959b9",
    "3.3.1": "fe551ef29c8eea8978f679484441ed8bb1d943f6ad25b63c235d4b9243d551e5",
    "3.3": "329ee02fe6c3d101b6b30a7b6fb97ddf6e82b28844306771fa9dd8845108fa0b",
    "3.2.1": "5db53bf2edfaa2238eb6a0a5bc3d2c2ccbfbb1badd79b664a1a919d2ce2330f1",
    "3.2": "0778679a6b693d7b7caff37ff9d2856dc2bfc51318bf8373859bfa74253da3dc",
    "3.1.4": "f68b5330e94306c00ca5a1c0e8e275c7f53517d01d6c524d51ce9359d240466b",
    "3.1.3": "afb690aa828467721e9d9ab233fe00c68cae2b7b930d744cb5f7f3eb08c8602c",
    "3.1.2": "37c3ba2d3cd3f4ea239497d9d34bd57a663a34e2ea25099c2cbef118c9156587",
    "3.1.1": "455ccfaf4ec724d2cf5d8bff1f3d26a958ad196121e7ea26504fd3018757652d",
    "3.1": "fcf96dbddb504a64d33833dc455be3dda1e71c7b3df411dfcf9df066d7c32c39",
}


@dataclass(frozen=True)
class Library:
    """A family: its default version, the range of versions that can be installed, and its known releases."""

    default: str
    versions: str
    address: str = ""
    """The address of its sources, with ``{version}`` and ``{series}``; empty: it is installed from packages, one for each series."""
    releases: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Released version -> SHA-256 of its sources."""

    def pinned(self, asked: str | None = None) -> str | None:
        """The release for a version; ``None``: there is none that can be installed.

        ``5.0`` is 5.0.0, under the name of its release. A version of three numbers need not be a known release.

        >>> LIBRARIES["openmpi"].pinned("5.0"), LIBRARIES["mpich"].pinned("4.1"), LIBRARIES["openmpi"].pinned("5.7")
        ('5.0.0', '4.1', None)
        """
        wanted = Version(asked or self.default)
        if not version_range(self.versions).contains(wanted):
            return None
        if not self.address:
            return f"{wanted.major}.{wanted.minor}"
        same = next((known for known in self.releases if Version(known) == wanted), None)
        return same or (str(wanted) if len(wanted.release) > 2 else None)

    def sources(self) -> Mapping[str, str]:
        """Address of each known release's sources -> SHA-256."""
        return {self.source(version): known for version, known in self.releases.items()}

    def source(self, version: str) -> str:
        """The address of a release's sources."""
        return self.address.format(version=version, series=".".join(version.split(".")[:2]))


LIBRARIES: Final[Mapping[str, Library]] = {
    "openmpi": Library("4.1.8", ">=3,<6", "https://www.open-mpi.org/software/ompi/v{series}/downloads/openmpi-{version}.tar.bz2", OPENMPI),
    "mpich": Library("4.2.3", ">=3.1,<6", "https://www.mpich.org/static/downloads/{version}/mpich-{version}.tar.gz", MPICH),
    "intel-mpi": Library("2021.14", ">=2021.1,<2022"),
}
