# SPDX-License-Identifier: Apache-2.0
"""The namespace over a real server: its routes, its commands, and kills in the middle."""

import base64
import http.client
import os
import random
import threading
import time
import urllib.parse

import pytest

from client import Admin
from harness import Fleet, wait_for
from namespace import Tree, fs_json, loam_fs


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request):
    """A fleet on each database, for tests that disturb nobody."""
    db = None
    if request.param == "postgres":
        postgres = request.getfixturevalue("postgres")
        db = postgres.url(postgres.database())
    made = Fleet(db=db)
    yield made
    assert Tree(made.api).problems() == []
    made.close()


@pytest.fixture
def tree(place):
    return Tree(place.api)


def test_content_is_put_read_and_replaced_as_a_whole(tree):
    made = tree.put("/put/f", b"first", parents=1)
    assert made.status == 201 and made.headers["ETag"] == '"1"'
    assert made.json == {"inode": made.json["inode"], "size": 5, "generation": 1, "created": True}
    assert tree.put("/put/f", b"second").status == 200
    answer = tree.get("content", "/put/f")
    assert (answer.status, answer.body, answer.headers["ETag"]) == (200, b"second", '"2"')
    part = tree.get("content", "/put/f", headers={"Range": "bytes=2-3"})
    assert (part.status, part.body, part.headers["Content-Range"]) == (206, b"co", "bytes 2-3/6")
    assert tree.get("content", "/put/f", headers={"If-Match": '"1"'}).status == 412
    assert tree.get("content", "/put/f", headers={"If-Match": '"2"'}).status == 200
    assert tree.put("/put/f", b"x", if_generation=1).status == 412
    assert tree.put("/put/f", b"x", exclusive=1).error == "already_exists"
    assert tree.put("/put/f", b"123456789", headers={"Loam-Crc32c": "00000000"}).status == 422
    assert tree.read("/put/f") == b"second"
    assert tree.put("/put/f", b"123456789", headers={"Loam-Crc32c": "e3069283"}).status == 200


def test_p3_a_directory_of_many_files_is_renamed_at_once(place, tree):
    many = 2_000 if "--db" in place.server.options else 10_000
    tree.post("mkdir", path="/p3/ckpt.tmp", parents=True).expect(200)
    tree.write("/p3/one", b"x")
    for first in range(0, many, 200):
        made = tree.post("batch", operations=[
            {"op": "symlink", "path": f"/p3/ckpt.tmp/{i}", "target": "../one"}
            for i in range(first, first + 200)]).expect(200)
        assert all("error" not in one for one in made["results"])
    begun = time.monotonic()
    tree.post("rename", **{"from": "/p3/ckpt.tmp", "to": "/p3/ckpt-100"}).expect(200)
    assert time.monotonic() - begun < 1
    assert tree.get("stat", "/p3/ckpt.tmp").status == 404
    assert len(tree.names("/p3/ckpt-100")) == many
    assert tree.read(f"/p3/ckpt-100/{many - 1}") == b"x"
    exact = tree.get("du", "/p3", exact=1).expect(200)
    assert exact == {"bytes": 1 + many * len("../one"), "files": many + 2}


def test_p5_a_file_that_is_renamed_while_it_is_written_gets_its_content(tree):
    made = tree.write("/p5/a", b"old")
    parts = urllib.parse.urlsplit(tree.api.url)
    writer = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    writer.putrequest("PUT", Tree.url("content", "/p5/a"))
    writer.putheader("Authorization", f"Bearer {tree.api.token}")
    writer.putheader("Content-Length", "2000000")
    writer.endheaders(b"x" * 1_000_000)
    wait_for("the upload to begin",
             lambda: tree.api.get("/v1/fs/status").expect(200)["objects"]["writing"] > 0)
    tree.post("rename", **{"from": "/p5/a", "to": "/p5/b"}).expect(200)
    assert tree.read("/p5/b") == b"old"
    writer.send(b"y" * 1_000_000)
    assert writer.getresponse().status == 200
    writer.close()
    assert tree.names("/p5") == ["b"]
    assert tree.read("/p5/b") == b"x" * 1_000_000 + b"y" * 1_000_000
    assert tree.stat("/p5/b")["inode"] == made["inode"]


