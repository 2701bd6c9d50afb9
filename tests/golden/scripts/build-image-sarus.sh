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
MODAK_IMAGE=pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime

# --- write the recipe, build the image
mkdir -p -- modak-build
cat >modak-build/recipe-d4cf5432ffcc03f1 <<'MODAK_d4cf5432ffcc03f1'
FROM ubuntu:24.04
RUN apt-get update && apt-get install -y --no-install-recommends python3
MODAK_d4cf5432ffcc03f1
command -v podman >/dev/null 2>&1 ||
    modak_stop 71 "podman is not on this node: load the module that provides it, or ask the site which container runtime to use"
command -v sarus >/dev/null 2>&1 ||
    modak_stop 71 "sarus is not on this node: load the module that provides it, or ask the site which container runtime to use"
rm -f -- modak-build/image.tar
podman build -t "${MODAK_IMAGE:?}" -f modak-build/recipe-d4cf5432ffcc03f1 modak-build
podman save -o modak-build/image.tar "${MODAK_IMAGE:?}"
sarus load modak-build/image.tar "${MODAK_IMAGE:?}"
