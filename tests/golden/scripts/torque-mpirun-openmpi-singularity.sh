#!/bin/bash
#PBS -S /bin/bash
#PBS -N lammps
#PBS -q default
#PBS -l nodes=2:ppn=20
#PBS -l walltime=01:00:00
# written by MODAK
# image: singularity pull lammps_2024.sif library://example/lammps:2024 fetches it
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
module load openmpi/4.1 ||
    modak_stop 70 "module openmpi/4.1 could not be loaded: module avail lists the modules of this system"

# --- environment
# PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone
export OMP_NUM_THREADS=2
export OMP_PLACES=cores
export OMP_PROC_BIND=close
export PYTHONNOUSERSITE=1

# --- the container image
MODAK_IMAGE="${SINGULARITY_DIR:-${PWD}}"/lammps_2024.sif
MODAK_LIBRARY_PATH=/opt/openmpi/lib"${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}":/.singularity.d/libs

# --- set-up of the launcher
# by ssh, ranks on other nodes see only the variables that -x names: also those that modules or rules have set
MODAK_NAMED=(-x PATH -x OMP_NUM_THREADS -x OMP_PLACES -x OMP_PROC_BIND -x PYTHONNOUSERSITE)
for MODAK_NAME in $(compgen -e); do
    case " ${MODAK_NAMED[*]} _ PWD OLDPWD SHLVL " in *" ${MODAK_NAME} "*) continue ;; esac
    if [[ "${MODAK_NAME}" == LD_LIBRARY_PATH ]] || ! grep -qzxF -e "${MODAK_NAME}=${!MODAK_NAME}" "/proc/$$/environ"; then
        MODAK_NAMED+=(-x "${MODAK_NAME}")
    fi
done

# --- checks
command -v singularity >/dev/null 2>&1 ||
    modak_stop 71 "singularity is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -r "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: singularity pull lammps_2024.sif library://example/lammps:2024 fetches it, or set SINGULARITY_DIR to its directory"
test -e /scratch ||
    modak_stop 78 "/scratch is not on this node, but has to be bound into the container: is its file system mounted?"
test -e /opt/openmpi/lib ||
    modak_stop 73 "/opt/openmpi/lib is not on this node: the host MPI cannot be bound into the container"
MODAK_SAID="$(mpirun --version 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *'Open MPI'* ]] ||
    modak_stop 77 "mpirun is missing or belongs to another MPI: the job's MPI is Open MPI; load its module. mpirun --version: ${MODAK_SAID:?}"

# --- the run
mpirun --hostfile "${PBS_NODEFILE:?}" -n 20 --map-by ppr:10:node:PE=2 --bind-to core "${MODAK_NAMED[@]:?}" \
    singularity exec --bind /scratch --bind /opt/openmpi/lib:/opt/openmpi/lib "${MODAK_IMAGE:?}" env \
        LD_LIBRARY_PATH="${MODAK_LIBRARY_PATH:?}" \
    ./lammps -in melt.in