def test_p6_a_new_file_in_the_place_of_a_renamed_one_is_another(tree):
    old = tree.write("/p6/a", b"old")
    tree.post("rename", **{"from": "/p6/a", "to": "/p6/b"}).expect(200)
    new = tree.write("/p6/a", b"new")
    assert tree.stat("/p6/b")["inode"] == old["inode"] != new["inode"]
    assert (tree.read("/p6/b"), tree.read("/p6/a")) == (b"old", b"new")


def test_renames_replace_refuse_and_exchange(tree):
    tree.write("/mv/a", b"a")
    tree.write("/mv/b", b"b")
    refused = tree.post("rename", **{"from": "/mv/a", "to": "/mv/b", "mode": "no_replace"})
    assert (refused.status, refused.error) == (409, "already_exists")
    tree.post("rename", **{"from": "/mv/a", "to": "/mv/b", "mode": "exchange"}).expect(200)
    assert (tree.read("/mv/a"), tree.read("/mv/b")) == (b"b", b"a")
    tree.post("rename", **{"from": "/mv/a", "to": "/mv/b"}).expect(200)
    assert tree.names("/mv") == ["b"] and tree.read("/mv/b") == b"b"
    tree.post("mkdir", path="/mv/d/e", parents=True).expect(200)
    below = tree.post("rename", **{"from": "/mv/d", "to": "/mv/d/e/d"})
    assert (below.status, below.error) == (400, "invalid_argument")


def test_c7_of_many_who_create_one_file_exclusively_one_does(tree):
    tree.post("mkdir", path="/c7").expect(200)
    answers = []

    def create(i):
        answers.append(tree.put("/c7/f", str(i).encode(), exclusive=1))
    threads = [threading.Thread(target=create, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.status for one in answers) == [201] + [409] * 11
    assert tree.stat("/c7/f")["generation"] == 1


NAMES = [b"\n", b"plus+ %20&?#'\"", "é".encode(), "e\u0301".encode(), b"\x01", "😀".encode(),
         b"trailing ", b"\xff\xfe", b"x" * 255, b"a\\b", b"-rf", b"*"]


def test_k1_names_are_any_bytes(tree):
    directory = "/k1"
    tree.post("mkdir", path=directory).expect(200)
    for i, name in enumerate(NAMES):
        path = directory.encode() + b"/" + name
        assert tree.put(path, name).status == 201, name
        assert tree.read(path) == name
        seen = tree.stat(path)
        assert (seen["path"].encode() if "path" in seen
                else base64.b64decode(seen["path_b64"])) == path
        moved = {"to_b64": base64.b64encode(path + b"." if len(name) < 255 else path).decode(),
                 "from_b64": base64.b64encode(path).decode()}
        tree.post("rename", **moved).expect(200)
        tree.post("rename", from_b64=moved["to_b64"], to_b64=moved["from_b64"]).expect(200)
        assert len(tree.get("list", directory).expect(200)["entries"]) == i + 1
    listed = tree.get("list", directory).expect(200)["entries"]
    assert [one["name"].encode() if "name" in one else base64.b64decode(one["name_b64"])
            for one in listed] == NAMES
    for bad in ("relative", "/k1/../x", "/k1/.", "", "/" + "x" * 256):
        assert tree.put(bad, b"x").status in (400, 413), bad


def test_k5_a_listing_is_stable_while_others_create_and_remove(tree):
    tree.post("mkdir", path="/k5").expect(200)
    tree.post("batch", operations=[{"op": "mkdir", "path": f"/k5/{i}"} for i in range(100)])
    first = tree.get("list", "/k5", limit=40).expect(200)
    tree.post("batch", operations=[{"op": "remove", "path": f"/k5/{i}"} for i in range(0, 100, 3)])
    tree.post("mkdir", path="/k5/new").expect(200)
    rest = tree.get("list", "/k5", cookie=first["next_cookie"], limit=1000).expect(200)
    names = [one["name"] for one in first["entries"] + rest["entries"]]
    assert len(names) == len(set(names)) and rest["next_cookie"] is None
    expected = [str(i) for i in range(40)] + [str(i) for i in range(40, 100) if i % 3] + ["new"]
    assert names == expected


def test_o3_a_quota_holds_for_writers_together_and_df_shows_it(place, tree):
    tree.post("mkdir", path="/o3").expect(200)
    rules = place.api.call("PUT", Tree.url("policy", "/o3"), body={"max_bytes": 1000}).expect(200)
    assert (rules["max_bytes"], rules["max_files"]) == (1000, None)
    answers = []

    def write(i):
        answers.append(tree.put(f"/o3/{i}", b"x" * 300))
    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.status for one in answers) == [201] * 3 + [507] * 5
    assert {one.error for one in answers if one.status == 507} == {"quota_exceeded"}
    assert tree.get("du", "/o3", exact=1).expect(200) == {"bytes": 900, "files": 3}
    space = tree.get("df", "/o3").expect(200)
    assert (space["used_bytes"], space["bytes_left"]) == (900, 100)
    ann = Tree(place.api.user("ann"))
    denied = ann.api.call("PUT", Tree.url("policy", "/users/ann"), body={"max_bytes": None})
    assert denied.status in (403, 404)


