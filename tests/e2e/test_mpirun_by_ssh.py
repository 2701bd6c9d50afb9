"""Open MPI's ranks on nodes that it reaches by ssh: what of the script's environment they see."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from modak.jobs.spec import Attributes, JobSpec, Resources, RuleText
from modak.script.job import render
from tests.conftest import tool
from tests.golden.scripts.jobs import TESTBED

SSH = """#!/bin/sh
# as ssh: a shell on another host, without the variables of this one
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec env -i HOME="$HOME" PATH=/usr/bin:/bin OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \\
  OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl_tcp_if_include=lo unshare --uts sh -c "hostname $host; $*"
"""
MODULE = """module() {
  export PYTHONPATH="/from/$2" TWO_LINES=$'one\\ntwo'
}
"""


def test_ranks_by_ssh_see_what_the_script_its_modules_and_its_rules_have_set(tmp_path: Path) -> None:
    """And what the request copies; nothing else of where the job began."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(SSH)
    (folder / "ssh").chmod(0o755)
    (folder / "mpirun").symlink_to(tool("Open MPI", "mpirun.openmpi"))
    (tmp_path / "nodes").write_text("one\none\ntwo\ntwo\n")
    (tmp_path / "module.sh").write_text(MODULE)
    show = 'for name in "$@"; do eval "printf \'%s=%s \' $name \\"\\${$name-}\\""; done >"seen-$(hostname)"'
    (tmp_path / "show").write_text(f"#!/bin/sh\n{show}\n")
    (tmp_path / "show").chmod(0o755)
    site = TESTBED.model_copy(update={"module_init": str(tmp_path / "module.sh"), "module_paths": ()})
    rules = (RuleText("fabric", "environment", "if true; then export FABRIC='a b'; fi\nHERE=alone"),)
    names = ("OMP_NUM_THREADS", "PYTHONPATH", "FABRIC", "HERE", "COPIED", "SAME", "OTHER", "TWO_LINES")
    job = JobSpec(
        ("./show", *names),
        Resources(nodes=2, ranks_per_node=1, cores_per_rank=1, threads_per_rank=1, unbound=True),
        attributes=Attributes(copy_variables=("COPIED",)),
        launcher="mpirun",
        launcher_flavour="openmpi",
        system=site,
        modules=("tools",),
        rules=rules,
        environment={"SAME": "as before"},
        preflight=False,
    )
    (tmp_path / "job.sh").write_text(render(job, "torque").text)
    begun = {"PBS_O_WORKDIR": f"{tmp_path}", "PBS_NODEFILE": f"{tmp_path}/nodes"}
    given = {"COPIED": "yes", "SAME": "as before", "OTHER": "of the submitter"}
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    loopback = {"OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_plm_rsh_agent": f"{folder}/ssh"}
    environment = {"HOME": os.environ["HOME"], "PATH": f"{folder}:/usr/bin:/bin", **root, **loopback, **begun, **given}
    ran = subprocess.run(["bash", tmp_path / "job.sh"], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    seen = "OMP_NUM_THREADS=1 PYTHONPATH=/from/tools FABRIC=a b HERE= COPIED=yes SAME=as before OTHER= TWO_LINES=one\ntwo "
    assert [(tmp_path / f"seen-{host}").read_text() for host in ("one", "two")] == [seen, seen]
