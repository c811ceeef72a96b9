"""Mutated databases: variants with the same schema, on which a query that matched one toy database by luck fails.

After "Semantic Evaluation for Text-to-SQL with Distilled Test Suites" (Zhong, Yu, Klein 2020, arXiv 2010.02840): many
databases are generated that keep the schema and draw values from the constants of the queries, their neighbours and the
existing rows. A database is kept if near misses of the reference give another result on it than the reference.

To avoid false alarms, a database follows the schema's declarations and the rules that its sampled rows suggest (see
`habits`). It is dropped if the reference fails on it, if its result is empty or only NULL and zero (MAX and ORDER BY
with LIMIT 1 differ there), or if ties make that result ambiguous.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewarden.errors import InvalidSample
from rewarden_verifiers.contract import Watch
from rewarden_verifiers.sql.comparison.comparison import difference
from rewarden_verifiers.sql.connections import open_session
from rewarden_verifiers.sql.databases import Database, EngineName, Table
from rewarden_verifiers.sql.engines.engine import QueryFailed, ResultSet, Session
from rewarden_verifiers.sql.gold import CONNECTIONS, Gold
from rewarden_verifiers.sql.kept import Kept
from rewarden_verifiers.sql.make import quoted
from rewarden_verifiers.sql.mutation.blueprint import Blueprint, Impossible, Link, Part, blueprint, parents_first
from rewarden_verifiers.sql.mutation.constants import Mentions, Needs
from rewarden_verifiers.sql.mutation.habits import Habits, Value, folded
from rewarden_verifiers.sql.mutation.mutants import Unsettled, neighbours, readings
from rewarden_verifiers.sql.mutation.starters import starters
from rewarden_verifiers.sql.mutation.values_pool import Pool, fresh, pools
from rewarden_verifiers.sql.params import SqlParams
from rewarden_verifiers.sql.statement import Statement

SAMPLED = 150
"""The number of rows to read from each table."""

_KEPT = 256
_IDLE = 6
"""The search stops after this many databases in a row that distinguish nothing new, if there are enough."""
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Mutations:
    """Databases to try, or the reason why there are none."""

    databases: tuple[Database, ...]
    why: str | None = None


@dataclass(frozen=True, slots=True)
class _Profile:
    """The settings for generating one database. least, most: rows per table. change: how often a value differs from its
    source row's. constant: how often such a value comes from a constant. few: the number of distinct values per column,
    0 for all. null: the share of NULLs. partners: the share of a parent's rows that children refer to. empty: whether
    one table has no rows.
    """

    least: int
    most: int
    change: float
    constant: float
    few: int = 0
    null: float = 0.05
    partners: float = 0.7
    empty: bool = False


_PROFILES = (
    _Profile(10, 16, 0.5, 0.6),
    _Profile(6, 12, 0.7, 0.8, few=3, partners=0.5),
    _Profile(14, 24, 0.3, 0.5, few=5, null=0.15),
    _Profile(3, 6, 0.6, 0.7, few=2, partners=0.5),
    _Profile(10, 20, 0.8, 0.4, few=4, null=0.3, partners=0.9),
    _Profile(1, 4, 0.5, 0.9, few=2, null=0.0, partners=1.0),
    _Profile(8, 14, 0.9, 0.9, null=0.1, partners=0.4),
    _Profile(8, 16, 0.5, 0.5, few=3, empty=True),
    _Profile(12, 20, 0.0, 0.0, partners=0.6),
    _Profile(1, 1, 0.5, 0.8, null=0.0, partners=1.0),
)


def mutated(gold: Gold, answer: Statement, params: SqlParams, watch: Watch) -> Mutations:
    """Returns `params.mutations` variants of the gold's first database, or as many as are useful.

    The answer's constants and tables are included, so answers with different mentions get different sets. Randomness is
    derived from the database's key, the references, the number of databases and all mentions, so the set is the same in
    every process. Each database's key is a digest of its rows, so the reference's results on it are cached as usual.

    Raises DatabaseUnavailable, Expired.
    """
    try:
        references = [Mentions(statement) for statement in gold.statements]
        source = _source(gold, references, Mentions(answer), params, watch)
        ordered = any(gold.ordered(place, params) for place in range(len(references)))
        needs = Needs.of(references, Mentions(answer), ordered=ordered, known=source.known)
        texts = [statement.text for statement in gold.statements]
        tables = [habits.part.name for habits in source.habits]
        seed = _digest(repr((gold.databases[0].key, tables, texts, params.mutations, ordered, needs.text)))
        key = _digest(repr((seed, params.duplicates, params.columns, params.abs, params.rel, params.texts)))
        found = _SETS.get(key)
        if found is None:
            found = _Search(gold, source, needs, params, watch).chosen(seed)
            _SETS.put(key, found)
    except (Impossible, Unsettled) as error:
        # Attack: an answer that mentions something that cannot be generated. The control run uses the reference alone,
        # and the answer is then judged on the databases generated for it.
        plain = gold.statements[0]
        return Mutations((), str(error)) if answer is plain else mutated(gold, plain, params, watch)
    # Attack: an order in which the rows tie everywhere. Then nothing is dropped.
    fair = _fair(gold, found.databases, references, answer, params, watch)
    return Mutations(fair) if 0 < len(fair) < len(found.databases) else found


def _fair(
    gold: Gold,
    databases: tuple[Database, ...],
    references: Sequence[Mentions],
    answer: Statement,
    params: SqlParams,
    watch: Watch,
) -> tuple[Database, ...]:
    """Drops databases with ties for a rank that the answer assigns to one row: `ORDER BY x LIMIT 1` is a fair answer to
    a question for the greatest x if it is unique. Applies only if the reference asks for such a thing, too, and only to
    an order by a column: otherwise a bare LIMIT would be a loophole.
    """
    mine = Mentions(answer)
    ordered = answer.tree is not None and mine.picks and mine.orders_by_something
    if not ordered or not any(item.extreme for item in references):
        return databases
    found = []
    for database in databases:
        try:
            with CONNECTIONS.session(database, "answer", gold.servers, watch) as session:
                result = session.query(answer.text, params.caps, watch)
                settled = _settled(session, answer, result, params, watch, ordered=False)
        except (QueryFailed, Unsettled):
            settled = True  # judged as any other answer is
        if settled:
            found.append(database)
    return tuple(found)


def _settled(
    session: Session, statement: Statement, result: ResultSet, params: SqlParams, watch: Watch, *, ordered: bool
) -> bool:
    """Returns whether ties leave the result unambiguous. Raises Unsettled, QueryFailed."""
    open_ = readings(statement, len(result.columns))
    if open_ is None:
        return True
    one, other = (session.query(text, params.caps, watch) for text in open_)
    how = replace(params.comparison(ordered), columns="position", duplicates=True)
    return difference(one, other, how) is None


@dataclass(frozen=True, eq=False)
class _Source:
    """The input for mutated databases: the blueprint, and the rules of each table's sampled rows."""

    blueprint: Blueprint
    habits: tuple[Habits, ...]
    known: frozenset[str]


