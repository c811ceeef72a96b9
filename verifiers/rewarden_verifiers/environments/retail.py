"""A retailer's service desk: a customer writes, and the policy answers, looks things up, and changes orders within the
rules.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.environments.contract import Environment, Illegal, Observation, Tool, Turn, read_action
from rewarden_verifiers.words import tokens

Task = Literal["cancel", "return", "exchange", "address"]
_TASKS: Sequence[Task] = ("cancel", "return", "exchange", "address")

_TOOLS = (
    Tool(name="say", argument="text", meaning="Write to the customer, who answers."),
    Tool(name="customer", argument="email", meaning="Find a customer by e-mail address."),
    Tool(name="order", argument="order", meaning="See an order of that customer."),
    Tool(name="product", argument="product", meaning="See the items of a product, with their prices."),
    Tool(name="cancel", argument="order", more=("reason",), meaning="Cancel an order."),
    Tool(name="return", argument="order", more=("item",), meaning="Take an item back."),
    Tool(name="exchange", argument="order", more=("item", "new_item"), meaning="Exchange an item for another."),
    Tool(name="address", argument="order", more=("address",), meaning="Change the address of an order."),
    Tool(name="done", meaning="Say that everything is done, which ends the episode."),
)
_RULES = """You work at a shop's service desk. The rules:
1. Ask the customer for the e-mail address, and look the customer up before anything else. Only that customer's orders
may be seen or changed.
2. Only an order that is pending may be cancelled, or get another address. The reason to cancel is `no longer needed` or
`ordered by mistake`, as the customer says.
3. Only an item of an order that is delivered may be returned or exchanged, and exchanged only for another item of the
same product that is in stock.
4. Before each change, tell the customer the order's number and the change (cancel, return, exchange or address), one
change in a message, and go on only if the customer agrees.
5. Answer what the customer asks: one amount in a message, such as 12.50."""
_REASONS = ("no longer needed", "ordered by mistake")
_ORDER = re.compile(r"\bW[0-9]{5}\b", re.ASCII)
_AMOUNT = re.compile(r"(?<![0-9.,])[0-9]{1,6}\.[0-9]{2}(?![0-9]|[.,][0-9])", re.ASCII)
_WORDS: Mapping[Task, frozenset[str]] = {
    "cancel": frozenset({"cancel", "cancelled", "canceled", "cancelling", "canceling", "cancellation"}),
    "return": frozenset({"return", "returned", "returning"}),
    "exchange": frozenset({"exchange", "exchanged", "exchanging"}),
    "address": frozenset({"address"}),
}
"""Words that the customer understands as an offer of a change."""


@dataclass(frozen=True, kw_only=True)
class RetailOptions:
    """Options of `retail`. task: the kind of the customer's wish; by default any, drawn by the seed."""

    task: Task | None = None


