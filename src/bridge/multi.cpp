// SPDX-License-Identifier: Apache-2.0
#include "bridge/multi.hpp"

#include <algorithm>
#include <utility>

#include "base/path.hpp"
#include "bridge/reply_codes.hpp"

namespace latchkey::detail {
namespace {

/// What the ensemble appends to the name of a sequential node: an int, of at least ten digits.
constexpr std::size_t longest_number = 11;

bool is_sequential(const step& each) {
  return each.what == step::operation::create && each.mode == create_mode::ephemeral_sequential;
}

bool is_valid(const std::vector<step>& steps) {
  return !steps.empty() && std::all_of(steps.begin(), steps.end(), [](const step& each) {
    return path_fault(each.path).empty() && each.mode != create_mode::container;
  });
}

}  // namespace

int to_mode(create_mode mode) noexcept {
  switch (mode) {
    case create_mode::persistent:
      return ZOO_PERSISTENT;
    case create_mode::container:
      return ZOO_CONTAINER;
    case create_mode::ephemeral:
      return ZOO_EPHEMERAL;
    case create_mode::ephemeral_sequential:
      return ZOO_EPHEMERAL_SEQUENTIAL;
  }
  return ZOO_PERSISTENT;
}

std::vector<step> steps_for(step::operation what, std::vector<std::string> paths) {
  std::vector<step> steps;
  steps.reserve(paths.size());
  for (auto& path : paths) steps.push_back({.what = what, .path = std::move(path)});
  return steps;
}

/// zoo_amulti frees memory that is not its own when it refuses one of several operations (HAZARDS 15): a path that is
/// not valid, and, with any path, a handle that has expired. An expiry is learnt by reconnecting only, which takes many
/// times as long as the call: a handle that is connected when the call begins does not expire inside.
int multi::call(zhandle_t* handle, std::vector<step> steps, const access_list& acl, void_completion_t completion,
                const void* data) {
  if (!is_valid(steps)) return ZBADARGUMENTS;
  if (zoo_state(handle) != ZOO_CONNECTED_STATE) return ZINVALIDSTATE;
  steps_ = std::move(steps);
  operations_.resize(steps_.size());
  results_.resize(steps_.size());
  created_.resize(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) prepare(i, acl);
  return zoo_amulti(handle, static_cast<int>(operations_.size()), operations_.data(), results_.data(), completion,
                    data);
}

void multi::prepare(std::size_t index, const access_list& acl) {
  auto& operation = operations_[index];
  const auto& from = steps_[index];
  auto& created = created_[index];
  const char* const path = from.path.c_str();
  const auto size = static_cast<int>(from.data.size());
  switch (from.what) {
    case step::operation::check:
      return zoo_check_op_init(&operation, path, from.version);
    case step::operation::create:
      if (is_sequential(from)) created.resize(from.path.size() + longest_number + 1);
      return zoo_create_op_init(&operation, path, from.data.data(), size, acl.get(), to_mode(from.mode),
                                created.empty() ? nullptr : created.data(), static_cast<int>(created.size()));
    case step::operation::set:
      return zoo_set_op_init(&operation, path, from.data.data(), size, from.version, nullptr);
    case step::operation::remove:
      return zoo_delete_op_init(&operation, path, from.version);
  }
}

std::vector<std::string> multi::created() const {
  std::vector<std::string> paths;
  for (const auto& each : created_) {
    if (!each.empty()) paths.emplace_back(each.c_str());
  }
  return paths;
}

std::vector<reply_code> multi::results() const {
  std::vector<reply_code> codes;
  for (const auto& each : results_) codes.push_back(to_operation_result(each.err));
  return codes;
}

}  // namespace latchkey::detail
