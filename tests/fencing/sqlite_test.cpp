// SPDX-License-Identifier: Apache-2.0
/// Two connections to one SQLite file.

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../examples/fencing/sqlite.hpp"
#include "interleavings.hpp"
#include "temporary_folder.hpp"
#include "tokens.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using fencing::sqlite;

const std::string& file() {
  static const temporary_folder folder;
  static const std::string path = (folder.path() / "items.db").string();
  return path;
}

struct one_sqlite_file {
  static sqlite open() { return sqlite{file()}; }
};

/// A connection that does not wait.
struct session {
  sqlite in{file(), 0ms};

  std::optional<std::optional<std::string>> attempt(const std::string& statement,
                                                    const std::vector<std::string>& arguments) {
    try {
      return in.run(statement, arguments);
    } catch (const sqlite::error& failure) {
      if (failure.code == SQLITE_BUSY) return std::nullopt;
      throw;
    }
  }
};

}  // namespace

TEST_SUITE("sqlite") {
  TEST_CASE("a fence in the row is right in every order of two transactions") {
    check_pattern(run_in_every_order<one_sqlite_file, session>(fence_in_row(sqlite::begin)));
  }

  TEST_CASE("a fence for many rows is right in every order of two transactions") {
    check_pattern(run_in_every_order<one_sqlite_file, session>(fence_of_resource(sqlite::begin)));
  }

  TEST_CASE("a check in a statement of its own loses updates") {
    CHECK(run_in_every_order<one_sqlite_file, session>(check_then_write()).damaged > 0);
  }

  TEST_CASE("two transactions that read before they write block each other: BEGIN IMMEDIATE lets one wait") {
    const std::string read = "SELECT value FROM items";
    const std::string write = "UPDATE items SET value = value";
    session one;
    session two;
    fencing::create_tables(one.in);
    for (auto* const each : {&one, &two}) {
      CHECK(each->attempt("BEGIN", {}));
      CHECK(each->attempt(read, {}));
    }
    CHECK(one.attempt(write, {}));
    CHECK_FALSE(two.attempt(write, {}));
    CHECK_FALSE(one.attempt("COMMIT", {}));  // waits for the reader, which waits for the writer
    CHECK(two.attempt("ROLLBACK", {}));
    CHECK(one.attempt("COMMIT", {}));

    CHECK(one.attempt(sqlite::begin, {}));
    CHECK_FALSE(two.attempt(sqlite::begin, {}));
    CHECK(one.attempt(write, {}));
    CHECK(one.attempt("COMMIT", {}));
    CHECK(two.attempt(sqlite::begin, {}));
    CHECK(two.attempt("ROLLBACK", {}));
  }

  TEST_CASE("the statements of PROTECTING.md are those of the tests") {
    std::ifstream page{PROTECTING};
    const std::string text{std::istreambuf_iterator<char>{page}, {}};
    for (const auto* statement :
         {fencing::read_row, fencing::write_row, fencing::seal_resource, fencing::fence_column}) {
      CAPTURE(std::string{statement});
      CHECK(text.find(statement + std::string{"\n"}) != std::string::npos);
    }
  }

  TEST_CASE("fences survive a restart") {
    const auto item = fresh_item();
    {
      sqlite before{file()};
      fencing::create_tables(before);
      before.run("INSERT INTO items (id, value) VALUES ($1, '')", {item});
      CHECK(fencing::write_item(before, item, newer, "new"));
    }
    sqlite after{file()};
    CHECK_FALSE(fencing::write_item(after, item, older, "old"));
    CHECK(fencing::read_item(after, item, newer) == "new");
  }

  TEST_CASE("a change that throws writes nothing, and leaves the connection usable") {
    sqlite one{file()};
    fencing::create_tables(one);
    const auto item = fresh_item();
    const auto failing = [&] {
      one.run("INSERT INTO items (id, value) VALUES ($1, 'half')", {item});
      throw std::runtime_error{"a bad day"};
    };
    CHECK_THROWS_AS(fencing::in_fenced_transaction(one, item, newer, failing), std::runtime_error);
    CHECK_FALSE(one.run("SELECT value FROM items WHERE id = $1", {item}));
    CHECK(fencing::in_fenced_transaction(one, item, older, [] {}));  // the seal was rolled back as well
  }
}

}  // namespace latchkey::testing