def _source(gold: Gold, references: Sequence[Mentions], answer: Mentions, params: SqlParams, watch: Watch) -> _Source:
    database = gold.databases[0]
    if database.engine in ("postgres", "mysql") and database.engine not in gold.servers:
        raise Impossible("there is no server on which databases may be made")
    words = frozenset(word for item in (*references, answer) for word in item.words)
    with CONNECTIONS.session(database, "reference", gold.servers, watch) as session:
        tables = _SCHEMAS.get(database.key)
        if tables is None:
            tables = frozenset(name.lower() for name in session.schema())
            _SCHEMAS.put(database.key, tables)
        named = sorted(name for name in tables if name in words)
        equated = frozenset(pair for item in (*references, answer) for pair in item.equated)
        key = _digest(repr((database.key, named, sorted(equated))))
        found = _SAMPLES.get(key)
        if found is None:
            plan = blueprint(database, session, words, params.caps, watch)
            rows = [_sampled(session, database, part, params, watch) for part in plan.parts]
            habits = [Habits(part, part_rows) for part, part_rows in zip(plan.parts, rows, strict=True)]
            columns = {column.name.lower() for part in plan.parts for column in part.columns}
            known = columns | {part.name.lower() for part in plan.parts} | set(named)
            found = _Source(plan, _linked(habits, equated), frozenset(known))
            _SAMPLES.put(key, found)
    return found


