# SPDX-License-Identifier: Apache-2.0
"""`loam store` on a directory store of this machine, past its server and without one."""

import json
import subprocess

from harness import LOAM


def loam(*words, code=0):
    done = subprocess.run([LOAM, "store", *map(str, words)], capture_output=True, timeout=60,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == code, done.stderr.decode()
    return done


def entries(url):
    return {one["key"]: one["size"]
            for one in json.loads(loam("ls", "-r", "--json", url).stdout)["entries"]}


def test_files_of_a_directory_store_without_its_server(fleet, tmp_path):
    for name, data in (("a", b"hello"), ("b/c", b"below")):
        assert fleet.api.call("PUT", f"/v1/store/users/e2e/{name}", data).status == 201
    fleet.server.process.stop()
    root = f"dir:{fleet.server.state}/store"
    assert entries(f"{root}/users/e2e") == {"users/e2e/a": 5, "users/e2e/b/c": 5}
    assert loam("cat", f"{root}/users/e2e/b/c").stdout == b"below"
    assert f"{root}/users/e2e/b/" in loam("ls", f"{root}/users/e2e/").stdout.decode()
    loam("cp", "-r", f"{root}/users/e2e/", tmp_path / "down")
    assert (tmp_path / "down" / "b" / "c").read_bytes() == b"below"
    loam("cp", "-r", f"{tmp_path}/down/", f"{root}/users/e2e/copy")
    loam("cp", f"{root}/users/e2e/a", f"{root}/users/e2e/again")
    assert json.loads(loam("sync", "--json", tmp_path / "down",
                           f"{root}/users/e2e/copy").stdout)["files"] == 0
    assert entries(f"{root}/users/e2e/copy") == {"users/e2e/copy/a": 5, "users/e2e/copy/b/c": 5}
    assert b"remove it with -r" in loam("rm", f"{root}/users/e2e/b", code=2).stderr
    loam("rm", "-r", f"{root}/users/e2e/b")
    loam("rm", f"{root}/users/e2e/again")
    assert b"whole store" in loam("rm", "-r", root, code=2).stderr
    fleet.server.start()
    assert fleet.api.listing("/users/e2e/") == [
        "/users/e2e/a", "/users/e2e/copy/a", "/users/e2e/copy/b/c"]


def test_a_directory_that_is_no_store_is_not_made_one(tmp_path):
    (tmp_path / "file").write_text("x")
    for words in (["ls", f"dir:{tmp_path}"], ["cat", f"dir:{tmp_path}/file"],
                  ["cp", tmp_path / "file", f"dir:{tmp_path}/copy"], ["rm", f"dir:{tmp_path}/file"],
                  ["ls", "dir:"], ["ls", "dir:relative"]):
        assert b"there is no store at or above" in loam(*words, code=1).stderr, words
    assert b"give s3://" in loam("check", f"dir:{tmp_path}", code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
