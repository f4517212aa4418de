"""The plugin for pytest: a gate around `holdup diff`."""

import pytest

TEST = """
import pytest

@pytest.mark.holdup(fail_over={fail_over!r}, baseline="baselines/step.holdup")
def test_step(holdup_trace):
    holdup_trace.use({trace!r})
"""


@pytest.fixture
def project(pytester, examples):
    """A project whose test makes the trace of one example, with a baseline of another."""

    def run(trace, *options, fail_over="5%"):
        pytester.makepyfile(TEST.format(fail_over=fail_over, trace=str(examples / trace)))
        return pytester.runpytest_inprocess(*options)

    return run


FAST, SLOW = "recorded-d2h-own-streams.holdup", "recorded-d2h-stall.holdup"


def test_a_slower_trace_fails_and_the_same_passes(project, pytester):
    project(FAST).stdout.fnmatch_lines(["*step.holdup: no baseline: `pytest --holdup-update` writes it*"])
    assert project(FAST, "--holdup-update").ret == 0 and (pytester.path / "baselines/step.holdup").exists()
    assert project(FAST).ret == 0
    failed = project(SLOW)
    assert failed.ret == 1
    failed.stdout.fnmatch_lines(["*driver-lock*cudaLaunchKernel*"])


def test_without_a_limit_the_gate_judges(project, pytester):
    project(FAST, "--holdup-update", fail_over=None)
    assert project(FAST, fail_over=None).ret == 0
    failed = project(SLOW, fail_over=None)
    assert failed.ret == 1
    failed.stdout.fnmatch_lines(["*gpu-held-back: *driver-lock, * at *d2h_stall.py:34 in launch_worker*"])


def test_a_wrong_limit_is_an_error(project):
    project(FAST, "--holdup-update")
    result = project(FAST, fail_over="much")
    result.stdout.fnmatch_lines(["*holdup: *much*"])
    assert result.ret == 1


def test_a_mark_without_a_baseline_and_a_test_without_a_trace_are_errors(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.holdup(fail_over="5%")
        def test_mark(holdup_trace):
            pass

        @pytest.mark.holdup(fail_over="5%", baseline="x.holdup")
        def test_trace(holdup_trace):
            pass
        """
    )
    result = pytester.runpytest_inprocess("--strict-markers")
    result.stdout.fnmatch_lines(["*the mark holdup takes baseline, fail_over and options*", "*recorded nothing*"])
    result.assert_outcomes(failed=2)


def test_a_test_records_a_program(pytester, standin):
    pytester.makepyfile(
        """
        import sys
        import pytest

        PROGRAM = '''
        import ctypes
        cuda = ctypes.CDLL("libcuda.so.1")
        assert cuda.cuInit(0) == 0
        memory = ctypes.create_string_buffer(64)
        for _ in range(20):
            cuda.cuMemsetD32Async(ctypes.c_uint64(ctypes.addressof(memory)), 7, ctypes.c_size_t(16), None)
        '''.replace("\\n        ", "\\n")

        @pytest.mark.holdup(fail_over="100s", baseline="baseline.holdup")
        def test_program(holdup_trace):
            holdup_trace.record(sys.executable, "-c", PROGRAM, options=("--level", "light"))
            assert holdup_trace.explanation.trace.calls >= 20
        """
    )
    assert pytester.runpytest_inprocess("--holdup-update").ret == 0
    assert pytester.runpytest_inprocess().ret == 0


def test_tests_without_the_mark_are_left_alone(pytester):
    pytester.makepyfile("def test_plain(): pass")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
