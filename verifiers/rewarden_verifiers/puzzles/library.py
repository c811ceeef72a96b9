"""The modules of `reasoning-gym`, each loaded on demand.

Importing the package imports all of it, including matplotlib, which takes more CPU time than a worker gives one sample.
The library's packages are therefore registered without running their `__init__`, so that a data set's module imports
only what it uses. If the package has already been imported, it is left alone.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rewarden.errors import InvalidReference, MissingDependency

NAME = "reasoning_gym"

_FAMILIES: Mapping[str, str] = {
    "algebra": "complex_arithmetic intermediate_integration polynomial_equations polynomial_multiplication "
    "simple_equations simple_integration",
    "algorithmic": "ab base_conversion binary_alternation binary_matrix caesar_cipher count_primes cryptarithm "
    "game_of_life game_of_life_halting graph_color group_anagrams isomorphic_strings jugs letter_counting "
    "letter_jumble manipulate_matrix number_filtering number_sorting palindrome_generation palindrome_partitioning "
    "pool_matrix ransom_note rotate_matrix rotten_oranges sentence_reordering spell_backward spiral_matrix "
    "string_insertion string_manipulation string_splitting string_synthesis word_ladder word_sequence_reversal "
    "word_sorting",
    "arc": "arc_1d arc_agi rearc",
    "arithmetic": "basic_arithmetic bitwise_arithmetic calendar_arithmetic chain_sum count_bits decimal_arithmetic "
    "decimal_chain_sum dice fraction_simplification gcd lcm leg_counting number_format power_function "
    "prime_factorization products time_intervals",
    "code": "bf codeio",
    "cognition": "color_cube_rotation modulo_grid needle_haystack rectangle_count rubiks_cube",
    "games": "boxnet countdown emoji_mystery futoshiki kakurasu knight_swap maze mini_sudoku n_queens puzzle24 "
    "rush_hour sokoban sudoku survo tower_of_hanoi tsumego",
    "geometry": "advanced_geometry simple_geometry",
    "graphs": "course_schedule family_relationships largest_island path_star quantum_lock shortest_path",
    "logic": "aiw circuit_logic knights_knaves propositional_logic self_reference zebra_puzzles",
    "probability": "coin_flip",
}
MODULES: Mapping[str, str] = {
    **{name: f"{family}.{name}" for family, names in _FAMILIES.items() for name in names.split()},
    # Data sets whose module has another name, or is in its own package.
    "acre": "induction.acre.acre",
    "figlet_font": "cognition.figlet_fonts",
    "gsm_symbolic": "arithmetic.gsm_symbolic.gsm_symbolic",
    "list_functions": "induction.list_functions.list_functions",
    "mahjong_puzzle": "games.mahjong",
    "number_sequence": "cognition.number_sequences",
    "syllogism": "logic.syllogisms",
}
"""Maps each data set's name to its module. `composite`, a mixture of the others, is not included."""

_SHELLS = (*_FAMILIES, "coaching", "induction")


def folder() -> Path:
    """Returns the folder where the library is installed. Raises MissingDependency."""
    found = importlib.util.find_spec(NAME)
    if found is None or not found.submodule_search_locations:
        raise MissingDependency(
            "verifier 'puzzle' needs the package 'reasoning_gym' for this data set: "
            "pip install 'rewarden-server[puzzles]'",
            verifier="puzzle",
        )
    return Path(next(iter(found.submodule_search_locations)))


class _Shell(ModuleType):
    """A package whose `__init__` runs only when code requests a name that none of its modules has."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if importlib.util.find_spec(f"{self.__name__}.{name}") is not None:
            return importlib.import_module(f"{self.__name__}.{name}")
        self.load()
        return getattr(self, name)

    def load(self) -> None:
        """Runs its `__init__`, and those of its subpackages."""
        spec, self.__class__ = self.__spec__, ModuleType  # type: ignore[assignment]
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(self)
        for part in list(vars(self).values()):
            if isinstance(part, _Shell):  # loading the library loads all of it
                part.load()


def _shell(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path / "__init__.py", submodule_search_locations=[str(path)])
    assert spec is not None
    module = _Shell(name)
    module.__spec__, module.__path__, module.__file__ = spec, [str(path)], spec.origin
    sys.modules[name] = module
    return module


def _prepare() -> None:
    if NAME not in sys.modules:
        root = folder()
        top = _shell(NAME, root)
        for family in _SHELLS:
            setattr(top, family, _shell(f"{NAME}.{family}", root / family))


@contextlib.contextmanager
def _whole() -> Iterator[None]:
    """Delays a worker's CPU time limit until the import is done.

    An interrupted import leaves half-initialised modules behind, which would break every later item of the worker. A
    limit that expired meanwhile takes effect right afterwards.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def module(name: str) -> ModuleType:
    """Returns a data set's module. Raises InvalidReference for an unknown name, MissingDependency without the
    library.
    """
    if name not in MODULES:
        raise InvalidReference(f"reference: reasoning-gym has no data set {name!r} with a scorer", path="dataset")
    with _whole():
        _prepare()
        return importlib.import_module(f"{NAME}.{MODULES[name]}")


def dataset_types(name: str) -> tuple[type[Any], type[Any]]:
    """Returns the classes of a data set and its configuration. Raises as `module` does."""
    module(name)
    found: tuple[type[Any], type[Any]] = importlib.import_module(f"{NAME}.factory").DATASETS[name]
    return found
