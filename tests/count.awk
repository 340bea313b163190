# SPDX-License-Identifier: Apache-2.0
# Reads CTest's JUnit report, prints "<name>\t<passed>\t<failed>\t<seconds>" for each entry that ran. A doctest program
# counts as its test cases, any other entry as one. What crashed, timed out, could not start or ended without a summary
# has failed at least once.

function begin_entry(line) {
  name = status = seconds = line
  sub(/^.*<testcase name="/, "", name)
  sub(/" classname=".*$/, "", name)
  sub(/^.* status="/, "", status)
  sub(/".*$/, "", status)
  sub(/^.* time="/, "", seconds)
  sub(/".*$/, "", seconds)
  cases_passed = cases_failed = summaries = is_doctest = skipped = 0
  inside = 1
}

function end_entry() {
  inside = 0
  if (status == "disabled" || (status == "notrun" && skipped)) return
  passed = cases_passed
  failed = cases_failed
  if (status == "run") {
    if (summaries == 0 && is_doctest) {  # somebody called exit(0)
      print name ": ended without doctest\047s summary" > "/dev/stderr"
      ++failed
    } else if (summaries == 0) ++passed
  } else if (cases_failed == 0) {
    ++failed
  }
  printf "%s\t%d\t%d\t%.3f\n", name, passed, failed, seconds
}

/^\t<testcase / { begin_entry($0) }
inside && /SKIP_RETURN_CODE=|SKIP_REGULAR_EXPRESSION_MATCHED/ && /<skipped / { skipped = 1 }
inside && /\[doctest\] run with "--help"|\[doctest\] run with &quot;--help/ { is_doctest = 1 }
inside && /\[doctest\] unskipped test cases passing the current filters:/ { is_doctest = 0 }  # a list, nothing was run
inside && /\[doctest\] test cases: *[0-9]+ \| *[0-9]+ passed \| *[0-9]+ failed/ {
  count = $0
  sub(/^.*\[doctest\] test cases: *[0-9]+ \| */, "", count)
  cases_passed += count + 0
  sub(/^[0-9]+ passed \| */, "", count)
  cases_failed += count + 0
  ++summaries
}
inside && /^\t<\/testcase>/ { end_entry() }
