"""`sql`: what a query answers, asked of real engines.

The way of one sample: `extract` finds the statement in the response; `statement` parses it in the database's dialect,
and `guard` refuses what must not run; `engines` run it and the reference's query on separate connections to the same
database (`databases`: registered, carried by the request, or changed by `mutation`); `compare` says whether the results
agree, `metrics` how far they do, and `feedback` what differs. All of it runs in a worker that can be killed.
"""
