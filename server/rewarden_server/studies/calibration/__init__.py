"""The trustworthiness of a judge: its verdicts against people's labels, and against what is written to mislead it.

The way of a calibration through the files: `rows.py` reads the labelled responses (`labels.py` the labels),
`judged_responses.py` gets their verdicts, `attacks.py` and `assault.py` see what the judge does with texts that ought
to fail, `agreement.py`, `length.py`, `flips.py` and `threshold.py` make figures of it, `calibration.py` does it all,
`render.py` and `page.py` show it.
"""
