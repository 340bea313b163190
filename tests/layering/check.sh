#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/layering/check.sh FOLDER: fails when an include in the project in FOLDER points the wrong way (CONTRIBUTING.md).
# A public header `latchkey/x.hpp` belongs to a recipe when there is a file `x.*` below recipes. No word in src is the
# name of such a file (`mutex` excepted, which is also std's), nor a kind of contender of recipes/rules.hpp, nor one of
# their markers.
set -euo pipefail

cd "${1:?which folder?}"
folders=()
for folder in include src recipes testcluster examples tests; do
  if [[ -d $folder ]]; then folders+=("$folder"); fi
done
find "${folders[@]}" -type f \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.ipp' \) | LC_ALL=C sort | awk '
function complain(what) {
  printf "%s:%d: %s\n", file, line_number, what
  ++complaints
}

# "a/./b/../c" -> "a/c"
function normal(path,    parts, count, i, kept, result) {
  count = split(path, parts, "/")
  kept = 0
  for (i = 1; i <= count; ++i) {
    if (parts[i] == "" || parts[i] == ".") continue
    if (parts[i] == ".." && kept > 0) --kept
    else parts[++kept] = parts[i]
  }
  result = ""
  for (i = 1; i <= kept; ++i) result = result (i > 1 ? "/" : "") parts[i]
  return result
}

# The file of the project that an include names, or "" for a header of somebody else.
function resolve(token, quoted,    folder, count, i, path) {
  if (quoted) {
    folder = file
    sub(/[^\/]*$/, "", folder)
    path = normal(folder token)
    if (path in known) return path
  }
  count = split("src/ recipes/ include/ testcluster/include/ testcluster/src/ testcluster/ ./", search, " ")
  for (i = 1; i <= count; ++i) {
    path = normal(search[i] token)
    if (path in known) return path
  }
  return ""
}

