// SPDX-License-Identifier: Apache-2.0
// What needs no server: where none listens, none says that it is well.

#include <latchkey/testing/four_letter.hpp>

int main() { return latchkey::testing::four_letter_words{{"127.0.0.1", 1}}.ruok() ? 1 : 0; }
