// SPDX-License-Identifier: Apache-2.0
#include "loam/table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "base/encoding.h"
#include "loam/output.h"

namespace loam::cli {

namespace {

// Code points; the text is valid UTF-8.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kWarning:
      return "\x1b[33m";
    case Style::kActive:
      return "\x1b[36m";
  }
  return "";
}

}  // namespace

bool colour_wanted(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return ::isatty(::fileno(stream)) == 1;
}

std::string styled(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::kPlain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", escape_of(style), text);
}

Style status_style(std::string_view status) {
  static constexpr std::array<std::pair<std::string_view, Style>, 19> kStyles{{
      {"completed", Style::kGood},   {"succeeded", Style::kGood},   {"committed", Style::kGood},
      {"active", Style::kGood},      {"running", Style::kActive},   {"pending", Style::kWarning},
      {"queued", Style::kWarning},   {"backoff", Style::kWarning},  {"recovering", Style::kWarning},
      {"draining", Style::kWarning}, {"released", Style::kWarning}, {"suspect", Style::kWarning},
      {"failed", Style::kBad},       {"lost", Style::kBad},         {"bad", Style::kBad},
      {"quarantined", Style::kBad},  {"canceled", Style::kDim},     {"left", Style::kDim},
      {"retired", Style::kDim},
  }};
  for (const auto& [name, style] : kStyles) {
    if (name == status) return style;
  }
  return Style::kPlain;
}

void Table::add(std::vector<Cell> cells) {
  CHECK(cells.size() == columns_.size());
  for (Cell& cell : cells)
    cell.text = cell.text.empty() ? "-" : printable(cell.text);
  rows_.push_back(std::move(cells));
}

std::string Table::render(bool colour, std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_)
    widths.push_back(width_of(column.name));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i].text));
  }
  std::string out;
  const auto put = [&](std::size_t i, const std::string& text, Style style) {
    const std::string pad(widths[i] - width_of(text), ' ');
    const bool last = i + 1 == columns_.size();
    if (i == 0) out += indent;
    if (columns_[i].align == Align::kRight) out += pad;
    out += styled(text, style, colour);
    if (columns_[i].align == Align::kLeft && !last) out += pad;
    out += last ? "\n" : "  ";
  };
  for (std::size_t i = 0; i < columns_.size(); ++i)
    put(i, columns_[i].name, Style::kBold);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      put(i, row[i].text, row[i].style);
  }
  return out;
}

void print_table(const Table& table, std::string_view indent) {
  put(stdout, table.render(colour_wanted(stdout), indent));
}

std::string bar_text(double fraction, std::size_t width) {
  if (!(fraction > 0)) return "";
  const double wanted = std::round(std::min(fraction, 1.0) * static_cast<double>(width));
  return std::string(std::max<std::size_t>(1, static_cast<std::size_t>(wanted)), '#');
}

}  // namespace loam::cli
