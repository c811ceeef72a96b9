#!/bin/bash
bash /tests/runner.sh /tests/test_names.py
