#!/bin/bash
#SBATCH --job-name=3dgan
#SBATCH --account=pr12ab
#SBATCH --partition=general
#SBATCH --nodes=24
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=12
#SBATCH --hint=nomultithread
#SBATCH --time=01:15:00
#SBATCH --constraint=numa4
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
module load charliecloud ||
    modak_stop 70 "module charliecloud could not be loaded: module avail lists the modules of this system"
module load intel-mpi/2019 ||
    modak_stop 70 "module intel-mpi/2019 could not be loaded: module avail lists the modules of this system"

# --- environment
# PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone
export OMP_NUM_THREADS=12
export OMP_PLACES=cores
export OMP_PROC_BIND=close
export I_MPI_PIN_DOMAIN=auto:compact
export I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=0
export PYTHONNOUSERSITE=1
export HOROVOD_FUSION_THRESHOLD=134217728
export KMP_BLOCKTIME=0

# --- rule omni-path (environment)
export PSM2_MTU=8196

# --- the container image
export USER="${USER:-$(id -un)}"
MODAK_IMAGE="${CHARLIECLOUD_DIR:-${SINGULARITY_DIR:-${PWD}}}"/3dgan_1.11
MODAK_GROUP="${SLURM_JOB_ID:-${PBS_JOBID:-$$}}"
: "${I_MPI_ROOT:?load the module of the host MPI, intel-mpi/2019}"
MODAK_LIBRARY_PATH="${LD_LIBRARY_PATH:?load the module of the host MPI, intel-mpi/2019}"

# --- set-up of the launcher
# mpirun starts its daemons with srun, which would not find them with --export=NONE
# srun would take these for options; they may be of the environment in which this script was submitted
unset SRUN_CPUS_PER_TASK SLURM_{EXPORT_ENV,CPU_BIND,CPUS_PER_GPU,DISTRIBUTION,GPU_BIND,GPUS,GPUS_PER_NODE,GPUS_PER_SOCKET} \
    SLURM_{GPUS_PER_TASK,MEM_BIND,MEM_PER_CPU,MEM_PER_GPU,MEM_PER_NODE,NTASKS_PER_CORE,NTASKS_PER_GPU,NTASKS_PER_SOCKET} \
    SLURM_{NTASKS_PER_TRES,OVERCOMMIT,THREADS_PER_CORE,TRES_PER_TASK,CLUSTERS,CONSTRAINT,EXCLUSIVE,GRES,HET_SIZE} \
    SLURM_{JOB_NODELIST_HET_GROUP_0,JOB_NODELIST_PACK_GROUP_0,LABELIO,NO_KILL,REMOTE_CWD,RESV_PORTS,SEND_LIBS,SRUN_MULTI} \
    SLURM_{STDERRMODE,STDOUTMODE,STEP_GRES,TIMELIMIT,WAIT,WORKING_DIR}

# --- checks
command -v ch-run >/dev/null 2>&1 ||
    modak_stop 71 "ch-run is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -d "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: ch-image pull example/3dgan:1.11 and ch-convert -i ch-image -o dir example/3dgan:1.11 3dgan_1.11 make it, or copy it into the directory from which you submit"
test -r "${MODAK_IMAGE:?}"/ch/environment ||
    modak_stop 72 "${MODAK_IMAGE:?}/ch/environment is not in the image: create it, empty if the image sets no variables"
[[ "${PWD:?}" != *[:]* ]] ||
    modak_stop 78 "${PWD:?} has : in its name, so it cannot be bound into the container: use another directory"
[[ -d ${MODAK_IMAGE:?}/mnt/0 ]] ||
    modak_stop 78 "/mnt/0 is not in the image: create it there, empty; directories of the job are bound there"
test -e "${I_MPI_ROOT:?}" ||
    modak_stop 73 "${I_MPI_ROOT:?} is not on this node: the host MPI cannot be bound into the container"
test -e "${MODAK_IMAGE:?}""${I_MPI_ROOT:?}" ||
    modak_stop 73 "${I_MPI_ROOT:?} is not in the image: create it there, empty; it is the mount point of the host MPI"
MODAK_SAID="$(mpirun --version 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *HYDRA* || ${MODAK_SAID} == *'Intel(R) MPI'* ]] ||
    modak_stop 77 "mpirun is missing or belongs to another MPI: the job's MPI is Intel MPI; load its module. mpirun --version: ${MODAK_SAID:?}"

# --- the run
mpirun -bootstrap slurm -n 96 -ppn 4 -genvall \
    ch-run --set-env="${MODAK_IMAGE:?}"/ch/environment --bind="${PWD:?}":/mnt/0 \
        --bind="${I_MPI_ROOT:?}":"${I_MPI_ROOT:?}" --cd=/mnt/0 --join --join-ct=4 --join-tag="${MODAK_GROUP:?}" \
        "${MODAK_IMAGE:?}" -- env LD_LIBRARY_PATH="${MODAK_LIBRARY_PATH:?}" \
    python3 3dgan.py --epochs 20 --data '/mnt/0/calo data'
