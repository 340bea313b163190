// SPDX-License-Identifier: Apache-2.0
// The main function of every test program (doctest_test.cmake adds it).

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
