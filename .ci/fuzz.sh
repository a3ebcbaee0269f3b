#!/usr/bin/env bash
# Runs every fuzz target for a while: fuzz.sh [SECONDS], 30 by default. Inputs are hardly minimised: on large ones that
# would take the whole time.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" -fuzzminimizetime 1x "$package"
	done
done
