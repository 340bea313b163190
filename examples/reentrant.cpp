// SPDX-License-Identifier: Apache-2.0
// A function that locks calls another one that locks.

#include <latchkey/reentrant_mutex.hpp>

#include <iostream>
#include <mutex>

#include "with_connect_string.hpp"

namespace {

int leaves = 0;  // protected by the lock

void add_leaf(latchkey::reentrant_mutex& tree) {
  const std::lock_guard guard{tree};
  ++leaves;
}

void add_branch(latchkey::reentrant_mutex& tree) {
  const std::lock_guard guard{tree};
  for (int i = 0; i < 3; ++i) add_leaf(tree);  // locks it once more: no request, the same grant
}

/// What happens when the lock ends half-way. @returns whether the second leaf was refused.
bool add_two_leaves(latchkey::reentrant_mutex& tree, latchkey::client& client) {
  const std::lock_guard guard{tree};
  add_leaf(tree);
  client.close();  // the lock ends with it
  try {
    add_leaf(tree);
  } catch (const latchkey::error& failure) {
    std::cout << failure.what() << '\n';
    return failure.code() == latchkey::errc::closed;
  }
  return false;
}

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::reentrant_mutex tree{client, "/locks/reentrant"};

  add_branch(tree);
  std::cout << leaves << " leaves\n";
  return add_two_leaves(tree, client) && leaves == 4;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
