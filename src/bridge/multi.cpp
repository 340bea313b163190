// SPDX-License-Identifier: Apache-2.0
#include "bridge/multi.hpp"

#include <algorithm>
#include <utility>

#include "base/path.hpp"
#include "bridge/reply_codes.hpp"

namespace latchkey::detail {
namespace {

bool is_valid(const std::string& path) { return path_fault(path).empty(); }

bool is_valid(const request& what) {
  if (what.paths.empty() ||
      !std::all_of(what.paths.begin(), what.paths.end(), [](auto& each) { return is_valid(each); }))
    return false;
  return what.kind != operation::replace || (what.paths.size() == 1 && is_valid(what.path));
}

/// @param init zoo_check_op_init or zoo_delete_op_init
std::vector<zoo_op_t> one_for_each(const std::vector<std::string>& paths, void (*init)(zoo_op_t*, const char*, int)) {
  std::vector<zoo_op_t> operations(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) init(&operations[i], paths[i].c_str(), -1);
  return operations;
}

/// First the create: of a node that exists already one wants to hear, whatever became of the other.
std::vector<zoo_op_t> to_replacement(const request& what, const access_list& acl) {
  std::vector<zoo_op_t> both(2);
  // No buffer for the name of the new node: it is the one that was asked for.
  zoo_create_op_init(&both[0], what.path.c_str(), what.data.data(), static_cast<int>(what.data.size()), acl.get(),
                     ZOO_EPHEMERAL, nullptr, 0);
  zoo_delete_op_init(&both[1], what.paths.front().c_str(), -1);
  return both;
}

std::vector<zoo_op_t> to_operations(const request& what, const access_list& acl) {
  switch (what.kind) {
    case operation::check:
      return one_for_each(what.paths, zoo_check_op_init);
    case operation::remove_all:
      return one_for_each(what.paths, zoo_delete_op_init);
    default:
      return to_replacement(what, acl);
  }
}

}  // namespace

/// zoo_amulti frees memory that is not its own when it refuses one of several operations (HAZARDS 15): a path that is
/// not valid, and, with any path, a handle that has expired. An expiry is learnt by reconnecting only, which takes many
/// times as long as the call: a handle that is connected when the call begins does not expire inside.
int multi::call(zhandle_t* handle, request what, const access_list& acl, void_completion_t completion,
                const void* data) {
  if (!is_valid(what)) return ZBADARGUMENTS;
  if (zoo_state(handle) != ZOO_CONNECTED_STATE) return ZINVALIDSTATE;
  what_ = std::move(what);
  operations_ = to_operations(what_, acl);
  results_.resize(operations_.size());
  return zoo_amulti(handle, static_cast<int>(operations_.size()), operations_.data(), results_.data(), completion,
                    data);
}

std::vector<reply_code> multi::results() const {
  std::vector<reply_code> codes;
  for (const auto& each : results_) codes.push_back(to_operation_result(each.err));
  return codes;
}

}  // namespace latchkey::detail
