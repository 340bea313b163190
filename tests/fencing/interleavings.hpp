// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Two holders that change one row in transactions of their own, in every order of their steps.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "sql_stores.hpp"

namespace latchkey::testing {

/// A statement of a transaction. Its arguments: t the token, i the item, v the value, which is what the holder has read
/// followed by its name.
struct sql_step {
  const char* statement;
  const char* arguments = "";
  bool decides = false;  ///< no row: the holder is refused, and rolls back
  bool reads = false;    ///< the row is what it has read
};

using sql_steps = std::vector<sql_step>;

/// One fence for each row.
inline sql_steps fence_in_row(const char* begin) {
  return {{begin}, {fencing::read_row, "ti", true, true}, {fencing::write_row, "tiv", true}, {"COMMIT"}};
}

/// One fence for many rows.
inline sql_steps fence_of_resource(const char* begin) {
  return {{begin},
          {fencing::seal_resource, "it", true},
          {"SELECT value FROM items WHERE id = $1", "i", false, true},
          {"UPDATE items SET value = $1 WHERE id = $2", "vi"},
          {"COMMIT"}};
}

/// Naive: compares the tokens in one statement, and writes in another.
inline sql_steps check_then_write() {
  return {{"SELECT value FROM items WHERE fence <= $1 AND id = $2", "ti", true, true},
          {"UPDATE items SET fence = $1, value = $2 WHERE id = $3", "tvi"}};
}

/// A holder.
/// @tparam Session has `attempt(statement, arguments)`, which returns nothing if it has to wait for the other holder
template <class Session>
class interleaved_writer {
 public:
  interleaved_writer(Session& session, const sql_steps& steps, std::string item, fencing_token token, std::string name)
      : session_{session}, steps_{steps}, item_{std::move(item)}, token_{to_string(token)}, name_{std::move(name)} {}

  /// @returns whether the next step was done; not if it has to wait, or there is none.
  bool advance() {
    if (over()) return false;
    const auto& step = steps_[next_];
    const auto answer = session_.attempt(step.statement, arguments(step.arguments));
    if (!answer) return false;
    if (step.reads) seen_ = answer->value_or("");
    ++next_;
    if (!step.decides || *answer) return true;
    refused_ = true;
    if (steps_.back().statement == std::string{"COMMIT"}) session_.attempt("ROLLBACK", {});
    return true;
  }

  bool over() const { return refused_ || next_ == steps_.size(); }
  bool refused() const { return refused_; }

 private:
  std::vector<std::string> arguments(const std::string& letters) const {
    std::vector<std::string> all;
    for (const char letter : letters) all.push_back(letter == 't' ? token_ : letter == 'i' ? item_ : seen_ + name_);
    return all;
  }

  Session& session_;
  const sql_steps& steps_;
  std::string item_;
  std::string token_;
  std::string name_;
  std::string seen_;
  std::size_t next_ = 0;
  bool refused_ = false;
};

/// What came of all orders.
struct interleavings {
  int both = 0;     ///< the older one wrote first, then the newer one
  int refused = 0;  ///< the older one was
  int damaged = 0;  ///< a write is missing that was reported as done, or the older one was the last
  int stuck = 0;
};

/// Runs the steps of two holders in every order. A step that has to wait is done as soon as it can be.
template <class Place, class Session>
interleavings run_in_every_order(const sql_steps& steps) {
  auto setup = Place::open();
  fencing::create_tables(setup);
  const auto item = fresh_item();
  setup.run("INSERT INTO items (id, value) VALUES ($1, '')", {item});
  std::string order = std::string(steps.size(), 'n') + std::string(steps.size(), 'o');
  interleavings all;
  Session one;
  Session two;
  do {
    CAPTURE(order);
    setup.run("UPDATE items SET value = '', fence = '' WHERE id = $1", {item});
    setup.run("DELETE FROM fences WHERE resource = $1", {item});
    std::array<interleaved_writer<Session>, 2> writers{
        {{one, steps, item, {33, 0}, "older "}, {two, steps, item, {34, 0}, "newer "}}};
    std::array<std::size_t, 2> may_do{};
    for (const char whose : order) {
      ++may_do[whose == 'n' ? 1 : 0];
      for (bool progress = true; progress;) {
        progress = false;
        for (std::size_t i = 0; i < 2; ++i) {
          if (may_do[i] == 0 || !writers[i].advance()) continue;
          --may_do[i];
          progress = true;
        }
      }
    }
    const auto value = setup.run("SELECT value FROM items WHERE id = $1", {item}).value();
    const bool refused = writers[0].refused();
    ++(refused ? all.refused : all.both);
    if (value != (refused ? "newer " : "older newer ")) ++all.damaged;
    if (!writers[0].over() || !writers[1].over() || writers[1].refused()) ++all.stuck;
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

/// The pattern is right in every order, and both outcomes occur.
inline void check_pattern(const interleavings& all) {
  CHECK(all.damaged == 0);
  CHECK(all.stuck == 0);
  CHECK(all.both > 0);
  CHECK(all.refused > 0);
}

}  // namespace latchkey::testing
