#!/usr/bin/env bash
# Asks the emulator what an H200 was asked, and compares. usage: compare.sh QUESTIONS LIBCUDA H200_ANSWERS DEVIATIONS
# A line of DEVIATIONS takes the place of the H200's answer to the same question. Lines that begin with # are remarks.
set -euo pipefail
questions=$1 library=$2 answers=$3 deviations=$4
# The questions leave behind what they asked about; under AddressSanitizer that is no finding.
export ASAN_OPTIONS=detect_leaks=0
export GMLAKE_EMULATOR_DEVICES=2 GMLAKE_EMULATOR_MEMORY=4GiB
expected=$(awk '!/^#/ { answer[$1] = $0 } END { for (question in answer) print answer[question] }' \
  "$answers" "$deviations" | LC_ALL=C sort)
for mode in 0 1; do
  got=$(GMLAKE_EMULATOR_ASYNC=$mode "$questions" "$library" 2>"$TEST_TMPDIR/log" | LC_ALL=C sort)
  diff <(echo "$expected") <(echo "$got") || { cat "$TEST_TMPDIR/log"; exit 1; }
done
echo "$(echo "$expected" | wc -l) answers agree"
