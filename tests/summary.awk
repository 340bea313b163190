# SPDX-License-Identifier: Apache-2.0
# Reads what tests/run.sh has gathered, prints a table of one screen: a line for each program, that is, for the entries
# of CTest whose names begin alike, then what was said of failures, then each entry that failed. Input, with tabs in between:
#
#   stage   <preset> <seconds of the build> <seconds of the tests>    before its entries; no tests: without the last
#   entry   <name> <passed> <failed> <seconds>
#   broken  <preset> <sentence>                                       what kept tests from running
#   said    <line>                                                    of the log of a stage that failed
#   platform <sentence>                                               what became of another system

BEGIN {
  FS = "\t"
  row = "  %-24s %7d %8d %8d %9d\n"
}

function end_stage(  i, name) {
  for (i = 1; i <= programs; ++i) {
    name = order[i]
    printf row, name, suites[name], passed[name], failed[name], seconds[name]
  }
  programs = 0
  split("", suites)
  split("", passed)
  split("", failed)
  split("", seconds)
}

$1 == "stage" {
  end_stage()
  if (stages++ == 0) printf "  %-24s %7s %8s %8s %9s\n", "", "suites", "passed", "failed", "seconds"
  if ($4 == "") printf "preset %s: not tested\n", $2
  else printf "preset %s: built in %d s, tested in %d s\n", $2, $3, $4
}
$1 == "entry" {
  name = $2
  sub(/: .*$/, "", name)
  if (!(name in suites)) order[++programs] = name
  ++suites[name]
  passed[name] += $3
  failed[name] += $4
  seconds[name] += $5
  if ($4 > 0) bad[++count] = sprintf("%s: %d failed", $2, $4)
}
$1 == "broken" { bad[++count] = sprintf("preset %s: %s", $2, $3) }
$1 == "platform" { platform[++systems] = $2 }
$1 == "said" { said[++lines] = substr($0, 6, 200) }
END {
  end_stage()
  for (i = 1; i <= systems; ++i) print platform[i]
  for (i = 1; i <= lines; ++i) print "  " said[i]
  for (i = 1; i <= count && i <= 12; ++i) print "FAILED " bad[i]
  if (count > 12) printf "and %d more\n", count - 12
}
