# SPDX-License-Identifier: Apache-2.0
"""The training loop: resume, step, report, checkpoint, stop."""

import math
import random
from argparse import Namespace

import numpy as np
import torch

import checkpoint
import diffusion
import outputs
from data import Dataset, SampleOrder, Tokenizer
from interruption import Interruption, Stopped
from model import UNet, parameter_count
from problem import Problem
from progress import Progress

WARMUP_STEPS = 10
FINAL_RATE_SHARE = 0.02
AVERAGE_DECAY = 0.98


def learning_rate(peak: float, step: int, steps: int) -> float:
    """Linear warm-up, then a cosine down to a small share of the peak at the last step. A function of its arguments
    only, so that an interrupted run follows the very same curve."""
    decay = 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))
    return peak * min(1.0, step / WARMUP_STEPS) * (FINAL_RATE_SHARE + (1 - FINAL_RATE_SHARE) * decay)


class Trainer:
    """One run. Everything that decides the next step's bits is in a checkpoint or follows from the arguments."""

    def __init__(self, arguments: Namespace, interruption: Interruption):
        self._arguments = arguments
        self._interruption = interruption
        self._progress = Progress.from_environment()
        torch.use_deterministic_algorithms(True)
        torch.manual_seed(arguments.seed)
        np.random.seed(arguments.seed)
        random.seed(arguments.seed)
        with self._progress.waiting_for_data():
            self._dataset = Dataset.load(arguments.data)
            self.tokenizer = Tokenizer.from_captions(self._dataset.captions)
            self._images = torch.from_numpy(self._dataset.images)
            self._ids = torch.from_numpy(self.tokenizer.encode(self._dataset.captions))
        self._order = SampleOrder(arguments.seed, len(self._images), arguments.batch)
        self.model = UNet(self.tokenizer.size, arguments.width)
        self._optimizer = torch.optim.AdamW(self.model.parameters(), lr=arguments.lr, betas=(0.9, 0.99))
        self.step = 0
        self.losses = {"last": None, "average": None}

    def _settings(self) -> dict:
        given = self._arguments
        return {"seed": given.seed, "batch": given.batch, "width": given.width, "lr": given.lr,
                "dataset": self._dataset.digest}

    def resume(self) -> None:
        folder = self._arguments.checkpoints
        found = checkpoint.load_newest(folder)
        if found is None:
            return
        checkpoint.require_same_settings(found, self._settings(), folder)
        self.model.load_state_dict(found.model)
        self._optimizer.load_state_dict(found.optimizer)
        checkpoint.set_generator_states(found.generators)
        self.step, self.losses = found.step, found.losses
        print(f"resumed from step {self.step}", flush=True)
        threads = torch.get_num_threads()
        if found.threads != threads:
            print(f"note: the checkpoint was made with {found.threads} threads, this run has {threads}; "
                  "sums are then rounded in another order, so weights may differ in their last bits", flush=True)

    def save(self) -> None:
        with self._progress.saving():
            checkpoint.save(self._arguments.checkpoints, checkpoint.Checkpoint(
                self.step, self._settings(), torch.get_num_threads(), self.model.state_dict(),
                self._optimizer.state_dict(), self.losses, checkpoint.generator_states()))
        self._progress.report(self.step)

    def _one_step(self) -> None:
        step = self.step + 1
        with self._progress.waiting_for_data():
            chosen = torch.from_numpy(self._order.batch_at(step))
            pictures, ids = diffusion.to_model(self._images[chosen]), self._ids[chosen]
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(self._arguments.lr, step, self._arguments.steps)
        loss = diffusion.training_loss(self.model, pictures, ids)
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._optimizer.step()
        value = loss.item()
        if not math.isfinite(value):
            raise Problem(f"the loss became {value} at step {step}; try a lower --lr with an empty "
                          "--checkpoints folder.")
        average = self.losses["average"]
        self.losses = {"last": value,
                       "average": value if average is None else AVERAGE_DECAY * average + (1 - AVERAGE_DECAY) * value}
        self.step = step

    def run(self) -> None:
        """Steps until done. On SIGTERM the step under way is finished and saved, then Stopped is raised."""
        self._interruption.check()
        while self.step < self._arguments.steps:
            self._one_step()
            print(f"step {self.step} loss {self.losses['last']:.6f}", flush=True)
            self._progress.report(self.step)
            last = self.step == self._arguments.steps
            if last or self._interruption.requested or self.step % self._arguments.checkpoint_every == 0:
                self.save()
            self._interruption.check()


def train(arguments: Namespace, interruption: Interruption) -> int:
    """The whole program after its arguments; returns the exit status."""
    trainer = Trainer(arguments, interruption)
    try:
        trainer.resume()
        print(f"{parameter_count(trainer.model)} parameters, {torch.get_num_threads()} threads", flush=True)
        trainer.run()
        outputs.write(arguments, trainer.model, trainer.tokenizer, trainer.step, trainer.losses, interruption)
    except Stopped:
        kept = f"its checkpoint is in {arguments.checkpoints}" if trainer.step else "nothing to save yet"
        print(f"stopped by SIGTERM after step {trainer.step}; {kept}", flush=True)
        return Interruption.EXIT_STATUS
    return 0
