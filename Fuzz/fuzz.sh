#!/usr/bin/env bash
# Fuzzes every parser: ./fuzz.sh [SECONDS] [NAME...]. With RUNS in the environment it ends after so many executions instead.
# CONFIGURATION=release fuzzes what applications run, at ten times the rate, without the checks of debug mode.
# PACKAGE=../Gateway/Fuzz ./fuzz.sh 30 bodies fuzzes what another package has.
# Ends with 1 when an input crashes, takes over a second or over 512 MB; the input is kept in .build/finds.
set -eu
cd "$(dirname "$0")/${PACKAGE:-.}"
seconds=${1:-30}
configuration=${CONFIGURATION:-debug}
[ $# -gt 0 ] && shift
names=${*:-json xml dates settings kept envelopes lines documents yaml lists flagship sigma engage evergage ofrep}
limit=(-max_total_time="$seconds")
[ -n "${RUNS:-}" ] && limit=(-runs="$RUNS")
export ASAN_OPTIONS=detect_leaks=0
for name in $names; do
  if ! swift build -c "$configuration" -Xswiftc -enable-testing --sanitize fuzzer --product "fuzz-$name" > ".build-$name.log" 2>&1; then
    grep -E "error" ".build-$name.log" | head -20
    echo "fuzz-$name: can't be built"
    exit 1
  fi
  rm -f ".build-$name.log"
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
  if ! ".build/$configuration/fuzz-$name" "${limit[@]}" -timeout=1 -rss_limit_mb=512 -max_len=8192 -print_final_stats=1 \
    -artifact_prefix=".build/finds/$name-" "$corpus" ${seeds[@]+"${seeds[@]}"} > ".build/$name.log" 2>&1; then
    tail -40 ".build/$name.log"
    echo "fuzz-$name: failed; the input is in Fuzz/.build/finds"
    exit 1
  fi
  figure() { grep "stat::$1:" ".build/$name.log" | grep -oE "[0-9]+$"; }
  echo "fuzz-$name: $(figure number_of_executed_units) executions, $(figure average_exec_per_sec) a second," \
    "slowest $(figure slowest_unit_time_sec) s, $(figure peak_rss_mb) MB"
done
