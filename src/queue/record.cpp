// SPDX-License-Identifier: Apache-2.0
#include "queue/record.hpp"

#include <unistd.h>

#include <array>
#include <chrono>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include "base/json_members.hpp"

namespace latchkey::detail {
namespace {

const std::string& host_name() {
  static const auto& name = *new std::string{[]() -> std::string {  // never destroyed: a static's destructor may lock
    std::array<char, 256> found{};
    return ::gethostname(found.data(), found.size() - 1) == 0 ? found.data() : "";
  }()};
  return name;
}

}  // namespace

std::string name_of_owner(std::string_view label) {
  return std::string{label.empty() ? std::string_view{program_invocation_short_name} : label};
}

contender_record this_owner(std::string_view label) { return {name_of_owner(label), host_name(), ::getpid()}; }

std::string describe_owner(std::string_view label, std::string_view kind) {
  using namespace std::chrono;
  const auto now = time_point_cast<milliseconds>(system_clock::now());
  const auto owner = this_owner(label);
  const nlohmann::json record{
      {"label", owner.label},
      {"host", owner.host},
      {"pid", owner.pid},
      {"kind", kind},
      {"since", fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(system_clock::to_time_t(now)),
                            now.time_since_epoch().count() % 1000)},
  };
  // A label may be in any encoding.
  return record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

contender_record read_owner(std::string_view data) {
  const auto record = nlohmann::json::parse(data, nullptr, false);
  contender_record owner;
  if (!record.is_object()) return owner;
  owner.label = text_at(record, "label");
  owner.host = text_at(record, "host");
  owner.pid = number_at(record, "pid");
  return owner;
}

}  // namespace latchkey::detail
