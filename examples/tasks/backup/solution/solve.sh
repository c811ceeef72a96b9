#!/bin/bash
cd /app/data && find . -name '*.txt' -type f | tar -czf /app/backup.tar.gz -T -
