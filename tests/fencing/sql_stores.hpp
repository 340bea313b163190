// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The patterns of sql_fence.hpp as stores of the suite. A database of a test is a type with `fencing::... open()`.

#include <atomic>
#include <optional>
#include <string>

#include <latchkey/fencing_token.hpp>

#include "../../examples/fencing/sql_fence.hpp"

namespace latchkey::testing {

/// @returns a name that no other item of this program has.
inline std::string fresh_item() {
  static std::atomic<int> count{0};
  return "item " + std::to_string(++count);
}

/// An item in a table of the database.
template <class Place>
class sql_item {
 public:
  using database = decltype(Place::open());

  sql_item() {
    auto setup = Place::open();
    fencing::create_tables(setup);
    setup.run("INSERT INTO items (id, value) VALUES ($1, '')", {id_});
  }

 protected:
  /// What both patterns share.
  struct session {
    database in = Place::open();
    std::string id;

    std::string peek() { return in.run("SELECT value FROM items WHERE id = $1", {id}).value(); }
    void overwrite(const std::string& value) { in.run("UPDATE items SET value = $1 WHERE id = $2", {value, id}); }
  };

  std::string id_ = fresh_item();
};

/// A row that has its own fence.
template <class Place>
struct sql_row : sql_item<Place> {
  struct connection : sql_item<Place>::session {
    std::optional<std::string> read(fencing_token token) { return fencing::read_item(this->in, this->id, token); }
    bool write(fencing_token token, const std::string& value) {
      return fencing::write_item(this->in, this->id, token, value);
    }
    std::string largest() { return this->in.run("SELECT fence FROM items WHERE id = $1", {this->id}).value(); }
  };
  connection connect() { return {{.id = this->id_}}; }
};

/// Rows behind a row of the table `fences`.
template <class Place>
struct sql_rows : sql_item<Place> {
  struct connection : sql_item<Place>::session {
    std::optional<std::string> read(fencing_token token) {
      std::optional<std::string> seen;
      fencing::in_fenced_transaction(this->in, this->id, token, [&] { seen = this->peek(); });
      return seen;
    }
    bool write(fencing_token token, const std::string& value) {
      return fencing::in_fenced_transaction(this->in, this->id, token, [&] { this->overwrite(value); });
    }
    std::string largest() {
      return this->in.run("SELECT fence FROM fences WHERE resource = $1", {this->id}).value_or("");
    }
  };
  connection connect() { return {{.id = this->id_}}; }
};

}  // namespace latchkey::testing