@dataclass(kw_only=True)
class _Order:
    id: str
    owner: str
    status: Literal["pending", "delivered", "cancelled"]
    address: str
    items: dict[str, str]
    """Maps item ids to their state: `kept`, `returned`, or the id of the replacement item."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class _Item:
    id: str
    product: str
    kind: str
    price: int
    """In cents."""
    stock: bool


@dataclass(kw_only=True)
class _Shop:
    customers: dict[str, str]
    """Maps e-mail addresses to names."""
    items: dict[str, _Item]
    orders: dict[str, _Order]


@dataclass(frozen=True, kw_only=True)
class _Case:
    """A customer and their wish. arguments: those of the change, after the order. amount: the amount to tell the
    customer, in cents."""

    email: str
    order: str
    task: Task
    arguments: tuple[str, ...]
    request: str
    details: str
    amount: int


class Retail(Environment):
    """A service desk with a customer who knows what they want, and tells it when asked."""

    options = RetailOptions
    tools = _TOOLS
    max_steps = 40

    def reset(self, seed: int, options: RetailOptions) -> Observation:
        """See `Environment`."""
        choose = random.Random(seed)
        self._shop = _stocked(choose)
        task = choose.choice(_TASKS) if options.task is None else options.task
        self._case = _case(self._shop, task, choose)
        wanted = copy.deepcopy(self._shop)
        _change(wanted, self._case.task, self._case.order, *self._case.arguments)
        self._wanted = wanted
        self._known, self._introduced = "", False
        self._agreed: tuple[Task, str] | None = None
        self._unasked = False
        self._told: str | None = None
        actions = ", ".join(tool.form().replace("\n", "⏎") for tool in _TOOLS)
        return Observation(
            f"{_RULES}\nActions: {actions}. ⏎ is the end of a line.\nThe customer writes: Hello. {self._case.request}"
        )

    def step(self, action: str) -> Turn:
        """See `Environment`. Anything that the rules forbid is illegal, as far as a tool can know."""
        name, arguments = read_action(_TOOLS, action)
        if name == "say":
            return _seen(f"The customer writes: {self._reply(arguments[0])}")
        if name == "done":
            return self._ended()
        if name == "customer":
            if not self._introduced or arguments[0].lower() != self._case.email:
                # Attack: finding customers by guessing addresses.
                raise Illegal("the customer has given no such address")
            self._known = self._case.email
            return _seen(self._customer())
        if name == "product":
            return _seen(self._product(arguments[0]))
        if not self._known:
            # Attack: finding orders by guessing numbers before the customer is identified.
            raise Illegal("no customer has been found")
        order = self._shop.orders.get(arguments[0])
        if order is None:
            return _seen("There is no such order.")
        if order.owner != self._known:
            raise Illegal("it is another customer's order")
        if name == "order":
            return _seen(self._order(order))
        task: Task = next(task for task in _TASKS if task == name)
        why = _forbidden(self._shop, task, order, *arguments[1:])
        if why is not None:
            raise Illegal(why)
        self._unasked = self._unasked or self._agreed != (task, order.id)
        self._agreed = None
        _change(self._shop, task, order.id, *(text.strip() for text in arguments[1:]))
        return _seen("Done.")

    def _ended(self) -> Turn:
        why = None
        if self._shop != self._wanted:
            why = "wrong"
        elif self._unasked:
            why = "not_agreed"
        elif self._told != _money(self._case.amount):
            why = "not_told"
        return Turn(
            observation=Observation("The episode has ended."),
            reward=float(why is None),
            done=True,
            success=why is None,
            why=why,
            cost=0.0,
        )

    def _reply(self, text: str) -> str:
        """The customer's answer. It depends on the words alone, never on whether the policy is right."""
        words = set(tokens(text))
        amounts = _AMOUNT.findall(text)
        if amounts:
            # Attack: naming every possible amount, one of which is right.
            self._told = amounts[0] if len(set(amounts)) == 1 else None
        orders = set(_ORDER.findall(text))
        changes = [task for task in _TASKS if words & _WORDS[task]]
        self._agreed = None
        if orders and changes:
            if len(orders) > 1 or len(changes) > 1:
                # Attack: a single message that offers everything, so that the customer agrees to one of the offers.
                return "One thing at a time, please."
            if (changes[0], min(orders)) != (self._case.task, self._case.order):
                return f"No, that is not what I want. {self._case.request}"
            self._agreed = (self._case.task, self._case.order)
            return "Yes, please."
        said = []
        if words & {"email", "mail"}:
            self._introduced = True
            said.append(f"My e-mail address is {self._case.email}")
        if words & {"reason", "why", "new", "instead", "address", "which", "details"} and not (
            said and "address" in words
        ):
            said.append(self._case.details)
        if amounts and not said:
            return "Thank you."
        return "\n".join(said) or self._case.request

    def _customer(self) -> str:
        orders = [order.id for order in self._shop.orders.values() if order.owner == self._known]
        return f"{self._shop.customers[self._known]}, orders: {', '.join(orders)}"

    def _order(self, order: _Order) -> str:
        lines = [f"{order.id}: {order.status}, to {order.address}"]
        for id, state in order.items.items():
            item = self._shop.items[id]
            lines.append(f"{id}: {item.product}, {item.kind}, {_money(item.price)}, {state}")
        return "\n".join(lines)

    def _product(self, name: str) -> str:
        items = [item for item in self._shop.items.values() if item.product == name.lower()]
        lines = [
            f"{item.id}: {item.kind}, {_money(item.price)}, {'in stock' if item.stock else 'sold out'}"
            for item in items
        ]
        return "\n".join(lines) or "There is no such product."


def _seen(text: str) -> Turn:
    return Turn(observation=Observation(text))


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _forbidden(shop: _Shop, task: Task, order: _Order, first: str, second: str = "") -> str | None:
    """The reason why the rules forbid a change, or None."""
    if task in ("cancel", "address"):
        if order.status != "pending":
            return "the order is not pending"
        if task == "cancel":
            return None if first.strip() in _REASONS else f"the reason is {' or '.join(_REASONS)}"
        return None if first.strip() else "the address is missing"
    if order.status != "delivered":
        return "the order is not delivered"
    if order.items.get(first.strip()) != "kept":
        return "the order has no such item"
    if task == "return":
        return None
    new = shop.items.get(second.strip())
    if new is None or new.product != shop.items[first.strip()].product or new.id == first.strip() or not new.stock:
        return "it is not another item of the product that is in stock"
    return None


