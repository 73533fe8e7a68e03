// SPDX-License-Identifier: Apache-2.0
#include "agent/gpus.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/log.h"
#include "base/units.h"

namespace loam::agent {

namespace {

// The few declarations of NVIDIA's nvml.h that are used here, so that building needs no SDK. The
// suffixed names (_v2) keep their meaning across driver versions.
using Device = void*;
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned int gpu, memory;
};
constexpr int kSuccess = 0;

struct Nvml {
  int (*init)() = nullptr;
  int (*count)(unsigned int*) = nullptr;
  int (*handle)(unsigned int, Device*) = nullptr;
  int (*name)(Device, char*, unsigned int) = nullptr;
  int (*uuid)(Device, char*, unsigned int) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
};

template <typename Function>
bool load_symbol(void* library, const char* symbol, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, symbol));
  return out != nullptr;
}

// The library stays loaded and initialised: it is used until the process ends.
std::optional<Nvml> load_nvml() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  Nvml nvml;
  const bool complete = load_symbol(library, "nvmlInit_v2", nvml.init) &&
                        load_symbol(library, "nvmlDeviceGetCount_v2", nvml.count) &&
                        load_symbol(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle) &&
                        load_symbol(library, "nvmlDeviceGetName", nvml.name) &&
                        load_symbol(library, "nvmlDeviceGetUUID", nvml.uuid) &&
                        load_symbol(library, "nvmlDeviceGetMemoryInfo", nvml.memory) &&
                        load_symbol(library, "nvmlDeviceGetUtilizationRates", nvml.utilization);
  if (!complete) {
    LOG_WARN("libnvidia-ml.so.1 lacks functions that are needed; no GPU is used");
    return std::nullopt;
  }
  if (const int status = nvml.init(); status != kSuccess) {
    LOG_WARN("NVML does not start (nvmlReturn_t {}); no GPU is used", status);
    return std::nullopt;
  }
  return nvml;
}

const std::optional<Nvml>& nvml() {
  static const std::optional<Nvml> instance = load_nvml();
  return instance;
}

std::vector<Gpu> nvml_gpus() {
  std::vector<Gpu> out;
  unsigned int count = 0;
  if (!nvml() || nvml()->count(&count) != kSuccess) return out;
  for (unsigned int index = 0; index < count; ++index) {
    Device device = nullptr;
    std::array<char, 96> name{};
    std::array<char, 96> uuid{};
    Memory memory{};
    if (nvml()->handle(index, &device) != kSuccess ||
        nvml()->name(device, name.data(), name.size()) != kSuccess ||
        nvml()->uuid(device, uuid.data(), uuid.size()) != kSuccess ||
        nvml()->memory(device, &memory) != kSuccess) {
      LOG_WARN("GPU {} does not answer and is not used", index);
      continue;
    }
    out.push_back({static_cast<int>(index), uuid.data(), name.data(), gpu_class_of(name.data()),
                   static_cast<std::int64_t>(memory.total)});
  }
  return out;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text) {
    if (separators.find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

// A whole number in decimal, from `least` to `most`.
std::optional<int> whole_number(const std::string& text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return std::nullopt;
  }
  return value;
}

struct FakeGpu {
  Gpu gpu;
  int busy_percent = 0;
};

Result<std::vector<FakeGpu>> fake_gpus(std::string_view text) {
  std::vector<FakeGpu> out;
  for (const std::string& item : split(text, ", ")) {
    const std::vector<std::string> parts = split(item, ":");
    const bool sized = parts.size() == 2 || parts.size() == 3;
    const auto gib = sized ? whole_number(parts[1], 1, 1'000'000) : std::nullopt;
    const auto busy = parts.size() == 3 ? whole_number(parts[2], 0, 100) : std::optional<int>(0);
    if (!gib || !busy) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("LOAM_FAKE_GPUS: '{}' is not <class>:<GiB>[:<percent busy>]", item));
    }
    const int index = static_cast<int>(out.size());
    out.push_back({{index, fmt::format("GPU-fake-{}", index), fmt::format("Fake {}", parts[0]),
                    parts[0], *gib * kGiB},
                   *busy});
  }
  return out;
}

const char* fake_setting() {
  return std::getenv("LOAM_FAKE_GPUS");
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "80gb", "hbm3", "sxm4": how the product is built, not what it is.
bool is_variant(const std::string& word) {
  static constexpr std::array<std::string_view, 9> kDropped{
      "nvidia", "tesla", "geforce", "quadro", "generation", "gpu", "pcie", "pci", "nvl"};
  if (std::find(kDropped.begin(), kDropped.end(), word) != kDropped.end()) return true;
  if (word.ends_with("gb") && is_digits(std::string_view(word).substr(0, word.size() - 2))) {
    return true;
  }
  return word.starts_with("hbm") || word.starts_with("sxm");
}

}  // namespace

std::string gpu_class_of(std::string_view product_name) {
  std::string lower(product_name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  std::vector<std::string> kept;
  for (std::string& word : split(lower, " -_/()")) {
    if (word == "mig") break;
    if (!is_variant(word)) kept.push_back(std::move(word));
  }
  // "RTX A6000" is sold and asked for as A6000; in "RTX 6000" the prefix is part of the name.
  const bool workstation = kept.size() > 1 && kept[0] == "rtx" && kept[1].starts_with('a') &&
                           is_digits(kept[1].substr(1));
  if (workstation) kept.erase(kept.begin());
  std::string out;
  for (const std::string& word : kept)
    out += word;
  return out;
}

Result<std::vector<Gpu>> find_gpus() {
  const char* fake = fake_setting();
  if (fake == nullptr) return nvml_gpus();
  std::vector<Gpu> out;
  for (FakeGpu& one : TRY(fake_gpus(fake)))
    out.push_back(std::move(one.gpu));
  return out;
}

std::vector<GpuUse> sample_gpus() {
  std::vector<GpuUse> out;
  if (const char* fake = fake_setting()) {
    const auto gpus = fake_gpus(fake);
    if (!gpus) return out;
    for (const FakeGpu& one : *gpus)
      out.push_back({one.gpu.index, one.busy_percent, 0});
    return out;
  }
  unsigned int count = 0;
  if (!nvml() || nvml()->count(&count) != kSuccess) return out;
  for (unsigned int index = 0; index < count; ++index) {
    Device device = nullptr;
    Utilization use{};
    Memory memory{};
    if (nvml()->handle(index, &device) != kSuccess ||
        nvml()->utilization(device, &use) != kSuccess ||
        nvml()->memory(device, &memory) != kSuccess) {
      continue;
    }
    out.push_back({static_cast<int>(index), static_cast<int>(use.gpu),
                   static_cast<std::int64_t>(memory.used)});
  }
  return out;
}

}  // namespace loam::agent
