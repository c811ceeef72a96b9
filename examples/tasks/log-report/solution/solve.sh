#!/bin/bash
python3 - <<'END'
import json
from collections import Counter

rows = [line.split() for line in open("/app/access.log")]
sizes = Counter()
for _, _, size, path in rows:
    sizes[path] += int(size)
report = {
    "requests": len(rows),
    "errors": sum(int(row[1]) >= 500 for row in rows),
    "bytes": sum(sizes.values()),
    "top": sizes.most_common(1)[0][0],
}
json.dump(report, open("/app/report.json", "w"))
END
