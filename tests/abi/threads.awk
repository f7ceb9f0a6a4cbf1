# SPDX-License-Identifier: Apache-2.0
# threads.awk - every function pointer in the C headers says on which thread it is called (L9).
#
# A slot is a member with a pointer to function, or of type agentd_fn. Its comment is the one that ends on
# its own lines, else the one that ended on the line before; it must hold [init], [call], [any], [task] or [host].
FNR == 1 { comment = ""; fresh = 0; statement = "" }
{
  line = $0
  trailing = ""
  while (1) {
    if (inside) {
      stop = index(line, "*/")
      if (stop == 0) { text = text " " line; line = ""; break }
      text = text " " substr(line, 1, stop - 1)
      line = substr(line, stop + 2)
      inside = 0
      trailing = text
    } else {
      start = index(line, "/*")
      if (start == 0) break
      code = code substr(line, 1, start - 1)
      line = substr(line, start + 2)
      text = ""
      inside = 1
    }
  }
  code = code line
  if (inside) next
  if (code ~ /^[ \t]*$/) { if (trailing != "") comment = trailing; code = ""; next }
  statement = statement " " code
  code = ""
  if (statement !~ /[;{}][ \t]*$/ && statement !~ /^[ \t]*#/) next
  if (statement !~ /typedef/ && (statement ~ /\(AGENTD_CALL\*/ || statement ~ /[ \t]agentd_fn[ \t]/)) {
    ++slots
    if ((trailing != "" ? trailing : comment) !~ /\[(init|call|any|task|host)\]/) {
      gsub(/[ \t]+/, " ", statement)
      print FILENAME ":" FNR ": no thread tag:" statement
      bad = 1
    }
  }
  statement = ""
  comment = ""
}
END {
  if (slots < expect) { print "only " slots + 0 " function pointers found, " expect " expected"; bad = 1 }
  exit bad
}
