# SPDX-License-Identifier: Apache-2.0
# anchor.awk HEADERS... - writes the C source of the anchor library, which names every type of the ABI.
BEGIN {
  for (i = 1; i < ARGC; ++i) {
    name = ARGV[i]
    if (sub(/.*\/agentd\//, "agentd/", name)) print "#include <" name ">"
  }
  print "#define ANCHOR(type) AGENTD_EXPORT extern type anchor_##type; type anchor_##type"
}
function anchor(type) { if (!(type in seen)) print "ANCHOR(" type ");"; seen[type] = 1 }
/^typedef struct [a-z_]+ \{/ { anchor($3) }
/^typedef [a-z0-9_]+ agentd_[a-z_]+;/ { sub(/;.*/, "", $3); anchor($3) }
/^typedef .*\(AGENTD_CALL\* ?agentd_[a-z_]+\)/ {
  match($0, /AGENTD_CALL\* ?agentd_[a-z_]+/)
  name = substr($0, RSTART, RLENGTH)
  sub(/.*agentd_/, "agentd_", name)
  anchor(name)
}
END {
  print "agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) {"
  print "  return io == NULL ? AGENTD_E_ARG : AGENTD_OK;\n}"
}
