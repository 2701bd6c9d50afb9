"""The grammars of all values that get into a header line, a path or a command: values are matched, never escaped.

A value that matches its pattern contains no blank, quote, line break or second option, so it cannot add a directive. Patterns are
ASCII on purpose, and match the whole value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, NamedTuple
from urllib.parse import unquote

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, StringConstraints

from modak.text.hosts import count_nodes

_INDICES: Final = r"\[[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*\]"
_NODES: Final = rf"[A-Za-z0-9][A-Za-z0-9._-]*({_INDICES}([A-Za-z0-9._-]+{_INDICES}){{0,3}})?"
"""As Slurm reads them: a name with brackets ends with the last of them."""
_FLAG: Final = "--?[A-Za-z][A-Za-z0-9_-]*"
_SIGNS: Final = "A-Za-z0-9._:,/@%+="
_VALUE: Final = f"[{_SIGNS}-]"
_FIRST: Final = f"-[0-9]|[{_SIGNS}]"
"""How a value behind a blank begins: not like another option."""
PLACEHOLDERS: Final = (
    *("nodes", "ranks", "ranks_per_node", "threads_per_rank", "cores", "cores_per_node", "cores_per_rank"),
    *("cpus", "cpus_per_node", "cpus_per_task", "gpus", "gpus_per_node"),
    *("memory_mib", "memory_mib_per_node", "memory_mib_per_cpu"),
)
"""What the text of a resource directive may name in braces. CPUs are what the scheduler counts: cores, or their hardware threads."""
_FILLED: Final = rf"[\[\]]|\{{({'|'.join(PLACEHOLDERS)})\}}"
_WAITS: Final = r"(?:[a-z]+(?::[A-Za-z0-9_.\[\]-]+)+|singleton)"


class _Grammar(NamedTuple):
    """A pattern for whole values, the most characters, and what is allowed in words."""

    pattern: str
    longest: int
    allowed: str


_GRAMMARS: Final[Mapping[str, _Grammar]] = {
    "name": _Grammar(r"[A-Za-z0-9][A-Za-z0-9._+-]*", 64, "letters, digits and ._+-, a letter or digit first"),
    "account": _Grammar(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*", 64, "letters, digits and _.@-"),
    "constraint": _Grammar(
        r"[A-Za-z0-9_][A-Za-z0-9_.:-]*([&|][A-Za-z0-9_][A-Za-z0-9_.:-]*)*",
        128,
        "features of letters, digits and _.:-, joined by & or |",
    ),
    "nodes": _Grammar(
        rf"{_NODES}(,{_NODES})*",
        1024,
        "host names with commas between them, for instance node1,node[07-12] or x1b[0-1]n[0-3]",
    ),
    "array": _Grammar(
        r"[0-9]{1,7}(-[0-9]{1,7}(:[0-9]{1,7})?)?(,[0-9]{1,7}(-[0-9]{1,7}(:[0-9]{1,7})?)?)*(%[0-9]{1,7})?",
        256,
        "indices, for instance 0-15, 1,3,5 or 0-99:2%10",
    ),
    "dependency": _Grammar(
        rf"{_WAITS}([,?]{_WAITS})*",
        256,
        "TYPE:JOB, for instance afterok:1234 (or singleton)",
    ),
    "email": _Grammar(r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9]", 254, "one address, name@host"),
    "begin": _Grammar(
        r"[0-9]{4}-[0-9][0-9]-[0-9][0-9](T[0-9][0-9]:[0-9][0-9](:[0-9][0-9])?)?|[0-9][0-9]:[0-9][0-9](:[0-9][0-9])?"
        r"|now\+[0-9]{1,6}(minutes|hours|days)?",
        32,
        "2026-01-31T14:00, 14:00 or now+2hours",
    ),
    "variable": _Grammar(r"[A-Za-z_][A-Za-z0-9_]*", 128, "names of environment variables: letters, digits and _"),
    "option": _Grammar(
        r"--?[A-Za-z][A-Za-z0-9_-]*=?|[A-Za-z][A-Za-z0-9_.-]*=",
        64,
        "an option (--batch-size, --batch-size=) or the start of a word (NB=)",
    ),
    "resource": _Grammar(
        r"[A-Za-z][A-Za-z0-9_.@-]*=[A-Za-z0-9][A-Za-z0-9._:/@+-]*",
        256,
        "NAME=VALUE, for instance filesystems=home:eagle or matlab=1",
    ),
    "directive": _Grammar(
        rf"{_FLAG}(={_VALUE}+| ({_FIRST}){_VALUE}*)?",
        200,
        "an option, --name, --name=value or -n value, of letters, digits and ._:,/@%+=-",
    ),
    "resource directive": _Grammar(
        rf"{_FLAG}(=({_VALUE}|{_FILLED})+| ({_FIRST}|{_FILLED})({_VALUE}|{_FILLED})*)?",
        200,
        f"an option, -n value or --name=value, of letters, digits and ._:,/@%+=-[] and {{NAME}}, where NAME is {', '.join(PLACEHOLDERS)}",
    ),
    "launcher option": _Grammar(
        rf"{_FLAG}([= ]({_VALUE}|\$\{{[A-Za-z_][A-Za-z0-9_]*\}})+)?",
        1000,
        "an option, --name=value or -n value, of letters, digits and ._:,/@%+=- and variables: ${NAME}",
    ),
    "module": _Grammar(r"[A-Za-z0-9][A-Za-z0-9._+/-]*", 128, "letters, digits and ._+/-"),
    "path": _Grammar(r"(/[A-Za-z0-9._+@-]+)+/?|/", 512, "an absolute path of letters, digits and ._+@-"),
    "beginning": _Grammar(
        r"([a-z]+:/)?/([A-Za-z0-9._+@:-]+/)*",
        512,
        "the beginning of an address or an absolute path, up to a slash: docker://registry.example.org/ or /apps/images/",
    ),
}

PATTERNS: Final[Mapping[str, str]] = {
    rf"^(?:{one.pattern})$": f"{one.allowed}; at most {one.longest} characters" for one in _GRAMMARS.values()
}
"""What each pattern allows, in words: for messages."""

_DENIED: Final = re.compile(
    r"(?:LD_|BASH|PYTHON|PERL|GIT_|SSH_|SLURM_|SBATCH_|SRUN_|PBS_|DYLD_|APPTAINER|SINGULARITY(?!_DIR$)).*"
    r"|ENV|IFS|PATH|CDPATH|PS4|SHELLOPTS|PROMPT_COMMAND|GLIBC_TUNABLES|GCONV_PATH"
    # programs that scripts call: tar, curl, launchers, runtimes
    r"|TAR_OPTIONS|CURL_HOME|(?:OPAL|PRTE|PMIX)_[A-Z_]*(?:PREFIX|DIR)"
    r"|(?:OMPI|PRTE|PMIX)_MCA_.*(?:agent|path|[rs]sh_args|param_files|file_prefix)"
    r"|(?:I_MPI_)?HYDRA_(?:LAUNCHER|BOOTSTRAP)_EX(?:EC|TRA).*"
    r"|(?:FLUX|LSB|LSF)_.*|CONTAINERS_.*|ENROOT_(?:SYS)?CONF(?:IG)?_PATH"
    # bash's own: it evaluates what some of them are set to as arithmetic, in which $( ) is run, and others cannot be set
    r"|_|S?RANDOM|SECONDS|OPTIND|HISTCMD|LINENO|E?UID|PPID|GROUPS|DIRSTACK|FUNCNAME|EPOCH(?:SECONDS|REALTIME)"
)
_DENIED_VALUE: Final = re.compile(
    r"HOME|XDG_CONFIG_HOME|PWD|OLDPWD|OPENSSL_(?:CONF|ENGINES|MODULES)"  # where programs look for their settings
    r"|OMP_TOOL_LIBRARIES|CUDA_INJECTION64_PATH|FI_PROVIDER_PATH"  # libraries that are loaded into programs
)
"""What the submitter's own value is harmless for, but not one that a request chooses."""
_RESOURCES_OF_FIELDS: Final = frozenset(
    (
        *("select", "place", "nodes", "ncpus", "ngpus", "procs", "mpiprocs", "ompthreads", "mem", "pmem", "vmem", "pvmem"),
        *("walltime", "host", "hostname", "h", "qname", "q", "h_rt", "s_rt", "h_vmem", "gpu", "prologue", "epilogue"),
    )
)
_MOST_NODES: Final = 10_000
UNSOUND: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Not allowed in scripts: control characters, halves of surrogate pairs, and marks that change the order in which a line is displayed."""
ESCAPES: Final = re.compile(rf"\x1b\[[0-9;?]*[A-Za-z]|{UNSOUND.pattern}")
"""What is taken out of programs' output: their colours, as a whole, and what else is unsound."""


