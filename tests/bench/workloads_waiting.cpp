// SPDX-License-Identifier: Apache-2.0
// Fibers that wait on one fair_mutex: how fast they are served, what they cost while they wait.

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include <latchkey/fair_mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/ticket.hpp>

#include "fibers.hpp"
#include "workloads.hpp"

namespace bench {

namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds cpu_of_this_thread() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

/// How often this thread has had to give its processor to somebody else.
long preemptions_of_this_thread() {
  rusage mine{};
  ::getrusage(RUSAGE_THREAD, &mine);
  return mine.ru_nivcsw;
}

/// Waiters of one lock that the caller holds; each unlocks as soon as it has been granted the lock.
class crowd {
 public:
  crowd(latchkey::fair_mutex& lock, std::size_t waiters) : lock_{lock}, waiters_{waiters}, stacks_{waiters} {
    fibers_.reserve(waiters);
  }

  /// Starts them; returns when all have their places and what they still had to ask has been answered.
  void gather() {
    for (std::size_t i = 0; i < waiters_; ++i) {
      fibers_.emplace_back(std::allocator_arg, stacks_, [this] { wait_and_pass_on(); });
    }
    while (queued_ < waiters_) boost::this_fiber::sleep_for(1ms);
    boost::this_fiber::sleep_for(100ms);
  }

  /// To be called once the lock has been unlocked. Returns when all have had it.
  void drain() {
    for (auto& fiber : fibers_) fiber.join();
  }

  /// Microseconds from one waiter's grant to the next one's.
  double microseconds_per_hand_off() const { return each_took(last_ - first_); }

  /// Of that, what their thread has had the processor for.
  double cpu_per_hand_off() const { return each_took(cpu_last_ - cpu_first_); }

  /// From the first grant to the last.
  double preemptions() const { return static_cast<double>(preemptions_); }

  /// Of the first nine, right after a pause in which others had the processor.
  double cpu_per_early_hand_off() const {
    return std::chrono::duration<double, std::micro>{cpu_tenth_ - cpu_first_}.count() / 9;
  }

 private:
  void wait_and_pass_on() {
    auto place = lock_.enqueue();
    ++queued_;
    place.wait();
    last_ = clock::now();
    if (passed_ == 0) {
      first_ = last_;
      preemptions_ = -preemptions_of_this_thread();
      cpu_first_ = cpu_of_this_thread();
    }
    if (++passed_ == 10) cpu_tenth_ = cpu_of_this_thread();
    if (passed_ == waiters_) {
      cpu_last_ = cpu_of_this_thread();
      preemptions_ += preemptions_of_this_thread();
    }
    lock_.unlock();
  }

  double each_took(std::chrono::duration<double, std::micro> all) const {
    return all.count() / static_cast<double>(waiters_ - 1);
  }

  latchkey::fair_mutex& lock_;
  const std::size_t waiters_;
  stack_arena stacks_;
  std::vector<boost::fibers::fiber> fibers_;
  std::size_t queued_ = 0;
  clock::time_point first_;
  clock::time_point last_;
  std::chrono::nanoseconds cpu_first_{};
  std::chrono::nanoseconds cpu_tenth_{};
  std::chrono::nanoseconds cpu_last_{};
  long preemptions_ = 0;
  std::size_t passed_ = 0;
};

double allocated() {
  const auto statistics = ::mallinfo2();
  return static_cast<double>(statistics.uordblks + statistics.hblkhd);
}

double threads_now() {
  const std::filesystem::directory_iterator tasks{"/proc/self/task"};
  return static_cast<double>(std::distance(begin(tasks), end(tasks)));
}

double microseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

/// The CPU time of this process so far, without that of the thread that asks.
double cpu_of_the_others() {
  rusage all{};
  rusage mine{};
  ::getrusage(RUSAGE_SELF, &all);
  ::getrusage(RUSAGE_THREAD, &mine);
  return microseconds(all.ru_utime) + microseconds(all.ru_stime) - microseconds(mine.ru_utime) -
         microseconds(mine.ru_stime);
}

/// CPU time in slices of 100 ms: most of them hold no proof and no ping.
void measure_rest(double seconds, figures& result) {
  std::thread{[&] {
    std::vector<double> slices;
    const auto start = clock::now();
    const auto first = cpu_of_the_others();
    auto last = first;
    while (seconds_since(start) < seconds) {
      std::this_thread::sleep_for(100ms);
      const auto now = cpu_of_the_others();
      slices.push_back(now - last);
      last = now;
    }
    result["cpu_us_per_second"] = (last - first) / seconds_since(start);
    result["cpu_us_median_slice"] = median(slices);
    result["slices_without_cpu"] =
        static_cast<double>(std::ranges::count_if(slices, [](double slice) { return slice < 50; })) /
        static_cast<double>(slices.size());
  }}.join();
}

}  // namespace

figures hand_off(clients& all, const route& to, double seconds, std::size_t waiters) {
  auto& client = all.at(to, 0);
  latchkey::fair_mutex lock{client, fmt::format("/bench/latchkey/hand_off_{}", waiters)};
  std::vector<double> grants;
  std::vector<double> cpu;
  std::vector<double> early;
  std::vector<double> preemptions;
  std::vector<double> deletions;
  const auto begin = clock::now();
  do {
    crowd waiting{lock, waiters};
    lock.lock();
    waiting.gather();
    const auto start = clock::now();
    lock.unlock();
    waiting.drain();
    grants.push_back(waiting.microseconds_per_hand_off());
    cpu.push_back(waiting.cpu_per_hand_off());
    early.push_back(waiting.cpu_per_early_hand_off());
    preemptions.push_back(waiting.preemptions());
    // The locals do not wait for the deletions, those outside do; and the next pass is to find nothing of this one.
    while (!latchkey::queue_snapshot{client, lock.path()}.contenders().empty()) boost::this_fiber::sleep_for(1ms);
    deletions.push_back(seconds_since(start) * 1e6 / static_cast<double>(waiters));
  } while (seconds_since(begin) < seconds);
  return {{"us_per_hand_off", median(grants)},         {"us_cpu_per_hand_off", median(cpu)},
          {"us_cpu_of_the_first_nine", median(early)}, {"preemptions", median(preemptions)},
          {"us_per_deletion", median(deletions)},      {"passes", static_cast<double>(grants.size())}};
}

/// To be run in a process of its own: the figures are those of the process.
figures idle_10000(clients&, const route& to, double seconds) {
  constexpr std::size_t waiters = 10'000;
  const auto threads_before = threads_now();
  const auto client = connect(to.host(0), latchkey::hand_off::ensemble);
  std::this_thread::sleep_for(200ms);  // the resolver's thread is done
  const auto threads_of_client = threads_now() - threads_before;
  latchkey::fair_mutex lock{*client, "/bench/latchkey/idle"};
  lock.lock();
  crowd waiting{lock, waiters};
  const auto memory_before = allocated();
  waiting.gather();
  figures result{{"waiters", waiters},
                 {"threads_per_client", threads_of_client},
                 {"threads_for_the_waiters", threads_now() - threads_before - threads_of_client},
                 {"bytes_per_waiter", (allocated() - memory_before) / static_cast<double>(waiters)}};
  measure_rest(std::max(seconds, 5.0), result);
  lock.unlock();
  waiting.drain();
  return result;
}

}  // namespace bench
