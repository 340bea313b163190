// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the snippets of README.md take for granted: the reader's own names, and headers that the text names.

#include <latchkey/mutex.hpp>
#include <latchkey/transaction.hpp>

#include <chrono>
#include <mutex>
#include <stop_token>
#include <string>

using namespace std::chrono_literals;

struct {
  bool write(const latchkey::fencing_token&, const std::string&) { return true; }
} inline invoices;

inline const std::string order = "1001";
inline const latchkey::stored_value left;
inline const std::stop_token shutdown;

inline void run(const char*) {}
inline bool bill_everyone(const std::stop_token&) { return true; }
inline void report(latchkey::loss_reason) {}
