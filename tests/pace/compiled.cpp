// SPDX-License-Identifier: Apache-2.0
// What pace.sh compiles to learn how fast a machine is. It does not change: the figure beside it counts in it.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

using value = std::variant<int, double, std::string, std::vector<std::string>>;

struct table {
  std::map<std::string, value> rows;
  std::unordered_map<std::string, std::function<value(const value&)>> rules;

  void apply() {
    for (auto& [name, row] : rows) {
      if (const auto rule = rules.find(name); rule != rules.end()) row = rule->second(row);
    }
  }
};

}  // namespace

int main() {
  const auto made = std::make_unique<table>();
  const std::regex word{"([a-z]+)-([0-9]{1,4})"};
  std::vector<std::string> names{"a-1", "b-22", "c-333", "d"};
  std::erase_if(names, [&](const std::string& each) { return !std::regex_match(each, word); });
  std::sort(names.rbegin(), names.rend());
  for (const auto& each : names) {
    made->rows.emplace(each, std::vector<std::string>{each});
    made->rules.emplace(each, [](const value& of) { return std::visit([](const auto&) { return value{1}; }, of); });
  }
  made->apply();
  return made->rows.size() == 3 ? 0 : 1;
}
