// SPDX-License-Identifier: Apache-2.0
/// What becomes of a process that gets no more threads, as at the limit of a container. Takes the place of pthread_create.

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string_view>
#include <system_error>

#include <doctest/doctest.h>

#include <latchkey/client.hpp>
#include <latchkey/log.hpp>

namespace {

std::atomic<int> left{1'000'000};  // so many further threads may live

struct job {
  void* (*what)(void*);
  void* with;
};

void* run(void* given) {
  const std::unique_ptr<job> own{static_cast<job*>(given)};
  void* const result = own->what(own->with);
  ++left;
  return result;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*what)(void*), void* with) noexcept {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (left.fetch_sub(1) <= 0) {
    ++left;
    return EAGAIN;
  }
  return real(thread, how, &run, new job{what, with});
}

namespace latchkey {

TEST_CASE("a process that gets too few threads is told so, and goes on") {
  using namespace std::chrono_literals;
  for (int count = 0; count < 12; ++count) {
    CAPTURE(count);
    const auto child = ::fork();
    if (child == 0) {
      left = count;
      try {
        set_log_sink([](log_level, std::string_view) {});
        client one{"127.0.0.1:1", {.connect_timeout = 100ms, .close_timeout = 100ms}};
        static_cast<void>(one.wait_for_connection(200ms));
        left = 1'000'000;  // closing needs some
      } catch (const std::system_error&) {
        left = 1'000'000;
      }
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK_MESSAGE(WIFEXITED(status), "it was ended by signal " << WTERMSIG(status));
  }
}

}  // namespace latchkey
