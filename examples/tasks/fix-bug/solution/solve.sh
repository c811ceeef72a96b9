#!/bin/bash
sed -i 's/= -amount/-= amount/' /app/ledger.py
