"""Logs reward metrics by data source and step, to your experiment tracker.

    from rewarden.logging import RewardLog, to_wandb
    log = RewardLog(to_wandb())
    log.add(verdicts, samples); log.step()

Or without code, for every adapter: `REWARDEN_LOG=wandb`, `REWARDEN_LOG=jsonl:rewards.jsonl` … (`read_log`).
docs/logging.md describes each metric, and which ones to alert on.
"""

from __future__ import annotations

from rewarden.logging.jsonl import to_jsonl
from rewarden.logging.mlflow import to_mlflow
from rewarden.logging.report import Report, Sink
from rewarden.logging.reward_log import RewardLog
from rewarden.logging.rows import COLUMNS, Row
from rewarden.logging.spec import read_log
from rewarden.logging.tensorboard import to_tensorboard
from rewarden.logging.trackio import to_trackio
from rewarden.logging.wandb import to_wandb

__all__ = [
    "COLUMNS",
    "Report",
    "RewardLog",
    "Row",
    "Sink",
    "read_log",
    "to_jsonl",
    "to_mlflow",
    "to_tensorboard",
    "to_trackio",
    "to_wandb",
]
