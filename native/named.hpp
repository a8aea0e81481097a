// Choices that Python makes by number: the one table of their names, and the sentence for a number that is not in it.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace rather {

template <class Kind, std::size_t N>
using Names = std::array<std::pair<const char*, Kind>, N>;

template <class Kind, std::size_t... N>
[[noreturn]] void refuse(const char* what, Kind given, const Names<Kind, N>&... tables) {
  std::string known;
  auto add = [&](const auto& table) {
    for (auto [name, kind] : table)
      known += (known.empty() ? "" : ", ") + std::to_string(static_cast<int>(kind)) + " (" + name + ")";
  };
  (add(tables), ...);
  throw std::invalid_argument(std::string(what) + " is " + std::to_string(static_cast<int>(given)) +
                              "; it must be one of " + known);
}

}  // namespace rather
