// [nvme] firmware_images: what is put back into which slot of which model.
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "config/settings_parts.h"
#include "state/base/embedded_json.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/text.h"

namespace reclaim::config {
namespace {

constexpr std::string_view kGroup = "nvme";
constexpr std::string_view kName = "firmware_images";
constexpr std::string_view kExample =
    R"({"model": "M", "revision": "R1", "slot": 1, "path": "/x.bin", "sha256": "…"})";
constexpr std::size_t kJsonBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kImagesMax = 256;
constexpr std::size_t kModelBytesMax = 40;    // of Identify Controller
constexpr std::size_t kRevisionBytesMax = 8;  // of the same
constexpr std::size_t kDigestDigits = 64;
constexpr std::uint8_t kSlotMax = 7;

// True if a drive can say it: a drive's text is printable, and trimmed when it is compared.
bool is_told_by_a_drive(const std::string& text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max && text.front() != ' ' && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_sha256(const std::string& text) {
  return text.size() == kDigestDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return hex_value(c) >= 0; });
}

// One entry; each key that is missing or wrong is complained about.
class ImageReader {
 public:
  ImageReader(const Reading& reading, const Location& at) : reading_(reading), at_(at) {}

  void read(const rapidjson::Value& entry, Settings& settings) {
    if (!entry.IsObject()) {
      return complain(fmt::format("an entry must be a JSON object like {}", kExample));
    }
    nvme::FirmwareImage image;
    image.model = word(entry, "model");
    image.revision = word(entry, "revision");
    image.path = word(entry, "path");
    image.sha256 = lower(word(entry, "sha256"));
    const auto slot = json::get_int(entry, "slot");
    const bool slotted = slot && *slot >= 1 && *slot <= kSlotMax;
    if (!slotted) complain(fmt::format("'slot' must be a number of 1 to {}", kSlotMax));
    if (slotted) image.slot = static_cast<std::uint8_t>(*slot);
    check_keys(entry);
    if (!is_told_by_a_drive(image.model, kModelBytesMax)) {
      complain("'model' must be as `nvme id-ctrl` shows it (mn), without blanks around it");
    }
    if (!is_told_by_a_drive(image.revision, kRevisionBytesMax)) {
      complain("'revision' must be as `nvme fw-log` shows it, 1 to 8 characters");
    }
    if (image.path.empty() || image.path.front() != '/') complain("'path' must be absolute");
    if (!is_sha256(image.sha256)) {
      complain("'sha256' must be the 64 hexadecimal digits that `sha256sum` prints");
    }
    if (!good_) return;
    check_twice(image, settings);
    if (!good_) return;
    settings.nvme.firmware.images.push_back(std::move(image));
    settings.firmware_images_at.push_back(at_);
  }

 private:
  void complain(std::string_view text) {
    good_ = false;
    reading_.problems.push_back({at_, fmt::format("[{}] {}: {}", kGroup, kName, text)});
  }

  static std::string word(const rapidjson::Value& entry, const char* key) {
    return json::maybe_string(entry, key).value_or("");
  }

  void check_keys(const rapidjson::Value& entry) {
    for (const auto& member : entry.GetObject()) {
      const std::string key(member.name.GetString(), member.name.GetStringLength());
      if (key == "model" || key == "revision" || key == "slot" || key == "path" ||
          key == "sha256") {
        continue;
      }
      complain(fmt::format("unknown key '{}', accepted: model, revision, slot, path, sha256",
                           printable_excerpt(key)));
    }
  }

  // Refuses two images for the same slot: which one is meant is not known.
  void check_twice(const nvme::FirmwareImage& image, const Settings& settings) {
    for (const nvme::FirmwareImage& other : settings.nvme.firmware.images) {
      if (other.model != image.model || other.revision != image.revision ||
          other.slot != image.slot) {
        continue;
      }
      complain(fmt::format("there are two images of {} for slot {} of model {}: leave one out",
                           image.revision, image.slot, image.model));
    }
  }

  const Reading& reading_;
  const Location& at_;
  bool good_ = true;
};

}  // namespace

void read_firmware_images(const Reading& reading, Settings& settings) {
  for (const Value& value : reading.read.multi(kGroup, kName)) {
    const auto parsed = parse_shallow(value.text, kJsonBytesMax);
    if (!parsed) {
      reading.problems.push_back(
          {value.at, fmt::format("[{}] {}: {}", kGroup, kName, parsed.error().what)});
      continue;
    }
    if (!parsed->IsArray()) {
      ImageReader(reading, value.at).read(*parsed, settings);
      continue;
    }
    for (const rapidjson::Value& entry : parsed->GetArray()) {
      ImageReader(reading, value.at).read(entry, settings);
    }
  }
  if (settings.nvme.firmware.images.size() > kImagesMax) {
    reading.read.complain(kGroup, kName, fmt::format(": more than {} images", kImagesMax));
  }
}

}  // namespace reclaim::config
