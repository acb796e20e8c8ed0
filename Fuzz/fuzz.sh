#!/usr/bin/env bash
# Fuzzes every parser: ./fuzz.sh [SECONDS] [NAME...]. Ends with 1 when one crashes, takes over a second or over 512 MB.
set -eu
cd "$(dirname "$0")"
seconds=${1:-30}
[ $# -gt 0 ] && shift
names=${*:-json xml dates settings flagship sigma engage evergage}
for name in $names; do
  swift build --sanitize fuzzer --product "fuzz-$name" 2>&1 | grep -E "error|warning: unre|Compiling|Build" | tail -1
  corpus=".build/corpus/$name"
  mkdir -p "$corpus" ".build/finds"
  seeds=()
  [ -d "seeds/$name" ] && seeds+=("seeds/$name")
  for folder in ../Conformance/Fixtures/*/; do
    case "$name" in
      json | settings) seeds+=("$folder") ;;
      *) [ "$(basename "$folder" | tr '[:upper:]' '[:lower:]')" = "$name" ] && seeds+=("$folder") ;;
    esac
  done
  echo "fuzz-$name: $seconds s"
  ".build/debug/fuzz-$name" -max_total_time="$seconds" -timeout=1 -rss_limit_mb=512 -max_len=8192 -print_final_stats=1 \
    -artifact_prefix=".build/finds/$name-" "$corpus" ${seeds[@]+"${seeds[@]}"} > ".build/$name.log" 2>&1 ||
    { tail -40 ".build/$name.log"; echo "fuzz-$name: failed; the input is in Fuzz/.build/finds"; exit 1; }
  grep -E "number_of_executed_units|peak_rss_mb" ".build/$name.log" | sed "s/^stat::/  /"
done
