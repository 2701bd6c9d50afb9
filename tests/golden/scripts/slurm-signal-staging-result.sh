#!/bin/bash
#SBATCH --job-name=solver
#SBATCH --partition=cpu
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=32
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
#SBATCH --mem-per-cpu=1907M
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@120
#SBATCH --export=ALL,LICENCE
# written by MODAK
# submit: sbatch FILE, from the folder of the program's files: relative paths start there
# plan 0123456789abcdef0123

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SLURM_SUBMIT_DIR:?submit this script with sbatch}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- at exit, however the job ends: modak-result-JOB.json records the outcome (the job itself is below)
MODAK_HERE="${PWD}"
MODAK_JOB="${SLURM_JOB_ID:-$$}"
MODAK_JOB="${MODAK_JOB//[!A-Za-z0-9._-]/-}"
modak_now() { date +%s%N | sed -E 's/[^0-9]*$/000/; s/^(.{13}).*/\1/'; } # milliseconds; busybox's date has no parts of a second
MODAK_PLAN=0123456789abcdef0123
MODAK_RECORD='"application": "solver", "dataset": "it'"'"'s 50% of \"all\"", "nodes": 2, "ranks_per_node": 32, "threads_per_rank": 2'
MODAK_RESULT="${MODAK_HERE}"/modak-result-"${MODAK_JOB}".json
MODAK_PATTERN='rate: ([0-9.]+) cells/s'
MODAK_METRIC='"metric": "throughput", "unit": "cells/s"'
modak_metric() {
    local LC_ALL=C line match value cut='[0-9]([.,]:[0-9]+|,:[0-9]{3}[.][0-9]*)$'
    local number='^[+]?(([0-9]+|[0-9]{1,3}(,[0-9]{3})+)([.][0-9]*)?|[.][0-9]+)([eE][+-]?0*[0-9]{1,2})?$'
    line="$(<"${MODAK_NOTES}/output.last")"
    test -n "${line}" || line="$(<"${MODAK_NOTES}/errors.last")"
    if ! [[ ${line} =~ ${MODAK_PATTERN} ]]; then
        printf 'modak: no metric: no line of the output matches its pattern\n' >&2
    elif match="${BASH_REMATCH[0]}" value="${BASH_REMATCH[1]}" && [[ ${value//,/}${line#*"${match}"} =~ ^[+]?[0-9]+,[0-9] ||
        ${match} == "${value}"* && ${line%%"${match}"*}:${value} =~ ${cut} ]]; then
        printf 'modak: no metric: %s may be part of a longer number: let the group take all of it ([0-9.,]+), ' "${value}" >&2
        printf 'or the pattern the commas around it, if they separate columns\n' >&2
    elif ! [[ ${value} =~ ${number} && ${value} =~ ^[+0.]*[1-9] ]]; then
        printf 'modak: no metric: %s is not a positive number from 1e-99 to 1e99\n' "${value}" >&2
    else
        printf ', {%s, "measured_at": "%s", %s, "value": %.12g}' "${MODAK_RECORD}" "${ended}" "${MODAK_METRIC}" "${value//,/}"
        return
    fi
    return 1
}
MODAK_BEFORE="${SLURM_JOB_DEPENDENCY:-}"
modak_part() { # milliseconds that a result counts of this run, with those of the jobs before it; 0: none
    local text="$1" own=0 before=0 times='"seconds": (null|([0-9]+)[.]([0-9]{3}))(, "earlier": ([0-9]+)[.]([0-9]{3}))?, "results"'
    if [[ ${text} == *", \"unfinished\": {${MODAK_RECORD}}}" && ${text} =~ ${times} ]]; then
        own="0${BASH_REMATCH[2]}${BASH_REMATCH[3]}" before="0${BASH_REMATCH[5]}${BASH_REMATCH[6]}"
    fi
    printf '%d' "$((10#${own} + 10#${before}))"
}
modak_earlier() { # milliseconds of this run in the jobs before; fails if not known
    local kind names job jobs file files text part most=0 missing=''
    while IFS=: read -r kind names; do
        case "${kind}" in
            singleton) return 1 ;; # it names no job
            afterany | afterok | afternotok) IFS=: read -r -a jobs <<<"${names}" ;;
            *) continue ;;
        esac
        for job in "${jobs[@]}"; do
            test "${kind}" = afterok || missing=1 # one that succeeded may have been no part of the run
            files=("${MODAK_HERE}/modak-result-${job}".*json)
            for file in "${files[@]}"; do
                test -f "${file}" || continue
                text="$(<"${file}")"
                [[ ${text} == *"\"job\": \"${job}"[.\"]* ]] || continue
                [[ ${text} != *', "unfinished": null}' ]] || return 1
                missing='' # it knows of the jobs that it named itself
                part="$(modak_part "${text}")"
                test "${part}" -le "${most}" || most="${part}"
            done
        done
    done <<<"${MODAK_BEFORE//[,?]/$'\n'}"
    test -z "${missing}" && printf '%d' "${most}"
}
modak_report() {
    local took=0 seconds=null ended lost='' also='' results='' unfinished=''
    ended="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    test -z "${MODAK_STARTED:-}" || took="$((${MODAK_ENDED:-$(modak_now)} - MODAK_STARTED))"
    test "${took}" -le 0 || printf -v seconds '%d.%03d' "$((took / 1000))" "$((took % 1000))" # below 0: the clock was set back
    # preempted or suspended (this job, not another of its array): Slurm may have told the ranks alone to stop early
    if test "${MODAK_STATUS}" -eq 0 &&
        env -u SLURM_CLUSTERS -u SLURM_TIME_FORMAT timeout 20 scontrol --oneliner show job "${SLURM_JOB_ID}" 2>/dev/null |
        grep -E "^JobId=${SLURM_JOB_ID} .* (Preempt|Suspend)Time=[0-9]" >/dev/null; then
        MODAK_STOPPED=perhaps
    fi
    test "${SLURM_RESTART_COUNT:-0}" = 0 || lost=1 # the start before may have done a part
    local before earlier=null whole=''
    if before="$(modak_earlier)"; then
        printf -v whole '%d.%03d' "$(((took + before) / 1000))" "$(((took + before) % 1000))"
        printf -v earlier '%d.%03d' "$((before / 1000))" "$((before % 1000))"
    else
        lost=1
    fi
    if test "${MODAK_STATUS}" -ne 0 || test -n "${MODAK_STOPPED:-}"; then
        unfinished=", \"unfinished\": {${MODAK_RECORD}}"
        test -z "${lost}" || unfinished=', "unfinished": null'
        test "${MODAK_STATUS}" -eq 0 || test -z "${MODAK_ENDED:-}" || also=', "run_status": 0' # what failed came after the run
        also+="$(modak_lacked)"
    elif test "${took}" -gt 0 && test -z "${lost}"; then
        results="{${MODAK_RECORD}, \"measured_at\": \"${ended}\", \"metric\": \"wall_time\", \"unit\": \"s\", \"value\": ${whole}}"
        results+="$(modak_metric)" || also=', "metric_read": false'
    fi
    printf '{"modak_result": 1, "plan": "%s", "job": "%s", "host": "%s", "ended": "%s",
 "exit_status": %d%s, "seconds": %s, "results": [%s]%s}\n' "${MODAK_PLAN}" "${MODAK_JOB}" "$(uname -n | tr -cd 'A-Za-z0-9._-')" \
        "${ended}" "${MODAK_STATUS}" "${also}" "${seconds}, \"earlier\": ${earlier}" "${results}" "${unfinished}" >"${MODAK_RESULT}"
}
modak_killed() { sed -n 's/^oom_kill //p' /proc/vmstat 2>/dev/null || :; } # how many processes this node had no memory for
modak_lacked() { # if the launcher ended all ranks, and not because somebody stopped them: whether this node lacked memory
    local lacked=true
    test -n "${MODAK_KILLED:-}" || return 0
    test "$(modak_killed)" != "${MODAK_KILLED}" || lacked=false
    case "${MODAK_STATUS}" in
    137) ;;
    143)
        test -z "${MODAK_STOPPED:-}" || return 0
        env -u SLURM_CLUSTERS -u SLURM_TIME_FORMAT timeout 20 scontrol --oneliner show job "${SLURM_JOB_ID}" 2>/dev/null |
            grep "^JobId=${SLURM_JOB_ID} .* JobState=RUNNING " | grep -v -E " (Preempt|Suspend)Time=[0-9]" >/dev/null || return 0
        ;;
    *) return 0 ;;
    esac
    printf ', "out_of_memory": %s' "${lacked}"
}
MODAK_KILLED="$(modak_killed)"
modak_send() { # the result file, and nothing else, to the service that MODAK_SERVER of the job's environment names
    local token="${MODAK_TOKEN:-}"
    test -n "${token}" || read -r token <"${MODAK_HERE}/modak-${MODAK_PLAN}.token"
    printf 'header = "Authorization: Bearer %s"\n' "${token//[!A-Za-z0-9._~+\/=-]/}" |
        curl --config - --proto '=http,https' --silent --show-error --fail --location --max-redirs 0 --max-time 20 --output /dev/null \
            --header 'Content-Type: application/json' --data-binary "@${MODAK_RESULT}" \
            -- "${MODAK_SERVER%/}/plans/${MODAK_PLAN}/result"
}
modak_end() {
    MODAK_STATUS=$?
    trap '' TERM # may be sent more than once at the time limit
    trap - EXIT
    set +e
    if test "${MODAK_STATUS}" -eq 0 && test -z "${MODAK_DONE:-}"; then # a signal leaves the status of the command before
        printf 'modak: a signal ended the script before its last command\n' >&2
        MODAK_STATUS=143
        MODAK_STOPPED=perhaps
    fi
    if ! modak_report; then
        printf 'modak: the result could not be written to %s\n' "${MODAK_RESULT}" >&2
        test ! -w "${MODAK_RESULT}" || rm -f -- "${MODAK_RESULT}" 2>/dev/null # it is not whole, and could not be loaded
        MODAK_SERVER=''
    fi
    test -z "${MODAK_MADE:-}" || modak_tidy
    test -z "${MODAK_SERVER:-}" || modak_send ||
        printf 'modak: the result could not be sent; it is in %s\n' "${MODAK_RESULT##*/}" >&2
    test -z "${MODAK_TEE[*]:-}" || modak_kept
    rm -rf -- "${MODAK_NOTES:-}"
    exit "${MODAK_STATUS}"
}
trap modak_end EXIT

