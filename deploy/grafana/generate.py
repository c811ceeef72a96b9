"""Writes the dashboards beside this file: `python deploy/grafana/generate.py`. With `--check`, only compares them.

A dashboard has rows of panels; a panel has a title, a description for operators, queries and a unit. Grafana's JSON for
that (schema 39, Grafana 11 and later) is thousands of lines long, too many to write or read by hand.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent / "dashboards"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT = 24, 8

Kind = Literal["timeseries", "stat", "bargauge", "heatmap", "table"]


@dataclass(frozen=True)
class Panel:
    """queries: PromQL by legend. stacked: parts of a whole. least, most: of the axis. steps: colours by value."""

    title: str
    description: str
    unit: str
    queries: dict[str, str]
    kind: Kind = "timeseries"
    width: int = 8
    stacked: bool = False
    least: float | None = 0
    most: float | None = None
    steps: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Dashboard:
    """variables: for each label, the metric that has its values. rows: panels by title."""

    uid: str
    title: str
    description: str
    variables: dict[str, str]
    rows: dict[str, list[Panel]]


I = 'instance=~"$instance"'  # noqa: E741 - every query contains it
S = f'{I},data_source=~"$data_source"'
V = f'{S},verifier=~"$verifier"'
W = f'{I},verifier=~"$verifier"'
UNSCORED = f'{V},status!="scored"'
PASSED = f'{V},passed="yes"'
J = f'{I},judge=~"$judge"'
M = f'{I},model=~"$model"'
RATE = "[$__rate_interval]"
ONES = 'kind=~"all_pass|all_fail|flat|mixed"'


def rate(metric: str, labels: str, by: str) -> str:
    """Returns a rate per second, by some labels."""
    return f"sum by ({by}) (rate({metric}{{{labels}}}{RATE}))"


def share(part: str, whole: str, on: str = "") -> str:
    """Returns a part as a share of a whole, if the whole is not zero."""
    return f"({part}) / {on}({whole} > 0)"


def quantile(q: float, metric: str, labels: str, by: str) -> str:
    """Returns a quantile of a histogram, by some labels."""
    return f"histogram_quantile({q}, sum by ({by}, le) (rate({metric}_bucket{{{labels}}}{RATE})))"


def quantiles(metric: str, labels: str, by: str) -> dict[str, str]:
    """Returns the median and the 95th and 99th percentiles."""
    return {f"{{{{{by}}}}} p{int(q * 100)}": quantile(q, metric, labels, by) for q in (0.5, 0.95, 0.99)}


def mean(labels: str) -> str:
    """Returns the mean position of scores, by data source and verifier."""
    by = "data_source, verifier"
    return share(rate("rewarden_score_position_sum", labels, by), rate("rewarden_score_position_count", labels, by))


BAD = ((0.0, "green"), (0.02, "orange"), (0.1, "red"))
SOURCES = {"data_source": "rewarden_verdicts_total", "verifier": "rewarden_verdicts_total"}
PAIR = "{{data_source}} {{verifier}}"

TRAFFIC = Dashboard(
    "rewarden-traffic",
    "Rewarden: traffic and verdicts",
    "Requests and their verdicts. Verdicts are scored, undecided or error; only scored ones have a number.",
    SOURCES,
    {
        "Now": [
            Panel(
                "Verdicts per second",
                "All verdicts, cached or not.",
                "ops",
                {"verdicts": f"sum(rate(rewarden_verdicts_total{{{V}}}{RATE}))"},
                "stat",
                6,
            ),
            Panel(
                "Unscored",
                "Share of verdicts without a number. Unusable references cause a few per thousand; more is unusual.",
                "percentunit",
                {
                    "unscored": share(
                        f'sum(rate(rewarden_verdicts_total{{{V},status!="scored"}}{RATE})) or vector(0)',
                        f"sum(rate(rewarden_verdicts_total{{{V}}}{RATE}))",
                    )
                },
                "stat",
                6,
                most=1,
                steps=BAD,
            ),
            Panel(
                "Errors by Rewarden",
                "Share of verdicts that failed because of the infrastructure or a verifier. It should be zero.",
                "percentunit",
                {
                    "errors": share(
                        f'sum(rate(rewarden_verdicts_total{{{V},status="error",fault=~"infra|verifier"}}{RATE}))'
                        " or vector(0)",
                        f"sum(rate(rewarden_verdicts_total{{{V}}}{RATE}))",
                    )
                },
                "stat",
                6,
                most=1,
                steps=((0.0, "green"), (0.001, "orange"), (0.01, "red")),
            ),
            Panel(
                "Answered from the cache",
                "Share of verdicts from the cache. High for rescoring and evaluations, low for rollouts.",
                "percentunit",
                {
                    "cached": share(
                        f"sum(rate(rewarden_verdicts_cached_total{{{W}}}{RATE})) or vector(0)",
                        f"sum(rate(rewarden_verdicts_total{{{W}}}{RATE}))",
                    )
                },
                "stat",
                6,
                most=1,
            ),
        ],
        "Verdicts": [
            Panel(
                "By status",
                "Verdicts over time. Nearly all should be scored.",
                "ops",
                {"{{status}}": rate("rewarden_verdicts_total", V, "status")},
                stacked=True,
            ),
            Panel(
                "By verifier",
                "Verdicts of each verifier.",
                "ops",
                {"{{verifier}}": rate("rewarden_verdicts_total", V, "verifier")},
                stacked=True,
            ),
            Panel(
                "By data source",
                "Verdicts of each data source. If a source disappears, check its data loader.",
                "ops",
                {"{{data_source}}": rate("rewarden_verdicts_total", V, "data_source")},
                stacked=True,
            ),
        ],
        "Unscored samples and their causes": [
            Panel(
                "Unscored share by data source",
                "The alert RewardenUnscoredJump compares this with the hour before.",
                "percentunit",
                {
                    "{{data_source}}": share(
                        f"{rate('rewarden_verdicts_total', UNSCORED, 'data_source')}"
                        f" or 0 * {rate('rewarden_verdicts_total', V, 'data_source')}",
                        rate("rewarden_verdicts_total", V, "data_source"),
                    )
                },
                most=1,
            ),
            Panel(
                "Unscored by fault",
                "infra: Rewarden. verifier: its limit or defect. reference: the data. caller: the request.",
                "ops",
                {"{{fault}}": rate("rewarden_verdicts_total", UNSCORED, "fault")},
                stacked=True,
            ),
            Panel(
                "Unscored by reason",
                "Each verdict contains its reason; the documentation explains every reason.",
                "ops",
                {"{{verifier}} {{reason}}": rate("rewarden_verdicts_total", UNSCORED, "verifier, reason")},
                stacked=True,
            ),
            Panel(
                "Below full marks, by reason",
                "The policy's mistakes: no_answer is a lost format, wrong is a wrong answer, and so on.",
                "ops",
                {
                    "{{verifier}} {{reason}}": rate(
                        "rewarden_verdicts_total", f'{V},status="scored",reason!=""', "verifier, reason"
                    )
                },
                width=16,
                stacked=True,
            ),
            Panel(
                "Flags",
                "Scored but unusual: cut-off responses, hedging, attacks on a judge or sandbox. Hacks show here first.",
                "ops",
                {"{{data_source}} {{flag}}": rate("rewarden_flags_total", V, "data_source, flag")},
            ),
        ],
        "Requests": [
            Panel(
                "By route and status",
                "Over HTTP and gRPC. 429: too many requests, clients retry. 5xx: check the log.",
                "reqps",
                {"{{route}} {{status}}": rate("rewarden_requests_total", I, "route, status")},
                stacked=True,
            ),
            Panel(
                "By key",
                "Callers by the name of their API key; anonymous if the server has no keys.",
                "reqps",
                {"{{key}} {{status}}": rate("rewarden_requests_total", I, "key, status")},
                stacked=True,
            ),
            Panel(
                "Refused batches",
                "By surface and code. overloaded: the server is full or a key is over its rate.",
                "ops",
                {"{{source}} {{reason}}": rate("rewarden_refused_total", I, "source, reason")},
                stacked=True,
            ),
        ],
    },
)

REWARDS = Dashboard(
    "rewarden-rewards",
    "Rewarden: rewards",
    "Drift and collapse, by data source. Scores are positions in their verifier's range: 0 is the bottom, 1 the top.",
    SOURCES,
    {
        "Rewards": [
            Panel(
                "Mean reward",
                "It climbs slowly. A jump means new data, prompt or verifier, or a hack; a fall, a broken policy.",
                "percentunit",
                {PAIR: mean(V)},
                width=12,
                most=1,
            ),
            Panel(
                "Moved since an hour ago",
                "The last 15 minutes minus the hour before them. RewardenRewardJump uses this (threshold 0.15).",
                "percentunit",
                {
                    PAIR: 'rewarden:score_mean:15m{data_source=~"$data_source",verifier=~"$verifier"}'
                    " - rewarden:score_mean:before"
                },
                width=12,
                least=None,
            ),
            Panel(
                "Deviation of rewards",
                "Near zero, there is nothing left to learn from, whatever the mean.",
                "percentunit",
                {
                    PAIR: "sqrt(clamp_min("
                    + share(
                        rate("rewarden_score_position_squares_total", V, "data_source, verifier"),
                        rate("rewarden_score_position_count", V, "data_source, verifier"),
                    )
                    + f" - ({mean(V)}) ^ 2, 0))"
                },
                most=0.5,
            ),
            Panel(
                "Passed",
                "Share of scored samples that passed, for verifiers that define passing.",
                "percentunit",
                {
                    PAIR: share(
                        f"{rate('rewarden_passed_total', PASSED, 'data_source, verifier')}"
                        f" or 0 * {rate('rewarden_passed_total', V, 'data_source, verifier')}",
                        rate("rewarden_passed_total", V + ',passed=~"yes|no"', "data_source, verifier"),
                    )
                },
                most=1,
            ),
            Panel(
                "Distribution of rewards",
                "Rewards in each part of the range. Most verifiers give two bars, at 0 and 1.",
                "short",
                {"{{le}}": f"sum by (le) (increase(rewarden_score_position_bucket{{{V}}}{RATE}))"},
                "heatmap",
                least=None,
            ),
        ],
        "Groups": [
            Panel(
                "Kinds of groups",
                "Only mixed groups have an advantage. all_pass: too easy. all_fail: too hard, or broken. flat: all the "
                "same, but neither all pass nor all fail. partly: a member is unscored.",
                "percentunit",
                {
                    "{{kind}}": share(
                        rate("rewarden_groups_total", V, "kind"),
                        f"sum(rate(rewarden_groups_total{{{V}}}{RATE}))",
                        "on () group_left () ",
                    )
                },
                width=12,
                stacked=True,
                most=1,
            ),
            Panel(
                "All pass",
                "By data source. Over 0.7, the alert RewardenAllPass fires: use harder data.",
                "percentunit",
                {
                    PAIR: share(
                        rate("rewarden_groups_total", f'{V},kind="all_pass"', "data_source, verifier")
                        + f" or 0 * {rate('rewarden_groups_total', f'{V},{ONES}', 'data_source, verifier')}",
                        rate("rewarden_groups_total", f"{V},{ONES}", "data_source, verifier"),
                    )
                },
                width=6,
                most=1,
            ),
            Panel(
                "All fail",
                "By data source. Over 0.7, the alert RewardenAllFail fires: use easier data, or check the verifier.",
                "percentunit",
                {
                    PAIR: share(
                        rate("rewarden_groups_total", f'{V},kind="all_fail"', "data_source, verifier")
                        + f" or 0 * {rate('rewarden_groups_total', f'{V},{ONES}', 'data_source, verifier')}",
                        rate("rewarden_groups_total", f"{V},{ONES}", "data_source, verifier"),
                    )
                },
                width=6,
                most=1,
            ),
            Panel(
                "Spread within groups",
                "The mean of the groups' standard deviations, as a share of the range. Advantages depend on it.",
                "percentunit",
                {
                    PAIR: share(
                        rate("rewarden_group_spread_sum", V, "data_source, verifier"),
                        rate("rewarden_group_spread_count", V, "data_source, verifier"),
                    )
                },
                width=12,
                most=0.5,
            ),
            Panel(
                "Groups per second",
                "By data source.",
                "ops",
                {"{{data_source}}": rate("rewarden_groups_total", V, "data_source")},
                width=12,
                stacked=True,
            ),
        ],
    },
)

CAPACITY = Dashboard(
    "rewarden-capacity",
    "Rewarden: capacity",
    "Where time goes, and which resources are short. A long queue makes no verdict wrong.",
    {"verifier": "rewarden_verdicts_total"},
    {
        "Now": [
            Panel(
                "Ready",
                "1: the server admits work.",
                "short",
                {"{{instance}}": f"rewarden_ready{{{I}}}"},
                "stat",
                4,
                most=1,
                steps=((0.0, "red"), (1.0, "green")),
            ),
            Panel(
                "Sandbox",
                "1: programs can run.",
                "short",
                {"{{instance}}": f"rewarden_sandbox_ready{{{I}}}"},
                "stat",
                4,
                most=1,
                steps=((0.0, "red"), (1.0, "green")),
            ),
            Panel(
                "Samples under way",
                "As a share of engine.max_samples. At 1, the server refuses the next batch.",
                "percentunit",
                {"{{instance}}": f"rewarden_samples_under_way{{{I}}} / rewarden_samples_limit"},
                "bargauge",
                8,
                most=1,
                steps=((0.0, "green"), (0.7, "orange"), (0.9, "red")),
            ),
            Panel(
                "Up for",
                "Since the server was started.",
                "s",
                {"{{instance}} {{version}}": f"time() - rewarden_started_seconds{{{I}}}"},
                "stat",
                8,
            ),
        ],
        "Time": [
            Panel(
                "Batches",
                "From admission to the last verdict: the time that a trainer waits.",
                "s",
                quantiles("rewarden_batch_seconds", I, "source"),
            ),
            Panel("Queue by verifier", "Before work begins.", "s", quantiles("rewarden_queue_seconds", W, "verifier")),
            Panel("Run by verifier", "The work itself.", "s", quantiles("rewarden_run_seconds", W, "verifier")),
            Panel(
                "Requests by route",
                "From the first byte to the last.",
                "s",
                quantiles("rewarden_request_seconds", I, "route"),
            ),
            Panel(
                "Cores at work, by verifier",
                "Seconds of work per second: each verifier's load on the machine (judges and programs: waiting).",
                "short",
                {"{{verifier}}": rate("rewarden_run_seconds_sum", W, "verifier")},
                stacked=True,
            ),
            Panel("Waiting, by lane", "Waiting or in progress.", "short", {"{{lane}}": f"rewarden_lane_depth{{{I}}}"}),
        ],
        "Sandbox": [
            Panel(
                "Slots",
                "All busy for long: add slots or hosts. Starting for long: the container engine is under stress.",
                "short",
                {"{{state}}": f"sum by (state) (rewarden_sandbox_slots{{{I}}})"},
                stacked=True,
            ),
            Panel(
                "Waiting jobs",
                "In the server and the host.",
                "short",
                {"{{instance}}": f"rewarden_sandbox_waiting{{{I}}}"},
            ),
            Panel(
                "Runs by status",
                "internal_error is Rewarden's fault and should be zero; exceeded limits are the policy's.",
                "ops",
                {"{{language}} {{status}}": rate("rewarden_sandbox_runs_total", I, "language, status")},
                stacked=True,
            ),
            Panel(
                "Run time by language",
                "Wall time of a program.",
                "s",
                quantiles("rewarden_sandbox_run_seconds", I, "language"),
                width=12,
            ),
            Panel(
                "Lean processes",
                "Warm Lean processes, by state.",
                "short",
                {"{{state}}": f"sum by (state) (rewarden_lean_processes{{{I}}})"},
                width=12,
                stacked=True,
            ),
        ],
        "Processes": [
            Panel(
                "Live workers",
                "By lane.",
                "short",
                {"{{instance}} {{lane}}": f"rewarden_workers{{{I}}}"},
                width=6,
            ),
            Panel(
                "Ended workers",
                "recycled is routine; responses cause expired and memory; died is a crash.",
                "ops",
                {"{{reason}}": rate("rewarden_workers_ended_total", I, "reason")},
                width=6,
                stacked=True,
            ),
            Panel(
                "Memory",
                "The server's, and what workers do not share. A slope that never ends is a leak.",
                "bytes",
                {
                    "{{instance}} server": f"process_resident_memory_bytes{{{I}}}",
                    "{{instance}} {{lane}} workers": f"rewarden_worker_memory_bytes{{{I}}}",
                },
                width=6,
            ),
            Panel(
                "The server's own processor",
                "The server itself uses one core: it decodes, plans and encodes. At 1, add a server, not workers.",
                "short",
                {"{{instance}}": f"rate(process_cpu_seconds_total{{{I}}}{RATE})"},
                width=6,
            ),
            Panel(
                "Descriptors",
                "Open file descriptors. Flat under a steady load.",
                "short",
                {"{{instance}}": f"process_open_fds{{{I}}}"},
                width=12,
            ),
            Panel(
                "Outcomes in the cache",
                "In memory, at most engine.cache_entries.",
                "short",
                {"{{instance}}": f"rewarden_cache_entries{{{I}}}"},
                width=12,
            ),
        ],
    },
)

JUDGES = Dashboard(
    "rewarden-judges",
    "Rewarden: judges and models",
    "Requests to language models and reward models, their results, and their cost.",
    {"judge": "rewarden_judge_in_flight", "model": "rewarden_model_state"},
    {
        "Cost": [
            Panel(
                "Dollars per hour",
                "At the prices in the configuration. Requests with an unknown outcome count at their maximum cost.",
                "currencyUSD",
                {"{{judge}}": f"3600 * {rate('rewarden_judge_cost_usd_total', J, 'judge')}"},
                stacked=True,
            ),
            Panel(
                "Budget left",
                "At zero, questions go to the fallbacks or end unscored.",
                "percentunit",
                {"{{judge}} {{of}}": f'rewarden_judge_budget_left{{{I},judge=~"$judge"}} / rewarden_judge_budget'},
                "bargauge",
                most=1,
                steps=((0.0, "red"), (0.1, "orange"), (0.3, "green")),
            ),
            Panel(
                "Tokens per second",
                "Prompt and completion.",
                "short",
                {"{{judge}} {{kind}}": rate("rewarden_judge_tokens_total", J, "judge, kind")},
                stacked=True,
            ),
        ],
        "Judges": [
            Panel(
                "Questions by outcome",
                "failed and exhausted go to fallbacks or end unscored; cached and coalesced cost nothing.",
                "ops",
                {"{{judge}} {{outcome}}": rate("rewarden_judge_questions_total", J, "judge, outcome")},
                stacked=True,
            ),
            Panel(
                "Requests by outcome",
                "Outcomes of single attempts, before retries: rate_limited, timeout, server_error …",
                "ops",
                {"{{judge}} {{outcome}}": rate("rewarden_judge_requests_total", J, "judge, outcome")},
                stacked=True,
            ),
            Panel(
                "Retries",
                "A few are routine. If there are as many as requests, the judge is at its limit.",
                "ops",
                {"{{judge}}": rate("rewarden_judge_retries_total", J, "judge")},
            ),
            Panel(
                "Time per request",
                "From sending the request to receiving the whole reply.",
                "s",
                quantiles("rewarden_judge_seconds", J, "judge"),
            ),
            Panel(
                "Under way and in line",
                "If questions stay in line for long, raise concurrency, provided the judge's server can handle it.",
                "short",
                {
                    "{{judge}} under way": f'rewarden_judge_in_flight{{{I},judge=~"$judge"}}',
                    "{{judge}} in line": f'rewarden_judge_waiting{{{I},judge=~"$judge"}}',
                },
            ),
            Panel(
                "Breaker",
                "1: the judge is down. Its questions wait while one request at a time probes it.",
                "short",
                {"{{judge}}": f'sum by (judge) (rewarden_judge_breaker{{{I},judge=~"$judge",state!="closed"}})'},
                most=1,
            ),
        ],
        "Models": [
            Panel(
                "Tasks by outcome",
                "refused: the task is at fault. failed: the model is.",
                "ops",
                {"{{model}} {{kind}} {{outcome}}": rate("rewarden_model_tasks_total", M, "model, kind, outcome")},
                stacked=True,
            ),
            Panel(
                "Time per task",
                "Includes waiting.",
                "s",
                quantiles("rewarden_model_seconds", M, "model"),
            ),
            Panel(
                "Tokens per second",
                "Tokens read and written.",
                "short",
                {"{{model}} {{of}}": rate("rewarden_model_tokens_total", M, "model, of")},
                stacked=True,
            ),
            Panel(
                "State",
                "ready, starting, remote or failed; failed raises an alert.",
                "short",
                {"{{model}} {{state}}": f'rewarden_model_state{{{I},model=~"$model"}}'},
                most=1,
            ),
            Panel(
                "Under way",
                "Tasks in progress or in line.",
                "short",
                {"{{model}}": f'rewarden_model_in_flight{{{I},model=~"$model"}}'},
            ),
            Panel(
                "Weight swaps",
                "Since the server was started. Each swap changes fingerprints.",
                "short",
                {"{{model}}": f'rewarden_model_swaps_total{{{I},model=~"$model"}}'},
            ),
        ],
    },
)

DASHBOARDS = (TRAFFIC, REWARDS, CAPACITY, JUDGES)


def made(dashboard: Dashboard) -> dict[str, Any]:
    """Returns a dashboard as Grafana's JSON."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": ["rewarden"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [_restarts()]},
        "links": [
            {"title": other.title, "type": "link", "url": f"/d/{other.uid}", "keepTime": True, "includeVars": True}
            for other in DASHBOARDS
            if other is not dashboard
        ],
        "templating": {"list": [_source(), *(_variable(*item) for item in _variables(dashboard))]},
        "panels": _panels(dashboard),
    }