def _text(name: str) -> StringConstraints:
    grammar = _GRAMMARS[name]
    return StringConstraints(pattern=rf"^(?:{grammar.pattern})$", max_length=grammar.longest)


def _few_nodes(nodes: str) -> str:
    """Limits the length of the expanded list: ``n[1-999999999]``, or many shorter ranges."""
    try:
        many = count_nodes(nodes) > _MOST_NODES
    except ValueError:
        many = True
    if many:
        raise ValueError(f"ranges of nodes rise, and the list holds at most {_MOST_NODES} nodes")
    return nodes


def _some_indices(array: str) -> str:
    """Refuses descending ranges and steps of 0, which no scheduler accepts."""
    ranges = re.findall(r"([0-9]+)-([0-9]+)", array)
    if any(int(last) < int(first) for first, last in ranges) or re.search(r":0+(?![0-9])", array):
        raise ValueError("ranges of indices rise, by steps of at least 1")
    return array


def indices(array: str) -> tuple[int, int]:
    """The number of jobs in an array, and how many of them may run at once.

    >>> indices("0-99:2%10"), indices("1,3,5")
    ((50, 10), (3, 3))
    """
    ranges, _, most = array.partition("%")
    jobs = 0
    for one in ranges.split(","):
        ends, _, step = one.partition(":")
        first, _, last = ends.partition("-")
        jobs += len(range(int(first), int(last or first) + 1, int(step or 1)))
    return jobs, min(jobs, int(most or 0) or jobs)


