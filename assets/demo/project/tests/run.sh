#!/bin/sh
cd "$(dirname "$0")/.." || exit 1
. lib/duration.sh
. lib/words.sh
. lib/announce.sh
passed=0
failed=0

check() { # what, expected, got
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
    echo "ok    $1"
  else
    failed=$((failed + 1))
    echo "FAIL  $1: expected \"$2\", got \"$3\""
  fi
}

check "45s is 45 seconds" 45 "$(to_seconds 45s)"
check "3m is 180 seconds" 180 "$(to_seconds 3m)"
check "1h30m is 5400 seconds" 5400 "$(to_seconds 1h30m)"
check "a word is refused" refused "$(to_seconds soon 2>/dev/null || echo refused)"
check "45 is said in seconds" "45 s" "$(to_words 45)"
check "210 is said in minutes" "3 min 30 s" "$(to_words 210)"
check "5400 is said in hours" "1 h 30 min" "$(to_words 5400)"
check "the end is announced" yes "$([ -n "$(announce)" ] && echo yes)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
