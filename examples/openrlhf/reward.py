"""A reward function file for OpenRLHF with settings of its own: `--reward.remote_url examples/openrlhf/reward.py`.

`python examples/openrlhf/reward.py` asks it once, as OpenRLHF does; it needs a server (`rewarden serve`) and torch.
"""

from rewarden.adapters.openrlhf import reward

reward_func = reward("math", target="http://127.0.0.1:8080", patience_s=600)

if __name__ == "__main__":
    prompt = "<|im_start|>user\nWhat is 6*7?<|im_end|>\n<|im_start|>assistant\n"
    responses = ["It is \\boxed{42}.<|im_end|>", "It is \\boxed{41}.<|im_end|>"]
    print(reward_func([prompt + response for response in responses], [prompt, prompt], ["42", "42"]))
