"""A small web shop: the policy searches for a product, reads its page, chooses options, and buys it."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rewarden_verifiers.environments.contract import (
    BadOptions,
    Environment,
    Illegal,
    Observation,
    Tool,
    Turn,
    read_action,
)
from rewarden_verifiers.games.rules import shown
from rewarden_verifiers.words import tokens

_TOOLS = (
    Tool(name="search", argument="query", meaning="Search the shop; the first page of results is shown."),
    Tool(name="next", meaning="See the next page of results."),
    Tool(name="open", argument="id", meaning="Open the page of a product that is among the results in sight."),
    Tool(name="choose", argument="option", more=("value",), meaning="Choose a value of an option on a product's page."),
    Tool(name="buy", meaning="Buy the product whose page is open, which ends the episode."),
)
_MOST_PRODUCTS, _MOST_WORDS, _PAGE = 1000, 64, 10
_SAME_CATEGORY, _SAME_WORDS = 0.5, 0.1


@dataclass(frozen=True, kw_only=True)
class Product:
    """A product. kind: such as `running shoes`. category: such as `shoes`. attributes: shown on its page. options: maps
    names to the values to choose from."""

    id: str
    title: str
    kind: str
    category: str
    price: float
    attributes: tuple[str, ...] = ()
    options: dict[str, tuple[str, ...]] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """The product to buy. price: the maximum price."""

    kind: str
    price: float
    attributes: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)

    def told(self) -> str:
        """The wish in words."""
        parts = [f"Buy this: {self.kind}"]
        if self.attributes:
            parts.append(" and ".join(self.attributes))
        parts += [f"with {name} {value}" for name, value in self.options.items()]
        return f"{', '.join(parts)}, for at most {self.price:.2f}."


@dataclass(frozen=True, kw_only=True)
class ShopOptions:
    """Options of `shop`.

    products: the size of a catalogue that is generated from the seed together with a wish. catalogue: instead, the
    products. wish: the product to buy from it. task: the wish in other words.
    """

    products: int = 100
    catalogue: tuple[Product, ...] = ()
    wish: Wish | None = None
    task: str | None = None

    def __post_init__(self) -> None:
        if not 10 <= self.products <= _MOST_PRODUCTS or len(self.catalogue) > _MOST_PRODUCTS:
            raise ValueError(f"products must be 10 to {_MOST_PRODUCTS}")
        if (self.wish is None) != (not self.catalogue) or (self.wish is None and self.task is not None):
            raise ValueError("give catalogue and wish, or neither")


class Shop(Environment):
    """A shop in which the policy buys one product, as wished."""

    options = ShopOptions
    tools = _TOOLS
    max_steps = 40

    def reset(self, seed: int, options: ShopOptions) -> Observation:
        """See `Environment`."""
        catalogue, wish = (
            _made(options.products, random.Random(seed)) if options.wish is None else (options.catalogue, options.wish)
        )
        self._products = {product.id: product for product in catalogue}
        if len(self._products) < len(catalogue) or not all(id == id.strip() != "" for id in self._products):
            raise BadOptions("must have ids, each of its own", "catalogue")
        for product in catalogue:
            if any(not values for values in product.options.values()):
                raise BadOptions(f"{product.id[:100]}: an option has no values", "catalogue")
        if not all(math.isfinite(price) and price > 0 for price in (wish.price, *(one.price for one in catalogue))):
            raise BadOptions("must be above 0, everywhere", "wish.price")
        self._wish, self._index = wish, _Index(catalogue)
        self._categories = {product.category for product in catalogue if product.kind == wish.kind}
        if not any(self._earned(product, wish.options) == 1.0 for product in catalogue):
            raise BadOptions("no product is as it is wished", "wish")
        self._results: Sequence[str] = ()
        self._page, self._open, self._chosen = 0, "", dict[str, str]()
        actions = ", ".join(tool.form().replace("\n", "⏎") for tool in _TOOLS)
        return Observation(f"{options.task or wish.told()}\nActions: {actions}. ⏎ is the end of a line.")

    def step(self, action: str) -> Turn:
        """See `Environment`."""
        name, arguments = read_action(_TOOLS, action)
        if name == "search":
            self._results, self._page, self._open = self._index.search(arguments[0]), 0, ""
            return self._listed()
        if name == "next":
            if (self._page + 1) * _PAGE >= len(self._results):
                raise Illegal("there is no next page of results")
            self._page, self._open = self._page + 1, ""
            return self._listed()
        if name == "open":
            if arguments[0] not in self._in_sight():
                # Attack: guessing ids, or remembering them from other episodes, instead of searching.
                raise Illegal(f"{shown(arguments[0])} is not among the results in sight")
            self._open, self._chosen = arguments[0], {}
            return self._shown()
        if not self._open:
            raise Illegal("no product's page is open")
        return self._choose(*arguments) if name == "choose" else self._buy()

    def _in_sight(self) -> Sequence[str]:
        return self._results[self._page * _PAGE : (self._page + 1) * _PAGE]

    def _listed(self) -> Turn:
        lines = [f"[{id}] {self._products[id].title}, {self._products[id].price:.2f}" for id in self._in_sight()]
        pages = -(-len(self._results) // _PAGE)
        head = f"Page {self._page + 1} of {pages}:" if lines else "No results."
        return Turn(observation=Observation("\n".join([head, *lines]), {"ids": list(self._in_sight())}))

    def _shown(self) -> Turn:
        product = self._products[self._open]
        lines = [product.title, f"Price: {product.price:.2f}"]
        lines += [f"It is {', '.join(product.attributes)}."] if product.attributes else []
        lines += [product.text] if product.text else []
        for name, values in product.options.items():
            lines.append(f"{name}: {', '.join(values)}; chosen: {self._chosen.get(name, 'none')}")
        return Turn(observation=Observation("\n".join(lines)))

    def _choose(self, option: str, value: str) -> Turn:
        values = self._products[self._open].options.get(option)
        if values is None:
            raise Illegal(f"the product has no option {shown(option)}")
        if value.strip() not in values:
            raise Illegal(f"{shown(value)} is not a value of {shown(option)}")
        self._chosen[option] = value.strip()
        return self._shown()

    def _buy(self) -> Turn:
        product = self._products[self._open]
        missing = next((name for name in product.options if name not in self._chosen), None)
        if missing is not None:
            raise Illegal(f"choose {shown(missing)} first")
        reward = self._earned(product, self._chosen)
        return Turn(
            observation=Observation("Bought."),
            reward=reward,
            done=True,
            success=reward == 1.0,
            why=None if reward == 1.0 else "wrong",
            cost=0.0,
        )

    def _earned(self, product: Product, chosen: Mapping[str, str]) -> float:
        """The reward of a product by WebShop's formula: the share of wishes (attributes, options, price) that it meets,
        times a factor for its kind.

        The factor is 1 for the wished kind, 0.5 for another one of its category, 0.1 if the title has a word of the
        wished kind, else 0.
        """
        wish, has = self._wish, {one.lower() for one in product.attributes}
        met = sum(one.lower() in has for one in set(wish.attributes))
        met += sum(
            value == chosen.get(name) and value in product.options.get(name, ()) for name, value in wish.options.items()
        )
        met += product.price <= wish.price
        return self._factor(product) * met / (len(set(wish.attributes)) + len(wish.options) + 1)

    def _factor(self, product: Product) -> float:
        if product.kind == self._wish.kind:
            return 1.0
        if product.category in self._categories:
            return _SAME_CATEGORY
        return _SAME_WORDS if set(tokens(product.title)) & set(tokens(self._wish.kind)) else 0.0


class _Index:
    """An index of products by word. Words count more the fewer products have them."""

    def __init__(self, catalogue: Sequence[Product]) -> None:
        self._words = {
            one.id: Counter(tokens(" ".join((one.title, one.title, one.kind, *one.attributes, one.text))))
            for one in catalogue
        }
        having = Counter(word for words in self._words.values() for word in words)
        self._weight = {word: math.log(1 + len(catalogue) / count) for word, count in having.items()}

    def search(self, query: str) -> Sequence[str]:
        """The ids of the products that match a word of the query, best first."""
        asked = [word for word in dict.fromkeys(tokens(query)) if word in self._weight][:_MOST_WORDS]
        scores: dict[str, float] = {}
        for id, words in self._words.items():
            score = math.fsum(self._weight[word] * words[word] / (words[word] + 1) for word in asked if words[word])
            if score:
                scores[id] = score
        return sorted(scores, key=lambda id: -scores[id])


_KINDS: Mapping[str, tuple[str, ...]] = {
    "shoes": ("running shoes", "hiking boots", "sandals", "slippers"),
    "bags": ("backpack", "shopping bag", "suitcase"),
    "lamps": ("desk lamp", "night light", "bicycle lamp"),
    "kitchen": ("kettle", "frying pan", "lunch box", "water bottle"),
    "clothing": ("rain jacket", "wool socks", "work gloves", "sun hat"),
}
_ATTRIBUTES = (
    "waterproof",
    "lightweight",
    "washable",
    "recycled",
    "foldable",
    "scratch resistant",
    "easy to clean",
    "quiet",
    "insulated",
    "reflective",
)
_VALUES: Mapping[str, tuple[str, ...]] = {
    "colour": ("black", "blue", "green", "grey", "red", "white", "yellow"),
    "size": ("small", "medium", "large", "extra large"),
    "pack": ("1 piece", "2 pieces", "4 pieces"),
}
_MAKERS = ("Alder", "Brook", "Corrie", "Dunmore", "Elland", "Fenwick", "Garth", "Holm")


def _made(count: int, choose: random.Random) -> tuple[Sequence[Product], Wish]:
    """A generated catalogue, and a wish that one of its products fulfils; others of its kind usually lack something."""
    kinds = [(category, kind) for category, kinds in _KINDS.items() for kind in kinds]
    ids = [f"P{number}" for number in choose.sample(range(10_000, 100_000), count)]
    catalogue = []
    for id in ids:
        category, kind = choose.choice(kinds)
        options = {name: tuple(choose.sample(values, 3)) for name, values in _VALUES.items() if choose.random() < 0.7}
        catalogue.append(
            Product(
                id=id,
                title=f"{choose.choice(_MAKERS)} {kind} {choose.randint(100, 999)}",
                kind=kind,
                category=category,
                price=choose.randint(500, 20_000) / 100,
                attributes=tuple(choose.sample(_ATTRIBUTES, choose.randint(2, 4))),
                options=options,
            )
        )
    target = choose.choice([one for one in catalogue if one.options])
    wish = Wish(
        kind=target.kind,
        price=math.ceil(target.price * choose.uniform(1.0, 1.3)),
        attributes=tuple(choose.sample(target.attributes, 2)),
        options={name: choose.choice(values) for name, values in target.options.items()},
    )
    return catalogue, wish