def test_a_batch_does_each_operation_alone(tree):
    results = tree.post("batch", operations=[
        {"op": "mkdir", "path": "/batch"}, {"op": "mkdir", "path": "/batch/d"},
        {"op": "mkdir", "path": "/batch"}, {"op": "stat", "path": "/batch/d"},
        {"op": "stat", "path": "/batch/none"}, {"op": "fly"}, 7,
        {"op": "remove", "path": "/batch"}]).expect(200)["results"]
    assert [one.get("error") for one in results] == [
        None, None, "already_exists", None, "not_found", "invalid_argument", "invalid_argument",
        "not_empty"]
    assert results[3]["type"] == "directory" and results[4]["code"] == 404
    assert tree.names("/batch") == ["d"]
    too_many = tree.post("batch", operations=[{"op": "stat", "path": "/"}] * 1001)
    assert too_many.status == 413


def test_users_see_and_change_what_they_were_granted_and_links_do_not_lead_out(place, tree):
    tree.write("/users/bob/secret", b"s")
    ann = Tree(place.api.user("ann"))
    ann.write("/users/ann/f", b"mine")
    assert ann.read("/users/ann/f") == b"mine"
    for answer in (ann.get("content", "/users/bob/secret"), ann.get("list", "/users/bob"),
                   ann.get("stat", "/"), ann.put("/users/bob/x", b""),
                   ann.post("link", **{"from": "/users/bob/secret", "to": "/users/ann/s"}),
                   ann.post("rename", **{"from": "/users/ann/f", "to": "/users/bob/f"}),
                   ann.post("mkdir", path="/elsewhere/x", parents=True),
                   ann.api.get("/v1/fs/status"), ann.api.get("/v1/fs/check")):
        assert answer.status == 403, answer.body
    ann.post("symlink", path="/users/ann/out", target="../bob").expect(200)
    assert ann.get("content", "/users/ann/out/secret").status == 403
    assert ann.put("/users/ann/out/x", b"").status == 403
    assert tree.names("/users/bob") == ["secret"]
    for path in ("/jobs/x", "/.loam/x", "/workdirs/x"):
        assert tree.put(path, b"", parents=1).status == 403
    assert Tree(Admin(place.server.url)).get("stat", "/").status == 401


