// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace loam::cli {

enum class Align { kLeft, kRight };
enum class Style { kPlain, kBold, kDim, kGood, kBad, kWarning, kActive };

// Whether colours may go to `stream`: a terminal, and neither NO_COLOR (https://no-color.org) nor a
// dumb one.
bool colour_wanted(std::FILE* stream);
std::string styled(std::string_view text, Style style, bool colour);
// For statuses of jobs, nodes, attempts and checkpoint sets.
Style status_style(std::string_view status);

struct Cell {
  Cell(std::string cell_text, Style cell_style = Style::kPlain)
      : text(std::move(cell_text)), style(cell_style) {}
  std::string text;
  Style style;
};

struct Column {
  std::string name;
  Align align = Align::kLeft;
};

// Columns as wide as their widest cell (in code points), two spaces apart. Cells may hold what
// users wrote: control characters are escaped, so none reaches the terminal. An empty cell shows
// "-".
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as there are columns.
  void add(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }
  std::string render(bool colour, std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Renders to stdout.
void print_table(const Table& table, std::string_view indent = "");

// `fraction` of `width` as a bar of '#'; anything above zero shows at least one.
std::string bar_text(double fraction, std::size_t width);

}  // namespace loam::cli
