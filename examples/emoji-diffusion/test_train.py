# SPDX-License-Identifier: Apache-2.0
"""The promises of train.py, tried on the real program with a tiny model and made-up pictures; no network is used.

Run with `/usr/bin/python3 -m pytest` in this folder.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from data import Dataset, SampleOrder, Tokenizer

HERE = Path(__file__).parent
STEPS = 60
EVERY = 20
COLOURS = ["red", "green", "blue", "yellow"]
SHAPES = ["circle", "square", "bar", "cross", "ring"]


@pytest.fixture(scope="session")
def dataset(tmp_path_factory) -> Path:
    """100 random pictures with captions of two words, in the layout of prepare.py."""
    folder = tmp_path_factory.mktemp("data")
    images = np.random.Generator(np.random.PCG64(7)).integers(0, 256, (100, 32, 32, 3), dtype=np.uint8)
    np.savez(folder / "emoji-32.npz", images=images)
    captions = [f"{COLOURS[index % 4]} {SHAPES[index % 5]}" for index in range(100)]
    (folder / "captions.json").write_text(json.dumps(captions))
    return folder


def start(data: Path, work: Path, *more: str, **environment: str) -> subprocess.Popen:
    command = [sys.executable, "train.py", "--steps", str(STEPS), "--checkpoint-every", str(EVERY), "--data", str(data),
               "--checkpoints", str(work / "ckpt"), "--out", str(work / "out"), "--batch", "4", "--width", "8",
               "--sample-steps", "2", "--prompts", "red circle", *more]
    # One thread: the tests run beside others, and threads that wait for a busy core would only slow them down.
    return subprocess.Popen(command, cwd=HERE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env={**os.environ, "OMP_NUM_THREADS": "1", **environment})


def finish(process: subprocess.Popen, status: int = 0) -> str:
    """The rest of the output, once the program ended with `status`."""
    text, _ = process.communicate(timeout=60)
    assert process.returncode == status, text
    return text


def signal_after(process: subprocess.Popen, step: int, number: int) -> str:
    """Sends the signal as soon as `step` is reported, which is while the next one is being computed."""
    seen = ""
    for line in process.stdout:
        seen += line
        if line.startswith(f"step {step} "):
            process.send_signal(number)
            return seen
    raise AssertionError(f"the program ended before step {step}:\n{seen}")


def steps_printed(text: str) -> list[int]:
    return [int(step) for step in re.findall(r"^step (\d+) loss \S+$", text, re.MULTILINE)]


def metrics(work: Path) -> dict:
    return json.loads((work / "out" / "metrics.json").read_text())


def weights(work: Path) -> dict:
    return torch.load(work / "out" / "model.pt", weights_only=True)["model"]


@pytest.fixture(scope="session")
def uninterrupted(dataset, tmp_path_factory) -> dict:
    """A run from start to end, with every progress report that could be read meanwhile."""
    work = tmp_path_factory.mktemp("whole")
    report = work / "progress.json"
    process = start(dataset, work, LOAM_PROGRESS=str(report))
    text, reports = "", []
    for line in process.stdout:
        text += line
        if report.exists():
            reports.append(json.loads(report.read_text()))
    finish(process)
    reports.append(json.loads(report.read_text()))
    return {"work": work, "text": text, "reports": reports}


@pytest.fixture(scope="session")
def interrupted(dataset, tmp_path_factory) -> dict:
    """The same run, killed in mid-step, then asked to stop, then left alone."""
    work = tmp_path_factory.mktemp("parts")
    killed = start(dataset, work)
    first = signal_after(killed, EVERY + 5, signal.SIGKILL) + finish(killed, -signal.SIGKILL)
    terminated = start(dataset, work)
    second = signal_after(terminated, EVERY + 10, signal.SIGTERM) + finish(terminated, 143)
    after_stop = sorted(path.name for path in (work / "ckpt").iterdir())
    return {"work": work, "first": first, "second": second, "after_stop": after_stop,
            "third": finish(start(dataset, work))}


def test_interrupted_and_whole_runs_end_with_the_same_bits(uninterrupted, interrupted):
    whole, parts = metrics(uninterrupted["work"]), metrics(interrupted["work"])
    assert whole == parts
    assert whole["steps"] == STEPS and re.fullmatch(r"[0-9a-f]{64}", whole["weights_sha256"])
    left, right = weights(uninterrupted["work"]), weights(interrupted["work"])
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)
    picture = "out/samples.png"
    assert (uninterrupted["work"] / picture).read_bytes() == (interrupted["work"] / picture).read_bytes()


def test_a_resumed_run_repeats_only_what_was_not_saved(interrupted):
    assert "resumed from" not in interrupted["first"]
    # The kill came after the first checkpoint; it may have left the second one unfinished, but never skipped a step.
    saved = int(re.search(r"^resumed from step (\d+)$", interrupted["second"], re.MULTILINE)[1])
    assert saved % EVERY == 0 and EVERY <= saved <= max(steps_printed(interrupted["first"]))
    assert steps_printed(interrupted["second"])[0] == saved + 1


def test_sigterm_finishes_the_step_saves_it_and_exits_143(interrupted):
    last = steps_printed(interrupted["second"])[-1]
    assert f"stopped by SIGTERM after step {last}" in interrupted["second"]
    assert f"step-{last:08d}" in interrupted["after_stop"]
    assert f"resumed from step {last}\n" in interrupted["third"]
    assert steps_printed(interrupted["third"]) == list(range(last + 1, STEPS + 1))


def test_every_step_is_printed_and_two_checkpoints_stay(uninterrupted):
    assert steps_printed(uninterrupted["text"]) == list(range(1, STEPS + 1))
    kept = sorted(path.name for path in (uninterrupted["work"] / "ckpt").iterdir())
    assert kept == [f"step-{STEPS - EVERY:08d}", f"step-{STEPS:08d}"]
    with Image.open(uninterrupted["work"] / "out" / "samples.png") as picture:
        assert picture.width >= 4 * 128 and picture.height >= 128


def test_progress_reports_are_whole_and_never_go_back(uninterrupted):
    reports = uninterrupted["reports"]
    assert len(reports) > STEPS / 2
    for key in ("step", "data_wait_seconds", "checkpoint_seconds"):
        values = [report[key] for report in reports]
        assert values == sorted(values)
    assert reports[-1]["step"] == STEPS
    assert reports[-1]["data_wait_seconds"] > 0 and reports[-1]["checkpoint_seconds"] > 0


def test_a_damaged_newest_checkpoint_is_refused_and_unfinished_ones_are_ignored(dataset, uninterrupted, tmp_path):
    shutil.copytree(uninterrupted["work"] / "ckpt", tmp_path / "ckpt")
    damaged = tmp_path / "ckpt" / f"step-{STEPS:08d}"
    size = (damaged / "training.pt").stat().st_size
    os.truncate(damaged / "training.pt", size // 2)
    unfinished = tmp_path / "ckpt" / "step-00000999.tmp"
    unfinished.mkdir()
    (unfinished / "model.pt").write_bytes(b"half")
    text = finish(start(dataset, tmp_path))
    assert f"refused checkpoint {damaged.name}: training.pt has {size // 2} bytes, its manifest says {size}" in text
    assert f"resumed from step {STEPS - EVERY}\n" in text
    assert not unfinished.exists()
    assert damaged.with_name(f"{damaged.name}.damaged").is_dir()
    assert metrics(tmp_path)["weights_sha256"] == metrics(uninterrupted["work"])["weights_sha256"]


def test_it_never_starts_from_zero_when_all_checkpoints_are_damaged(dataset, tmp_path):
    (tmp_path / "ckpt" / "step-00000020").mkdir(parents=True)
    text = finish(start(dataset, tmp_path), 1)
    assert "refused checkpoint step-00000020: manifest.json is missing" in text
    assert "none of the 1 checkpoints" in text


def test_past_the_last_step_it_only_samples_and_other_settings_are_refused(dataset, uninterrupted, tmp_path):
    shutil.copytree(uninterrupted["work"] / "ckpt", tmp_path / "ckpt")
    text = finish(start(dataset, tmp_path, "--steps", "10", "--prompts", "blue", "purple ring"))
    assert steps_printed(text) == []
    assert "no caption has the word(s) purple" in text
    assert metrics(tmp_path)["weights_sha256"] == metrics(uninterrupted["work"])["weights_sha256"]
    assert metrics(tmp_path)["steps"] == STEPS
    refused = finish(start(dataset, tmp_path, "--seed", "1"), 1)
    assert "were made with seed 0, this run has seed 1" in refused


@pytest.mark.parametrize("arguments, message", [
    (["--steps", "0"], "argument --steps: 0 is not between 1"),
    (["--batch", "many"], "argument --batch: 'many' is not a whole number"),
    (["--width", "12"], "argument --width: 12 is not a multiple of 8"),
    (["--lr", "nan"], "argument --lr: nan is not a positive number"),
])
def test_bad_arguments_are_told_at_once(tmp_path, arguments, message):
    assert message in finish(start(tmp_path, tmp_path, *arguments), 2)


def test_a_missing_data_set_is_told(tmp_path):
    text = finish(start(tmp_path / "nothing", tmp_path), 1)
    assert "no data set in" in text and "prepare.py --out" in text


def test_the_order_is_a_permutation_each_epoch_and_needs_no_history():
    order = SampleOrder(seed=3, samples=10, batch=4)
    seen = np.concatenate([order.batch_at(step) for step in range(1, 6)])
    assert sorted(seen[:10]) == list(range(10)) and sorted(seen[10:]) == list(range(10))
    assert list(seen[:10]) != list(seen[10:])
    assert list(SampleOrder(3, 10, 4).batch_at(5)) == list(order.batch_at(5))
    assert list(SampleOrder(4, 10, 40).batch_at(1)) != list(SampleOrder(3, 10, 40).batch_at(1))


def test_the_vocabulary_follows_from_the_captions_alone(dataset):
    captions = Dataset.load(dataset).captions
    tokenizer = Tokenizer.from_captions(captions)
    assert tokenizer.vocabulary == Tokenizer.from_captions(captions[::-1]).vocabulary
    assert tokenizer.vocabulary[:4] == sorted(COLOURS)
    assert tokenizer.encode(["Red, unheard"])[0].tolist()[:3] == [tokenizer.vocabulary.index("red") + 2, 1, 0]
