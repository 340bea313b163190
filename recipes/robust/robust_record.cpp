// SPDX-License-Identifier: Apache-2.0
#include "recipes/robust/robust_record.hpp"

#include <algorithm>
#include <concepts>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_members.hpp"

namespace latchkey::detail {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

/// Of a record: two owners, whose labels may be in any encoding, and the names around them.
constexpr std::size_t most_data = std::size_t{16} << 10;

constexpr std::string_view too_long = "held_too_long";

json members_of(const dead_owner& owner) {
  json members{{"label", owner.label},
               {"host", owner.host},
               {"pid", owner.pid},
               {"session", owner.session},
               {"czxid", owner.fence.czxid},
               {"turn", owner.fence.turn},
               {"since_ms", std::chrono::floor<milliseconds>(owner.since.time_since_epoch()).count()}};
  if (owner.why == loss_reason::held_too_long) members["why"] = too_long;
  return members;
}

/// @returns it within 0 and `most`.
std::int64_t number_up_to(std::int64_t most, const json& members, const char* key) {
  return std::clamp<std::int64_t>(number_at(members, key), 0, most);
}

dead_owner owner_of(const json& members) {
  constexpr auto any = std::numeric_limits<std::int64_t>::max();
  constexpr auto last_year = std::chrono::floor<milliseconds>(std::chrono::system_clock::duration::max());
  dead_owner owner{.label = text_at(members, "label"), .host = text_at(members, "host")};
  owner.pid = number_up_to(any, members, "pid");
  owner.session = number_at(members, "session");  // of servers from 128 on it is negative
  owner.fence.czxid = number_up_to(any, members, "czxid");
  owner.fence.turn =
      static_cast<std::uint32_t>(number_up_to(std::numeric_limits<std::uint32_t>::max(), members, "turn"));
  owner.since += milliseconds{number_up_to(last_year.count(), members, "since_ms")};
  if (text_at(members, "why") == too_long) owner.why = loss_reason::held_too_long;
  return owner;
}

}  // namespace

std::string robust_record::text() const {
  json members{{"state", held ? "held" : "free"}};
  if (held) {
    members["node"] = node;
    members["owner"] = members_of(owner);
    members["lock_delay_ms"] = lock_delay.count();
  }
  if (before) members["before"] = members_of(*before);
  return members.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::chrono::milliseconds robust_record::delays(const robust_record& next) const noexcept {
  const bool has_died = !owner.why;  // otherwise it lives on, and is no earlier run
  const bool is_next_run = has_died && owner.label == next.owner.label && owner.host == next.owner.host;
  return held && !is_next_run ? lock_delay : milliseconds{0};
}

std::vector<step> robust_record::farewell(way_out how, const std::string& path) const {
  if (how == way_out::abandoned) return {};
  if (how == way_out::unlocked && !before) return {{.what = step::operation::remove, .path = path}};
  auto last = *this;
  last.held = how == way_out::held_too_long;
  if (last.held) last.owner.why = loss_reason::held_too_long;
  return {{.what = step::operation::set, .path = path, .data = last.text()}};
}

robust_record read_robust_record(std::string_view data) {
  robust_record found;
  const auto members = json::parse(data, nullptr, false);
  if (!members.is_object()) return found;
  found.held = text_at(members, "state") != "free";
  found.node = text_at(members, "node");
  found.lock_delay = milliseconds{number_up_to(longest_lock_delay.count(), members, "lock_delay_ms")};
  if (const auto owner = members.find("owner"); owner != members.end() && owner->is_object())
    found.owner = owner_of(*owner);
  if (const auto before = members.find("before"); before != members.end() && before->is_object())
    found.before = owner_of(*before);
  return found;
}

request read_of_record(std::string path) {
  return {.kind = operation::get, .path = std::move(path), .most_data = most_data};
}

robust_record read_robust_record(const reply& answer) {
  return read_robust_record(answer.data_size > answer.data.size() ? std::string_view{} : answer.data);
}

}  // namespace latchkey::detail
