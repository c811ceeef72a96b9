"""Attacks on `puzzle`: text that something might run, hedges, other puzzles' solutions, and what scorers leak."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

_24: dict[str, Any] = {"task": "24", "numbers": [3, 3, 8, 8]}
_COUNTDOWN: dict[str, Any] = {"task": "countdown", "numbers": [39, 14, 93, 51], "target": 169}
_SUDOKU: dict[str, Any] = {
    "task": "sudoku",
    "puzzle": ["3_42", "4_1_", "2___", "1_2_"],
    "solution": ["3142", "4213", "2431", "1324"],
}
_KNIGHTS: dict[str, Any] = {"task": "knights_knaves", "solution": {"Zoey": "knight", "Oliver": "knave"}}
_ZEBRA: dict[str, Any] = {"task": "zebra", "solution": {"House 1": {"Name": "Ann"}, "House 2": {"Name": "Bob"}}}
_QUEENS: dict[str, Any] = {"task": "n_queens", "n": 4}
_MAZE: dict[str, Any] = {"task": "maze", "grid": ["S#", "..", "#G"]}
_FOUR = "8/(3-8/3)"
_SUM = "39-14+93+51"
_GRID = "3 1 4 2\n4 2 1 3\n2 4 3 1\n1 3 2 4"
_ROLES = "Zoey is a knight, and Oliver is a knave"
_TABLE = '{"House 1": {"Name": "Ann"}, "House 2": {"Name": "Bob"}}'


def _item(dataset: str, answer: str, **metadata: Any) -> dict[str, Any]:
    return {"dataset": dataset, "entry": {"question": "", "answer": answer, "metadata": metadata}}


_SUM_ITEM = _item("chain_sum", "113")
_HALT = _item("game_of_life_halting", "False")
_SORT = _item(
    "number_sorting", "['-8.5', '2.0', '61.25']", sorted_numbers=["-8.5", "2.0", "61.25"], direction="ascending"
)
_SORT_TWIN = '["-8.5", "2.0", "61.25"]'
_GSM = _item("gsm_symbolic", "288")
_SPIRAL = _item("spiral_matrix", "1 2 4 3")
_INSERT = _item("string_insertion", "ABCDA")
_BINARY = _item("binary_matrix", "0 1\n1 2")
_PRODUCT = _item("polynomial_multiplication", "x**2 - 1")
_INTEGRAL = _item("simple_integration", "x**2 + C", variable="x", integrand="2*x")
_ROOTS = _item("polynomial_equations", "")
_LOGIC = (
    _item("propositional_logic", "", premises=["Q", "(P ∨ Q)"], variables=["P", "Q"], example_answer="(Q ∨ P)") | {}
)
_LOGIC["entry"]["answer"] = None
_FRACTION = _item(
    "fraction_simplification", "1/2", numerator=2, denominator=4, simplified_numerator=1, simplified_denominator=2
)
_FACTORS = _item("prime_factorization", "2 × 2 × 3")
_LIFE = _item("game_of_life", "[[0,1],[1,0]]")
_POOL = _item("pool_matrix", "100 7\n5 8")
_COINS = _item("coin_flip", "0.0000305176", rational={"numerator": 1, "denominator": 32768})
_DAYS = _item("time_intervals", "12 days", task_type="date")
_ORTHO = _item("advanced_geometry", "(4.051, -5.487)", task_type="orthocenter", ortho=["4.051", "-5.487"])
_LOCK = _item(
    "quantum_lock",
    "A → B",
    initial_value=0,
    target_value=3,
    initial_state="red",
    buttons=[
        {"name": "A", "type": "add", "value": 1, "active_state": "any"},
        {"name": "B", "type": "add", "value": 2, "active_state": "any"},
    ],
)
_CUBE = _item("rubiks_cube", "", cube_size=3, scramble_moves="R U")
_CUBE["entry"]["answer"] = None

# title, reference, attack, twin; both stand in an answer tag
_TAGGED: list[tuple[str, dict[str, Any], str, str]] = [
    # Nothing, and other answers
    ("not knowing", _24, "I do not know", _FOUR),
    ("the target", _24, "24", _FOUR),
    ("another item's answer", _24, _SUM, _FOUR),
    ("the numbers alone", _24, "3, 3, 8, 8", "8 / (3 - 8 / 3)"),
    ("another item's grid", _SUDOKU, "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", _GRID),
    ("the puzzle itself", _SUDOKU, "3 _ 4 2\n4 _ 1 _\n2 _ _ _\n1 _ 2 _", _GRID),
    ("a grid of zeros", _SUDOKU, "0 0 0 0\n" * 4, _GRID),
    ("a row too many", _SUDOKU, _GRID + "\n1 2 3 4", _GRID),
    ("another item's people", _KNIGHTS, "Ann is a knight, and Bob is a knave", _ROLES),
    # Hedges
    ("two expressions", _24, _FOUR + " or 8*3", _FOUR),
    ("two expressions that are equal to the target", _24, _FOUR + " = 24 = 8*3", _FOUR + " = 24"),
    ("two grids", _SUDOKU, _GRID + "\n\n" + _GRID.replace("3", "1"), "\n" + _GRID + "\n"),
    ("two numbers in a cell", _SUDOKU, _GRID.replace("3 1", "3 1/2", 1), _GRID),
    ("both roles", _KNIGHTS, _ROLES + ", or Oliver is a knight", _ROLES + "."),
    ("a role taken back", _KNIGHTS, _ROLES + ". Oliver is a knight.", _ROLES),
    ("a role under a condition", _KNIGHTS, "If Zoey is a knight, Oliver is a knave", _ROLES),
    ("a key twice", _KNIGHTS, '{"Zoey": "knight", "Oliver": "knight", "Oliver": "knave"}', '{"Zoey": "knight", "Oliver": "knave"}'),
    ("two names in a cell", _ZEBRA, _TABLE.replace("Ann", "Ann or Bob"), _TABLE),
    ("a list in a cell", _ZEBRA, _TABLE.replace('"Ann"', '["Ann", "Bob"]'), _TABLE),
    ("a house twice", _ZEBRA, _TABLE[:-1] + ', "house_1": {"Name": "Bob"}}', _TABLE),
    ("queens everywhere", _QUEENS, "QQQQ\n" * 4, "_Q__\n___Q\nQ___\n__Q_"),
    ("two queens in a row", _QUEENS, "_QQ_\n___Q\nQ___\n__Q_", "_ Q _ _\n_ _ _ Q\nQ _ _ _\n_ _ Q _"),
    ("columns out of the board", _QUEENS, "[1, 7, 0, 2]", "[1, 3, 0, 2]"),
    ("a true for a column", _QUEENS, "[true, 3, 0, 2]", "[1,3,0,2]"),
    # Rules
    ("digits put side by side", _24, "33 - 8 - 8/8", _FOUR),
    ("a number more", _24, _FOUR + " + 0", _FOUR),
    ("a power", _24, "3**3 - 8 + 8 - 3", _FOUR),
    ("a factorial", _24, "(8/8+3)! + 3 - 3", _FOUR),
    ("a decimal", _24, "8/(3-2.6666666666666665)", _FOUR),
    ("a division that truncates", _24, "8*3 + 3//8", _FOUR),
    ("a value that rounds to the target", _24, "8*3 + 3/8", _FOUR),
    ("nothing by nothing", _24, "(3-3)/(8-8)", _FOUR),
    ("digits of another script", _24, "٨/(٣-٨/٣)", _FOUR),
    ("superscripts", _24, "3²+8+8-3/3", _FOUR),
    ("a comment in an expression", _24, _FOUR + " # 24", _FOUR),
    ("a given changed", _SUDOKU, _GRID.translate(str.maketrans("13", "31")), _GRID),
    ("through a wall", _MAZE, "right, down, down", "down, right, down"),
    ("around the maze", _MAZE, "left, down, down, right, right", "D R D"),
    ("a jump", _MAZE, "(0,0) (2,1)", "(0,0) (1,0) (1,1) (2,1)"),
    ("from the goal to the start", _MAZE, "(2,1) (1,1) (1,0) (0,0)", "[[0,0],[1,0],[1,1],[2,1]]"),
    # Text that something might run, and too much of it
    ("an import", _24, "__import__('os').getpid()*0+24", _FOUR),
    ("a lambda", _24, "(lambda: 24)()", _FOUR),
    ("an attribute", _24, "(24).real", _FOUR),
    ("a power tower", _24, "9**9**9**9", _FOUR),
    ("nineteen thousand brackets", _24, "(" * 19_000 + "24" + ")" * 19, _FOUR),
    ("an expression of thousands of numbers", _24, "8*3" + "+8-8" * 4000, _FOUR),
    ("a number of thousands of digits", _24, "9" * 15_000, _FOUR),
    ("a list without end", _SUDOKU, "[" * 15_000, _GRID),
    ("a million moves", _MAZE, "DU" * 9000, "DRD"),
    ("an answer beyond the limit", _SUDOKU, "1 " * 40_000, _GRID),
    ("an eval in a list", _SPIRAL, "[__import__('os').getpid()]", "[1, 2, 4, 3]"),
    ("a comprehension", _SPIRAL, "[n for n in (1, 2, 4, 3)]", "1 2 4 3"),
    ("an eval in a string", _INSERT, "''.join(['ABCDA'])", "ABCDA"),
    ("an eval in a matrix", _BINARY, "[[0,1],[1,1+1]]", "[[0,1],[1,2]]"),
    ("an eval of a polynomial", _PRODUCT, "(lambda x: x**2 - 1)(x)", "x**2 - 1"),
    # What the library's scorers leak
    ("the right answer within a text", _SUM_ITEM, "It is 113 or so", "113"),
    ("the right answer within a number", _SUM_ITEM, "91139", "+113.0"),
    ("any text for a truth value", _HALT, "I do not know", "False"),
    ("the other truth value", _HALT, "True", "False"),
    ("numbers that are nearly right", _SORT, '["-8", "2", "61"]', _SORT_TWIN),
    ("no numbers", _SORT, '["NaN", "NaN", "NaN"]', _SORT_TWIN),
    ("the first number of several", _GSM, "288 or 300", "288"),
    ("an expression not multiplied out", _PRODUCT, "(x - 1)*(x + 1)", "-1 + x^2"),
    ("a huge power in a polynomial", _PRODUCT, "9**999999*x - x", "x*x - 1"),
    ("no numbers where there is no root", _ROOTS, "I do not know", '""'),
    ("a premise for a conclusion", _LOGIC, "(P ∨ Q)", "(Q ∨ P)"),
    ("a tautology for a conclusion", _LOGIC, "(P ∨ ¬P)", "(Q ∨ P)"),
    ("a fraction and another", _FRACTION, "\\frac{1}{2} or \\frac{1}{3}", "1/2"),
    ("the fraction itself", _FRACTION, "2/4", "\\frac{1}{2}"),
    ("the number for its factors", _FACTORS, "12", "3 × 2 × 2"),
    ("a larger board", _LIFE, "[[0,1,1],[1,0,1],[1,1,1]]", "[[0, 1], [1, 0]]"),
    ("one per cent off", _POOL, "101 7\n5 8", "100.0 7.0\n5.0 8.0"),
    ("zero for a small chance", _COINS, "0", "1/32768"),
    ("a chance of 10^9 digits", _COINS, "1e-999999999", "3.05176e-5"),
    ("two numbers of days", _DAYS, "12 or 13 days", "12 days"),
    ("two points", _ORTHO, "(4.051, -5.487), (1, 2)", "(4.051, -5.487)"),
    ("letters out of words", _LOCK, "a) press B? A: B", "A → B"),
    ("turns without end", _CUBE, "R999999999", "U' R'"),
    ("an undone integral", _INTEGRAL, "Integral(2*x, x)", "x**2 + C"),
    ("a payload for a scorer that evaluates", _INTEGRAL, "x**2 + 0*__import__('os').getpid()", "x^2"),
    ("the integrand", _INTEGRAL, "2*x", "x*x - 5"),
    ("a tower for an antiderivative", _INTEGRAL, "x**2 + 9**9**9**9**9", "x**2 + 9**9"),
]  # fmt: skip

# title, reference, attack, twin; whole responses
_WRITTEN: list[tuple[str, dict[str, Any], str, str]] = [
    ("nothing", _24, "", f"<answer>{_FOUR}</answer>"),
    ("an empty tag", _24, "<answer></answer>", f"<answer>\n{_FOUR}\n</answer>"),
    ("two tags", _24, f"<answer>{_FOUR}</answer> <answer>8*3</answer>", f"<answer>{_FOUR}</answer>"),
    ("two boxes", _COUNTDOWN, rf"\boxed{{{_SUM}}} or \boxed{{14}}", rf"\boxed{{{_SUM}}}"),
    ("an answer in the thought alone", _24, f"<think><answer>{_FOUR}</answer></think>24", f"<think>24</think><answer>{_FOUR}</answer>"),
    ("a thought that never closes", _24, f"<think><answer>{_FOUR}</answer>", f"<think>so</think><answer>{_FOUR}</answer>"),
    ("an answer in prose", _24, f"{_FOUR}", f"<answer>{_FOUR}</answer>"),
]  # fmt: skip

PAIRS: list[Pair] = [
    *(
        Pair(
            title=title,
            use="puzzle",
            reference=reference,
            attack=f"<answer>{attack}</answer>",
            twin=f"<answer>{twin}</answer>",
        )
        for title, reference, attack, twin in _TAGGED
    ),
    *(
        Pair(title=title, use="puzzle", reference=reference, attack=attack, twin=twin)
        for title, reference, attack, twin in _WRITTEN
    ),
    Pair(
        title="a constant grid for partial credit",
        use="puzzle",
        reference=_SUDOKU,
        params={"credit": "partial"},
        attack="<answer>3 3 4 2\n4 3 1 3\n2 3 3 3\n1 3 2 3</answer>",
        twin=f"<answer>{_GRID}</answer>",
    ),
    Pair(
        title="one role for all, for partial credit",
        use="puzzle",
        reference=_KNIGHTS,
        params={"credit": "partial"},
        attack="<answer>Zoey is a knight, Oliver is a knight</answer>",
        twin=f"<answer>{_ROLES}</answer>",
    ),
]
"""Antiderivatives' twins, and the attacks of theirs that are expressions, need a sandbox."""