def _sampled(
    session: Session, database: Database, part: Part, params: SqlParams, watch: Watch
) -> list[tuple[Value, ...]]:
    names = ", ".join(quoted(column.name, database.engine) for column in part.columns)
    keys = ", ".join(quoted(column.name, database.engine) for column in part.columns if column.primary_key)
    # Embedded engines return rows in storage order; servers return them in any order.
    order = f" ORDER BY {keys}" if keys and database.engine in ("postgres", "mysql") else ""
    text = f"SELECT {names} FROM {quoted(part.name, database.engine)}{order} LIMIT {SAMPLED}"
    try:
        found = session.query(text, params.caps, watch).rows
    except QueryFailed as failed:
        raise Impossible(f"the rows of {part.name} cannot be read: {failed.message}") from None
    if not found:
        return starters(part.columns, database.engine)
    return [tuple(row) for row in found if all(_plain(value) for value in row)]


def _plain(value: Value) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST and not any("\ud800" <= sign <= "\udfff" for sign in value)
    return not isinstance(value, bytes) or len(value) <= _LONGEST


def _linked(habits: Sequence[Habits], equated: frozenset[tuple[str, str]]) -> tuple[Habits, ...]:
    """Adds foreign keys that are not declared but hold for all sampled rows: columns that a query compares with a key
    of another table, or that are named after one.
    """
    found = list(habits)
    for number, child in enumerate(found):
        taken = {name for link in child.part.links for name in link.columns}
        links = list(child.part.links)
        for name in child.names:
            if name in taken:
                continue
            values = {row[child.place[name]] for row in child.rows if _hashable(row[child.place[name]])} - {None}
            for at, parent in enumerate(habits):
                keys = [parent.names[key[0]] for key in parent.unique if len(key) == 1]
                target = next((key for key in keys if _points(name, parent.part.name, key, equated)), None)
                if at == number or target is None or not values or _below(found, at, number):
                    continue
                if values <= {row[parent.place[target]] for row in parent.rows} and name not in taken:
                    links.append(Link((name,), parent.part.name, (target,)))
                    taken.add(name)
        if len(links) > len(child.part.links):
            found[number] = Habits(replace(child.part, links=tuple(links)), child.rows)
    named = {item.part.name.lower(): item for item in found}
    ordered = parents_first({name: item.part for name, item in named.items()})
    return tuple(named[part.name.lower()] for part in ordered)


def _points(name: str, table: str, key: str, equated: frozenset[tuple[str, str]]) -> bool:
    name, table, key = name.lower(), table.lower(), key.lower()
    one, other = sorted((name, key))
    if (one, other) in equated or (name == key and key not in ("id", "name", "code")):
        return True
    stems = {table, table.removesuffix("s"), table.removesuffix("es"), table.removesuffix("ies") + "y"}
    return any(name in (f"{stem}_{key}", f"{stem}{key}") for stem in stems)


def _below(habits: Sequence[Habits], one: int, other: int) -> bool:
    """Returns whether the first table refers to the second, directly or indirectly."""
    target = habits[other].part.name.lower()
    ahead, seen = [habits[one]], set()
    while ahead:
        here = ahead.pop()
        for link in here.part.links:
            parent = link.parent.lower()
            if parent == target:
                return True
            if parent not in seen:
                seen.add(parent)
                ahead += [item for item in habits if item.part.name.lower() == parent]
    return False


_SETS: Kept[Mutations] = Kept(_KEPT)
_SAMPLES: Kept[_Source] = Kept(32)
_SCHEMAS: Kept[frozenset[str]] = Kept(_KEPT)
"""The table names of databases."""


