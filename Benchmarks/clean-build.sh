#!/usr/bin/env bash
# How long a new package with three products of this one takes to build for the first time; the bar is 60 s on two cores.
set -euo pipefail
package=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/Sources/App"
cat > "$folder/Package.swift" <<SWIFT
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "App",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-experimentation", path: "$package")],
    targets: [
        .executableTarget(
            name: "App",
            dependencies: ["Experimentation", "FlagshipAdapter", "ExperimentationSQLite"].map {
                .product(name: \$0, package: "swift-experimentation")
            }
        )
    ]
)
SWIFT
cat > "$folder/Sources/App/main.swift" <<'SWIFT'
import Experimentation
import ExperimentationSQLite
import FlagshipAdapter

print(ErrorCode.store)
SWIFT
cd "$folder"
TIMEFORMAT='%R'
fetching=$( { time swift package resolve >/dev/null 2>&1; } 2>&1 )
TIMEFORMAT='%R %U'
read -r building processor < <( { time swift build >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }; } 2>&1 )
echo "a new package with three products: ${building} s to build (${processor} s of processor time), ${fetching} s to fetch; the bar is 60 s to build"
awk -v seconds="$building" 'BEGIN { exit !(seconds <= 60) }'