def test_attributes_policies_and_extended_attributes(place, tree):
    tree.write("/attr/f", b"abc")
    changed = tree.post("setattr", path="/attr/f", mode=0o600, uid=7, mtime_ns=5).expect(200)
    assert (changed["mode"], changed["uid"], changed["gid"], changed["mtime_ns"]) == (0o600, 7, 0, 5)
    tree.post("setattr", path="/attr/f", size=5).expect(200)
    assert tree.read("/attr/f") == b"abc\0\0"
    api = place.api
    api.call("PUT", "/v1/fs/xattr", body={"path": "/attr/f", "name": "user.x",
                                          "value_b64": "/w=="}).expect(200)
    assert tree.get("xattr", "/attr/f").expect(200) == {
        "xattrs": [{"name": "user.x", "value_b64": "/w=="}]}
    api.call("DELETE", Tree.url("xattr", "/attr/f", name="user.x")).expect(200)
    assert tree.get("xattr", "/attr/f", name="user.x").status == 404
    api.call("PUT", Tree.url("policy", "/attr"), body={"sealed": True}).expect(200)
    assert tree.put("/attr/f", b"x").error == "read_only"
    assert tree.post("remove", path="/attr/f").error == "read_only"
    api.call("PUT", Tree.url("policy", "/attr"), body={"sealed": False}).expect(200)
    tree.post("remove", path="/attr/f").expect(200)


def test_du_is_at_most_a_second_old(tree):
    tree.write("/du/deep/er/f", b"x" * 100)
    wait_for("the sums", lambda: tree.get("du", "/du").json == {"bytes": 100, "files": 3},
             timeout=5)


def test_commands_copy_a_tree_in_and_out(place, tmp_path):
    server = place.server
    source = tmp_path / "source"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "a").write_bytes(b"a" * 100_000)
    (source / "sub" / "b").write_bytes(b"")
    os.chmod(source / "a", 0o750)
    os.utime(source / "a", ns=(1_600_000_000_123_000_000,) * 2)
    (source / "sub" / "link").symlink_to("../a")
    (tmp_path / os.fsdecode(b"source/\xff")).write_bytes(b"bytes")
    loam_fs(server, "cp", source, "fs:/cp/", code=2)
    copied = fs_json(server, "cp", "-r", f"{source}/", "fs:/cp/in")
    assert copied == {"files": 3, "bytes": 100_005}
    fs_json(server, "cp", "-r", f"{source}/", "fs:/cp/in")
    back = tmp_path / "back"
    assert fs_json(server, "cp", "-r", "fs:/cp/in", back) == copied
    assert (back / "a").read_bytes() == b"a" * 100_000
    assert (back / "a").stat().st_mode & 0o777 == 0o750
    assert (back / "a").stat().st_mtime_ns == 1_600_000_000_123_000_000
    assert os.readlink(back / "sub" / "link") == "../a"
    assert (back / "sub" / "empty").is_dir()
    assert sorted(os.listdir(os.fsencode(back))) == [b"a", b"sub", b"\xff"]
    assert loam_fs(server, "cat", "/cp/in/sub/link").stdout == b"a" * 100_000
    loam_fs(server, "cp", source / "a", "fs:/cp/in/sub")
    assert fs_json(server, "stat", "/cp/in/sub/a")["size"] == 100_000


