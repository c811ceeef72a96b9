#!/bin/bash
python3 /tests/grade.py >/logs/verifier/reward.txt
