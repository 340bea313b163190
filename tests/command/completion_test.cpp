// SPDX-License-Identifier: Apache-2.0
/// The scripts for shells, of a small command line.

#include <doctest/doctest.h>

#include <string>

#include "completion.hpp"

namespace command {
namespace {

struct small_line {
  CLI::App app{"a test", "latchkey"};
  std::string text;
  bool flag = false;

  small_line() {
    app.add_option("-c,--connect", text, "It's a server");
    auto* show = app.add_subcommand("show", "Shows a path");
    show->add_option("path", text);
    show->add_flag("--json", flag, "Prints JSON");
    auto* other = app.add_subcommand("other", "Has none");
    other->add_option("--wait", text, "Waits");
    other->add_option("--how", text, "Chooses")->type_name("fast|slow");
  }
};

bool has(const std::string& script, const std::string& line) { return script.find(line) != std::string::npos; }

}  // namespace

TEST_SUITE("completion") {
  TEST_CASE("the script for bash knows commands, options, which have values, and which have paths") {
    const small_line line;
    const auto script = completion_for("bash", line.app);
    CHECK(has(script, "'') words='show other --help -h --connect -c' ;;"));
    CHECK(has(script, "    show) words='--help -h --json --help -h --connect -c' ;;"));
    CHECK(has(script, "      --connect|-c|--wait|--how) ((++i)) ;;"));
    CHECK(has(script, "    --how) COMPREPLY=($(compgen -W 'fast slow' -- \"$word\")); return ;;\n"));
    CHECK(has(script, "    show)\n      # Not by compgen"));
    CHECK_FALSE(has(script, "@"));
  }

  TEST_CASE("the script for zsh is that for bash") {
    const small_line line;
    const auto script = completion_for("zsh", line.app);
    CHECK(script.starts_with("#compdef latchkey\n"));
    CHECK(script.ends_with(completion_for("bash", line.app)));
  }

  TEST_CASE("the script for fish has a line for each option, whose text is quoted") {
    const small_line line;
    const auto script = completion_for("fish", line.app);
    CHECK(has(script, "complete -c latchkey -l connect -r -d 'It\\'s a server'\n"));
    CHECK(has(script, "complete -c latchkey -n __fish_use_subcommand -a show -d 'Shows a path'\n"));
    CHECK(has(script, "complete -c latchkey -n '__fish_seen_subcommand_from show' -l json -d 'Prints JSON'\n"));
    CHECK(has(script, "complete -c latchkey -n '__fish_seen_subcommand_from show' -a '(latchkey list --names"));
    CHECK(has(script, "'__fish_seen_subcommand_from other' -l how -r -a 'fast slow' -d 'Chooses'\n"));
    CHECK_FALSE(has(script, "'__fish_seen_subcommand_from other' -a"));
  }
}

}  // namespace command