def test_commands_on_entries(place):
    server = place.server
    loam_fs(server, "mkdir", "/cli/x/y", code=1)
    loam_fs(server, "mkdir", "-p", "/cli/x/y")
    Tree(place.api).write("/cli/x/f", b"123")
    loam_fs(server, "ln", "-s", "x/f", "/cli/soft")
    loam_fs(server, "ln", "/cli/x/f", "/cli/hard")
    assert fs_json(server, "stat", "--follow", "/cli/soft")["nlink"] == 2
    loam_fs(server, "mv", "/cli/hard", "/cli/x")
    listed = fs_json(server, "ls", "/cli/x")["entries"]
    assert [one["name"] for one in listed] == ["y", "f", "hard"]
    assert b"soft -> x/f" in loam_fs(server, "ls", "/cli").stdout
    loam_fs(server, "mv", "-n", "/cli/x/f", "/cli/x/hard", code=1)
    assert fs_json(server, "du", "--exact", "/cli")["usage"] == [
        {"path": "/cli", "bytes": 6, "files": 4}]
    loam_fs(server, "rm", "/cli/x", code=2)
    loam_fs(server, "rm", "-r", "--yes", "/cli/x")
    loam_fs(server, "rm", "/cli/x", code=1)
    assert [one["name"] for one in fs_json(server, "ls", "/cli")["entries"]] == ["soft"]
    loam_fs(server, "seal", "/cli")
    loam_fs(server, "mkdir", "/cli/z", code=1)
    loam_fs(server, "seal", "--undo", "/cli")
    assert fs_json(server, "quota", "--bytes", "1K", "/cli")["max_bytes"] == 1024
    loam_fs(server, "du", "--exact", "/cli")
    assert fs_json(server, "df", "/cli")["bytes_left"] == 1024 - len("x/f")
    assert fs_json(server, "quota", "--bytes", "none", "/cli")["max_bytes"] is None
    assert fs_json(server, "durability", "/cli", "stored")["durability"] == "stored"
    assert fs_json(server, "durability", "/cli", "inherit")["durability"] == "local"
    loam_fs(server, "durability", "/cli", "often", code=2)
    assert fs_json(server, "status")["objects"]["stored"] > 0
    assert fs_json(server, "fsck") == {"problems": [], "objects": []}
    loam_fs(server, "stat", "relative", code=2)
    loam_fs(server, "stat", "/nothing", code=1)


def test_find_is_by_age_and_size(place, tree):
    old = (int(time.time()) - 40 * 86_400) * 10**9
    for name, size, age in (("old-large", 5000, old), ("old-small", 10, old),
                            ("new-large", 5000, None)):
        tree.write(f"/find/d/{name}", b"x" * size, **({"mtime_ns": age} if age else {}))
    found = loam_fs(place.server, "find", "-0", "--older-than", "30d", "--larger-than", "1K",
                    "/find").stdout
    assert found == b"/find/d/old-large\0"
    pages, after = [], None
    while True:
        more = {"after": after} if after else {}
        page = tree.get("find", "/find", limit=1, **more).expect(200)
        pages += [hit["path"] for hit in page["hits"]]
        after = page["next"]
        if after is None:
            break
    assert sorted(pages) == ["/find/d/new-large", "/find/d/old-large", "/find/d/old-small"]
    assert tree.get("find", "/find", after="1.2.x").status == 400


def test_k8_a_tree_of_thousands_is_removed_page_by_page(place, tree):
    tree.post("mkdir", path="/k8").expect(200)
    tree.post("mkdir", path="/k8/d").expect(200)
    for first in range(0, 2_400, 200):
        tree.post("batch", operations=[
            {"op": "symlink", "path": f"/k8/{'d/' * (i % 2)}{i}", "target": "x"}
            for i in range(first, first + 200)]).expect(200)
    done = loam_fs(place.server, "rm", "-r", "--yes", "/k8", timeout=300)
    assert b"removed 2402 entries" in done.stderr
    assert tree.get("stat", "/k8").status == 404


def test_c3_c4_what_others_did_to_the_store_is_told_apart(place, tree):
    store = place.server.state / "store"
    tree.write("/c3/f", b"ten bytes!")
    (store / "c3/f").write_bytes(b"x" * 100)
    answer = tree.get("content", "/c3/f")
    assert (answer.status, answer.error) == (409, "conflict")
    tree.put("/c3/f", b"anew").expect(200)
    assert tree.read("/c3/f") == b"anew"
    tree.write("/c3/g", b"gone")
    (store / "c3/g").unlink()
    assert tree.get("content", "/c3/g").error == "not_found"


