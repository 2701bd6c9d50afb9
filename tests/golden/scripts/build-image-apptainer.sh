#!/bin/bash
#SBATCH --job-name=resnet50-build
#SBATCH --partition=gpu
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=64
#SBATCH --time=02:00:00
# written by MODAK
# submit: sbatch FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SLURM_SUBMIT_DIR:-.}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
export BUILD_PARALLELISM=64

# --- the image
MODAK_IMAGE="${SINGULARITY_DIR:-${PWD}}"/pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif

# --- write the recipe, build the image
mkdir -p -- modak-build
cat >modak-build/recipe-7409c52773266818 <<'MODAK_7409c52773266818'
Bootstrap: docker
From: ubuntu:24.04
MODAK_7409c52773266818
command -v apptainer >/dev/null 2>&1 ||
    modak_stop 71 "apptainer is not on this node: load the module that provides it, or ask the site which container runtime to use"
MODAK_PART="$(mktemp -u -- "${MODAK_IMAGE:?}.part.XXXXXX")"
apptainer build --fakeroot "${MODAK_PART:?}" modak-build/recipe-7409c52773266818
mv -f -- "${MODAK_PART:?}" "${MODAK_IMAGE:?}"