def _real_time(text: str) -> str:
    try:
        if not text.startswith("now"):
            datetime.fromisoformat(text if "-" in text else f"2000-01-01T{text}")
    except ValueError:
        raise ValueError(f"allowed: {_GRAMMARS['begin'].allowed}") from None
    return text


def _not_elsewhere(resource: str) -> str:
    name = resource.partition("=")[0]
    if name.lower() in _RESOURCES_OF_FIELDS:  # PBS takes names in any case
        raise ValueError(f"{name} is no resource of the site's own: other fields of job_options and application ask for it")
    return resource


def _harmless(name: str) -> str:
    if _DENIED.fullmatch(name):
        raise ValueError(f"{name} changes what a shell, loader, scheduler or launcher runs; it may not be copied into a job")
    return name


def _settable(name: str) -> str:
    if name.startswith("MODAK_"):
        raise ValueError("MODAK_* are the job script's own variables")
    if _DENIED_VALUE.fullmatch(name):
        raise ValueError(f"{name} changes what programs load or where they look for their settings; a request may not set it")
    return name


def _no_dots(path: str) -> str:
    if ".." in path.split("/"):
        raise ValueError("a path may not hold '..'")
    return path


def sound(text: str) -> str:
    """Text that a script or answer can hold: without :data:`UNSOUND` characters; tab and line feed are allowed."""
    found = None if text.isprintable() else UNSOUND.search(text)  # almost every text is printable, which is quicker to see
    if found:
        raise ValueError(f"character {found.start() + 1}: control characters are not allowed")
    return text


