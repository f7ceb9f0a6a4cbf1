# SPDX-License-Identifier: Apache-2.0
# layout_compare.awk COMMITTED CURRENT - a release's list must be a prefix of today's, record by record.
#
# Records that begin with `uint32_t size` may grow at their end, and the events that bring them with it; any other
# record is frozen. Numbers, texts and events may be added, never changed or taken away.
function record_of(name) { sub(/\..*/, "", name); return name }
NR == FNR { committed[++old] = $0; next }
{
  if ($1 ~ /\./) {
    record = record_of($1)
    if ($1 ~ /\.end$/) { if (!(record in grows)) end[$0] = 1; else size[record] = $2; next }
    if (!(record in count)) { count[record] = 0; if ($1 == record ".size" && $3 == 4) grows[record] = 1 }
    place[record, count[record]++] = $0
  } else if ($1 == "event") {
    payload[$2 " " $3 " " $4] = $5
  } else {
    have[$0] = 1
  }
}
END {
  for (i = 1; i <= old; ++i) {
    split(committed[i], word, " ")
    name = word[1]
    if (name == "event") {
      event = word[2] " " word[3] " " word[4]
      if (!(event in payload) || payload[event] < word[5]) { print "changed or gone: " committed[i]; bad = 1 }
      continue
    }
    if (name !~ /\./) {
      if (!(committed[i] in have)) { print "changed or gone: " committed[i]; bad = 1 }
      continue
    }
    record = record_of(name)
    if (name ~ /\.end$/) {
      if (record in grows) { if (size[record] < word[2]) { print "shrunk: " record; bad = 1 } }
      else if (!(committed[i] in end)) { print "frozen record changed its size: " record; bad = 1 }
      if (!(record in grows) && count[record] != seen[record]) { print "frozen record has new members: " record; bad = 1 }
      continue
    }
    now = place[record, seen[record]++]
    if (now != committed[i]) { print "moved: " committed[i] " is now " (now == "" ? "gone" : now); bad = 1 }
  }
  if (old < 300) { print "the committed list has only " old " lines"; bad = 1 }
  exit bad
}