def _variables(dashboard: Dashboard) -> list[tuple[str, str]]:
    return [("instance", "rewarden_build_info"), *dashboard.variables.items()]


def _source() -> dict[str, Any]:
    current = {"text": "Prometheus", "value": "rewarden-prometheus"}
    return {"name": "datasource", "label": "source", "type": "datasource", "query": "prometheus", "current": current}


def _variable(label: str, metric: str) -> dict[str, Any]:
    query = f"label_values({metric}, {label})"
    return {
        "name": label,
        "label": label.replace("_", " "),
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"query": query, "refId": "A"},
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": ["All"], "value": ["$__all"]},
        "refresh": 2,
        "sort": 1,
    }


def _restarts() -> dict[str, Any]:
    return {
        "name": "starts",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": "orange",
        "expr": f"changes(rewarden_started_seconds{{{I}}}[1m]) > 0",
        "titleFormat": "{{instance}} was started",
    }


def _panels(dashboard: Dashboard) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    y = 0
    for title, panels in dashboard.rows.items():
        place = {"x": 0, "y": y, "w": WIDTH, "h": 1}
        found.append({"id": len(found) + 1, "type": "row", "title": title, "gridPos": place, "panels": []})
        y, x = y + 1, 0
        height = 4 if all(panel.kind in ("stat", "bargauge") for panel in panels) else HEIGHT
        for panel in panels:
            if x + panel.width > WIDTH:
                y, x = y + height, 0
            place = {"x": x, "y": y, "w": panel.width, "h": height}
            found.append({"id": len(found) + 1, **_panel(panel), "gridPos": place})
            x += panel.width
        y += height
    return found


