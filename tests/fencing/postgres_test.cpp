// SPDX-License-Identifier: Apache-2.0
/// Two connections to a PostgreSQL server.

#include <optional>
#include <string>
#include <vector>

#include "../../examples/fencing/postgres.hpp"
#include "interleavings.hpp"
#include "servers.hpp"

namespace latchkey::testing {
namespace {

using fencing::postgres;

struct postgres_database {
  static postgres open() {
    return postgres{postgres_server::shared().connect_string() + " options='-c client_min_messages=warning'"};
  }
};

/// A connection that does not wait for the locks of others.
struct session {
  postgres in = postgres_database::open();
  bool sent = false;

  std::optional<std::optional<std::string>> attempt(const std::string& statement,
                                                    const std::vector<std::string>& arguments) {
    static postgres monitor = postgres_database::open();
    const auto process = std::to_string(::PQbackendPID(in.native()));
    if (!sent) in.send(statement, arguments);
    sent = true;
    while (::PQconsumeInput(in.native()) == 1 && ::PQisBusy(in.native()) == 1) {
      if (monitor.run("SELECT cardinality(pg_blocking_pids($1::int))", {process}) != "0") return std::nullopt;
    }
    sent = false;
    return in.receive();
  }
};

/// A row that was there before its column `fence`, which has this type. @returns its id
std::string row_with(postgres& in, const std::string& type) {
  in.run("DROP TABLE IF EXISTS items");
  in.run("CREATE TABLE items (id TEXT PRIMARY KEY, value TEXT NOT NULL)");
  in.run("INSERT INTO items (id, value) VALUES ('a', '')");
  in.run("ALTER TABLE items ADD COLUMN fence " + type + fencing::fence_column);
  return "a";
}

}  // namespace

TEST_SUITE("postgres") {
  TEST_CASE("a fence in the row is right in every order of two transactions") {
    check_pattern(run_in_every_order<postgres_database, session>(fence_in_row(postgres::begin)));
  }

  TEST_CASE("a fence for many rows is right in every order of two transactions") {
    check_pattern(run_in_every_order<postgres_database, session>(fence_of_resource(postgres::begin)));
  }

  TEST_CASE("a check in a statement of its own loses updates, also in one transaction with the write") {
    CHECK(run_in_every_order<postgres_database, session>(check_then_write()).damaged > 0);
    auto in_transaction = check_then_write();
    in_transaction.insert(in_transaction.begin(), {postgres::begin});
    in_transaction.push_back({"COMMIT"});
    CHECK(run_in_every_order<postgres_database, session>(in_transaction).damaged > 0);
  }

  TEST_CASE("a seal waits for a write in flight: it reads what was committed, or what was there before") {
    for (const std::string end : {"COMMIT", "ROLLBACK"}) {
      CAPTURE(end);
      sql_row<postgres_database> row;
      auto former = row.connect();
      former.in.run("BEGIN");
      CHECK(former.write({33, 0}, "former"));
      session next;
      const std::vector<std::string> arguments{to_string(fencing_token{34, 0}), former.id};
      CHECK_FALSE(next.attempt(fencing::read_row, arguments));
      former.in.run(end);
      const auto seen = next.attempt(fencing::read_row, arguments);
      REQUIRE(seen);
      CHECK(*seen == (end == "COMMIT" ? "former" : ""));
      CHECK_FALSE(former.write({33, 0}, "late"));
    }
  }

  TEST_CASE("a transaction with an older snapshot fails, and writes nothing") {
    sql_row<postgres_database> row;
    auto former = row.connect();
    former.in.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    CHECK(former.peek() == "");
    CHECK(row.connect().write({34, 0}, "new"));
    std::string state;
    try {
      former.write({33, 0}, "late");
    } catch (const postgres::error& failure) {
      state = failure.state;
    }
    CHECK(state == "40001");
    former.in.run("ROLLBACK");
    CHECK(former.peek() == "new");
  }

  TEST_CASE("a change that hides the failure of a statement is not reported as committed") {
    auto one = postgres_database::open();
    fencing::create_tables(one);
    const auto item = fresh_item();
    const auto hiding = [&] {
      one.run("INSERT INTO items (id, value) VALUES ($1, 'half')", {item});
      CHECK_THROWS_AS(one.run("SELECT nonsense"), postgres::error);
    };
    CHECK_THROWS_AS(fencing::in_fenced_transaction(one, item, {34, 0}, hiding), postgres::error);
    CHECK_FALSE(one.run("SELECT value FROM items WHERE id = $1", {item}));
    CHECK(fencing::in_fenced_transaction(one, item, {33, 0}, [] {}));  // the seal was rolled back as well
  }

  TEST_CASE("in a Danish database a former holder passes, unless fences sort as their bytes") {
    auto one = postgres_database::open();
    const fencing_token former{0xaa0, 0};
    const fencing_token next{0xb00, 0};
    for (const std::string type : {"CHAR(24)", postgres::text_in_bytes}) {
      CAPTURE(type);
      const bool naive = type != postgres::text_in_bytes;
      const auto id = row_with(one, type);
      CHECK(fencing::write_item(one, id, next, "new"));
      CHECK(fencing::write_item(one, id, former, "old") == naive);
      CHECK(one.run("SELECT value FROM items") == (naive ? "old" : "new"));
    }
  }
}

}  // namespace latchkey::testing

#define LATCHKEY_STORES sql_row<postgres_database>, sql_rows<postgres_database>
#include "store_suite.hpp"
