// SPDX-License-Identifier: Apache-2.0
#include "completion.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace command {
namespace {

struct option {
  std::string name;  // with its dashes
  std::string help;
  bool takes_value = false;
  std::string choices;  // with spaces between them; empty: any value
};

/// The words of `add_choice`.
std::string choices_of(const CLI::Option& of) {
  auto type = of.get_type_name();
  if (type.find('|') == type.npos) return {};
  std::replace(type.begin(), type.end(), '|', ' ');
  return type;
}

std::vector<option> options_of(const CLI::App& app) {
  std::vector<option> all;
  for (const auto* each : app.get_options()) {
    const bool takes_value = each->get_items_expected_max() > 0;
    const auto add = [&](const std::string& name) {
      all.push_back({name, each->get_description(), takes_value, choices_of(*each)});
    };
    for (const auto& name : each->get_lnames()) add("--" + name);
    for (const auto& name : each->get_snames()) add("-" + name);
  }
  return all;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// @returns the text in single quotes, as all three shells read it.
std::string as_word(std::string_view text, std::string_view quote_inside = "'\\''") {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'') {
      safe += quote_inside;
    } else {
      safe += c;
    }
  }
  return safe + "'";
}

std::string names_of(const std::vector<option>& all) {
  std::string names;
  for (const auto& each : all) names += (names.empty() ? "" : " ") + each.name;
  return names;
}

/// @returns the options that are followed by a value, as a pattern of `case`.
std::string with_value(const CLI::App& app) {
  std::string pattern;
  const auto add = [&](const CLI::App& of) {
    for (const auto& each : options_of(of)) {
      const bool known = ("|" + pattern + "|").find("|" + each.name + "|") != std::string::npos;
      if (each.takes_value && !known) pattern += (pattern.empty() ? "" : "|") + each.name;
    }
  };
  add(app);
  for (const auto* each : commands_of(app)) add(*each);
  return pattern;
}

// The words before the present one decide: the first that is neither an option nor the value of one is the command.
constexpr auto bash_script = R"bash(# Completion of latchkey for bash: made by `latchkey completion bash`.
_latchkey() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      @with_value@) ((++i)) ;;
      -*) ;;
      *) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  COMPREPLY=()
  case $before in
    --auth-file | --config | --report | --textfile) COMPREPLY=($(compgen -f -- "$word")); return ;;
@choices@    @with_value@) return ;;
  esac
  local words
  case $command in
    '') words=@words@ ;;
@cases@    *) return ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [[ $word == -* ]]; then return; fi
  case $command in
    @with_path@)
      # Not by compgen, which would run what a path of another user says.
      local path root=${word%/*}
      while IFS= read -r path; do
        if [[ $path == "$word"* ]]; then COMPREPLY+=("$(printf %q "$path")"); fi
      done < <(latchkey list --names --timeout 2s "${root:-/}" 2>/dev/null) ;;
  esac
}
complete -F _latchkey latchkey
)bash";

std::string for_bash(const CLI::App& app) {
  const auto common = names_of(options_of(app));
  std::string words;
  std::string cases;
  std::string with_path;
  std::string choices;
  for (const auto* each : commands_of(app)) {
    words += each->get_name() + " ";
    const auto options = options_of(*each);
    auto own = names_of(options) + " " + common;
    if (each->get_name() == "completion") own += " bash zsh fish";
    cases += fmt::format("    {}) words={} ;;\n", each->get_name(), as_word(own));
    for (const auto& option : options) {
      if (option.choices.empty()) continue;
      choices += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$word\")); return ;;\n", option.name,
                             as_word(option.choices));
    }
    if (each->get_option_no_throw("path") != nullptr) with_path += (with_path.empty() ? "" : " | ") + each->get_name();
  }
  std::string script{bash_script};
  for (const auto& [name, text] : {std::pair{"@with_value@", with_value(app)},
                                   {"@words@", as_word(words + common)},
                                   {"@cases@", cases},
                                   {"@choices@", choices},
                                   {"@with_path@", with_path}}) {
    const std::string_view marker{name};
    for (auto at = script.find(marker); at != script.npos; at = script.find(marker, at + text.size()))
      script.replace(at, marker.size(), text);
  }
  return script;
}

/// zsh runs what is written for bash.
std::string for_zsh(const CLI::App& app) {
  return "#compdef latchkey\nautoload -Uz bashcompinit && bashcompinit\n" + for_bash(app);
}

std::string for_fish(const CLI::App& app) {
  std::string script =
      "# Completion of latchkey for fish: made by `latchkey completion fish`.\ncomplete -c latchkey -f\n";
  const auto add = [&](const CLI::App& of, const std::string& condition) {
    for (const auto& each : options_of(of)) {
      const bool is_long = each.name.starts_with("--");
      script += fmt::format("complete -c latchkey{} -{} {}{}{} -d {}\n", condition, is_long ? 'l' : 's',
                            each.name.substr(is_long ? 2 : 1), each.takes_value ? " -r" : "",
                            each.choices.empty() ? "" : " -a " + as_word(each.choices), as_word(each.help, "\\'"));
    }
  };
  add(app, "");
  for (const auto* each : commands_of(app)) {
    const auto& name = each->get_name();
    script += fmt::format("complete -c latchkey -n __fish_use_subcommand -a {} -d {}\n", name,
                          as_word(each->get_description(), "\\'"));
    const auto condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", name);
    add(*each, condition);
    if (name == "completion") script += fmt::format("complete -c latchkey{} -a 'bash zsh fish'\n", condition);
    if (each->get_option_no_throw("path") != nullptr) {
      script +=
          fmt::format("complete -c latchkey{} -a '(latchkey list --names --timeout 2s 2>/dev/null)'\n", condition);
    }
  }
  return script;
}

}  // namespace

std::string completion_for(const std::string& shell, const CLI::App& app) {
  if (shell == "zsh") return for_zsh(app);
  return shell == "fish" ? for_fish(app) : for_bash(app);
}

}  // namespace command
