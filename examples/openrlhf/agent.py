"""An agent file for OpenRLHF with settings of its own: `--train.agent_func_path examples/openrlhf/agent.py`.

The model gets up to three tries at a problem, with the verdict's feedback after each.
"""

from rewarden.adapters.openrlhf_agent import executor

AgentExecutor = executor("math", target="http://127.0.0.1:8080", max_turns=3)
