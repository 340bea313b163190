// SPDX-License-Identifier: Apache-2.0
#pragma once

/// For how long a client may not know that an operator has deleted a node of its.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulation/history_checker.hpp"
#include "simulation/random_source.hpp"

namespace latchkey::testing {

/// The deletions by operators, and until when each excuses a client.
///
/// A client that is connected learns of the deletion within `to_learn`. One that is not (no connection, a hole, a
/// server without its leader, a stopped process) learns of it when it has been connected for that long; its grants end
/// with their lease meanwhile, which is proved for the last time before the deletion is known. Nobody but the owner of
/// the node is excused.
class deletion_record {
 public:
  deletion_record(duration to_learn, duration lease) : to_learn_{to_learn}, lease_{lease} {}

  void add(unsigned lock, unsigned client, std::string node, time_point at);

  /// After every step. @param connected whether a client is, and everything between it and the leader works
  void observe(time_point now, const std::function<bool(unsigned)>& connected);

  /// @param is_own whether a grant rests on that node
  /// @returns when a grant of `client` on `lock` may be wrong.
  excuses of(unsigned lock, unsigned client, const std::function<bool(const std::string&)>& is_own) const;

 private:
  struct deletion {
    unsigned lock;
    unsigned client;
    std::string node;
    time_point at;
    std::optional<time_point> connected_since;
    std::optional<time_point> known;  // at the latest
  };

  const duration to_learn_;
  const duration lease_;
  std::vector<deletion> all_;
  std::size_t first_open_ = 0;
};

}  // namespace latchkey::testing
