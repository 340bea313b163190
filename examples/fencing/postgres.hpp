// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A connection to PostgreSQL, with what sql_fence.hpp needs.

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fencing {

/// One connection. Not for two threads at once.
class postgres {
 public:
  struct error : std::runtime_error {
    error(const std::string& what, std::string is) : std::runtime_error{"PostgreSQL: " + what}, state{std::move(is)} {}
    std::string state;  ///< the SQLSTATE, such as 40001: the transaction cannot be serialized, so run it again
  };

  /// READ COMMITTED is enough: an UPDATE that has waited for a row looks at the row again.
  static constexpr const char* begin = "BEGIN";
  /// Other collations do not sort as the bytes do: for the Danish one, aa comes after f.
  static constexpr const char* text_in_bytes = "CHAR(24) COLLATE \"C\"";

  explicit postgres(const std::string& connect_string) : connection_{::PQconnectdb(connect_string.c_str())} {
    if (::PQstatus(connection_.get()) != CONNECTION_OK) throw error{::PQerrorMessage(connection_.get()), "08006"};
  }

  /// Runs a statement with text for its parameters $1, $2, ...
  /// @returns the first column of the first row; nothing if there is no row.
  std::optional<std::string> run(const std::string& statement, const std::vector<std::string>& arguments = {}) {
    // PostgreSQL would answer this COMMIT with a rollback, and without an error.
    if (statement == "COMMIT" && ::PQtransactionStatus(connection_.get()) == PQTRANS_INERROR)
      throw error{"a statement of the transaction has failed, so it cannot be committed", "25P02"};
    send(statement, arguments);
    return receive();
  }

  /// The first half of `run`.
  void send(const std::string& statement, const std::vector<std::string>& arguments) {
    std::vector<const char*> texts;
    for (const auto& each : arguments) texts.push_back(each.c_str());
    const int sent = ::PQsendQueryParams(connection_.get(), statement.c_str(), static_cast<int>(texts.size()), nullptr,
                                         texts.data(), nullptr, nullptr, 0);
    if (sent != 1) throw error{::PQerrorMessage(connection_.get()), "08006"};
  }

  /// The second half of `run`: waits for the answer.
  std::optional<std::string> receive() {
    std::optional<std::string> first;
    std::optional<error> failure;
    while (const result answer{::PQgetResult(connection_.get())}) {  // to the end, or the next statement is refused
      const auto status = ::PQresultStatus(answer.get());
      if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        const auto* const state = ::PQresultErrorField(answer.get(), PG_DIAG_SQLSTATE);
        failure.emplace(::PQresultErrorMessage(answer.get()), state == nullptr ? "" : state);
      } else if (::PQntuples(answer.get()) > 0) {
        first.emplace(::PQgetvalue(answer.get(), 0, 0));
      }
    }
    if (failure) throw *failure;
    return first;
  }

  /// @returns libpq's own handle.
  PGconn* native() const noexcept { return connection_.get(); }

 private:
  struct finish {
    void operator()(PGconn* connection) const { ::PQfinish(connection); }
  };
  struct clear {
    void operator()(PGresult* answer) const { ::PQclear(answer); }
  };
  using result = std::unique_ptr<PGresult, clear>;

  std::unique_ptr<PGconn, finish> connection_;
};

}  // namespace fencing
