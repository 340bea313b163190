// SPDX-License-Identifier: Apache-2.0
#include "session/request_limit.hpp"

#include <functional>
#include <string_view>

#include "base/path.hpp"

namespace latchkey::detail {
namespace {

/// Of a request and of a step, besides texts.
constexpr std::size_t bytes_of_header = 32;

}  // namespace

request_shape shape_of(const request& what, std::size_t acl) noexcept {
  request_shape shape{.of = 0, .bytes = bytes_of_header + what.path.size() + what.data.size()};
  if (what.kind == operation::create) shape.bytes += acl;
  for (const auto& each : what.steps) {
    shape.bytes += bytes_of_header + each.path.size() + each.data.size();
    if (each.what == step::operation::create) shape.bytes += acl;
  }
  const std::string_view path = what.steps.empty() ? what.path : what.steps.front().path;
  shape.of = std::hash<std::string_view>{}(parent_of(path)) * 16 + static_cast<std::uint64_t>(what.kind);
  return shape;
}

}  // namespace latchkey::detail
