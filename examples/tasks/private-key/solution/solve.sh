#!/bin/bash
umask 077
mkdir -p /app/keys
od -An -vtx1 -N32 /dev/urandom | tr -d ' \n' >/app/keys/id
echo >>/app/keys/id
ln -s id /app/keys/current
