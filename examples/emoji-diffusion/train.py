# SPDX-License-Identifier: Apache-2.0
"""Trains a small text-to-picture diffusion model on emoji, on a machine that may go away at any moment.

Start it again with the same arguments and it goes on from its newest checkpoint; the weights at the end are bit for
bit those of a run that was never interrupted.
"""

import argparse
import math
import os
import sys
from pathlib import Path

from interruption import Interruption
from problem import Problem

PROMPTS = ["smiling face", "cat face", "blue heart", "sunflower", "large red circle", "flag"]


def whole(low: int, high: int = 2**31 - 1):
    """An argparse type: a whole number from `low` to `high`."""
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{value} is not between {low} and {high}")
        return value
    return parse


def positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def channels(text: str) -> int:
    value = whole(8, 512)(text)
    if value % 8:
        raise argparse.ArgumentTypeError(f"{value} is not a multiple of 8")
    return value


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a small emoji diffusion model; safe to interrupt at any time.")
    parser.add_argument("--steps", type=whole(1), required=True, help="train up to this step")
    parser.add_argument("--data", type=Path, required=True, help="folder that prepare.py wrote")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder for checkpoints, read on start")
    parser.add_argument("--out", type=Path, required=True, help="folder for model.pt, samples.png and metrics.json")
    parser.add_argument("--checkpoint-every", type=whole(1), default=50, help="steps between checkpoints (default 50)")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), default=0, help="decides every random choice (default 0)")
    parser.add_argument("--batch", type=whole(1, 4096), default=32, help="samples a step (default 32)")
    parser.add_argument("--width", type=channels, default=32, help="model width, a multiple of 8 (default 32)")
    parser.add_argument("--lr", type=positive, default=2e-3, help="highest learning rate (default 0.002)")
    parser.add_argument("--guidance", type=positive, default=3.0, help="how closely samples follow prompts (default 3)")
    parser.add_argument("--sample-steps", type=whole(1, 1000), default=15, help="DDIM steps of a sample (default 15)")
    parser.add_argument("--prompts", nargs="+", default=PROMPTS, metavar="TEXT", help="one row of samples each")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    interruption = Interruption()
    # By default OpenMP threads spin while they wait for each other. On a machine with other work that makes a step ten
    # times slower, for the thread waited for cannot run; asleep they cost nothing. Read when PyTorch loads.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # PyTorch takes seconds to load. A wrong argument is told before that, and a SIGTERM meanwhile is not missed.
    from trainer import train
    try:
        return train(arguments, interruption)
    except Problem as error:
        print(f"train.py: {error}", file=sys.stderr)
    except OSError as error:
        print(f"train.py: cannot read or write: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("train.py: interrupted; the newest checkpoint stays", file=sys.stderr)
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