def _change(shop: _Shop, task: Task, order: str, first: str, second: str = "") -> None:
    found = shop.orders[order]
    if task == "cancel":
        found.status, found.reason = "cancelled", first
    elif task == "address":
        found.address = first
    elif task == "return":
        found.items[first] = "returned"
    else:
        found.items[first] = second


_FIRST = ("Ada", "Bela", "Carl", "Dora", "Emil", "Frida", "Gustav", "Hanna", "Ilse", "Jonas")
_LAST = ("Arnim", "Brandt", "Claus", "Dietz", "Ebner", "Falk")
_STREETS = ("Mill Lane", "Station Road", "Church Street", "Harbour Way", "Park Road", "High Street")
_PRODUCTS: Mapping[str, tuple[str, ...]] = {
    "lamp": ("brass", "steel", "white"),
    "kettle": ("1 litre", "1.5 litres", "2 litres"),
    "backpack": ("green", "grey", "orange"),
    "clock": ("round", "square", "oval"),
    "blanket": ("wool", "cotton", "linen"),
    "chair": ("oak", "beech", "walnut"),
}


def _stocked(choose: random.Random) -> _Shop:
    """A generated shop with six customers. Each has three orders of one or two products."""
    ids = iter(choose.sample(range(10_000, 100_000), 60))
    items = {}
    for product, kinds in _PRODUCTS.items():
        for place, kind in enumerate(kinds):
            item = _Item(
                id=f"I{next(ids)}",
                product=product,
                kind=kind,
                price=choose.randint(1_000, 20_000),
                stock=place < 2 or choose.random() < 0.5,  # so that each product can be exchanged for another
            )
            items[item.id] = item
    customers, orders = {}, {}
    for first, last in zip(choose.sample(_FIRST, 6), choose.sample(_LAST, 6), strict=True):
        email = f"{first}.{last}@example.com".lower()
        customers[email] = f"{first} {last}"
        # No customer orders a product twice, so that they need not know which order they mean.
        products = choose.sample(list(_PRODUCTS), 5)
        for status, inner in (("pending", products[:2]), ("delivered", products[2:4]), ("pending", products[4:])):
            chosen = [choose.choice([one for one in items.values() if one.product == product]) for product in inner]
            order = _Order(
                id=f"W{next(ids)}",
                owner=email,
                status="pending" if status == "pending" else "delivered",
                address=_address(choose),
                items={one.id: "kept" for one in chosen},
            )
            orders[order.id] = order
    return _Shop(customers=customers, items=items, orders=orders)


def _address(choose: random.Random) -> str:
    return f"{choose.randint(1, 99)} {choose.choice(_STREETS)}"


def _case(shop: _Shop, task: Task, choose: random.Random) -> _Case:
    """A generated wish that the rules allow."""
    status = "pending" if task in ("cancel", "address") else "delivered"
    order = choose.choice([one for one in shop.orders.values() if one.status == status])
    item = shop.items[choose.choice(list(order.items))]
    total = sum(shop.items[id].price for id in order.items)
    ask = "And tell me"
    if task == "cancel":
        reason = choose.choice(_REASONS)
        said = "I do not need it any more" if reason == _REASONS[0] else "I ordered it by mistake"
        arguments: tuple[str, ...] = (reason,)
        request = f"I want to cancel the order that has the {item.product}. {ask} how much I get back in all."
        details, amount = f"{said}.", total
    elif task == "address":
        new = f"{choose.randint(100, 199)} {choose.choice(_STREETS)}"  # no order has this address
        arguments = (new,)
        request = f"The order that has the {item.product} should go to a new address. {ask} what it costs in all."
        details, amount = f"The new address is: {new}", total
    elif task == "return":
        arguments = (item.id,)
        request = f"I want to return the {item.product}. {ask} how much I get back."
        details, amount = f"Only the {item.product}.", item.price
    else:
        others = [one for one in shop.items.values() if one.product == item.product and one.id != item.id and one.stock]
        new_item = choose.choice(others)
        arguments = (item.id, new_item.id)
        request = f"I want to exchange the {item.product} for another one. {ask} the price of the new one."
        details, amount = f"I want the one that is: {new_item.kind}.", new_item.price
    return _Case(
        email=order.owner,
        order=order.id,
        task=task,
        arguments=arguments,
        request=request,
        details=details,
        amount=amount,
    )
