"""`sql`: compares the results of queries on real engines.

A sample passes through these modules: `extract` finds the statement in the response; `statement` parses it in the
database's dialect, and `guard` refuses forbidden statements; `engines` run it and the reference's query on separate
connections to the same database (`databases`: registered, within the request, or changed by `mutation`); `comparison`
decides whether the results agree, `metrics` how closely, and `feedback` describes the differences. All of it runs in a
worker that can be killed.
"""