class _Search:
    """The search for databases that distinguish the reference from its neighbours."""

    def __init__(self, gold: Gold, source: _Source, needs: Needs, params: SqlParams, watch: Watch) -> None:
        self._gold = gold
        self._source = source
        self._params = params
        self._watch = watch
        self._makers = _Makers(source, needs)
        self._mutants = neighbours(gold.statements[0])

    def chosen(self, seed: str) -> Mutations:
        """Chooses databases greedily: next comes the one that distinguishes most neighbours not distinguished yet."""
        wanted = self._params.mutations
        found: list[tuple[Database, frozenset[int]]] = []
        ever: frozenset[int] = frozenset()
        idle = 0
        for number in range(_tries(self._gold.databases[0].engine, wanted)):
            database = self._database(f"{seed}-{number}", number)
            told = self._told(database)
            if told is not None and all(database.key != other.key for other, _ in found):
                found.append((database, told))
                idle = 0 if told - ever else idle + 1
                ever |= told
            if len(found) >= wanted and idle >= _IDLE:
                break
        chosen: list[Database] = []
        covered: frozenset[int] = frozenset()
        while found and len(chosen) < wanted:
            best = max(range(len(found)), key=lambda at: (len(found[at][1] - covered), len(found[at][1]), -at))
            database, told = found.pop(best)
            chosen.append(database)
            covered |= told
        return Mutations(tuple(chosen), None if chosen else "on none that was made does the reference answer anything")

    def _database(self, seed: str, number: int) -> Database:
        tables = self._makers.tables(random.Random(seed), _PROFILES[number % len(_PROFILES)], free=number % 3 == 2)
        original = self._gold.databases[0]
        version = _digest(repr((self._source.blueprint.script, [(name, table.rows) for name, table in tables.items()])))
        return Database(
            id=f"mutated-{version[:8]}",
            engine=original.engine,
            version=version,
            script=self._source.blueprint.script,
            tables=tables,
        )

    def _told(self, database: Database) -> frozenset[int] | None:
        """Returns the neighbours of the reference that give a different result here; None if the database is
        unusable.
        """
        try:
            session = open_session(database, self._gold.servers, self._watch)
        except InvalidSample:
            return None  # a rule of the engine that we do not model
        try:
            for place, statement in enumerate(self._gold.statements):
                ordered = self._gold.ordered(place, self._params)
                result = session.query(statement.text, self._params.caps, self._watch)
                if not any(cell is not None and cell != 0 and cell != "" for row in result.rows for cell in row):
                    return None
                if not _settled(session, statement, result, self._params, self._watch, ordered=ordered):
                    return None
                if place == 0:
                    first, how = result, self._params.comparison(ordered)
            told = set()
            for number, text in enumerate(self._mutants):
                try:
                    other = session.query(text, self._params.caps, self._watch)
                except QueryFailed as failed:
                    if failed.reason not in ("syntax_error", "runtime_error"):
                        return None
                    continue
                if difference(first, other, how) is not None:
                    told.add(number)
            return frozenset(told)
        except QueryFailed:
            return None
        finally:
            session.close()


def _tries(engine: EngineName, wanted: int) -> int:
    """Returns the maximum number of databases to generate: SQLite makes one in a millisecond, the others take a hundred
    times that.
    """
    return 3 * wanted + 10 if engine == "sqlite" else wanted + 2


