// SPDX-License-Identifier: Apache-2.0
#include "recipes/rules.hpp"

#include <array>

namespace latchkey::detail {
namespace {

extern const rule locks;
extern const rule reads;
extern const rule writes;
extern const rule latches;

constexpr std::array<const rule*, 4> all{&locks, &reads, &writes, &latches};
constexpr std::array<const rule*, 3> all_but_reads{&locks, &writes, &latches};

// The markers are Curator's, the foreign ones kazoo's. A mutex, and readers and writers, may share a path. Latches may
// not, as Curator's locks do not see them; ours do.
// clang-format off
//                            name      marker       foreign      waits for      may become
constinit const rule locks  { "lock",   "lock-",     "__lock__",  all,           nullptr};
constinit const rule reads  { "read",   "__READ__",  "__rlock__", all_but_reads, nullptr};
constinit const rule writes { "write",  "__WRIT__",  "",          all,           &reads};
constinit const rule latches{ "latch",  "latch-",    "",          all,           nullptr};
// clang-format on

}  // namespace

const rule& rule_of(contender_kind kind) noexcept { return *all[static_cast<std::size_t>(kind)]; }

std::optional<position> parse_contender(std::string_view name) noexcept {
  for (const auto kind : {contender_kind::lock, contender_kind::read, contender_kind::write, contender_kind::latch}) {
    if (const auto number = rule_of(kind).number(name)) return position{*number, kind};
  }
  return std::nullopt;
}

}  // namespace latchkey::detail
