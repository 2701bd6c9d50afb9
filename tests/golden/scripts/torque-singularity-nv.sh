#!/bin/bash
#PBS -S /bin/bash
#PBS -N resnet50-tensorflow-xla
#PBS -q ssd
#PBS -l nodes=1:ppn=20:gpus=1
#PBS -l walltime=30:00:00
#PBS -j oe
#PBS -m abe
# written by MODAK
# image: singularity pull tensorflow_2.1.0-gpu.sif docker://tensorflow/tensorflow:2.1.0-gpu fetches it
# submit: qsub FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${PBS_O_WORKDIR:?submit this script with qsub}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- modules
test -r /etc/profile.d/modules.sh ||
    modak_stop 70 "/etc/profile.d/modules.sh is not on this node: it defines the module command"
# shellcheck source=/dev/null
. /etc/profile.d/modules.sh || :
module load singularity ||
    modak_stop 70 "module singularity could not be loaded: module avail lists the modules of this system"

# --- environment
# PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone
export OMP_NUM_THREADS=20
export OMP_PLACES=cores
export OMP_PROC_BIND=close
export PYTHONNOUSERSITE=1
export MODAK_STORAGE=/scratch/ssd
export MODAK_RANKS=1

# --- rule xla (environment)
export TF_XLA_FLAGS="--tf_xla_auto_jit=2 ${TF_XLA_FLAGS:-}"

# --- the container image
MODAK_IMAGE="${SINGULARITY_DIR:-${PWD}}"/tensorflow_2.1.0-gpu.sif

# --- checks
command -v singularity >/dev/null 2>&1 ||
    modak_stop 71 "singularity is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -r "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: singularity pull tensorflow_2.1.0-gpu.sif docker://tensorflow/tensorflow:2.1.0-gpu fetches it, or set SINGULARITY_DIR to its directory"
test -e /scratch ||
    modak_stop 78 "/scratch is not on this node, but has to be bound into the container: is its file system mounted?"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# --- rule stage-in (staging)
(
set -u
files=("$PWD"/*.tfrecord)
echo "${#files[@]} files"
cp -- "${files[@]}" ${MODAK_STORAGE:?}/
: # a false condition on the last line is not an error
)

# --- the run
singularity exec --nv --bind /scratch "${MODAK_IMAGE:?}" \
    python3 train.py --batch 128

# --- rule tidy-up (after)
(
set -u
# the copies are not needed any more
rm -f -- ${MODAK_STORAGE:?}/*.tfrecord
: # a false condition on the last line is not an error
)
