// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "periods.hpp"

namespace chaos {

namespace {

using namespace std::chrono_literals;

constexpr double margin = 70;  // left of the lanes, for their names
constexpr double lane_height = 14;
constexpr double reader_height = 6;
constexpr double name_height = 11;  // of a row of names of faults
constexpr int name_rows = 9;
constexpr double top = name_rows * name_height + 20;
constexpr auto window = 30s;

/// "w2/3" of "w2.1/0/3": the processes of a worker share its lanes.
std::string lane_of(std::string_view who) {
  const auto process = process_of(who);
  return fmt::format("{}/{}", process.substr(0, process.find('.')), who.substr(who.rfind('/') + 1));
}

std::string escape(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

class picture {
 public:
  picture(const history& all, const std::vector<violation>& found) : all_{all}, found_{found} {
    if (!all.events.empty()) {
      zero_ = from_ = all.events.front().at;
      to_ = all.events.back().at;
    }
    if (!found.empty() && to_ - from_ > 2 * window) {
      from_ = std::max(from_, found.front().at - window);
      to_ = std::min(to_, found.front().at + window);
    }
    const auto length = std::chrono::duration<double>{to_ - from_}.count();
    scale_ = std::clamp(20'000 / std::max(length, 1.0), 2.0, 40.0);
    for (const auto& what : all.events) {
      if (what.kind == event_kind::waits) lanes_.try_emplace(lane_of(what.who), 0);
    }
    int row = 0;
    for (auto& [name, number] : lanes_) number = row++;
  }

  std::string draw() {
    const double height = y(static_cast<int>(lanes_.size())) + 40;
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        x(to_) + 100, height);
    draw_faults();
    draw_lanes();
    for (const auto& of_lock : periods_of(all_)) {
      for (const auto& one : of_lock) draw_period(one);
    }
    draw_violations();
    add("<text x=\"{:.0f}\" y=\"{:.0f}\">grants: green while held, thin and purple while read, red when lost, orange "
        "when "
        "the holder was killed; pale until the holder knew; blue lines: violations; the number on a bar is that of the "
        "lock</text>\n",
        margin, height - 8);
    return std::move(text_) + "</svg>\n";
  }

 private:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  double x(clock::time_point at) const {
    return margin + scale_ * std::chrono::duration<double>{std::clamp(at, from_, to_) - from_}.count();
  }
  static double y(int lane) { return top + lane * lane_height; }
  bool outside(clock::time_point begin, clock::time_point end) const { return end < from_ || begin > to_; }
  double second(clock::time_point at) const { return std::chrono::duration<double>{at - zero_}.count(); }

  void draw_faults() {
    int row = 0;
    for (const auto& what : all_.faults) {
      if (outside(what.begin, what.end)) continue;
      const bool of_worker = what.victim.starts_with('w');
      const double left = x(what.begin);
      add("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\" fill-opacity=\"0.13\">"
          "<title>{} {}: {:.3f} to {:.3f} s</title></rect>\n",
          left, top - 14, std::max(1.0, x(what.end) - left), y(static_cast<int>(lanes_.size())) - top + 14,
          of_worker ? "purple" : "gray", escape(what.kind), what.victim, second(what.begin), second(what.end));
      add("<text x=\"{:.1f}\" y=\"{:.0f}\" font-size=\"9\" fill=\"{}\">{} {}</text>\n", left,
          10 + name_height * (row++ % name_rows), of_worker ? "purple" : "dimgray", escape(what.kind), what.victim);
    }
  }

  void draw_lanes() {
    for (const auto& [name, number] : lanes_) {
      add("<text x=\"4\" y=\"{:.0f}\">{}</text><line x1=\"{:.0f}\" y1=\"{:.0f}\" x2=\"{:.0f}\" y2=\"{:.0f}\" "
          "stroke=\"#ddd\"/>\n",
          y(number) + 10, name, margin, y(number) + lane_height - 1, x(to_), y(number) + lane_height - 1);
    }
    for (auto at = from_; at < to_; at += 1s) {
      const auto number = static_cast<int>(second(at));
      add("<line x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"#eee\"/>\n", x(at), top,
          y(static_cast<int>(lanes_.size())));
      if (scale_ * (number % 5 == 0 ? 5 : 1) < 20) continue;
      add("<text x=\"{:.1f}\" y=\"{:.0f}\" fill=\"gray\">{} s</text>\n", x(at), y(static_cast<int>(lanes_.size())) + 12,
          number);
    }
  }

  void draw_period(const period& one) {
    const auto known = one.over.value_or(one.seen);
    if (outside(one.granted, known)) return;
    const bool killed = !one.over;
    const bool reads = one.how == access::shared;
    const char* colour = killed ? "darkorange" : !one.loss.empty() ? "crimson" : reads ? "mediumpurple" : "seagreen";
    const int lane = lanes_.at(lane_of(one.who));
    const auto bar = [&](clock::time_point begin, clock::time_point end, const char* opacity) {
      add("<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\" fill-opacity=\"{}\">"
          "<title>{} {} lock {} {}: {:.3f} to {:.3f} s {}</title></rect>\n",
          x(begin), y(lane) + (reads ? 1 + reader_height / 2 : 1), std::max(0.4, x(end) - x(begin)),
          reads ? reader_height : lane_height - 3, colour, opacity, one.who, reads ? "reads" : "has", one.lock,
          to_string(one.token), second(one.granted), second(one.seen),
          killed             ? "killed, or still held"
          : one.loss.empty() ? "unlocked"
                             : one.loss);
    };
    bar(one.granted, one.seen, "0.9");
    if (!one.loss.empty()) bar(one.seen, known, "0.3");
    if (x(known) - x(one.granted) < 8) return;
    add("<text x=\"{:.1f}\" y=\"{:.0f}\" font-size=\"9\" fill=\"{}\">{}</text>\n", x(one.granted) + 1, y(lane) + 10,
        reads ? "black" : "white", one.lock);
  }

  void draw_violations() {
    for (const auto& what : found_) {
      if (outside(what.at, what.at)) continue;
      add("<line x1=\"{0:.1f}\" y1=\"0\" x2=\"{0:.1f}\" y2=\"{1:.0f}\" stroke=\"blue\"/>"
          "<text x=\"{0:.1f}\" y=\"{2:.0f}\" fill=\"blue\">{3}: {4}</text>\n",
          x(what.at), y(static_cast<int>(lanes_.size())) + 24, y(static_cast<int>(lanes_.size())) + 24,
          to_string(what.which), escape(what.text));
    }
  }

  const history& all_;
  const std::vector<violation>& found_;
  clock::time_point zero_{};
  clock::time_point from_{};
  clock::time_point to_{};
  double scale_ = 1;  // pixels a second
  std::map<std::string, int> lanes_;
  std::string text_;
};

}  // namespace

void draw(const history& all, const std::vector<violation>& found, const std::filesystem::path& file) {
  std::ofstream output{file};
  output << picture{all, found}.draw();
  output.close();
  if (!output) throw std::runtime_error{"cannot write " + file.string()};
}

}  // namespace chaos