class _Makers:
    """Generates the rows of all tables."""

    def __init__(self, source: _Source, needs: Needs) -> None:
        self._habits = source.habits
        self._pools = [pools(habits, needs, source.blueprint.strict) for habits in source.habits]
        self._share(needs)
        self._orders = [_places(habits, needs.orders) for habits in source.habits]
        self._rows_orders = [_places(habits, needs.rows_orders) for habits in source.habits]

    def _share(self, needs: Needs) -> None:
        """Lets columns that a query compares draw from each other's values, so that some are equal."""
        columns = [
            (at, place, name.lower())
            for at, habits in enumerate(self._habits)
            for place, name in enumerate(habits.names)
        ]
        for one, other in sorted(needs.equated):
            both = [item for item in columns if item[2] in (one, other)]
            for at, place, name in both:
                look = self._habits[at].looks[place]
                values = [
                    value
                    for away, there, theirs in both
                    if (away, there) != (at, place) and {name, theirs} == {one, other}
                    for value in self._habits[away].looks[there].samples[:20]
                    if look.permits(value)
                ]
                pool = self._pools[at][place]
                self._pools[at][place] = replace(pool, near=tuple(dict.fromkeys((*pool.near, *values))))

    def tables(self, number: random.Random, profile: _Profile, *, free: bool) -> dict[str, Table]:
        """Returns rows by table, parents first. free: whether rows may tie in the columns that the reference
        sorts by.
        """
        made: dict[str, _Parent] = {}
        leaves = [
            habits.part.name
            for habits in self._habits
            if not any(
                link.parent.lower() == habits.part.name.lower() for other in self._habits for link in other.part.links
            )
        ]
        empty = number.choice(leaves) if profile.empty and len(self._habits) > 1 and leaves else None
        for at, (habits, columns) in enumerate(zip(self._habits, self._pools, strict=True)):
            orders = (*self._orders[at], *(() if free else self._rows_orders[at]))
            name = habits.part.name
            some = [_few(pool, profile, number) for pool in columns]
            most = 0 if name == empty or not habits.rows else number.randint(profile.least, profile.most)
            maker = _Rows(habits, some, orders, made, number, profile)
            made[name.lower()] = _Parent(habits.place, maker.rows(most))
        return {
            item.part.name: Table(columns=(), rows=tuple(made[item.part.name.lower()].rows)) for item in self._habits
        }


@dataclass(frozen=True, slots=True)
class _Parent:
    """The rows of a table that others refer to, and the position of each column."""

    place: Mapping[str, int]
    rows: list[tuple[Value, ...]]


def _places(habits: Habits, orders: frozenset[tuple[str, ...]]) -> tuple[tuple[int, ...], ...]:
    """Returns the positions of the columns of each order that uses only this table's columns."""
    lower = {name.lower(): place for name, place in habits.place.items()}
    return tuple(
        tuple(lower[name] for name in order) for order in sorted(orders) if all(name in lower for name in order)
    )


def _few(pool: Pool, profile: _Profile, number: random.Random) -> Pool:
    def some(values: tuple[Value, ...]) -> tuple[Value, ...]:
        if not profile.few or len(values) <= profile.few:
            return values
        return tuple(number.sample(values, profile.few))

    return replace(pool, own=some(pool.own), far=some(pool.far))