def test_o2_fsck_names_the_file_whose_object_is_lost(fleet):
    tree = Tree(fleet.api)
    for name in ("a", "b"):
        tree.write(f"/o2/{name}", b"x" * 10)
    loam_fs(fleet.server, "fsck", "--objects")
    (fleet.server.state / "store" / "o2" / "b").unlink()
    assert fs_json(fleet.server, "fsck") == {"problems": [], "objects": []}
    found = fs_json(fleet.server, "fsck", "--objects", code=1)
    assert [one["path"] for one in found["objects"]] == ["/o2/b"]
    assert b"/o2/b: the store has lost o2/b" in loam_fs(
        fleet.server, "fsck", "--objects", code=1).stdout


def test_what_no_file_needs_leaves_the_store(fleet):
    tree = Tree(fleet.api)
    tree.write("/gc/f", b"old")
    tree.write("/gc/f", b"new")
    tree.write("/gc/g", b"g")
    tree.post("remove", path="/gc/g").expect(200)
    files = fleet.server.state / "store" / "gc"
    wait_for("the old objects to go", lambda: not (files / "f").exists()
             and not (files / "g").exists(), timeout=90)
    assert tree.read("/gc/f") == b"new"
    assert tree.problems() == []


@pytest.mark.parametrize("seed", [1, 2])
def test_a_kill_in_the_middle_of_changes_leaves_whole_ones(fleet, seed):
    tree = Tree(fleet.api)
    for i in range(4):
        tree.post("mkdir", path=f"/d{i}").expect(200)
    stop = threading.Event()
    acknowledged = [{} for _ in range(4)]

    def change(worker):
        chance = random.Random(seed * 10 + worker)
        mine = acknowledged[worker]
        while not stop.is_set():
            name, data = f"w{worker}-{chance.randrange(30)}", os.urandom(chance.randrange(2000))
            path = mine.pop(name, (f"/d{chance.randrange(4)}/{name}",))[0]
            to = f"/d{chance.randrange(4)}/{name}"
            try:
                if tree.put(path, data).status not in (200, 201):
                    return
                if path != to:
                    tree.post("rename", **{"from": path, "to": to}).expect(200)
                mine[name] = (to, data)
            except (OSError, AssertionError):
                return  # killed: this one is done or not
    threads = [threading.Thread(target=change, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    wait_for("some changes", lambda: sum(map(len, acknowledged)) > 60, timeout=60)
    fleet.server.process.kill()
    stop.set()
    for thread in threads:
        thread.join()
    fleet.server.start()
    assert loam_fs(fleet.server, "fsck").returncode == 0
    for mine in acknowledged:
        for path, data in mine.values():
            assert tree.read(path) == data


def test_two_servers_renaming_directories_into_each_other_make_no_circle(pair):
    trees = [Tree(Admin(server.url, pair.server.token("admin"))) for server in pair.servers]
    names = [f"/r{i}" for i in range(6)]
    for name in names:
        trees[0].post("mkdir", path=name).expect(200)
    outcomes = []

    def rename(worker):
        chance = random.Random(worker)
        tree = trees[worker % 2]
        for _ in range(40):
            spots = [chance.sample(names, chance.randrange(1, 4)) for _ in range(2)]
            source, target = ("".join(spot) for spot in spots)
            outcomes.append(tree.post("rename", **{"from": source, "to": target}).status)
    threads = [threading.Thread(target=rename, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(200) > 5
    assert set(outcomes) <= {200, 400, 404, 409}
    assert loam_fs(pair.servers[1], "fsck").returncode == 0
    assert trees[0].get("du", "/", exact=1).json == trees[1].get("du", "/").json