def as_name(text: str) -> str:
    """The text as a name, with a hyphen in place of what a name cannot have; empty if nothing is left.

    >>> as_name("My Solver (v2)")
    'My-Solver-v2'
    """
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text).strip("._+-")[:64]


Name = Annotated[str, _text("name")]
"""Names of systems, partitions, frameworks, images' labels and jobs."""
JobName = Name
Account = Annotated[str, _text("account")]
Constraint = Annotated[str, _text("constraint")]
NodeList = Annotated[str, _text("nodes"), AfterValidator(_few_nodes)]
ArraySpec = Annotated[str, _text("array"), AfterValidator(_some_indices)]
Dependency = Annotated[str, _text("dependency")]
Email = Annotated[str, _text("email")]
BeginTime = Annotated[str, _text("begin"), AfterValidator(_real_time)]
EnvironmentName = Annotated[str, _text("variable")]
DirectiveText = Annotated[str, _text("directive")]
"""An option of a scheduler's header, as a site requires it."""
ResourceText = Annotated[str, _text("resource directive")]
"""An option that asks for a job's nodes, with what the job needs in braces."""
LauncherOption = Annotated[str, _text("launcher option")]
SiteResource = Annotated[str, _text("resource"), AfterValidator(_not_elsewhere)]
"""An amount, or words, of something that the site has named for its scheduler: file systems, licences."""
CopiedName = Annotated[str, _text("variable"), AfterValidator(_harmless)]
"""A variable that a request may copy from the submitter's environment: a name alone, and none that runs code."""
OptionName = Annotated[str, _text("option")]
"""An option of a command that is followed by a value, in the next word or after ``=``."""
SettableName = Annotated[CopiedName, AfterValidator(_settable)]
"""A variable that a request may set: one that it may copy, but no ``MODAK_*`` of the script."""
ModuleName = Annotated[str, _text("module")]
AbsolutePath = Annotated[str, _text("path"), AfterValidator(_no_dots)]
Beginning = Annotated[str, _text("beginning"), AfterValidator(_no_dots)]
"""What an address or path begins with, up to a slash: a host, or a directory."""
SoundText = Annotated[str, AfterValidator(sound)]