class _Rows:
    """Generates the rows of one table."""

    def __init__(
        self,
        habits: Habits,
        pools: Sequence[Pool],
        orders: Sequence[tuple[int, ...]],
        parents: Mapping[str, _Parent],
        number: random.Random,
        profile: _Profile,
    ) -> None:
        self._habits = habits
        self._pools = pools
        self._profile = profile
        self._number = number
        self._keys = [*((key, False) for key in habits.unique), *((order, True) for order in orders)]
        self._seen: list[set[Any]] = [set() for _ in self._keys]
        self._single = {key[0]: at for at, (key, _) in reversed(list(enumerate(self._keys))) if len(key) == 1}
        self._determined = [
            ({repr(row[one]): repr(row[other]) for row in habits.rows}, one, other) for one, other in habits.determined
        ]
        self._settled = {place for pair in habits.determined for place in pair}
        self._own = [link for link in habits.part.links if link.parent.lower() == habits.part.name.lower()]
        self._links = [
            (
                link,
                _Parent(
                    parent.place, [row for row in parent.rows if number.random() < profile.partners] or parent.rows[:1]
                ),
            )
            for link in habits.part.links
            if link not in self._own and (parent := parents[link.parent.lower()]) is not None
        ]
        self._linked = {habits.place[name] for link in habits.part.links for name in link.columns}
        self._frozen = {habits.place[name] for name in habits.part.frozen}

    def rows(self, most: int) -> list[tuple[Value, ...]]:
        """Returns at most this many rows, or fewer if keys do not permit more."""
        rows: list[tuple[Value, ...]] = []
        sources = list(self._habits.rows)
        self._number.shuffle(sources)
        for at in range(most * 2):
            if len(rows) >= most:
                break
            for change in (True, True, False):
                row = self._row(sources[at % len(sources)], rows, change=change)
                if row is not None and self._fits(row):
                    rows.append(row)
                    for seen, (key, _) in zip(self._seen, self._keys, strict=True):
                        seen.add(_key(row, key))
                    break
        return rows

    def _row(
        self, source: tuple[Value, ...], rows: list[tuple[Value, ...]], *, change: bool
    ) -> tuple[Value, ...] | None:
        row = list(source)
        done: set[int] = set()
        for link, parent in self._links:
            if not self._point(link, parent, row, done):
                return None
        for place in range(len(row)):
            if place in self._linked or place in self._frozen:
                continue
            if place in self._single:
                row[place] = self._alone(place, row[place], change)
            elif change and place not in self._settled and self._number.random() < self._profile.change:
                row[place] = self._other(place, row[place])
        for link in self._own:
            # The row may also refer to itself: that is how a root looks if NULL is not allowed.
            if not self._point(link, _Parent(self._habits.place, [*rows, tuple(row)]), row, done):
                return None
        return tuple(row)

    def _other(self, place: int, value: Value) -> Value:
        pool, number = self._pools[place], self._number
        if pool.null and number.random() < self._profile.null:
            return None
        constant = number.random() < self._profile.constant
        if constant and pool.near:
            return number.choice(pool.near)
        if constant and pool.far and number.random() < 0.5:
            return number.choice(pool.far)
        return number.choice(pool.own) if pool.own else value

    def _alone(self, place: int, value: Value, change: bool) -> Value:
        """Returns a unique value for a column: its own, one from the queries, or a new one."""
        at, pool = self._single[place], self._pools[place]
        seen = self._seen[at]
        if change and self._keys[at][1] and place not in self._settled:
            # Not a key, only a sort column: any of its values will do, as long as none occurs twice.
            other = next((made for _ in range(4) if _fold(made := self._other(place, value)) not in seen), None)
            if other is not None:
                return other
        if change and pool.near and self._number.random() < self._profile.change * self._profile.constant:
            near = self._number.choice(pool.near)
            if _fold(near) not in seen:
                return near
        if value is None or _fold(value) not in seen:
            return value
        return fresh(self._habits.looks[place], seen, self._number)

    def _point(self, link: Link, parent: _Parent, row: list[Value], done: set[int]) -> bool:
        """Makes the columns of a foreign key refer to some row, or to none if that is allowed."""
        places = [self._habits.place[name] for name in link.columns]
        targets = [parent.place[name] for name in link.parent_columns]
        held = done & set(places)
        done |= set(places)
        nullable = all(self._pools[place].null for place in places) or all(row[place] is None for place in places)
        if nullable and not held and self._number.random() < max(self._profile.null, 0.1):
            for place in places:
                row[place] = None
            return True
        fitting = [
            other
            for other in parent.rows
            if all(other[target] is not None for target in targets)
            and all(other[target] == row[place] for place, target in zip(places, targets, strict=True) if place in held)
        ]
        if not fitting:
            # It was NULL before, and may stay so.
            return all(row[place] is None for place in places)
        partner = self._number.choice(fitting)
        for place, target in zip(places, targets, strict=True):
            row[place] = partner[target]
        return True

    def _fits(self, row: tuple[Value, ...]) -> bool:
        columns = self._habits.part.columns
        if any(
            row[place] is None and (columns[place].not_null or columns[place].primary_key) for place in range(len(row))
        ):
            return False
        for seen, (key, strict) in zip(self._seen, self._keys, strict=True):
            made = _key(row, key)
            if (made is None and strict) or (made is not None and made in seen):
                return False
        if any(known.get(repr(row[one])) != repr(row[other]) for known, one, other in self._determined):
            return False
        return all(
            row[one] is None or row[other] is None or row[one] <= row[other] for one, other in self._habits.before
        )


def _fold(value: Value) -> Any:
    found = folded(value)
    return found if _hashable(found) else repr(found)


def _key(row: tuple[Value, ...], key: tuple[int, ...]) -> Any:
    """The combined values of a key; None if one of them is NULL, because then no other row is equal."""
    if any(row[place] is None for place in key):
        return None
    return _fold(row[key[0]]) if len(key) == 1 else tuple(_fold(row[place]) for place in key)


def _hashable(value: Value) -> bool:
    return type(value).__hash__ is not None


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
