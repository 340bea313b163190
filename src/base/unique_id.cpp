// SPDX-License-Identifier: Apache-2.0
#include "base/unique_id.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include <fmt/format.h>

namespace latchkey::detail {
namespace {

unique_ids freshly_seeded() {
  std::random_device device;
  std::array<std::uint32_t, 8> words;
  std::generate(words.begin(), words.end(), std::ref(device));
  std::seed_seq seed(words.begin(), words.end());
  return unique_ids{seed};
}

/// A thread has its own: there is no lock that another thread could hold at the time of a fork.
struct generator {
  ::pid_t process = 0;
  std::optional<unique_ids> ids;
};

unique_ids& ids_of_thread() {
  thread_local generator own;
  if (const auto process = ::getpid(); own.process != process) {
    own.ids = freshly_seeded();
    own.process = process;
  }
  return *own.ids;
}

}  // namespace

std::string unique_ids::next() { return next(random_()); }

std::string unique_ids::next(std::uint64_t high) {
  high = (high & ~0xf000ull) | 0x4000ull;                                                 // version 4
  const std::uint64_t low = (random_() & 0x3fffffffffffffffull) | 0x8000000000000000ull;  // variant 10
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffffull);
}

std::string unique_id() { return ids_of_thread().next(); }

std::string unique_id(std::uint64_t high) { return ids_of_thread().next(high); }

}  // namespace latchkey::detail
