// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Servers of Debian's packages, each in a folder of its own and on a Unix socket in it. They end with this process.

#include <string>

#include <latchkey/testing/child_process.hpp>

#include "temporary_folder.hpp"

namespace latchkey::testing {

/// PostgreSQL, as the user `postgres` if this process is root's: it does not run as root. Its databases sort text as
/// Danish.
class postgres_server {
 public:
  postgres_server();   ///< blocks until it serves
  ~postgres_server();  ///< blocks until it has ended

  /// @returns the one of this program.
  static postgres_server& shared();

  std::string connect_string() const { return "dbname=postgres user=latchkey host=" + folder_.path().string(); }

 private:
  temporary_folder folder_;
  child_process process_;
};

/// Redis.
class redis_server {
 public:
  /// @param remembers whether every write is on disk before it is answered
  explicit redis_server(bool remembers);  ///< blocks until it serves

  void kill_and_start();  ///< as after a power failure; blocks until it serves

  std::string socket() const { return (folder_.path() / "redis").string(); }

 private:
  void start();

  temporary_folder folder_;
  bool remembers_;
  child_process process_;
};

}  // namespace latchkey::testing
