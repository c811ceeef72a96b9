"""Prometheus series about boxes, from the figures of their registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from rewarden_server.observe.series import counter


def box_series(figures: Mapping[str, Any]) -> Iterator[Metric]:
    """`figures`: see `Boxes.figures`; may be empty."""
    if not figures:
        return
    yield GaugeMetricFamily("rewarden_boxes_open", "Open boxes.", figures["open"])
    yield CounterMetricFamily("rewarden_boxes_opened", "Boxes that were opened.", figures["opened"])
    yield counter("rewarden_boxes_ended", "Boxes that ended, by reason.", ("reason",), figures["ended"])
    yield counter("rewarden_box_execs", "Programs that ended in boxes.", ("status",), figures["execs"])
    yield GaugeMetricFamily("rewarden_notebooks_open", "Notebooks whose kernel runs.", figures["notebooks"])
    yield counter("rewarden_notebook_cells", "Cells that ended in notebooks.", ("status",), figures["cells"])
