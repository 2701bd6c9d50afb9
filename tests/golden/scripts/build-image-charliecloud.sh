#!/bin/bash
#SBATCH --job-name=3dgan-build
#SBATCH --account=pr12ab
#SBATCH --partition=general
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=48
#SBATCH --hint=nomultithread
#SBATCH --time=02:00:00
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user=someone@example.org
#SBATCH --export=NONE
#SBATCH --get-user-env
# written by MODAK
# submit: sbatch FILE, from the folder of the program's files: relative paths start there
# plan 0123456789abcdef0123

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SLURM_SUBMIT_DIR:-.}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- modules
command -v module >/dev/null 2>&1 ||
    modak_stop 70 "this job has no module command: let the system file name the file that defines it (module_init)"
module load slurm_setup ||
    modak_stop 70 "module slurm_setup could not be loaded: module avail lists the modules of this system"
module load charliecloud ||
    modak_stop 70 "module charliecloud could not be loaded: module avail lists the modules of this system"

# --- environment
export BUILD_PARALLELISM=48

# --- the image
export USER="${USER:-$(id -un)}"
MODAK_IMAGE="${CHARLIECLOUD_DIR:-${SINGULARITY_DIR:-${PWD}}}"/3dgan_1.11

# --- write the recipe, build the image
mkdir -p -- modak-build
cat >modak-build/recipe-d4cf5432ffcc03f1 <<'MODAK_d4cf5432ffcc03f1'
FROM ubuntu:24.04
RUN apt-get update && apt-get install -y --no-install-recommends python3
MODAK_d4cf5432ffcc03f1
command -v ch-image >/dev/null 2>&1 ||
    modak_stop 71 "ch-image is not on this node: load the module that provides it, or ask the site which container runtime to use"
ch-image build --force -t 3dgan_1.11 -f modak-build/recipe-d4cf5432ffcc03f1 modak-build
MODAK_PART="$(mktemp -u -- "${MODAK_IMAGE:?}.part.XXXXXX")"
ch-convert -i ch-image -o dir 3dgan_1.11 "${MODAK_PART:?}"
mv -f -T --backup=numbered -- "${MODAK_PART:?}" "${MODAK_IMAGE:?}"