# Which part of the project a file belongs to.
function part(path) {
  if (path ~ /^testcluster\/simulation\// || path ~ /\/testing\/simulated_[^\/]*$/) return "simulation"
  if (path ~ /^testcluster\// || path ~ /(^|\/)latchkey\/testing\//) return "testcluster"
  if (path ~ /^include\//) return "public"
  if (match(path, /^src\/[^\/]+\//)) return substr(path, 5, RLENGTH - 5)
  if (match(path, /^[^\/]+\//)) return substr(path, 1, RLENGTH - 1)
  return ""
}

# A recipe, or a header of many: one that includes them all, or writes their values.
function is_recipe(path,    name) {
  if (path ~ /^recipes\// || path ~ /^include\/latchkey\/(latchkey|format|async|asio|boost_asio)\.hpp$/) return 1
  if (path !~ /^include\/latchkey\/[^\/]*$/) return 0
  name = path
  sub(/^.*\//, "", name)
  sub(/\..*$/, "", name)
  return name in recipe_names
}

function check_include(token, quoted,    to, from_part, to_part, public_file, product) {
  to = resolve(token, quoted)
  from_part = part(file)
  to_part = to == "" ? "" : part(to)
  public_file = file ~ /(^|\/)include\/latchkey\//
  product = from_part == "public" || from_part in rank

  if (token ~ /^(zookeeper\/.*|zookeeper[^\/]*\.h)$/ && from_part != "bridge" && from_part != "tests")
    complain("only src/bridge sees <" token ">")
  if (from_part in rank && to_part in rank && rank[to_part] > rank[from_part])
    complain("recipes -> queue -> session -> bridge -> base: " from_part " must not include " to)
  if (product && !is_recipe(file) && is_recipe(to))
    complain("only a recipe may include a recipe, " to)
  if (product && (to_part == "testcluster" || to_part == "simulation" || to_part == "tests" || token ~ /^doctest/))
    complain("the library must not include " token)
  if ((from_part == "public" || from_part == "examples") && to_part in rank)
    complain(from_part == "public" ? "a public header must not include " to : "an example includes public headers only, not " to)
  if (from_part == "simulation" && (is_recipe(to) || to_part == "queue" || to_part == "testcluster" || to_part == "tests"))
    complain("the simulated ensemble knows sessions, not what is built on them: it must not include " to)
  if (from_part == "testcluster" && (to_part == "public" || to_part == "simulation" || to_part in rank || (token ~ /^latchkey\// && token !~ /^latchkey\/testing\//)))
    complain("the test cluster knows nothing of latchkey, but includes " token)
  if (public_file && token !~ /^[a-z0-9_]+$/ && token !~ /^latchkey\// && !(file ~ /\/format\.hpp$/ && token ~ /^fmt\//) &&
      !(file ~ /\/asio\.hpp$/ && token ~ /^asio\//) && !(file ~ /\/boost_asio\.hpp$/ && token ~ /^boost\/(asio|system)\//))
    complain("a public header includes std and latchkey/ only, not " token)
}

# `src` knows no recipe, not even in a comment.
function check_words(line,    count, i, quoted, rest, words) {
  quoted = ""
  rest = line
  while (match(rest, /"[^"]*"/)) {
    quoted = quoted substr(rest, RSTART, RLENGTH)
    rest = substr(rest, RSTART + RLENGTH)
  }
  for (i in markers) if (index(quoted, i)) complain("src must not know the marker " i " of a recipe")
  count = split(line, words, /[^a-z0-9_]+/)
  for (i = 1; i <= count; ++i) {
    if (words[i] == "contender_kind" || (words[i] in recipe_names && words[i] != "mutex"))
      complain("src must not name " words[i] ", which is a recipe")
  }
}

function check_file(    line, header, first_code, quoted) {
  header = file ~ /\.(hpp|h|ipp)$/
  line_number = 0
  first_code = ""
  while ((getline line < file) > 0) {
    ++line_number
    sub(/\r$/, "", line)
    if (part(file) in rank && part(file) != "recipes" && line !~ /^[ \t]*#[ \t]*include/) check_words(line)
    if (line_number == 1 && header && line !~ /^\/\/ SPDX-License-Identifier: /)
      complain("a header begins with its SPDX line")
    if (first_code == "" && line !~ /^[ \t]*(\/\/.*)?$/) {
      first_code = line
      if (header && line !~ /^#pragma once[ \t]*$/) complain("#pragma once comes before everything else of a header")
    }
    if (match(line, /^[ \t]*#[ \t]*include[ \t]*[<"]/)) {
      quoted = substr(line, RSTART + RLENGTH - 1, 1) == "\""
      line = substr(line, RSTART + RLENGTH)
      sub(/[>"].*$/, "", line)
      check_include(line, quoted)
    }
  }
  close(file)
}

# The markers stand in the rows of recipes/rules.cpp: what is quoted and is not a plain word.
function read_markers(    line) {
  while ((getline line < "recipes/rules.cpp") > 0) {
    if (line ~ /^[ \t]*#/) continue
    while (match(line, /"[^"]*[-_]"/)) {
      markers[substr(line, RSTART + 1, RLENGTH - 2)] = 1
      line = substr(line, RSTART + RLENGTH)
    }
  }
  close("recipes/rules.cpp")
}

BEGIN { rank["base"] = 1; rank["bridge"] = 2; rank["session"] = 3; rank["queue"] = 4; rank["recipes"] = 5 }
{
  known[$0] = 1
  files[NR] = $0
  if ($0 ~ /^recipes\//) {
    name = $0
    sub(/^.*\//, "", name)
    sub(/\..*$/, "", name)
    recipe_names[name] = 1
  }
}
END {
  read_markers()
  for (i = 1; i <= NR; ++i) {
    file = files[i]
    check_file()
  }
  if (NR == 0) {
    print "no sources found"
    exit 1
  }
  printf "%d files checked, %d complaints\n", NR, complaints
  exit complaints > 0
}'
