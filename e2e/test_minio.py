# SPDX-License-Identifier: Apache-2.0
"""The same promises on another S3 service, where its program is at hand."""

import minio_s3
import pytest
from test_s3 import MIB, Store, round_trip, run_the_conformance_suite

pytestmark = pytest.mark.skipif(bool(minio_s3.missing()), reason=minio_s3.missing() or "-")


@pytest.fixture(scope="module")
def minio():
    with minio_s3.MinioS3() as running:
        yield running


def test_the_conformance_suite_on_minio(minio):
    run_the_conformance_suite(minio, LOAM_TEST_S3_SERVICE="minio")


def test_files_of_many_sizes_on_minio(minio, tmp_path):
    round_trip(Store(minio, tmp_path), [0, 1, 5 * MIB, 17 * MIB + 1, 300])


def test_check_on_minio(minio, tmp_path):
    store = Store(minio, tmp_path)
    text = store.run("check", "--size", "8M", store.url()).stdout.decode()
    assert "preconditions" in text and "speed" in text
    assert store.run("ls", store.url()).stdout == b"", "the check left something behind"
