#!/bin/bash
seq 10 >/app/numbers.txt
