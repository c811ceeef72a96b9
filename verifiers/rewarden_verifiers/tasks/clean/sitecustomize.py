"""Loaded by every Python that starts in a verifier's box, before anything else, where PYTHONSAFEPATH is set.

Attack: `python -m pytest` looks into the working folder first, which is the policy's: a `pytest.py` or a `re.py` there
decides the reward. So the working folder is searched last. A script finds what lies beside it first, as ever.
"""

import os
import sys

_script = sys.argv[0] if sys.argv else ""
if _script in ("", "-", "-c", "-m"):
    sys.path.append(os.getcwd())
elif os.path.isfile(_script):
    sys.path.insert(0, os.path.dirname(os.path.realpath(_script)))
