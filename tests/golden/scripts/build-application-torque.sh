#!/bin/bash
#PBS -S /bin/bash
#PBS -N lammps-build
#PBS -q default
#PBS -l nodes=1:ppn=20
#PBS -l walltime=02:00:00
# written by MODAK
# image: singularity pull lammps_2024.sif library://example/lammps:2024 fetches it
# submit: qsub FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${PBS_O_WORKDIR:-.}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- modules
test -r /etc/profile.d/modules.sh ||
    modak_stop 70 "/etc/profile.d/modules.sh is not on this node: it defines the module command"
# shellcheck source=/dev/null
. /etc/profile.d/modules.sh || :
module load singularity ||
    modak_stop 70 "module singularity could not be loaded: module avail lists the modules of this system"

# --- environment
export BUILD_PARALLELISM=16

# --- the image
MODAK_IMAGE="${SINGULARITY_DIR:-${PWD}}"/lammps_2024.sif

# --- checks
command -v singularity >/dev/null 2>&1 ||
    modak_stop 71 "singularity is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -r "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: singularity pull lammps_2024.sif library://example/lammps:2024 fetches it, or set SINGULARITY_DIR to its directory"
test -e /scratch ||
    modak_stop 78 "/scratch is not on this node, but has to be bound into the container: is its file system mounted?"

# --- fetch the sources, unless they are there
modak_fetch() {
    MODAK_PART="$(mktemp -u -- solver.part.XXXXXX)" &&
    git -c protocol.allow=never -c protocol.https.allow=always -c http.sslVerify=true clone --depth 1 -- https://example.org/code/solver.git "${MODAK_PART:?}" &&
    git -c protocol.allow=never -c protocol.https.allow=always -c http.sslVerify=true -C "${MODAK_PART:?}" submodule --quiet update --init --recursive &&
    mv -T -- "${MODAK_PART:?}" solver
}
test -d solver || modak_fetch ||
    modak_stop 80 "the sources could not be fetched: check that they exist, and that this node can reach them. Submodules of a repository are fetched over HTTPS only; for others, give a directory that contains them"
cd -- solver

# --- the build command, inside the container
cat >modak-build.sh <<'MODAK_5077d773e153a02b'
make -j ${BUILD_PARALLELISM:?} && make 'install'
MODAK_5077d773e153a02b
singularity exec --bind /scratch "${MODAK_IMAGE:?}" \
    bash -e modak-build.sh
