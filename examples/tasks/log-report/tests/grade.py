"""Prints the share of the report's fields that are right. The log is made anew: the one in the box may be changed."""

import json
from collections import Counter

rows = []
for number in range(2000):
    status = 500 + number % 4 if number % 17 == 0 else 200
    rows.append((status, number * 7919 % 4096, f"/page/{number % 13}"))
paths: Counter[str] = Counter()
for _, size, path in rows:
    paths[path] += size
wanted = {
    "requests": len(rows),
    "errors": sum(status >= 500 for status, _, _ in rows),
    "bytes": sum(size for _, size, _ in rows),
    "top": paths.most_common(1)[0][0],
}
try:
    with open("/app/report.json") as file:
        report = json.load(file)
    print(sum(report.get(name) == value for name, value in wanted.items()) / len(wanted))
except (OSError, ValueError, AttributeError):
    print(0)
