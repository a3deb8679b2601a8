"""A signal ends a process of ours once, soon, without a traceback; one of a library's user after what is finished."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from jouleloop import signals
from waiting import LIMIT_S


def outcome(code: str) -> tuple[int, str]:
    """Return exit code and output of a process of its own."""
    # Under nohup this process ignores one of the signals, and so would its child.
    head = "import os, signal, time\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\nfrom jouleloop import signals\n"
    run = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    return run.returncode, run.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_raises_and_the_second_disturbs_nothing(number: int) -> None:
    code, text = outcome(f"""
        with signals.ended_by_signals():
            try:
                os.kill(os.getpid(), {number})
                time.sleep(60)
            except signals.Ended:
                os.kill(os.getpid(), {number})
                print("kept", flush=True)
        raise SystemExit(signals.exit_code())
        """)
    assert (code, text) == (128 + number, "kept\n")


def test_a_process_that_loses_the_exception_is_left_all_the_same() -> None:
    code, text = outcome("""
        signals._MOST_SECONDS = 0.5
        with signals.ended_by_signals():
            while True:
                try:
                    os.kill(os.getpid(), signal.SIGTERM)
                    time.sleep(60)
                except BaseException:
                    pass
        """)
    assert (code, text) == (143, "interrupted\n")


def test_a_signal_among_imports_raises_nothing() -> None:
    code, text = outcome("""
        import pathlib, sys, tempfile
        folder = pathlib.Path(tempfile.mkdtemp())
        (folder / "slow_one.py").write_text("import os, signal, time; os.kill(os.getpid(), 2); time.sleep(60)")
        sys.path.append(str(folder))
        with signals.ended_by_signals():
            import slow_one
        """)
    assert (code, text) == (130, "interrupted\n")


def test_a_library_ends_by_sigterm_after_what_it_has_to_do() -> None:
    code, text = outcome("""
        with signals.terminated_late():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)
            finally:
                print("stored", flush=True)
        """)
    assert (code, text) == (-signal.SIGTERM, "stored\n")


def test_handlers_of_others_stay() -> None:
    asked: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    try:
        own = signal.getsignal(signal.SIGTERM)
        with signals.terminated_late():
            assert signal.getsignal(signal.SIGTERM) is own
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert asked == [signal.SIGTERM]


def test_an_exception_that_got_lost_is_raised_again() -> None:
    code, text = outcome("""
        with signals.ended_by_signals():
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:
                pass
            try:
                signals.end_if_told()
            except signals.Ended:
                print("again", flush=True)
        """)
    assert (code, text) == (0, "again\n")


def test_an_exception_that_a_finaliser_drops_strikes_again_without_a_word() -> None:
    code, text = outcome("""
        class Struck:
            def __del__(self):
                os.kill(os.getpid(), signal.SIGTERM)

        class Faulty:
            def __del__(self):
                raise ValueError("of others")

        with signals.ended_by_signals():
            try:
                struck = Struck()
                del struck
                faulty = Faulty()
                del faulty
                time.sleep(2)
            except signals.Ended:
                print("told", flush=True)
        raise SystemExit(signals.exit_code())
        """)
    assert code == 143
    assert "ValueError: of others" in text
    assert "Ended" not in text
    assert text.endswith("told\n")


def test_a_search_that_does_not_heed_is_interrupted() -> None:
    code, text = outcome("""
        signals._ASKED_SECONDS = 0.5
        with signals.ended_by_signals():
            try:
                with signals.asked_by_signals(lambda: print("asked", flush=True)):
                    os.kill(os.getpid(), signal.SIGTERM)
                    time.sleep(60)
                    print("waited", flush=True)
            except signals.Ended:
                print("interrupted", flush=True)
        raise SystemExit(signals.exit_code())
        """)
    assert (code, text) == (143, "asked\ninterrupted\n")


def test_what_a_search_is_asked_by_a_signal() -> None:
    before = signal.getsignal(signal.SIGINT)
    asked = []
    with signals.asked_by_signals(lambda: asked.append(True)):
        os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
    assert asked == [True]
    assert signals.exit_code() == 130


def test_a_job_of_a_run_is_not_interrupted_among_its_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOULELOOP_JOB", "1")
    code, text = outcome("""
        os.kill(os.getpid(), signal.SIGINT)
        print("imports", flush=True)
        with signals.ended_by_signals():
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except signals.Ended:
                print("told", flush=True)
        """)
    assert (code, text) == (0, "imports\ntold\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_left_at_the_end_is_not_disturbed(number: int) -> None:
    code, text = outcome(f"""
        signals.give_up_when_told(lambda: None, lambda: None)
        signals.let_it_end()
        os.kill(os.getpid(), {number})
        print("locks removed", flush=True)
        """)
    assert (code, text) == (0, "locks removed\n")


def outcome_of_tasks(code: str) -> tuple[int, str]:
    """Return what becomes of a process with a task, ``waits()``, that waits for two which a signal strikes."""
    return outcome(
        textwrap.dedent("""
        import asyncio

        async def struck():
            os.kill(os.getpid(), signal.SIGTERM)

        async def waits():
            await asyncio.gather(struck(), struck())

        signals.give_up_when_told(lambda: None, lambda: None)
        """)
        + textwrap.dedent(code)
    )


def test_tasks_that_are_struck_leave_no_traceback() -> None:
    # As Snakemake does: the loop goes on after the signal, and wakes the task that waited for the one it struck.
    code, text = outcome_of_tasks("""
        async def last():
            await asyncio.sleep(0)

        runner = asyncio.Runner()
        for one in (waits, last, last):
            try:
                runner.run(one())
            except signals.Ended:
                print("told", flush=True)
        """)
    assert (code, text) == (0, "told\ntold\n")


def test_what_a_loop_hands_on_too_late_leaves_no_traceback() -> None:
    # As Snakemake does: it takes what the first loop raised, and runs another one where the task that waited wakes.
    code, text = outcome_of_tasks("""
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(waits())
        except signals.Ended:
            print("told", flush=True)
        loop.run_until_complete(asyncio.sleep(0.1))
        """)
    assert (code, text) == (143, "told\ninterrupted\n")
    code, text = outcome("""
        signals.give_up_when_told(lambda: None, lambda: None)
        raise ValueError("of others")
        """)
    assert code == 1
    assert text.endswith("ValueError: of others\n")
