# What open-instruct needs to have its programs judged here: the address, before its own command.
# With a key: http://any:KEY@127.0.0.1:8080/compat/open_instruct
export CODE_API_URL=http://127.0.0.1:8080/compat/open_instruct

# python open_instruct/grpo_fast.py … --code_max_execution_time 1.0 --code_pass_rate_reward_threshold 0.0
