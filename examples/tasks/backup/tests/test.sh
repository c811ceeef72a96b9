#!/bin/bash
list=$(tar -tzf /app/backup.tar.gz 2>/dev/null | sed 's,^\./,,' | grep -v '/$' | sort | tr '\n' ' ')
mkdir /tmp/unpacked && tar -xzf /app/backup.tar.gz -C /tmp/unpacked 2>/dev/null
if [ "$list" = "deep/1.txt deep/2.txt deep/3.txt deep/er/x.txt " ] &&
    [ "$(cat /tmp/unpacked/deep/2.txt)" = 2 ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
