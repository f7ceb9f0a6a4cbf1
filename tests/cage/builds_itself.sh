#!/bin/bash
# builds_itself.sh AGENTD SOURCES LAYER [TARGET...] - agentd's own sources are configured and built in the sandbox, from a
# copy; without a target, everything. Exit code 77: this machine cannot make the layer.
set -eu
agentd=$1 sources=$2 layer=$3
shift 3

place=$(mktemp -d /var/tmp/agentd-builds-itself-XXXXXX)  # no part of /tmp, which the sandbox has of its own
trap 'rm -rf "$place"' EXIT
export HOME=$place/home AGENTD_HOME=$place/home/.agent
mkdir -p "$AGENTD_HOME" "$place/agentd"
tar -C "$sources" --exclude=./.git --exclude=./build --exclude='./build-*' -cf - . | tar -C "$place/agentd" -xf -
cd "$place/agentd"

inside() { "$agentd" sandbox run --layer "$layer" --timeout 3600 -- "$@"; }
code=0
said=$(inside true 2>&1) || code=$?
if [ "$code" = 125 ]; then
  echo "skipped: $said"
  exit 77
fi
test "$(inside sh -c 'echo $AGENTD_SANDBOX')" = "$layer"
inside cmake --preset dev -B build-in-cage
for target in "${@:-all}"; do
  inside cmake --build build-in-cage -j2 --target "$target"
done

# What was built is there afterwards, and only in the workspace.
test -n "$(find build-in-cage -name '*.a' -print -quit)"
test -z "$(find "$HOME" -type f ! -path "$HOME/.cache/*" ! -path "$AGENTD_HOME/*" -print -quit)"