_OUTPUT: Final = re.compile(r"(?:[A-Za-z0-9._+]|%[jxAaN])(?:[A-Za-z0-9._+-]|%[jxAaN])*(?:/(?:[A-Za-z0-9._+-]|%[jxAaN])+)*")
IMAGE_SCHEMES: Final = "docker|oras|library|shub|private"
"""Where images are pulled from, as a pattern."""
_OCI: Final = re.compile(
    rf"(?P<scheme>{IMAGE_SCHEMES})://"
    r"(?P<path>(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_REPOSITORY: Final = re.compile(r"[a-z0-9]+(?:(?:[._/]|__|-+)[a-z0-9]+)*")
"""A repository's name according to the OCI distribution specification."""
_SOURCE: Final = re.compile(
    r"https://[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?(?:/[A-Za-z0-9._%+,@-]+)*/?"
    r"|(?:\$\{[A-Z_][A-Z0-9_]*\}/|/|\./)?[A-Za-z0-9._][A-Za-z0-9._+@-]*(?:/[A-Za-z0-9._+@-]+)*/?"
)
SQUASHFS_ENDINGS: Final = (".sqfs", ".sqsh")
"""Of an image's SquashFS file, as Charliecloud and Enroot call it."""
IMAGE_ENDINGS: Final = (".sif", ".simg", *SQUASHFS_ENDINGS)
"""Of files that hold an image."""
_IMAGE_FILE: Final = re.compile(
    rf"/?[A-Za-z0-9_][A-Za-z0-9._+-]*(?:/\.?[A-Za-z0-9_][A-Za-z0-9._+-]*)*(?:{'|'.join(map(re.escape, IMAGE_ENDINGS))})"
)
"""A directory may be hidden (``.local``); ``..`` is none."""


def is_image_file(text: str) -> bool:
    """Whether a text is the path of an image file that a job script may name.

    >>> is_image_file("/home/ada/.local/share/modak/images/x.sif"), is_image_file("../x.sif"), is_image_file("a b.sif")
    (True, False, False)
    """
    return bool(_IMAGE_FILE.fullmatch(text))


def _output(path: str) -> str:
    """A relative path of letters, digits and ``._+-``, with the schedulers' ``%j %x %A %a %N`` as the only expansions."""
    if len(path) > 256 or not _OUTPUT.fullmatch(path):
        raise ValueError("allowed: a relative path of letters, digits, '._+-/' and %j, %x, %A, %a, %N")
    return _no_dots(path)


def _reference(text: str) -> str:
    found = _OCI.fullmatch(text) if len(text) <= 512 else None
    if found is None and (len(text) > 512 or not _IMAGE_FILE.fullmatch(text)):
        raise ValueError(
            "an image is 'docker://repository/name:tag' (or oras, library, shub, private) or a file NAME.sif, NAME.sqfs or NAME.sqsh; for "
            "Charliecloud's directory NAME write NAME.sif"
        )
    path = found["path"] if found and found["scheme"] in ("docker", "oras") else None
    if path and not _REPOSITORY.fullmatch(path.removeprefix(f"{registry_host(path)}/")):
        raise ValueError(
            "names in registries are in lower case, with '.', '_' or '-' between letters or digits only: docker://repository/name:tag"
        )
    return text


def _relative(path: str) -> str:
    """A relative path that stays below where it begins."""
    if len(path) > 256 or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._+@-]*(?:/[A-Za-z0-9_][A-Za-z0-9._+@-]*)*/?", path):
        raise ValueError("allowed: a relative path: letters, digits and ._+@- between slashes, for instance data/train")
    return path.rstrip("/")


def _inside(path: str) -> str:
    """A relative path within the job's own directory; ``.`` is the directory itself."""
    return path if path == "." else _relative(path)


_DOUBLED: Final = re.compile(r"(?<!\\)([&~[-])\1")
"""What may once mean something else to Python within brackets, so that it warns: the start of ``[[:digit:].]``, ``[0-9&&]``."""
_BARS: Final = re.compile(r"(?<!\\)\|+")
"""The same of ``[0-9||]``, which is ``[0-9|]``; a backslash between them would make ``||+`` valid, which it is not."""


def _pattern(text: str) -> str:
    """A regular expression for grep -E and bash, with one group for the number; without ``(?`` and backslashed letters, which they lack."""
    common = re.fullmatch(r"[ -~]+", text) and not re.search(r"\(\?|\\[A-Za-z0-9]", text)
    try:
        groups = re.compile(_DOUBLED.sub(r"\1\\\1", _BARS.sub("|", text))).groups if common else 0
    except (re.error, OverflowError):  # the latter of a count that no program takes
        groups = 0
    if groups != 1:
        lacks = r"without '\d' and the like, " if re.search(r"\\[A-Za-z0-9]", text) else ""
        says = f"an extended regular expression, {lacks}with one group around the number, for instance 'throughput: ([0-9.]+)'"
        raise ValueError(f"allowed: {says}")
    return text


def _source(text: str) -> str:
    if len(text) > 512 or not _SOURCE.fullmatch(text):
        raise ValueError("allowed: an https address without user name, query or fragment, or a path (it may begin with ${HOME})")
    _no_dots(unquote(text))  # servers take %2e for a dot
    return text


