"""A store and a run's folder that several users and machines share: what is safe, and what is refused."""

import errno
import json
import multiprocessing
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jouleloop.errors import InputError
from jouleloop.files import remove_left_over, write_text
from jouleloop.study import lock
from jouleloop.study.lock import free_stale_locks
from jouleloop.study.store import ResultStore

GROUP, ANNA, BERT, EVE = 54321, 50001, 50002, 50003
FORK = multiprocessing.get_context("fork")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="users and groups are those of POSIX")
as_root = pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="becoming another user needs root")


def by(user: int, work: Callable[[], object], *, group: int = GROUP, umask: int = 0o002) -> object:
    """Return what ``work`` returns, or the text of its error, in a process of another user."""
    here, there = FORK.Pipe()

    def run() -> None:
        os.umask(umask)
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
        try:
            there.send(work())
        except InputError as error:
            there.send(str(error))

    process = FORK.Process(target=run)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    return here.recv()


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Path]:
    """A folder of a group, as an administrator makes it."""
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    folder = tmp_path / "store"
    folder.mkdir()
    os.chown(folder, -1, GROUP)
    folder.chmod(0o2770)
    return folder


def record(store: Path, *names: str) -> bool:
    kept = [ResultStore(store).write({name: {"status": "ok", "of": name}}) for name in names]
    return ResultStore(store).merge([path for path in kept if path]) is not None


def known(store: Path) -> list[str]:
    found = ResultStore(store)
    return sorted(key for key, of in found.read(found.keys()) if of["of"] == key)


@as_root
def test_users_of_a_group_read_and_add(shared: Path) -> None:
    by(ANNA, lambda: record(shared, "a", "b"))
    assert by(BERT, lambda: known(shared)) == ["a", "b"]
    by(BERT, lambda: record(shared, "c", "d"))
    assert by(ANNA, lambda: known(shared)) == ["a", "b", "c", "d"]
    # Each file is its writer's, and of the group: what one has begun no other takes away.
    assert {path.stat().st_uid for path in shared.iterdir()} == {ANNA, BERT}
    assert {path.stat().st_gid for path in shared.iterdir()} == {GROUP}
    assert {path.stat().st_mode & 0o777 for path in shared.iterdir()} == {0o664}


@as_root
def test_one_file_is_replaced_by_another_user(shared: Path) -> None:
    path = shared / "table.csv"
    by(ANNA, lambda: write_text(path, "first"))
    by(BERT, lambda: write_text(path, "second"))
    assert path.read_text() == "second"


@as_root
def test_what_a_user_may_not_do_is_a_message(shared: Path) -> None:
    by(ANNA, lambda: record(shared, "a"))
    said = by(EVE, lambda: record(shared, "b"), group=EVE)
    assert "cannot be" in str(said)
    assert "Permission denied" in str(said)
    shared.chmod(0o2750)
    assert by(BERT, lambda: known(shared)) == ["a"]
    assert "Permission denied" in str(by(BERT, lambda: record(shared, "b")))
    assert by(ANNA, lambda: known(shared)) == ["a"]


@as_root
def test_a_private_segment_is_computed_again(shared: Path) -> None:
    by(ANNA, lambda: record(shared, "a"), umask=0o077)
    assert by(BERT, lambda: known(shared)) == []
    by(BERT, lambda: record(shared, "a"))
    assert by(BERT, lambda: known(shared)) == ["a"]
    assert by(ANNA, lambda: known(shared)) == ["a"]


@as_root
def test_nobody_removes_what_another_user_writes(shared: Path) -> None:
    (shared / ".left.part").write_text("half")
    assert by(EVE, lambda: remove_left_over(shared), group=EVE) == []


def test_a_segment_that_another_machine_has_merged_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, "a")

    def gone(*_: object, **__: object) -> None:
        raise OSError(errno.ESTALE, "Stale file handle")

    with monkeypatch.context() as stale:
        stale.setattr("jouleloop.parquet.pq.ParquetFile", gone)
        store = ResultStore(tmp_path)
        assert store.keys() == set()
        assert store.damaged == []
    assert known(tmp_path) == ["a"]


@pytest.fixture
def snakemake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose run has locks."""
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "0.output.lock").write_text("")
    monkeypatch.setattr(lock, "_HELD", {})
    return tmp_path


def note(folder: Path, machine: str, process: list[int]) -> None:
    (folder / "jouleloop.lock").write_text(json.dumps({"machine": machine, "process": process}))


@pytest.mark.parametrize("effective", [True, False])
def test_locks_of_a_dead_run_of_this_machine_are_removed(
    snakemake: Path, monkeypatch: pytest.MonkeyPatch, *, effective: bool
) -> None:
    if not effective:
        monkeypatch.setattr(lock, "flock", lambda *_: None)
    note(snakemake, socket.gethostname(), [os.getpid(), 1])  # another process had the number
    assert free_stale_locks(snakemake)
    assert not list((snakemake / "locks").iterdir())


@pytest.mark.parametrize("machine", ["here", "elsewhere"])
def test_locks_of_a_run_that_may_live_stay(snakemake: Path, monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    # As where locks mean nothing: on a network file system that keeps them to each machine.
    monkeypatch.setattr(lock, "flock", lambda *_: None)
    living = lock._process(os.getpid())
    note(snakemake, socket.gethostname() if machine == "here" else "elsewhere", living)
    assert not free_stale_locks(snakemake)
    assert list((snakemake / "locks").iterdir())


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_without_locks_nothing_is_removed(snakemake: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(*_: object) -> None:
        raise OSError(number, "no locks here")

    monkeypatch.setattr(lock, "flock", flock)
    note(snakemake, socket.gethostname(), [os.getpid(), 1])
    assert not free_stale_locks(snakemake)
    assert list((snakemake / "locks").iterdir())
