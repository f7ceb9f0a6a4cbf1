# SPDX-License-Identifier: Apache-2.0
# layout.awk HEADERS... - reads the C headers and writes a C program that prints the layout list:
#
#   struct.member offset size      one line for each member, in order
#   define NAME value              one for each number or text that a header defines
#   event NAME id payload size
BEGIN {
  for (i = 1; i < ARGC; ++i) {
    name = ARGV[i]
    if (sub(/.*\/agentd\//, "agentd/", name)) print "#include <" name ">"
  }
  print "#include <stdio.h>"
  print "#define M(s, m) printf(\"%s.%s %zu %zu\\n\", #s, #m, offsetof(s, m), sizeof(((s*)0)->m))"
  print "#define N(n) printf(\"define %s %lld\\n\", #n, (long long)(n))"
  print "#define T(n) printf(\"define %s %s\\n\", #n, n)"
  print "#define E(NAME, name, id, payload) \\"
  print "  printf(\"event %s %d %s %zu\\n\", #name, id, #payload, sizeof(payload));"
  print "int main(void) {"
}
{
  line = $0
  gsub(/\/\*[^*]*\*\//, "", line)
  if (inside) {
    if (line !~ /\*\//) next
    sub(/.*\*\//, "", line)
    inside = 0
  }
  if (line ~ /\/\*/) { sub(/\/\*.*/, "", line); inside = 1 }
}
line ~ /^#define AGENTD_[A-Z0-9_]+ / && line !~ /\\$/ {
  split(line, word, /[ \t]+/)
  name = word[2]
  value = line
  sub(/^#define [A-Z0-9_]+ +/, "", value)
  if (name == "AGENTD_ABI_MINOR") next
  if (value ~ /^(\(?-?[0-9]|0x|UINT64_MAX)/) print "  N(" name ");"
  else if (value ~ /^"/) print "  T(" name ");"
  next
}
line ~ /^#/ { next }
line ~ /^typedef struct [a-z_]+ \{/ { split(line, word, /[ \t]+/); record = word[3]; statement = ""; next }
record != "" && line ~ /^}/ { print "  printf(\"" record ".end %zu 0\\n\", sizeof(" record "));"; record = ""; next }
record != "" {
  statement = statement " " line
  while ((stop = index(statement, ";")) > 0) {
    emit(substr(statement, 1, stop - 1))
    statement = substr(statement, stop + 1)
  }
}
line ~ /^  AGENTD_EVENT_[A-Z_]+ = 0x/ { split(line, word, /[ \t]+/); print "  N(" word[2] ");" }
function emit(member,    names, count, i, name) {
  if (match(member, /\(AGENTD_CALL\* ?[a-z_]+\)/)) {
    name = substr(member, RSTART, RLENGTH)
    gsub(/\(AGENTD_CALL\* ?|\)/, "", name)
    print "  M(" record ", " name ");"
    return
  }
  count = split(member, names, /,/)
  for (i = 1; i <= count; ++i) {
    name = names[i]
    gsub(/[ \t]+$/, "", name)
    sub(/.*[ \t*]/, "", name)
    if (name != "") print "  M(" record ", " name ");"
  }
}
END { print "  AGENTD_EVENT_LIST(E)\n  return 0;\n}" }
