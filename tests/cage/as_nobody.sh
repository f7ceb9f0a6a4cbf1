#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: as_nobody.sh PROGRAM HELPER OPTION...
# Runs tests as a user without rights where this is root. PROGRAM and HELPER are copied to where such a user reads them,
# and the tests find the helper by AGENTD_TEST_CAGE.
set -euo pipefail
program=$1 helper=$2
shift 2
[ "$(id -u)" = 0 ] || exec "$program" "$@"
place=$(mktemp -d /var/tmp/agentd-nobody-XXXXXX)
trap 'rm -rf "$place"' EXIT
cp "$program" "$place/tests"
cp "$helper" "$place/agentd-cage"
chmod 755 "$place" "$place"/*
cd "$place"
HOME=$place AGENTD_TEST_CAGE=$place/agentd-cage setpriv --reuid=65534 --regid=65534 --clear-groups "$place/tests" "$@"
