// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A connection to SQLite, with what sql_fence.hpp needs.

#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace fencing {

/// One connection. Not for two threads at once.
class sqlite {
 public:
  struct error : std::runtime_error {
    error(const std::string& what, int is) : std::runtime_error{"SQLite: " + what}, code{is} {}
    int code;  ///< such as SQLITE_BUSY: another connection is writing
  };

  /// Takes the lock for writing at once, so a transaction that has read is not refused when it writes.
  static constexpr const char* begin = "BEGIN IMMEDIATE";
  static constexpr const char* text_in_bytes = "CHAR(24)";  // never NOCASE, never a number

  /// @param patience how long a statement waits for the transaction of another connection
  explicit sqlite(const std::string& file, std::chrono::milliseconds patience = std::chrono::seconds{10}) {
    sqlite3* opened = nullptr;
    const int code = ::sqlite3_open(file.c_str(), &opened);
    connection_.reset(opened);
    check(code);
    check(::sqlite3_busy_timeout(opened, static_cast<int>(patience.count())));
  }

  /// Runs a statement with text for its parameters $1, $2, ...
  /// @returns the first column of the first row; nothing if there is no row.
  std::optional<std::string> run(const std::string& statement, const std::vector<std::string>& arguments = {}) {
    sqlite3_stmt* prepared = nullptr;
    check(::sqlite3_prepare_v2(connection_.get(), statement.c_str(), -1, &prepared, nullptr));
    const std::unique_ptr<sqlite3_stmt, finalize> owner{prepared};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const int index = ::sqlite3_bind_parameter_index(prepared, ("$" + std::to_string(i + 1)).c_str());
      const auto& text = arguments[i];
      check(::sqlite3_bind_text(prepared, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
    }
    std::optional<std::string> first;
    int code = SQLITE_ROW;
    while ((code = ::sqlite3_step(prepared)) == SQLITE_ROW) {
      if (first) continue;
      const auto* const text = reinterpret_cast<const char*>(::sqlite3_column_text(prepared, 0));
      first.emplace(text == nullptr ? "" : text);
    }
    if (code != SQLITE_DONE) check(code);
    return first;
  }

 private:
  struct close {
    void operator()(sqlite3* connection) const { ::sqlite3_close(connection); }
  };
  struct finalize {
    void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
  };

  void check(int code) const {
    if (code != SQLITE_OK) throw error{::sqlite3_errmsg(connection_.get()), code};
  }

  std::unique_ptr<sqlite3, close> connection_;
};

}  // namespace fencing
