# SPDX-License-Identifier: Apache-2.0
"""The C++ suites that use a database, once more on PostgreSQL."""

import os
import pathlib
import re
import subprocess

import pytest

from harness import LOAM

BUILD = pathlib.Path(LOAM).resolve().parents[2]


@pytest.mark.parametrize("suite", ["db_test", "jobs_test", "meta_test", "control_test"])
def test_suite_passes_on_postgres(postgres, suite):
    program = BUILD / suite
    assert program.exists(), f"{program} is not built"
    # The statements are the same for every seed and example; SQLite's run has all of them, this one
    # a few, since a schema and a round trip for each statement make it slow.
    environment = {**os.environ, "LOAM_TEST_POSTGRES": postgres.url(postgres.database()),
                   "LOAM_SIM_SEED": "7", "RC_PARAMS": "max_success=5"}
    ran = subprocess.run([program, "--gtest_brief=1"], env=environment, capture_output=True,
                         text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
    assert int(re.search(r"\[  PASSED  \] (\d+) tests", ran.stdout).group(1)) > 0
