"""A Slurm cluster of two nodes on this machine, its daemons started and ended by a test, nothing but 127.0.0.1 used."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from waiting import LIMIT_S, installed

_PACKAGES = ("slurm-wlm", "munge")
_PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "squeue", "scontrol", "sinfo")


def missing_programs() -> str | None:
    """Return why there is no Slurm here after an attempt to install Debian's; None where there is one."""
    reason = installed(_PROGRAMS, _PACKAGES)
    return f"Slurm: {reason}" if reason else None


def free_ports(count: int) -> list[int]:
    """Return ports that are free at this moment."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@dataclass
class Cluster:
    """Controller and two nodes; a context manager.

    Attributes
    ----------
    folder
        Configuration, state and logs; a short path, because sockets lie there.
    """

    folder: Path
    daemons: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """Return what a process needs to find the cluster."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def call(self, *command: str) -> str:
        """Return what a Slurm command prints."""
        return subprocess.run(
            command, env=os.environ | self.variables, capture_output=True, text=True, check=True, timeout=LIMIT_S
        ).stdout

    def nodes(self) -> dict[str, str]:
        """Return the state of every node."""
        return dict(line.split() for line in self.call("sinfo", "-h", "-N", "-o", "%N %T").splitlines())

    def jobs(self) -> list[tuple[str, str, str, str]]:
        """Return number, state, node and comment of every job of this cluster's life."""
        text = self.call("scontrol", "--oneliner", "show", "job")
        found = []
        for line in text.splitlines():
            if not line.startswith("JobId="):
                continue
            keys = dict(part.split("=", 1) for part in line.split() if "=" in part)
            found.append((keys["JobId"], keys["JobState"], keys.get("NodeList", ""), keys.get("Comment", "")))
        return found

    def update(self, node: str, state: str) -> None:
        """Set the state of a node."""
        self.call("scontrol", "update", f"NodeName={node}", f"State={state}", "Reason=test")

    def hold(self, *nodes: str) -> None:
        """Let no chunk begin on these nodes, so that a job waits there for whatever is to happen to it."""
        for node in nodes:
            (self.folder / "held" / node).mkdir(parents=True)

    def admit(self, node: str) -> None:
        """Let one chunk begin on a node that is held."""
        (self.folder / "held" / node / "ticket").touch()

    def release(self, *nodes: str) -> None:
        """Let all chunks begin on these nodes."""
        for node in nodes:
            shutil.rmtree(self.folder / "held" / node, ignore_errors=True)

    def _start(self, *command: str) -> None:
        name = "-".join(Path(part).name for part in command if not part.startswith("-"))[:40]
        with (self.folder / f"{name}.out").open("wb") as out:
            self.daemons.append(
                subprocess.Popen(
                    command,
                    env=os.environ | self.variables,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            )

    def __enter__(self) -> Self:
        """Start all daemons and wait until both nodes are idle."""
        folder = self.folder
        control, first, second = free_ports(3)
        for name in ("state", "spool-node1", "spool-node2", "bin"):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o400)
        user = "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
        (folder / "slurm.conf").write_text(
            _CONFIGURATION.format(folder=folder, control=control, first=first, second=second, user=user)
        )
        # Job steps are started without the variable that names the configuration.
        shim = folder / "bin" / "srun"
        shim.write_text(_SHIM.format(folder=folder, srun=shutil.which("srun")))
        shim.chmod(0o755)
        # There is no accounting; what asks for it all the same gets the queue.
        other = folder / "bin" / "sacct"
        other.write_text('#!/bin/sh\ncase "$*" in *--name*) exec squeue -h --states=all -o "%i|%T";; esac\nexit 1\n')
        other.chmod(0o755)
        self._start(
            "munged",
            "--foreground",
            "--force",
            f"--key-file={folder}/munge.key",
            f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munged.pid",
            f"--log-file={folder}/munged.log",
            f"--seed-file={folder}/munge.seed",
        )
        self._wait((folder / "munge.socket").exists)
        self._start("slurmctld", "-D", "-i")
        for node in ("node1", "node2"):
            self._start("slurmd", "-D", "-N", node)
        self._wait(lambda: set(self.nodes().values()) == {"idle"})
        return self

    def _wait(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + LIMIT_S / 3
        while True:
            try:
                if condition():
                    return
            except (subprocess.SubprocessError, OSError):
                pass
            if time.monotonic() > end:
                logs = "".join(path.read_text(errors="replace")[-600:] for path in self.folder.glob("*.log"))
                raise RuntimeError(f"Slurm does not start: {logs}")
            time.sleep(0.2)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every daemon that was started here, and what it started."""
        for process in reversed(self.daemons):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.daemons):
            try:
                process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


#: A chunk on a node that is held takes a ticket or waits for one.
_SHIM = """\
#!/bin/sh
held={folder}/held/$SLURMD_NODENAME
case "$*" in *map_chunk*)
    while [ -d "$held" ] && ! rm "$held/ticket" 2>/dev/null; do sleep 0.2; done;;
esac
SLURM_CONF={folder}/slurm.conf exec {srun} "$@"
"""
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldAddr=127.0.0.1
SlurmctldPort={control}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser={user}
SlurmdUser={user}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
MinJobAge=3600
NodeName=node1 NodeHostname=node1 NodeAddr=127.0.0.1 Port={first} CPUs=1 RealMemory=16000 State=UNKNOWN
NodeName=node2 NodeHostname=node2 NodeAddr=127.0.0.1 Port={second} CPUs=1 RealMemory=16000 State=UNKNOWN
PartitionName=work Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
"""
