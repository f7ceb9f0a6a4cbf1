# SPDX-License-Identifier: Apache-2.0
# layout_asserts.awk LIST HEADERS... - writes a C source that compiles only where the layout is that of the list.
#
# For targets whose programs cannot be run here: the compiler itself compares.
BEGIN {
  for (i = 2; i < ARGC; ++i) {
    name = ARGV[i]
    if (sub(/.*\/agentd\//, "agentd/", name)) print "#include <" name ">"
    delete ARGV[i]
  }
  print "#define CHECK(condition) AGENTD_STATIC_ASSERT(condition, #condition)"
}
$1 == "define" && $3 ~ /^-?[0-9]+$/ { print "CHECK((long long)(" $2 ") == " $3 ");"; next }
$1 == "define" { print "CHECK(sizeof(" $2 ") == " length($3) + 1 ");"; next }
$1 == "event" { print "CHECK(AGENTD_EVENT_" toupper($2) " == " $3 " && sizeof(" $4 ") == " $5 ");"; next }
{
  split($1, part, ".")
  if (part[2] == "end") { print "CHECK(sizeof(" part[1] ") == " $2 ");"; next }
  member = part[1] ", " part[2]
  print "CHECK(offsetof(" member ") == " $2 " && sizeof(((" part[1] "*)0)->" part[2] ") == " $3 ");"
}
