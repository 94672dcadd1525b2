"""Runs a file of the own tests of numpy, regex or CPython with pytest, as a reward: the last message names the file and the
tests to leave out, one a line. The score is the share of tests that pass; the reason has the rest as JSON."""

import importlib
import io
import json
import os
import sys
import tempfile

import hypothesis
import pytest
from merit_reward import reward_function, warm_up

# What pytest and the tests try at their start, and do without.
__merit__ = {"without": ["package", "file", "native", "process"]}

SUITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "suite")
PLUGINS = ("cacheprovider", "faulthandler", "threadexception", "unraisableexception", "logging")  # files and threads
OPTIONS = ["-q", "--capture=sys", "--assert=plain", "-o", "addopts=", "-c", SUITE + "/pytest.ini", "--rootdir=" + SUITE]
for plugin in PLUGINS:
    OPTIONS += ["-p", "no:" + plugin]


@warm_up
def ready():
    """Puts numpy's tests, which the interpreter does not contain, into the packages that they belong to."""
    tempfile.tempdir = "/tmp"
    hypothesis.settings.register_profile("files", database=None)
    hypothesis.settings.load_profile("files")
    for folder, folders, _ in os.walk(SUITE):
        if "tests" in folders and folder != SUITE:
            name = os.path.relpath(folder, SUITE).replace(os.sep, ".")
            importlib.import_module(name).__path__.append(folder)


class Results:
    """A plug-in of pytest: what became of each test."""

    def __init__(self):
        self.counts, self.failures = {}, {}

    def add(self, outcome, report):
        self.counts[outcome] = self.counts.get(outcome, 0) + 1
        if outcome == "failed":
            self.failures[report.nodeid] = str(report.longrepr)[-1500:]

    def pytest_runtest_logstart(self, nodeid, location):
        print(nodeid, file=sys.__stderr__)  # the last one is the one that trapped

    def pytest_runtest_logreport(self, report):
        if hasattr(report, "wasxfail"):
            self.add("xfailed" if report.skipped else "xpassed", report)
        elif report.when == "call" or not report.passed:
            self.add(report.outcome, report)

    def pytest_collectreport(self, report):
        if report.failed:
            self.add("failed", report)


@reward_function
def reward(messages, **_):
    """The share of the tests in a file that pass."""
    file, *excluded = messages[-1].content.split("\n")
    results, printed = Results(), io.StringIO()
    sys.stdout = sys.stderr = printed
    code = pytest.main([*OPTIONS, *("--deselect=" + test for test in excluded), os.path.join(SUITE, file)], plugins=[results])
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    found = {"code": int(code), "counts": results.counts, "failures": results.failures}
    if not results.counts:
        found["printed"] = printed.getvalue()
    return {"score": results.counts.get("passed", 0) / max(1, sum(results.counts.values())), "reason": json.dumps(found)}
