# SPDX-License-Identifier: Apache-2.0
# abidiff.awk -v growable="a b" REPORT - passes a report of abidiff that tells of nothing but growth at the end.
#
# The tool's own suppressions let real breaks through, so none are used: every sentence that is not known here to
# be harmless is a failure. `growable` names the records that begin with their size.
BEGIN {
  count = split(growable, names, " ")
  for (i = 1; i <= count; ++i) grows["struct " names[i]] = 1
}
{ sub(/^[ \t]+/, ""); sub(/[ \t]+$/, "") }
/^$/ { next }
/^(Functions|Variables) changes summary: 0 Removed, / { next }
/^(Function|Variable) symbols changes summary: 0 Removed, / { next }
/^[0-9]+ (functions?|variables?) with some (indirect )?sub-type changes?:$/ { next }
/^[0-9]+ (Changed|Added) (variables?|functions?):$/ { next }
/^\[A\] / { next }
/^\[C\] '.*' (has some (indirect )?sub-type changes|was changed):$/ { next }
/^parameter [0-9]+ of type '.*' (has sub-type changes|changed):$/ { next }
/^(in pointed to type|in unqualified underlying type) '.*'( at .*)?:$/ { next }
/^(type of variable|return type) changed:$/ { next }
/^type size hasn't changed$/ { next }
/^[0-9]+ data member changes?( \([0-9]+ filtered\))?:$/ { next }
/^type of '.*' changed:$/ { next }
/^size of symbol changed from [0-9]+ to [0-9]+$/ { next }
/^details were reported earlier$/ || /^details are being reported$/ || / as reported earlier$/ { next }
/^underlying type 'struct [a-z_]+'( at .*)? changed:$/ {
  match($0, /struct [a-z_]+/)
  record = substr($0, RSTART, RLENGTH)
  old = 0
  next
}
/^underlying type '.*' changed:$/ || /^unqualified underlying type '.*' changed, as being reported$/ { next }
/^type size changed from [0-9]+ to [0-9]+ \(in bits\)$/ && (record in grows) && $7 + 0 > $5 + 0 { old = $5; next }
/^[0-9]+ data member insertions?:$/ && old > 0 { next }
/^'.*', at offset [0-9]+ \(in bits\)/ && old > 0 {
  match($0, /at offset [0-9]+/)
  if (substr($0, RSTART + 10, RLENGTH - 10) + 0 >= old + 0) next
}
{ print (record == "" ? "" : record ": ") $0; bad = 1 }
END { exit bad }
