#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# hook.sh NAME - a hook that writes down what it was given, then does what the scenario says in NAME.do beside it.
# The log has one line when a run begins and one when it ends, in the order in which that happens.
here=$(dirname "${BASH_SOURCE[0]}")
name=$1
record=$(mktemp -d "$here/records/XXXXXXXX")
id=$(basename "$record")
env -0 > "$record/environment"
pwd > "$record/directory"
cat > "$record/input"
echo "$name" > "$record/name"
echo "start $name $id" >> "$here/log"

# meet NAME [end]: waits until the hook NAME has begun, or has ended, as often as this one has begun. Of hooks that run
# one after another the first gives up, and both go on.
meet() {
  local tries
  for tries in $(seq 400); do
    [ "$(grep -c "^${2:-start} $1 " "$here/log")" -ge "$(grep -c "^start $name " "$here/log")" ] && return
    sleep 0.02
  done
}

code=0
if [ -f "$here/$name.do" ]; then
  (. "$here/$name.do")
  code=$?
fi
echo "end $name $id $code" >> "$here/log"
exit "$code"
