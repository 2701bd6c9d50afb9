#!/bin/bash
#SBATCH --job-name=3dgan
#SBATCH --account=pr12ab
#SBATCH --partition=general
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=48
#SBATCH --time=01:15:00
#SBATCH --mail-type=END,FAIL
#SBATCH --mail-user=someone@example.org
#SBATCH --export=NONE
#SBATCH --get-user-env
# written by MODAK
# image: ch-image pull example/3dgan:1.11 and ch-convert -i ch-image -o dir example/3dgan:1.11 3dgan_1.11 make it
# submit: sbatch FILE, from the folder of the program's files: relative paths start there
# plan 0123456789abcdef0123

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SLURM_SUBMIT_DIR:?submit this script with sbatch}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- modules
command -v module >/dev/null 2>&1 ||
    modak_stop 70 "this job has no module command: let the system file name the file that defines it (module_init)"
module load slurm_setup ||
    modak_stop 70 "module slurm_setup could not be loaded: module avail lists the modules of this system"

# --- environment
# PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone
export OMP_NUM_THREADS=48
export OMP_PLACES=threads
export OMP_PROC_BIND=close
export I_MPI_PMI_LIBRARY=/usr/lib64/libpmi2.so
export PYTHONNOUSERSITE=1
export HOROVOD_FUSION_THRESHOLD=134217728
export KMP_BLOCKTIME=0

# --- rule omni-path (environment)
export PSM2_MTU=8196

# --- the container image
export USER="${USER:-$(id -un)}"
MODAK_IMAGE="${CHARLIECLOUD_DIR:-${SINGULARITY_DIR:-${PWD}}}"/3dgan_1.11
MODAK_GROUP="${SLURM_JOB_ID:-${PBS_JOBID:-$$}}"

# --- set-up of the launcher
# srun would take these for options; they may be of the environment in which this script was submitted
unset SRUN_CPUS_PER_TASK SLURM_{CPU_BIND,CPUS_PER_GPU,DISTRIBUTION,GPU_BIND,GPUS,GPUS_PER_NODE,GPUS_PER_SOCKET} \
    SLURM_{GPUS_PER_TASK,HINT,MEM_BIND,MEM_PER_CPU,MEM_PER_GPU,MEM_PER_NODE,NTASKS_PER_CORE,NTASKS_PER_GPU} \
    SLURM_{NTASKS_PER_SOCKET,NTASKS_PER_TRES,OVERCOMMIT,THREADS_PER_CORE,TRES_PER_TASK,CLUSTERS,CONSTRAINT,EXCLUSIVE,GRES} \
    SLURM_{HET_SIZE,JOB_NODELIST_HET_GROUP_0,JOB_NODELIST_PACK_GROUP_0,LABELIO,NO_KILL,REMOTE_CWD,RESV_PORTS,SEND_LIBS} \
    SLURM_{SRUN_MULTI,STDERRMODE,STDOUTMODE,STEP_GRES,TIMELIMIT,WAIT,WORKING_DIR}

# --- checks
command -v ch-run >/dev/null 2>&1 ||
    modak_stop 71 "ch-run is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -d "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: ch-image pull example/3dgan:1.11 and ch-convert -i ch-image -o dir example/3dgan:1.11 3dgan_1.11 make it, or copy it into the directory from which you submit"
test -r "${MODAK_IMAGE:?}"/ch/environment ||
    modak_stop 72 "${MODAK_IMAGE:?}/ch/environment is not in the image: create it, empty if the image sets no variables"
printf '%s\n' 0.27 "$(ch-run --version 2>&1 | grep -oE '[0-9]+([.][0-9]+)+' | head -n 1)" | sort -V -C ||
    modak_stop 76 "ch-run is older than 0.27, which is needed for the image's own environment: correct its version in the system file"
[[ "${PWD:?}" != *[:]* ]] ||
    modak_stop 78 "${PWD:?} has : in its name, so it cannot be bound into the container: use another directory"
[[ -d ${MODAK_IMAGE:?}/mnt/0 ]] ||
    modak_stop 78 "/mnt/0 is not in the image: create it there, empty; directories of the job are bound there"
MODAK_SAID="$(srun --mpi=list 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *pmi2* ]] ||
    modak_stop 77 "this Slurm does not offer pmi2: the ranks could not connect to each other. srun --mpi=list: ${MODAK_SAID:?}"

# --- the run
srun --nodes=4 --ntasks=8 --ntasks-per-node=2 --cpus-per-task=48 --cpu-bind=cores --mpi=pmi2 --export=ALL \
        --kill-on-bad-exit=1 \
    ch-run --set-env --bind="${PWD:?}":/mnt/0 --cd=/mnt/0 --join --join-ct=2 --join-tag="${MODAK_GROUP:?}" \
        "${MODAK_IMAGE:?}" -- \
    python3 3dgan.py --epochs 20 --data '/mnt/0/calo data'