# --- environment
export OMP_NUM_THREADS=2
export OMP_PLACES=cores
export OMP_PROC_BIND=close
export MODAK_STORAGE="${SCRATCH:?}"

# --- set-up of the launcher
# srun would take these for options; they may be of the environment in which this script was submitted
unset SRUN_CPUS_PER_TASK SLURM_{CPU_BIND,CPUS_PER_GPU,DISTRIBUTION,GPU_BIND,GPUS,GPUS_PER_NODE,GPUS_PER_SOCKET} \
    SLURM_{GPUS_PER_TASK,HINT,MEM_BIND,MEM_PER_GPU,MEM_PER_NODE,NTASKS_PER_CORE,NTASKS_PER_GPU,NTASKS_PER_SOCKET} \
    SLURM_{NTASKS_PER_TRES,OVERCOMMIT,THREADS_PER_CORE,TRES_PER_TASK,CLUSTERS,CONSTRAINT,EXCLUSIVE,GRES,HET_SIZE} \
    SLURM_{JOB_NODELIST_HET_GROUP_0,JOB_NODELIST_PACK_GROUP_0,LABELIO,NO_KILL,REMOTE_CWD,RESV_PORTS,SEND_LIBS,SRUN_MULTI} \
    SLURM_{STDERRMODE,STDOUTMODE,STEP_GRES,TIMELIMIT,WAIT,WORKING_DIR}

