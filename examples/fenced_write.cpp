// SPDX-License-Identifier: Apache-2.0
// A table that refuses the writes of former holders: SQLite, with a column for the fencing token.

#include <latchkey/mutex.hpp>

#include <iostream>
#include <optional>
#include <string>

#include "fencing/sql_fence.hpp"
#include "fencing/sqlite.hpp"
#include "with_connect_string.hpp"

namespace {

/// Knows nothing of locks: it compares two texts.
class invoice_table {
 public:
  invoice_table() {
    fencing::create_tables(database_);
    database_.run("INSERT INTO items (id, value) VALUES ('invoice', 'none')");
  }

  /// Seals the row, and reads it. @returns nothing if a later holder has been here.
  std::optional<std::string> read(latchkey::fencing_token token) {
    return fencing::read_item(database_, "invoice", token);
  }

  /// @returns whether it was written; not if a later holder has been here.
  bool write(latchkey::fencing_token token, const std::string& value) {
    return fencing::write_item(database_, "invoice", token, value);
  }

 private:
  fencing::sqlite database_{""};  // a temporary file; of a real service it has a name
};

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::mutex nightly{client, "/locks/fenced_write"};
  invoice_table invoices;

  auto former = nightly.acquire();
  const auto old_token = former.fence();  // of a write that is delayed on its way
  former.release();

  const auto held = nightly.acquire();
  const auto found = invoices.read(held.fence());  // first of all: from here on old_token is refused
  const bool late = invoices.write(old_token, "invoice 1, delayed");
  const bool written = invoices.write(held.fence(), "invoice 1");

  std::cout << "the holder found:   " << found.value_or("refused") << '\n'
            << "the late write:     " << (late ? "accepted" : "refused") << '\n'
            << "the holder's write: " << (written ? "accepted" : "refused") << '\n';
  return found == "none" && written && !late;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
