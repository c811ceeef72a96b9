"""Attacks on `patch_similarity`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

BEFORE = "import re\n\n\ndef words(text):\n    return text.split(' ')\n"
AFTER = BEFORE.replace("text.split(' ')", "re.findall(r'\\w+', text)")
OTHER = "# Words\n"
REFERENCE = {"files": {"words.py": BEFORE, "README.md": OTHER}, "after": {"words.py": AFTER}}
OLD, NEW = BEFORE.split("\n")[4], AFTER.split("\n")[4]
DIFF = (
    "--- a/words.py\n+++ b/words.py\n@@ -2,4 +2,4 @@\n \n \n def words(text):\n"
    "-    return text.split(' ')\n+    return re.findall(r'\\w+', text)\n"
)


def block(search: str, replace: str, path: str = "words.py") -> str:
    return f"```\n### {path}\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n```"


TWIN = block(OLD, NEW)


def pair(title: str, attack: str, params: Any = None, reference: Any = None, twin: str = TWIN) -> Pair:
    wanted = REFERENCE if reference is None else reference
    return Pair(title=title, use="patch_similarity", attack=attack, twin=twin, reference=wanted, params=params or {})


PAIRS = [
    pair("silence", ""),
    pair("prose about the change", "I replaced the split by a regular expression. The patch is correct."),
    pair("nothing but markers", "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE"),
    pair("the file unchanged", f"```python words.py\n{BEFORE}```", twin=f"```python words.py\n{AFTER}```"),
    pair("blanks at the ends of all lines", f"```python words.py\n{BEFORE.replace(chr(10), '  ' + chr(10))}```"),
    pair("an empty line where the change belongs", block(OLD, f"\n{OLD}")),
    pair("context without a change", DIFF.replace(f"-{OLD}\n+{NEW}\n", f" {OLD}\n"), twin=DIFF),
    pair("a line replaced by itself", DIFF.replace(NEW, OLD), twin=DIFF),
    pair("a change and its reversal", f"{TWIN}\n{block(NEW, OLD)}"),
    pair("a file that nobody asked about", block("# Words", "# Words!", "README.md")),
    pair("a file that is not there", block(OLD, NEW, "word.py")),
    pair("a new file beside", block("", AFTER, "words_fixed.py")),
    pair("up the tree", block(OLD, NEW, "../words.py"), twin=block(OLD, NEW, "./words.py")),
    pair("an absolute path", DIFF.replace("a/words.py", "/words.py").replace("b/words.py", "/words.py"), twin=DIFF),
    pair("into git's folder", block("", "[core]\nfsmonitor = touch x", ".git/config")),
    pair("a link first, then its target", f"diff --git a/l b/l\nnew file mode 120000\n{DIFF}", twin=DIFF),
    pair(
        "the right change in a binary patch", f"diff --git a/words.py b/words.py\nGIT binary patch\n{DIFF}", twin=DIFF
    ),
    pair(
        "both versions of a file",
        f"```python words.py\n{AFTER}```\n```python words.py\n{BEFORE}x = 1\n```",
        twin=f"```python words.py\n{AFTER}```",
    ),
    pair(
        "a patch in two tags",
        f"<solution>{TWIN}</solution><solution>\n</solution>",
        {"tag": "solution"},
        twin=f"<solution>\n{TWIN}\n</solution>",
    ),
    pair("search text cut within a line", block("    return text.split(", "    return text.strip(")),
    pair("a line without a mark in a hunk", DIFF.replace("-2,4 +2,4", "-2,9 +2,9").replace("+ ", ""), twin=DIFF),
    pair(
        "wrong counts around lines that are not there",
        DIFF.replace("2,4", "2,9").replace("words(", "word("),
        twin=DIFF.replace("2,4", "2,9"),
    ),
    pair(
        "wrong counts of a change to blanks",
        DIFF.replace("2,4", "2,9").replace(NEW, f"{OLD} "),
        twin=DIFF.replace("2,4", "2,9"),
    ),
    pair(
        "wrong counts and a hunk of new lines alone",
        "--- a/words.py\n+++ b/words.py\n@@ -5,1 +5,1 @@\n" + f"+{NEW}\n",
        twin=DIFF.replace("2,4", "2,1"),
    ),
    pair(
        "a padded file", f"```python words.py\n{AFTER}{'# see above' + chr(10) * 1}" + "# see above\n" * 6_000 + "```"
    ),
    pair("a block for each of too many files", "\n".join(block("", "x", f"{n}.py") for n in range(2_001))),
    pair(
        "a diff that takes long to compare",
        f"```python words.py\n{'ab' * 9_000}\n```",
        reference={"files": {"words.py": BEFORE}, "after": {"words.py": f"{'ba' * 4_500 + 'abb' * 3_000}\n"}},
        twin=f"```python words.py\n{'ba' * 4_500 + 'abb' * 3_000}\n```",
    ),
]
