// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Several operations in one transaction.

#include <cstddef>
#include <string>
#include <vector>

#include "bridge/access_list.hpp"
#include "bridge/znodes.hpp"

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

/// @returns the mode as the C client has it.
int to_mode(create_mode mode) noexcept;

/// The operations of one multi, and what became of each. The C client reads and writes them until the completion
/// (HAZARDS 15): neither copied nor moved.
class multi {
 public:
  multi() = default;
  multi(const multi&) = delete;
  multi& operator=(const multi&) = delete;

  /// @param acl of the nodes that the steps create
  /// @returns ZBADARGUMENTS or ZINVALIDSTATE when the C client has not been given it; else what that says. After ZOK
  /// this object belongs to the completion: `data` may have been completed and destroyed.
  int call(zhandle_t* handle, std::vector<step> steps, const access_list& acl, void_completion_t completion,
           const void* data);

  /// In the completion. @returns one for each step; those behind the one that failed were not looked at.
  std::vector<reply_code> results() const;

  /// In the completion, after a success. @returns the paths of the sequential nodes that it has created.
  std::vector<std::string> created() const;

 private:
  void prepare(std::size_t index, const access_list& acl);

  std::vector<step> steps_;
  std::vector<std::string> created_;  // by step: room for the path of a sequential node
  std::vector<zoo_op_t> operations_;
  std::vector<zoo_op_result_t> results_;
};

}  // namespace latchkey::detail
