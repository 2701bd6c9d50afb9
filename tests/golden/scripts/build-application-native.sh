#!/bin/bash
# written by MODAK
# submit: bash FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
export BUILD_PARALLELISM=16

# --- fetch the sources, unless they are there
modak_fetch() {
    MODAK_PART="$(mktemp -u -- solver-2.1.part.XXXXXX)" &&
    mkdir -- "${MODAK_PART:?}" &&
    tar -x -f "${HOME:?}"/code/solver-2.1.tar.gz -C "${MODAK_PART:?}" --strip-components=1 &&
    mv -T -- "${MODAK_PART:?}" solver-2.1
}
test -d solver-2.1 || modak_fetch ||
    modak_stop 80 "the sources could not be fetched: check that they exist, and that this node can reach them"
cd -- solver-2.1

# --- the build command
cat >modak-build.sh <<'MODAK_16a0225344aaef73'
./configure
make
MODAK_16a0225344aaef73
bash -e modak-build.sh
