"""Judges: opinions of language models, with untrusted text fenced, replies read strictly, and votes counted.

The files, in the order in which an opinion passes through them:

1. `empty_responses.py`: a response without substance (punctuation, an opener, a claim to be done) gets the lowest
   score, and no judge is called.
2. `prompts.py`: turns a prompt (Jinja2, `prompts/NAME.j2` or the request's) into messages. `fencing.py` neutralises and
   fences untrusted text (the response, the prompt it answers, evidence) on the way.
3. `opinions.py`: sends the question through `ctx.judge`, k times for k opinions. `replies.py` reads each reply: one
   JSON object of the required form, or nothing. Unreadable replies are retried, then the question is repeated with a
   neutral text in place of the response, which shows who is at fault.
4. `votes.py`: combines k readings into one score and reports their spread.
5. The verifier (`judge.py`, `rubric.py` …) builds the outcome. `ledger.py` records calls, tokens and cost.
"""