def _version(text: str) -> str:
    try:
        if re.fullmatch(r"[0-9A-Za-z.+_-]+", text):
            Version(text)
            return text.lstrip("vV")  # that of a release's tag
    except InvalidVersion:
        pass
    raise ValueError(f"{text!a} is not a version; versions look like 2.1 or 1.14.0")


def _version_range(text: str) -> str:
    version_range(text)
    return text


def version_range(text: str) -> SpecifierSet:
    """A version or range of versions: ``2.1`` (that version alone, also as ``v2.1``), ``2.*``, ``>=1.14,<2``.

    >>> version_range("2.1").contains("2.1.0"), version_range("2.1").contains("2.10"), version_range("2.1").contains("2.1.1")
    (True, False, False)
    """
    try:
        if re.fullmatch(r"[0-9A-Za-z.+_*<>=!~, -]+", text) and "===" not in text:  # which compares texts that are no versions
            bare = bool(re.fullmatch(r"[vV]?[0-9][0-9A-Za-z.+_-]*(\.\*)?", text))
            return SpecifierSet(f"=={text}" if bare else text, prereleases=True)
    except InvalidSpecifier:
        pass
    raise ValueError(f"{text!a} is not a version or range; allowed: 2.1, 2.*, >=1.14,<2")


def overlap(first: str, second: str) -> bool:
    """Whether a version can be in both ranges.

    >>> overlap(">=2.0", "<2"), overlap("1.4", "<2"), overlap(">1,<1.5", "<2"), overlap("2.*", ">=2.1"), overlap("!=2.0.*", ">=2.0,<3")
    (False, True, True, True, True)
    """
    ranges = (version_range(first), version_range(second))
    bounds = [Version(one.version.removesuffix(".*")) for each in ranges for one in each]
    above = [f"{bound.base_version}.0.0.1" for bound in bounds]
    after = [f"{bound.epoch}!{'.'.join(map(str, (*bound.release[:-1], bound.release[-1] + 1)))}" for bound in bounds]
    # the lowest version in both is 0, a bound, what is just above one, or what follows all that begin with one (!=2.0.*)
    able = (Version("0"), *bounds, *map(Version, (*above, *after)))
    return any(all(each.contains(version) for each in ranges) for version in able)


OutputPath = Annotated[str, AfterValidator(_output)]
SourceText = Annotated[str, AfterValidator(_source)]
"""Where sources are fetched or copied from: one word for :func:`modak.text.words.parse`."""
RelativePath = Annotated[str, AfterValidator(_relative)]
InsidePath = Annotated[str, AfterValidator(_inside)]
MetricPattern = Annotated[str, StringConstraints(max_length=200), AfterValidator(_pattern)]
ImageReference = Annotated[str, AfterValidator(_reference)]
VersionText = Annotated[str, StringConstraints(max_length=64), AfterValidator(_version)]
VersionRange = Annotated[str, StringConstraints(max_length=64), AfterValidator(_version_range)]


def registry_host(name: str) -> str:
    """The host at the beginning of an image's name, which container runtimes take it for; empty: it is a name on Docker Hub.

    >>> registry_host("localhost:5000/solver:1"), registry_host("pytorch/pytorch:2.8.0"), registry_host("ubuntu:24.04")
    ('localhost:5000', '', '')
    """
    first, slash, _ = name.partition("/")
    return first if slash and (first == "localhost" or "." in first or ":" in first) else ""


def image_file(reference: str) -> str:
    """The file name that callers expect an image under: last path segment, ``:`` as ``_``, with ``.sif``.

    >>> image_file("docker://tensorflow/tensorflow:2.1.0-gpu")
    'tensorflow_2.1.0-gpu.sif'
    """
    if reference.endswith(IMAGE_ENDINGS):
        return reference.rsplit("/", 1)[-1]
    last = reference.split("://", 1)[-1].split("@", 1)[0].rsplit("/", 1)[-1]
    return last.replace(":", "_") + ".sif"