def _panel(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "color": {"mode": "thresholds" if panel.steps else "palette-classic"},
    }
    if panel.least is not None:
        defaults["min"] = panel.least
    if panel.most is not None:
        defaults["max"] = panel.most
    # Grafana's first step has no start value.
    steps = [{"color": colour, "value": at if place else None} for place, (at, colour) in enumerate(panel.steps)]
    defaults["thresholds"] = {"mode": "absolute", "steps": steps or [{"color": "green", "value": None}]}
    options: dict[str, Any] = {}
    if panel.kind == "timeseries":
        stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
        fill = 30 if panel.stacked else 0
        defaults["custom"] = {"lineWidth": 1, "fillOpacity": fill, "stacking": stacking, "showPoints": "never"}
        legend = {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]}
        options = {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}
    elif panel.kind == "heatmap":
        options = {"calculate": False, "yAxis": {"unit": panel.unit}, "color": {"scheme": "Blues", "mode": "scheme"}}
    else:
        options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": SOURCE,
                "editorMode": "code",
                "expr": query,
                "legendFormat": legend,
                "range": panel.kind in ("timeseries", "heatmap"),
                "instant": panel.kind not in ("timeseries", "heatmap"),
                **({"format": "heatmap"} if panel.kind == "heatmap" else {}),
            }
            for place, (legend, query) in enumerate(panel.queries.items())
        ],
    }


def main() -> int:
    """Returns 1 if `--check` finds a stale file."""
    stale = []
    for dashboard in DASHBOARDS:
        path = FOLDER / f"{dashboard.uid}.json"
        text = json.dumps(made(dashboard), indent=1, ensure_ascii=False) + "\n"
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    if "--check" in sys.argv and stale:
        print(f"stale: {', '.join(stale)}; run python deploy/grafana/generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
