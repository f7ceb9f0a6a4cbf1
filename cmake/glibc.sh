#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# glibc.sh FILE...: the oldest glibc on which all of these files run, by the versions of the symbols that they need.
set -euo pipefail
newest=$(objdump -T "$@" | grep -oE 'GLIBC_[0-9]+(\.[0-9]+)+' | sort -uV | tail -n 1)
echo "needs glibc ${newest#GLIBC_} or later"
