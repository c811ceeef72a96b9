"""The trustworthiness of a judge: its verdicts compared with people's labels and tested with misleading texts.

The files in the order of a calibration: `rows.py` reads the labelled responses (`labels.py` the labels),
`judged_responses.py` requests their verdicts, `attacks.py` and `assault.py` test the judge with texts that should fail,
`agreement.py`, `length.py`, `flips.py` and `threshold.py` compute the figures, `calibration.py` runs it all,
`render.py` and `page.py` show it.
"""
