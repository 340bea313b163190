// SPDX-License-Identifier: Apache-2.0
#include "support/family.hpp"

#include <latchkey/any_lock.hpp>
#include <latchkey/election.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/robust_mutex.hpp>

#include "support/lock_of.hpp"

namespace latchkey::testing {
namespace {

template <class Lock>
std::unique_ptr<any_lockable> make(client& owner, const std::string& path) {
  return std::make_unique<lock_of<Lock>>(owner, path);
}

template <class Lock, class Options>
std::unique_ptr<any_lockable> make_lingering(client& owner, const std::string& path) {
  return std::make_unique<lock_of<Lock>>(owner, path, Options{.linger = 100ms});
}

template <class Lock>
std::unique_ptr<any_lockable> make_group(client& owner, const std::string& path) {
  return std::make_unique<lock_of<Lock>>(owner, std::vector<lock_request>{{path}, {path + "-beside"}});
}

template <class Lock>
std::unique_ptr<any_lockable> make_any_of_one(client& owner, const std::string& path) {
  return std::make_unique<lock_of<Lock>>(owner, std::vector{path});
}

template <class Lock>
using coroutines_of = in_coroutines<calls_of<Lock>>;

constexpr auto make_lingering_writer = make_lingering<shared_mutex, shared_mutex_options>;

}  // namespace

namespace kinds {
constinit const kind_of_lock plain{"mutex", make<mutex>};
constinit const kind_of_lock reentrant{"reentrant mutex", make<reentrant_mutex>};
constinit const kind_of_lock robust{"robust mutex", make<robust_mutex>};
constinit const kind_of_lock fair{.name = "fair mutex", .make = make<fair_mutex>, .one_place_each = true};
constinit const kind_of_lock candidate{"candidate", make<election>};
constinit const kind_of_lock ticketed{.name = "ticket", .make = make<testing::ticketed>, .one_place_each = true};
constinit const kind_of_lock keyed{"key", make<testing::keyed>};
constinit const kind_of_lock writer{"writer", make<shared_mutex>};
constinit const kind_of_lock reader{"reader", make<testing::reader>, make<shared_mutex>};
constinit const kind_of_lock grouped{"group", make_group<multi_lock>};
constinit const kind_of_lock any_of_one{"any of one", make_any_of_one<any_lock>, make_group<multi_lock>};
constinit const kind_of_lock lingering_mutex{"lingering mutex", make_lingering<mutex, mutex_options>};
constinit const kind_of_lock lingering_writer{"lingering writer", make_lingering_writer};
constinit const kind_of_lock lingering_reader{"lingering reader", make_lingering<testing::reader, shared_mutex_options>,
                                              make_lingering_writer};
constinit const kind_of_lock awaited_mutex{"awaited mutex", make<coroutines_of<mutex>>};
constinit const kind_of_lock awaited_robust{"awaited robust mutex", make<coroutines_of<robust_mutex>>};
constinit const kind_of_lock awaited_fair{
    .name = "awaited fair mutex", .make = make<coroutines_of<fair_mutex>>, .one_place_each = true};
constinit const kind_of_lock awaited_candidate{"awaited candidate", make<coroutines_of<election>>};
constinit const kind_of_lock awaited_ticket{
    .name = "awaited ticket", .make = make<in_coroutines<calls_of_ticket>>, .one_place_each = true};
constinit const kind_of_lock awaited_writer{"awaited writer", make<coroutines_of<shared_mutex>>};
constinit const kind_of_lock awaited_reader{"awaited reader", make<in_coroutines<calls_of_reader>>,
                                            make<coroutines_of<shared_mutex>>};
constinit const kind_of_lock awaited_key{"awaited key", make<in_coroutines<calls_of_key>>};
constinit const kind_of_lock awaited_group{"awaited group", make_group<coroutines_of<multi_lock>>};
constinit const kind_of_lock awaited_any{"awaited any of one", make_any_of_one<coroutines_of<any_lock>>,
                                         make_group<multi_lock>};
}  // namespace kinds

std::string name_of(const kind_of_lock* kind) { return kind->name; }

std::string name_of(const taken_by& kind) { return name_of(kind.lock) + " " + name_of(kind.who); }

std::vector<taken_by> by_all_callers(const kinds_of_locks& locks) {
  std::vector<taken_by> all;
  for (const auto* lock : locks) {
    for (const auto who : all_callers()) all.push_back({lock, who});
  }
  return all;
}

std::vector<taken_by> by_coroutines(const kinds_of_locks& locks) {
  std::vector<taken_by> all;
  for (const auto* lock : locks) all.push_back({lock, callers::threads});
  return all;
}

kinds_of_locks prompt_locks() {
  return {&kinds::plain, &kinds::reentrant, &kinds::fair, &kinds::writer, &kinds::reader};
}

std::vector<taken_by> prompt_kinds() { return by_all_callers(prompt_locks()); }

namespace {

std::vector<taken_by> together(std::vector<taken_by> some, const std::vector<taken_by>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

std::vector<taken_by> exclusive_blocking() {
  return by_all_callers({&kinds::plain, &kinds::reentrant, &kinds::robust, &kinds::fair, &kinds::candidate,
                         &kinds::ticketed, &kinds::writer, &kinds::keyed, &kinds::lingering_mutex,
                         &kinds::lingering_writer, &kinds::grouped, &kinds::any_of_one});
}

}  // namespace

std::vector<taken_by> exclusive() {
  return together(exclusive_blocking(),
                  by_coroutines({&kinds::awaited_mutex, &kinds::awaited_robust, &kinds::awaited_fair,
                                 &kinds::awaited_candidate, &kinds::awaited_ticket, &kinds::awaited_writer,
                                 &kinds::awaited_key, &kinds::awaited_group, &kinds::awaited_any}));
}

std::vector<taken_by> blocking_family() {
  return together(exclusive_blocking(), by_all_callers({&kinds::reader, &kinds::lingering_reader}));
}

std::vector<taken_by> family() {
  return together(exclusive(), together(by_all_callers({&kinds::reader, &kinds::lingering_reader}),
                                        by_coroutines({&kinds::awaited_reader})));
}

}  // namespace latchkey::testing
