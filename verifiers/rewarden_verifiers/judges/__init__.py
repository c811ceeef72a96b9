"""Judges: opinions of language models, fenced, read strictly, and counted.

The way of an opinion through the files:

1. `empty_responses.py`: a response without substance (punctuation, an opener, a claim to be done) is zero and nobody
   is asked.
2. `prompts.py`: a prompt (Jinja2, `prompts/NAME.j2` or the request's) becomes messages. Whatever others wrote (the
   response, the prompt that it answers, evidence) is made harmless and fenced in `fencing.py` on the way.
3. `opinions.py`: the question goes out through `ctx.judge`, k times where k opinions are wanted. `replies.py` reads
   each reply: one JSON object of the asked form, or nothing. What cannot be read is asked again, then with a neutral
   text in the response's place; that shows whose fault it is.
4. `votes.py`: k readings become one, with their spread.
5. The verifier (`judge.py`, `rubric.py` …) makes the outcome. `ledger.py` says what it took.
"""
