// SPDX-License-Identifier: Apache-2.0
#include "recipes/rules.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <latchkey/error.hpp>

#include "base/node_name.hpp"
#include "base/path.hpp"
#include "recipes/robust/robust_record.hpp"

namespace latchkey::detail {
namespace {

extern const rule locks;
extern const rule reads;
extern const rule writes;
extern const rule latches;
extern const rule permits;

constexpr std::array<std::string_view, 2> folders{permit_leases, permit_turns};  // of a semaphore
constexpr std::array<const rule*, 4> locking{&locks, &reads, &writes, &latches};
constexpr std::array<const rule*, 2> turn_and_permits{&locks, &permits};
constexpr std::array<const rule*, 3> all_but_reads{&locks, &writes, &latches};

// The markers are Curator's, the foreign ones kazoo's. A mutex, and readers and writers, may share a path. Latches may
// not, as Curator's locks do not see them; ours do. Permits do not wait: they are counted (`permit_queue`).
// clang-format off
//                            name      marker       foreign      waits for      becomes  foreign use
constinit const rule locks  { "lock",   "lock-",     "__lock__",  locking,       nullptr, folders, &permits, "semaphore"};
constinit const rule reads  { "read",   "__READ__",  "__rlock__", all_but_reads, nullptr, folders, &permits, "semaphore"};
constinit const rule writes { "write",  "__WRIT__",  "",          locking,       &reads,  folders, &permits, "semaphore"};
constinit const rule latches{ "latch",  "latch-",    "",          locking,       nullptr, folders, &permits, "semaphore"};
constinit const rule permits{ "permit", "lease-",    "",          {},            nullptr};
constinit const rule counted{ "permit", "lease-",    "",          turn_and_permits, nullptr};
// clang-format on

constexpr std::array<const rule*, 5> all_rules{&locks, &reads, &writes, &latches, &permits};

}  // namespace

const rule& rule_of(contender_kind kind) noexcept { return *all_rules[static_cast<std::size_t>(kind)]; }

const rule& counting_rule() noexcept { return counted; }

namespace {

/// A marker and a number, alone or behind a uuid.
bool looks_like_entry(std::string_view name) {
  return std::any_of(locking.begin(), locking.end(), [name](const rule* each) {
    const auto size = each->marker.size() + 10;
    if (name.size() < size || !number_after(each->marker, name)) return false;
    return name.size() == size || name[name.size() - size - 1] == '-';
  });
}

}  // namespace

void require_lock_path(std::string_view path, std::string_view chroot) {
  validate_lock_path(path);
  const auto absolute = fmt::format("{}{}", chroot, path);
  for (std::string_view rest = absolute; rest.size() > 1; rest = rest.substr(0, rest.rfind('/'))) {
    const auto name = last_component(rest);
    if (name == name_of_record) {
      throw error{
          errc::bad_path,
          fmt::format(
              "\"{}\" is what a robust_mutex at its parent keeps there, and would take for a death; choose another "
              "name",
              name),
          std::string{path}};
    }
    // Of parents those alone that look as the entries that are made: "release-1764230400" is none.
    if (rest.size() == absolute.size() ? !parse_contender(name) : !looks_like_entry(name)) continue;
    throw error{
        errc::bad_path,
        fmt::format("\"{}\" is the name of a contender's entry: a lock at its parent would wait for it for ever; "
                    "choose one that does not end with ten digits{}",
                    name, rest.size() <= chroot.size() ? ", for the chroot, too" : ""),
        std::string{path}};
  }
}

void require_not_negative(const char* option, std::chrono::nanoseconds time, const std::string& path) {
  if (time >= time.zero()) return;
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time);
  throw error{errc::bad_option, fmt::format("the option {} is {} ms; it must not be negative", option, ms.count()),
              path};
}

std::optional<position> parse_contender(std::string_view name) noexcept {
  for (std::size_t i = 0; i < all_rules.size(); ++i) {
    const auto kind = static_cast<contender_kind>(i);
    if (const auto number = rule_of(kind).number(name)) return position{*number, kind};
  }
  return std::nullopt;
}

}  // namespace latchkey::detail
