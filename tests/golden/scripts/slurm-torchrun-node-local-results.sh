#!/bin/bash
#SBATCH --job-name=resnet50
#SBATCH --partition=gpu
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=64
#SBATCH --gres=gpu:4
#SBATCH --time=02:00:00
# written by MODAK
# image: apptainer pull pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it
# submit: sbatch FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SLURM_SUBMIT_DIR:?submit this script with sbatch}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- at exit, however the job ends
MODAK_HERE="${PWD}"
MODAK_JOB="${SLURM_JOB_ID:-$$}"
MODAK_JOB="${MODAK_JOB//[!A-Za-z0-9._-]/-}"
modak_now() { date +%s%N | sed -E 's/[^0-9]*$/000/; s/^(.{13}).*/\1/'; } # milliseconds; busybox's date has no parts of a second
modak_end() {
    MODAK_STATUS=$?
    trap '' TERM # may be sent more than once at the time limit
    trap - EXIT
    set +e
    if test "${MODAK_STATUS}" -eq 0 && test -z "${MODAK_DONE:-}"; then # a signal leaves the status of the command before
        printf 'modak: a signal ended the script before its last command\n' >&2
        MODAK_STATUS=143
    fi
    test -z "${MODAK_MADE:-}" || modak_tidy
    exit "${MODAK_STATUS}"
}
trap modak_end EXIT

# --- environment
# PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone
export OMP_NUM_THREADS=16
export PYTHONNOUSERSITE=1

# --- the container image
MODAK_IMAGE="${SINGULARITY_DIR:-${PWD}}"/pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif

# --- set-up of the launcher
# srun would take these for options; they may be of the environment in which this script was submitted
unset SRUN_CPUS_PER_TASK SLURM_{CPU_BIND,CPUS_PER_GPU,DISTRIBUTION,GPU_BIND,GPUS,GPUS_PER_NODE,GPUS_PER_SOCKET} \
    SLURM_{GPUS_PER_TASK,HINT,MEM_BIND,MEM_PER_CPU,MEM_PER_GPU,MEM_PER_NODE,NTASKS_PER_CORE,NTASKS_PER_GPU} \
    SLURM_{NTASKS_PER_SOCKET,NTASKS_PER_TRES,OVERCOMMIT,THREADS_PER_CORE,TRES_PER_TASK,CLUSTERS,CONSTRAINT,EXCLUSIVE,GRES} \
    SLURM_{HET_SIZE,JOB_NODELIST_HET_GROUP_0,JOB_NODELIST_PACK_GROUP_0,LABELIO,NO_KILL,REMOTE_CWD,RESV_PORTS,SEND_LIBS} \
    SLURM_{SRUN_MULTI,STDERRMODE,STDOUTMODE,STEP_GRES,TIMELIMIT,WAIT,WORKING_DIR}
MODAK_HOSTS="$(scontrol show hostnames "${SLURM_JOB_NODELIST:?}")"
MODAK_RDZV_HOST="${MODAK_HOSTS%%$'\n'*}"
MODAK_RDZV_PORT="$((15000 + ${SLURM_JOB_ID:?} % 15000))"

# --- checks
command -v apptainer >/dev/null 2>&1 ||
    modak_stop 71 "apptainer is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -r "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: apptainer pull pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it, or set SINGULARITY_DIR to its directory"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# --- the job's own directory
MODAK_SINCE="$(modak_now)" # an earlier start, on a node that failed, may have left its directory
export MODAK_SCRATCH="${TMPDIR:-/tmp}"/modak-"${MODAK_JOB:?}"-"${MODAK_SINCE:?}"
modak_each() {
    srun --nodes="${SLURM_JOB_NUM_NODES:?}" --ntasks="${SLURM_JOB_NUM_NODES:?}" --ntasks-per-node=1 --export=ALL "$@" </dev/null
}
modak_gather() { # torchrun decides which node has its first rank: what the other nodes have of this, and the first has not, comes here
    local node
    for node in ${MODAK_HOSTS:?}; do
        # shellcheck disable=SC2016
        test "${node}" = "${MODAK_RDZV_HOST:?}" ||
            srun --nodes=1 --ntasks=1 --nodelist="${node}" --export=ALL bash -c \
                'cd -- "$0" && find "./$1" -maxdepth 0 -print0 2>/dev/null | tar -c --null -T -' "${MODAK_SCRATCH:?}" "$1" </dev/null |
            tar -x -C "${MODAK_SCRATCH:?}" --skip-old-files || return 1 # in a trap, a bare return gives the status from before it
    done
}
modak_copy_out() { # FROM TO ...; what is missing does not keep the others back
    local from failed=0
    while test "$#" -gt 1; do
        modak_gather "$1" || failed=1
        from="${MODAK_SCRATCH:?}/$1"
        if test -d "${from}"; then # the directory may exist from an earlier job
            mkdir -p -- "$2" && cp -R -f -- "${from}/." "$2"
        else
            mkdir -p -- "$(dirname -- "$2.")" && cp -f -- "${from}" "$2" # results/ is a directory
        fi || failed=1
        shift 2
    done
    return "${failed}"
}
modak_stage_out() {
    modak_copy_out out model
}
modak_tidy() {
    cd -- "${MODAK_HERE}" || return 0
    if test "${MODAK_COPIED:-}" = no || # large results are not copied twice
        { test -n "${MODAK_STARTED:-}" && test -z "${MODAK_COPIED:-}" && ! modak_stage_out; }; then
        printf 'modak: not everything could be copied from %s on %s: the directory is kept\n' "${MODAK_SCRATCH}" "$(uname -n)" >&2
        return 0
    fi
    modak_each rm -rf -- "${MODAK_SCRATCH:?}" || rm -rf -- "${MODAK_SCRATCH:?}" # Slurm starts nothing more in a job that it ends
}
modak_each mkdir -m 700 -- "${MODAK_SCRATCH:?}" || { modak_each rmdir -- "${MODAK_SCRATCH:?}" 2>/dev/null || :; false; } ||
    modak_stop 79 "the job could not create its directory on the storage: check free space and write permission, and that each node has its own storage there"
MODAK_MADE=1

# --- the run
MODAK_STARTED="$(modak_now)"
srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=64 --cpu-bind=cores --export=ALL --kill-on-bad-exit=1 \
    apptainer exec --nv --bind "${MODAK_SCRATCH:?}" "${MODAK_IMAGE:?}" \
    torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id="${SLURM_JOB_ID:?}" \
        --rdzv-endpoint="${MODAK_RDZV_HOST:?}":"${MODAK_RDZV_PORT:?}" train.py --model resnet50

# --- stage out
modak_stage_out || { MODAK_COPIED=no; false; } ||
    modak_stop 80 "results could not be copied out of ${MODAK_SCRATCH:?}: check that the run wrote them there, and free space and write permission at the destination"
MODAK_COPIED=yes
MODAK_DONE=1 # no signal has cut the script short
