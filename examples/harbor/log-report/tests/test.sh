#!/bin/bash
# Two rewards: the report, which is what counts, and whether the log was deleted.
python3 -m pytest -q /tests/test_report.py
if [ $? -eq 0 ]; then report=1; else report=0; fi
if [ -e /app/access.log ]; then deleted=0; else deleted=1; fi
echo "{\"reward\": $((report * deleted)), \"report\": $report, \"deleted\": $deleted}" > /logs/verifier/reward.json
