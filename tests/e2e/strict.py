"""A strict site: what administrators set to keep jobs within limits, all at once."""

from __future__ import annotations

from tests.e2e.slurm import PAPER, Site

MEMORY, TIMES = "DefMemPerCPU=500", "MaxTime=2:00:00 DefaultTime=0:30:00"
QUALITIES = {
    "debug": "MaxWall=00:10:00 MaxTRESPerJob=node=1 Flags=DenyOnLimit",
    "long": "MaxWall=1-00:00:00 Flags=DenyOnLimit,PartitionTimeLimit",
    "quickly": "MaxWall=00:15:00 MaxTRESPerJob=cpu=2 Flags=DenyOnLimit",
    "large": "MaxWall=1-00:00:00",
    "part": "MaxTRESPerJob=cpu=4 Flags=DenyOnLimit",
    "many": "MinTRESPerJob=cpu=6 Flags=DenyOnLimit",
    "ongpus": "Flags=DenyOnLimit",
    "lean": "MaxTRESPerJob=mem=3001M Flags=DenyOnLimit",
    "roomy": "MinTRESPerJob=mem=5001M Flags=DenyOnLimit",
    "each": "MaxTRESPerNode=cpu=4,mem=1500M Flags=DenyOnLimit",
    "mine": "MaxTRESPerUser=cpu=4 Flags=DenyOnLimit",
    "group": "GrpTRES=node=1,mem=3000M Flags=DenyOnLimit",
    "onegpu": "Flags=DenyOnLimit",
}
USER = "daemon"
"""Who submits there: not root, nor ``nobody``, to whom Slurm gives no account since 26.05."""
OF = {"chem": "normal,debug,long,part,many,lean,roomy,each,mine,group", "ai": "normal,debug,large,onegpu"}
"""Accounts, with their qualities of service."""

STRICT = Site(
    nodes={
        **dict.fromkeys(("thin1", "thin2"), "Sockets=2 CoresPerSocket=1 RealMemory=4000 Feature=thin,ib Weight=10"),
        "thick1": "Sockets=2 CoresPerSocket=4 RealMemory=16000 Feature=thick,ib Weight=100",
        "gpu1": "Sockets=2 CoresPerSocket=1 RealMemory=64000 Feature=a100 Gres=gpu:a100:2",
    },
    paper={"p[01-64]": f"{PAPER} Feature=ib,skylake"},
    partitions=(
        f"work Nodes=thin[1-2],thick1 Default=YES {TIMES} MaxNodes=2 {MEMORY} MaxMemPerNode=3500 AllowQos=normal,debug,long",
        f"pairs Nodes=thin[1-2] MinNodes=2 MaxTime=1:00:00 {MEMORY}",
        f"shared Nodes=thick1 MaxCPUsPerNode=2 MaxTime=4:00:00 {MEMORY} DenyQos=debug",
        "whole Nodes=thin[1-2] OverSubscribe=EXCLUSIVE MaxTime=1:00:00 DefMemPerNode=1000",
        f"socket Nodes=thick1 SelectTypeParameters=CR_Socket_Memory MaxTime=1:00:00 {MEMORY}",
        "gpu Nodes=gpu1 MaxTime=4:00:00 DefMemPerCPU=2000 MaxMemPerNode=60000 AllowAccounts=ai,vision QOS=ongpus",
        f"quick Nodes=thin[1-2] MaxTime=4:00:00 QOS=quickly {MEMORY}",
        f"thick Nodes=thick1 MaxTime=1:00:00 {MEMORY}",
        f"usual Nodes=thick1 MaxTime=1:00:00 {MEMORY}",
        "unsaid Nodes=thin[1-2],thick1 MaxTime=1:00:00",
        "large Nodes=p[01-64] MinNodes=4 MaxNodes=32 MaxTime=2-00:00:00 AllowQos=large,normal",
    ),
    gpus={"gpu1": "Type=a100 File={folder}/dev/nvidia[0-1]"},
    settings={
        "ClusterName": "strict",
        "SelectTypeParameters": "CR_Core_Memory",
        "AccountingStorageEnforce": "limits,qos,safe",
        "Licenses": "matlab:2",
    },
    accounts=(
        "add cluster strict",
        *(f"add qos {name} {limits}" for name, limits in QUALITIES.items()),
        *(f"add account {name} Description=none Organization=none" for name in OF),
        *(f"add user {user} account={name} qos={qos} defaultqos=normal" for name, qos in OF.items() for user in ("root", USER)),
    ),
    limits=("modify qos ongpus set MinTRESPerJob=gres/gpu=1", "modify qos onegpu set MaxTRESPerNode=gres/gpu=1"),
)