# --- checks
MODAK_SAID="$(srun --mpi=list 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *pmix* ]] ||
    modak_stop 77 "this Slurm does not offer pmix: the ranks could not connect to each other. srun --mpi=list: ${MODAK_SAID:?}"
test -w "${MODAK_STORAGE:?}" ||
    modak_stop 79 "${MODAK_STORAGE:?} is not writable on this node: is it the right storage for this system?"
# each rank counts its CPUs; the output shows how many ranks have each binding
# shellcheck disable=SC2016
MODAK_PROBE='
count=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
echo "modak: a rank may use $count CPUs ($(sed -n "s/Cpus_allowed_list:[[:space:]]*//p" /proc/self/status))"
test "$count" -ge "$1"
'
srun --nodes=2 --ntasks=64 --ntasks-per-node=32 --cpus-per-task=2 --cpu-bind=cores --mpi=pmix --export=ALL \
        --kill-on-bad-exit=1 \
    bash -c "${MODAK_PROBE:?}" probe 2 </dev/null \
    | sort | uniq -c >&2 ||
    modak_stop 75 "a rank has fewer CPUs than planned: check the cores per rank, and whether the site sets a binding of its own; without any counts above, the launcher could not start the ranks: see its own message"

# --- the job's own directory
MODAK_SINCE="$(modak_now)" # an earlier start, on a node that failed, may have left its directory
export MODAK_SCRATCH="${SCRATCH:?}"/modak-"${MODAK_JOB:?}"-"${MODAK_SINCE:?}"
modak_copy_in() {
    mkdir -p -- "$(dirname -- "${MODAK_SCRATCH:?}/$2")" && cp -R -H -- "$1" "${MODAK_SCRATCH:?}/$2"
}
modak_copy_out() { # FROM TO ...; what is missing does not keep the others back
    local from failed=0
    while test "$#" -gt 1; do
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
    modak_copy_out out results
}
modak_tidy() {
    cd -- "${MODAK_HERE}" || return 0
    if test "${MODAK_COPIED:-}" = no || # large results are not copied twice
        { test -n "${MODAK_STARTED:-}" && test -z "${MODAK_COPIED:-}" && ! modak_stage_out; }; then
        printf 'modak: not everything could be copied from %s on %s: the directory is kept\n' "${MODAK_SCRATCH}" "$(uname -n)" >&2
        return 0
    fi
    rm -rf -- "${MODAK_SCRATCH:?}"
}
mkdir -m 700 -- "${MODAK_SCRATCH:?}" ||
    modak_stop 79 "the job could not create its directory on the storage: check free space and write permission"
