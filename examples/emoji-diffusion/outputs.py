# SPDX-License-Identifier: Apache-2.0
"""What a finished run leaves behind: `model.pt`, `samples.png` and `metrics.json`."""

import hashlib
import io
import json
from argparse import Namespace

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

import diffusion
from atomic import write_bytes
from data import Tokenizer
from interruption import Interruption
from model import UNet, parameter_count

COLUMNS = 4
SCALE = 4
LABEL_HEIGHT = 18
GAP = 4
DARK = (60, 60, 60)


def weights_sha256(state: dict[str, torch.Tensor]) -> str:
    """SHA-256 over the raw bytes of the tensors, sorted by name: equal exactly when the weights are bit-identical."""
    digest = hashlib.sha256()
    for name in sorted(state):
        digest.update(np.ascontiguousarray(state[name].detach().numpy()).tobytes())
    return digest.hexdigest()


def draw_grid(samples: np.ndarray, prompts: list[str]) -> Image.Image:
    """One row of COLUMNS pictures under each prompt, enlarged smoothly."""
    side = samples.shape[1] * SCALE
    row_height = LABEL_HEIGHT + side + GAP
    grid = Image.new("RGB", (COLUMNS * (side + GAP) + GAP, len(prompts) * row_height + GAP), "white")
    pen, font = ImageDraw.Draw(grid), ImageFont.load_default()
    for row, prompt in enumerate(prompts):
        # Pillow's built-in font knows Latin-1 only; other characters become question marks rather than errors.
        pen.text((GAP, row * row_height + GAP), prompt.encode("latin-1", "replace").decode("latin-1"), DARK, font)
        for column in range(COLUMNS):
            picture = Image.fromarray(samples[row * COLUMNS + column]).resize((side, side), Image.Resampling.BICUBIC)
            grid.paste(picture, (GAP + column * (side + GAP), row * row_height + LABEL_HEIGHT))
    return grid


def write(arguments: Namespace, model: UNet, tokenizer: Tokenizer, step: int, losses: dict,
          interruption: Interruption) -> None:
    """Draws the samples and writes the three files, `metrics.json` last: where it is, the others are too."""
    for prompt in arguments.prompts:
        if unknown := tokenizer.unknown_words(prompt):
            print(f"no caption has the word(s) {', '.join(unknown)} of the prompt '{prompt}'", flush=True)
    ids = tokenizer.encode([prompt for prompt in arguments.prompts for _ in range(COLUMNS)])
    samples = diffusion.sample(model, torch.from_numpy(ids), arguments.seed, arguments.sample_steps,
                               arguments.guidance, between=interruption.check).numpy()
    picture, weights = io.BytesIO(), io.BytesIO()
    draw_grid(samples, arguments.prompts).save(picture, format="PNG")
    state = model.state_dict()
    torch.save({"model": state, "width": arguments.width, "vocabulary": tokenizer.vocabulary}, weights)
    metrics = {"steps": step, "final_loss": losses["last"], "average_loss": losses["average"],
               "parameters": parameter_count(model), "weights_sha256": weights_sha256(state),
               "seed": arguments.seed, "batch": arguments.batch, "prompts": arguments.prompts}
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_bytes(arguments.out / "model.pt", weights.getvalue())
    write_bytes(arguments.out / "samples.png", picture.getvalue())
    write_bytes(arguments.out / "metrics.json", json.dumps(metrics, indent=1).encode() + b"\n")
    print(f"wrote {arguments.out / 'samples.png'}; rows from the top: {'; '.join(arguments.prompts)}", flush=True)
