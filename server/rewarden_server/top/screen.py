"""The screen of `rewarden top`, with Textual: the list of runs, and the figures of the selected one."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from rewarden.commands.terminal import one_line
from rewarden.errors import NotFound, RequestError
from rewarden_server.top.figures import RECENT, Figures
from rewarden_server.top.lines import NO_RUNS, detail_lines, list_head, list_line
from rewarden_server.top.watched import ORDERS, Watched

_LOOK_S = 2.0
"""Seconds between two requests for the list, and before a server that failed is asked again."""

_HELP = f"""\
up, down    select a run; scroll when it fills the screen
enter       fill the screen with the run: all sources and reasons
escape      back to the list
s           sort the list by another column
q           quit

reward      mean position of scores in their range, from 0 to 1
now         over the last {RECENT} steps; lowest, highest: of the curve
unscored    verdicts without a score, which count in no reward
groups      shares of the groups with more than one member
queue, run  mean times of the verdicts that the cache did not have
"""


class Help(ModalScreen[None]):
    """Help: the keys and the terms. Any of the keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark,escape,enter,q", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """See `textual`."""
        yield Static(_HELP, markup=False, id="help")


class Runs(OptionList):
    """The list of runs."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Open")]


class Top(App[None]):
    """Watches the runs of a server. `options`: see `rewarden_server.cli.server.options_of`. run: the one to show first
    (its id)."""

    TITLE = "rewarden top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head, #state { height: 1; color: $text-muted; padding: 0 1; }
    #runs { height: auto; max-height: 30%; border: none; padding: 0 1; text-wrap: nowrap; }
    #detail { height: 1fr; padding: 0 1; border-top: solid $secondary; }
    Help { align: center middle; }
    #help { width: auto; height: auto; padding: 1 2; background: $surface; border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "show_list", "Back"),
        Binding("s", "sort", "Sort"),
        Binding("question_mark", "help", "Help"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, url: str, options: Mapping[str, Any], run: str | None) -> None:
        super().__init__()
        self._url = url
        self._options = options
        self._selected = run
        self._watched: str | None = None
        self._figures: Figures | None = None
        self._full = False
        self._runs: list[dict[str, Any]] = []
        self._orders = deque(ORDERS)

    def compose(self) -> ComposeResult:
        """See `textual`."""
        yield Static(markup=False, id="state")
        yield Static(markup=False, id="head")
        yield Runs(markup=False, compact=True, id="runs")
        with VerticalScroll(id="detail"):
            yield Static(NO_RUNS, markup=False, id="figures")
        yield Footer()

    def on_mount(self) -> None:
        """Starts to watch."""
        self.query_one(OptionList).focus()
        self._watch_list()

    def on_resize(self) -> None:
        """Redraws for another width."""
        self.query_one("#head", Static).update(list_head(self._width))
        self._draw()

    @on(OptionList.OptionHighlighted)
    def _select(self, event: OptionList.OptionHighlighted) -> None:
        self._selected = event.option_id
        if event.option_id is not None and event.option_id != self._watched:
            self._watched, self._figures = event.option_id, None
            self._watch_run(event.option_id)

    @on(OptionList.OptionSelected)
    def _open(self) -> None:
        self._fill(True)

    def action_show_list(self) -> None:
        """Shows the list again."""
        self._fill(False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Offers to go back only where that is possible, and to sort only in the list."""
        return self._full if action == "show_list" else action != "sort" or not self._full

    def action_sort(self) -> None:
        """Sorts the list by the next order."""
        self._orders.rotate(-1)
        self._list(self._runs)
        self._tell()

    def action_help(self) -> None:
        """Shows the help."""
        self.push_screen(Help())

    @work(group="list")
    async def _watch_list(self) -> None:
        async with Watched(self._url, self._options) as server:
            while True:
                try:
                    self._list((await server.runs())["runs"])
                    self._tell()
                except RequestError as error:
                    self._say(f"{error.message}; trying again")
                await asyncio.sleep(_LOOK_S)

    @work(group="run", exclusive=True)
    async def _watch_run(self, id: str) -> None:
        async with Watched(self._url, self._options) as server:
            while True:
                try:
                    async for figures in server.changes(id):
                        self._figures = figures
                        self._draw()
                except NotFound:  # deleted: the list leaves it out
                    return
                except RequestError as error:
                    self._say(f"{error.message}; trying again")
                await asyncio.sleep(_LOOK_S)

    def _list(self, runs: list[dict[str, Any]]) -> None:
        """Shows the list, and keeps the selection."""
        options = self.query_one(OptionList)
        now = time.time()
        self._runs = runs
        runs = sorted(runs, key=ORDERS[self._orders[0]])
        if not runs:
            self._figures = None
            self.query_one("#figures", Static).update(NO_RUNS)
        options.set_options(Option(list_line(run, self._width, now), id=run["id"]) for run in runs)
        ids = [run["id"] for run in runs]
        if ids:
            options.highlighted = ids.index(self._selected) if self._selected in ids else 0

    def _fill(self, full: bool) -> None:
        self._full = full
        options, detail = self.query_one(OptionList), self.query_one("#detail")
        options.display = self.query_one("#head").display = not full
        (detail if full else options).focus()
        self.refresh_bindings()
        self._draw()

    def _draw(self) -> None:
        if self._figures is not None:
            lines = detail_lines(self._figures, self._width, everything=self._full)
            self.query_one("#figures", Static).update("\n".join(lines))

    def _tell(self) -> None:
        self._say(f"{self._url}, by {self._orders[0]}: live")

    def _say(self, text: str) -> None:
        self.query_one("#state", Static).update(one_line(text))

    @property
    def _width(self) -> int:
        """Leaves room for the padding and a scroll bar."""
        return self.size.width - 4
