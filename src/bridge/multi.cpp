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

bool is_valid(const std::string& path) { return path_fault(path).empty(); }

bool is_valid(const request& what) {
  if (what.paths.empty() ||
      !std::all_of(what.paths.begin(), what.paths.end(), [](auto& each) { return is_valid(each); }))
    return false;
  const bool creates = what.kind == operation::replace || what.kind == operation::requeue;
  return !creates || (what.paths.size() == 1 && is_valid(what.path));
}

/// @param init zoo_check_op_init or zoo_delete_op_init
std::vector<zoo_op_t> one_for_each(const std::vector<std::string>& paths, void (*init)(zoo_op_t*, const char*, int)) {
  std::vector<zoo_op_t> operations(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) init(&operations[i], paths[i].c_str(), -1);
  return operations;
}

/// First the create: of a node that exists already one wants to hear, whatever became of the other.
/// @param created takes the path of the new node, if there is room
std::vector<zoo_op_t> to_replacement(const request& what, const access_list& acl, std::string& created) {
  std::vector<zoo_op_t> both(2);
  const int mode = what.kind == operation::requeue ? ZOO_EPHEMERAL_SEQUENTIAL : ZOO_EPHEMERAL;
  zoo_create_op_init(&both[0], what.path.c_str(), what.data.data(), static_cast<int>(what.data.size()), acl.get(), mode,
                     created.empty() ? nullptr : created.data(), static_cast<int>(created.size()));
  zoo_delete_op_init(&both[1], what.paths.front().c_str(), -1);
  return both;
}

std::vector<zoo_op_t> to_operations(const request& what, const access_list& acl, std::string& created) {
  switch (what.kind) {
    case operation::check:
      return one_for_each(what.paths, zoo_check_op_init);
    case operation::remove_all:
      return one_for_each(what.paths, zoo_delete_op_init);
    default:
      return to_replacement(what, acl, created);
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
  if (what_.kind == operation::requeue) created_.resize(what_.path.size() + longest_number + 1);
  operations_ = to_operations(what_, acl, created_);
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
