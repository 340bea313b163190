// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Fencing in SQL: statements for SQLite (3.35 or newer) and PostgreSQL, to copy. A statement that returns no row was
/// refused. A database without RETURNING tells the same by the number of changed rows.

#include <optional>
#include <string>
#include <vector>

#include <latchkey/fencing_token.hpp>

namespace fencing {

// The type of the column `fence`, behind the name of the database's own type for text in the order of its bytes. Rows
// that were there before have '', which is smaller than every token. The token of an empty guard is an error.
inline constexpr const char* fence_column = " NOT NULL DEFAULT '' CHECK (fence <> '000000000000000000000000')";

// One row with its own fence. Each is one statement, so the check and the write cannot be torn apart: the database
// locks the row. $1: the token, $2: the row, $3: the value.
inline constexpr const char* read_row =
    "UPDATE items SET fence = $1 WHERE id = $2 AND fence <= $1 RETURNING value";  // seals it, too
inline constexpr const char* write_row =
    "UPDATE items SET fence = $1, value = $3 WHERE id = $2 AND fence <= $1 RETURNING id";

// Many rows behind one fence: the first statement of the transaction, which locks the row of `fences` until the commit.
// $1: the resource, $2: the token. It also works if the resource has no row yet.
inline constexpr const char* seal_resource =
    "INSERT INTO fences (resource, fence) VALUES ($1, $2) ON CONFLICT (resource)"
    " DO UPDATE SET fence = excluded.fence WHERE fences.fence <= excluded.fence RETURNING resource";

/// Creates the tables `items` and `fences`, if need be.
template <class Database>
void create_tables(Database& in) {
  const auto fence = std::string{"fence "} + Database::text_in_bytes + fence_column;
  in.run("CREATE TABLE IF NOT EXISTS items (id TEXT PRIMARY KEY, value TEXT NOT NULL, " + fence + ")");
  in.run("CREATE TABLE IF NOT EXISTS fences (resource TEXT PRIMARY KEY, " + fence + ")");
}

/// Seals a row, and reads it. @returns its value; nothing if it was refused, or there is no such row.
template <class Database>
std::optional<std::string> read_item(Database& from, const std::string& id, latchkey::fencing_token token) {
  return from.run(read_row, {to_string(token), id});
}

/// @returns whether the value was written; not if a larger token has been here, or there is no such row.
template <class Database>
bool write_item(Database& to, const std::string& id, latchkey::fencing_token token, const std::string& value) {
  return to.run(write_row, {to_string(token), id, value}).has_value();
}

/// Runs `change()` in a transaction that holds the fence of a resource: reads and writes, all or nothing.
/// @returns whether it was committed; not if a larger token has been here. Then `change` has not run.
/// @throws what `change` throws: then nothing was written. If the connection is lost at the commit, it may have been
template <class Database, class Change>
bool in_fenced_transaction(Database& in, const std::string& resource, latchkey::fencing_token token, Change change) {
  in.run(Database::begin);
  try {
    const bool passed = in.run(seal_resource, {resource, to_string(token)}).has_value();
    if (passed) change();
    in.run(passed ? "COMMIT" : "ROLLBACK");
    return passed;
  } catch (...) {
    try {
      in.run("ROLLBACK");
    } catch (const typename Database::error&) {  // the connection is lost, or the database has rolled back by itself
    }
    throw;
  }
}

}  // namespace fencing