MODAK_MADE=1
! command -v lfs >/dev/null 2>&1 || lfs setstripe -c 8 "${MODAK_SCRATCH:?}" || : # on Lustre: for all files made below

# --- stage in
modak_copy_in "${HOME:?}"'/data sets/mesh' in/mesh ||
    modak_stop 80 "data could not be copied in: check that it exists, that you may read it, and that there is free space"
modak_copy_in /data/x x ||
    modak_stop 80 "data could not be copied in: check that it exists, that you may read it, and that there is free space"

# --- before the run, on the first node
mkdir -p results

# --- the program
test -x ./solver ||
    modak_stop 127 "./solver is not there, or may not be executed: a relative path starts in the folder of submission"

# --- the metric, in the output of the run
MODAK_NOTES="$(mktemp -d || mktemp -d -- "${PWD}/modak-notes.XXXXXX")"
modak_keep() { # a stream of the run is passed on, and its last line with the metric is kept; TERM is for the run, which may write more
    mkfifo -- "${MODAK_NOTES}/$1" "${MODAK_NOTES}/$1.lines"
    (
        trap '' TERM
        { LC_ALL=C tr '\r' '\n' | LC_ALL=C grep -a -E -e "${MODAK_PATTERN:?}" || cat; } <"${MODAK_NOTES}/$1.lines" |
            { tail -n 1 >"${MODAK_NOTES}/$1.last" || cat >/dev/null; }
    ) &
    MODAK_KEEP+=("$!")
    (trap '' TERM && exec tee -- "${MODAK_NOTES}/$1.lines" <"${MODAK_NOTES}/$1") &
    MODAK_TEE+=("$!")
}
modak_kept() { # waits until all output has passed, but not for processes that the run leaves behind
    local tries=0 stream
    while kill -0 "${MODAK_TEE[@]}" 2>/dev/null; do
        # tee waits until somebody opens the pipe, which a run that could not start has not done
        for stream in output errors; do
            dd if=/dev/null of="${MODAK_NOTES}/${stream}" oflag=nonblock 2>/dev/null || :
        done
        if test "$((tries += 1))" -gt 100; then
            printf 'modak: a process that the run left behind holds its output open: it is not waited for\n' >&2
            kill -s KILL "${MODAK_TEE[@]}" 2>/dev/null || :
            break
        fi
        sleep 0.1
    done
    wait "${MODAK_TEE[@]}" "${MODAK_KEEP[@]}" 2>/dev/null || :
    MODAK_TEE=()
}
MODAK_KEEP=()
MODAK_TEE=()
modak_keep output
modak_keep errors >&2

# --- the signal before the time limit
modak_checkpoint() {
    touch 'stop now'
}
modak_signal() {
    MODAK_SIGNALLED=1
    MODAK_STOPPED=perhaps
    printf 'modak: the time limit is near\n' >&2
    modak_checkpoint || printf 'modak: the checkpoint failed with status %s\n' "$?" >&2
}
modak_wait() {
    while :; do
        MODAK_SIGNALLED=''
        MODAK_STATUS=0
        wait "${MODAK_RUN}" || MODAK_STATUS=$?
        test -n "${MODAK_SIGNALLED}" || return "${MODAK_STATUS}"
    done
}

# --- the run
MODAK_STARTED="$(modak_now)"
srun --nodes=2 --ntasks=64 --ntasks-per-node=32 --cpus-per-task=2 --cpu-bind=cores --mpi=pmix --export=ALL \
        --kill-on-bad-exit=1 \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out >"${MODAK_NOTES:?}"/output 2>"${MODAK_NOTES:?}"/errors &
MODAK_RUN=$!
trap modak_signal USR1
modak_wait
trap : USR1
MODAK_ENDED="$(modak_now)"
modak_kept

# --- stage out
modak_stage_out || { MODAK_COPIED=no; false; } ||
    modak_stop 80 "results could not be copied out of ${MODAK_SCRATCH:?}: check that the run wrote them there, and free space and write permission at the destination"
MODAK_COPIED=yes

# --- after the run, on the first node
tar -cf results.tar results
MODAK_DONE=1 # no signal has cut the script short
