#include "state/certificate/seal.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "certificate_schema.h"
#include "state/base/clock.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/rapidjson_schema.h"
#include "state/base/text.h"
#include "state/base/uuid.h"
#include "state/base/visible.h"

namespace reclaim {
namespace {

constexpr std::string_view kOpening = "{\"sealed\":\n";
constexpr std::string_view kSignature = ",\"signature\":\"";
constexpr std::string_view kClosing = "\"}\n";
constexpr std::size_t kDigestChars = 64;
constexpr std::size_t kSequenceDigits = 9;
constexpr std::size_t kDepthMax = 8;  // what is sealed is four deep

// True if the text is a signature in its one spelling: in another, the same signature is a change
// as well.
bool is_signature(std::string_view text) {
  constexpr std::size_t kChars = 86;  // 64 bytes, and what fills up the last four characters
  if (text.size() != kChars + 2 || text.substr(kChars) != "==") return false;
  const bool spelled = std::all_of(text.begin(), text.begin() + kChars,
                                   [](char c) { return is_alnum(c) || c == '+' || c == '/'; });
  return spelled && std::string_view("AQgw").find(text[kChars - 1]) != std::string_view::npos;
}

// The parts of an object, in a text that is read for its errors first: the schema's validator takes
// the square of its depth. Of a member that is there twice, readers take either; and numbers that
// are not whole have many spellings.
class Members final : public json::Parts {
 public:
  void on(json::Token token, std::string_view text, std::size_t /*offset*/) override {
    if (token == json::Token::object_begin || token == json::Token::array_begin) depth_ += 1;
    if (token == json::Token::object_end || token == json::Token::array_end) depth_ -= 1;
    if (depth_ > kDepthMax) error_ = Error{Errc::invalid, "it is nested too deep"};
    if (token == json::Token::number && text.find_first_of(".eE") != std::string_view::npos) {
      error_ = Error{Errc::invalid, "it has a number that is not whole"};
    }
    if (token == json::Token::object_begin) names_.emplace_back();
    if (token == json::Token::object_end) names_.pop_back();
    if (token == json::Token::key && !names_.back().emplace(text).second) {
      error_ = Error{Errc::invalid, fmt::format("it has the member '{}' twice", visible(text))};
    }
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::size_t depth_ = 0;
  std::vector<std::set<std::string, std::less<>>> names_;  // of each object that is open
  std::optional<Error> error_;
};

Result<std::string> id_of(std::string_view certificate_json, Members& members) {
  if (Status shallow = json::read(certificate_json, members); !shallow.ok()) {
    return std::move(shallow).error();
  }
  const auto document = json::parse(certificate_json, kSealedBytesMax);
  if (!document.ok()) return document.error();
  if (!document->IsObject()) return Error{Errc::invalid, "the certificate is not a JSON object"};
  return json::get_string(*document, "id");
}

Error not_sealed(std::string_view what) {
  return Error{Errc::invalid, fmt::format("this is not a whole sealed certificate: {}", what)};
}

bool begins_with_id(const Sealed& sealed) {
  std::string_view text = sealed.content;
  const std::string id = fmt::format(R"("id":"{}",)", sealed.id);
  constexpr std::string_view kSchema = R"({"schema":)";
  if (!text.starts_with(kSchema)) return false;
  text.remove_prefix(std::min(text.size(), text.find(',') + 1));
  if (!text.starts_with(id)) return false;
  return sealed.kind != SealedKind::audit || text.substr(id.size()).starts_with(R"("event":)");
}

// The second line: its members in the one order and spelling that seal() writes.
Result<Sealed> open_line(std::string_view line) {
  const auto document = json::parse(line, kSealedBytesMax);
  if (!document.ok()) return not_sealed(document.error().what);
  const rapidjson::Value* number = json::find(*document, "sequence");
  const auto previous = json::maybe_string(*document, "previous");
  const auto key_id = json::maybe_string(*document, "key_id");
  if (number == nullptr || !number->IsUint64() || number->GetUint64() == 0) {
    return not_sealed("'sequence' is absent or no number from 1 on");
  }
  if (!previous || !is_digest(*previous)) return not_sealed("'previous' is not a SHA-256 in hex");
  if (!key_id || !is_digest(*key_id)) return not_sealed("'key_id' is not a SHA-256 in hex");
  Sealed out;
  out.sequence = number->GetUint64();
  out.previous = *previous;
  out.key_id = *key_id;
  const auto head_as = [&](SealedKind kind) {
    return head_of_sealed(out.sequence, out.previous, out.key_id, kind);
  };
  if (line.starts_with(head_as(SealedKind::audit))) out.kind = SealedKind::audit;
  const std::string head = head_as(out.kind);
  if (!line.starts_with(head) || !line.ends_with("}\n")) {
    return not_sealed("its second line is not spelled as Reclaim writes it");
  }
  out.content = std::string(line.substr(head.size(), line.size() - head.size() - 2));
  Members members;
  auto id = id_of(out.content, members);
  if (!id.ok()) return not_sealed(id.error().what);
  if (members.error()) return not_sealed(members.error()->what);
  out.id = *std::move(id);
  // One spelling, with what an entry is found by in front: tools that are no JSON parser read it.
  if (json::to_text(*document) + '\n' != line || !begins_with_id(out)) {
    return not_sealed("what is inside is not spelled as Reclaim writes it");
  }
  out.signed_line = std::string(line);
  return out;
}

// The schema knows no calendar: 31 November would be in no period, or in another one.
class Times final : public json::Parts {
 public:
  void on(json::Token token, std::string_view text, std::size_t /*offset*/) override {
    if (token == json::Token::string && !name_.empty()) check(text);
    const bool named =
        token == json::Token::key && std::find(kNames.begin(), kNames.end(), text) != kNames.end();
    name_ = named ? std::string(text) : std::string();
  }
  [[nodiscard]] const Status& good() const { return good_; }

 private:
  void check(std::string_view text) {
    const auto at = from_iso8601(text);
    if (at.ok() && to_iso8601(*at) == text) return;
    good_ = Error{Errc::invalid,
                  fmt::format("its '{}' is '{}': there is no such time", name_, visible(text))};
  }
  static constexpr std::array<std::string_view, 4> kNames = {"at", "started_at", "verified_at",
                                                             "released_at"};
  std::string name_;  // of the member whose value comes next, if that is a time
  Status good_ = Ok{};
};

rapidjson::SchemaDocument schema_named(std::string_view name) {
  const auto text = json::parse(kCertificateSchema, kSealedBytesMax);
  CHECK(text.ok());
  const rapidjson::Value* definition = json::find((*text)["definitions"], name);
  CHECK(definition != nullptr);
  return rapidjson::SchemaDocument(*definition);
}

// Made once, as a list of a fleet asks for it thousands of times; of each thread, as its patterns
// note where a search stands.
const rapidjson::SchemaDocument& schema_of(SealedKind kind) {
  thread_local const auto kAudit = schema_named(to_string(SealedKind::audit));
  thread_local const auto kCertificate = schema_named(to_string(SealedKind::certificate));
  return kind == SealedKind::audit ? kAudit : kCertificate;
}

}  // namespace

bool is_digest(std::string_view text) {
  return text.size() == kDigestChars && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string_view to_string(SealedKind kind) {
  return kind == SealedKind::audit ? "audit" : "certificate";
}

std::string head_of_sealed(std::uint64_t sequence, std::string_view previous,
                           std::string_view key_id, SealedKind kind) {
  return fmt::format(R"({{"sequence":{},"previous":"{}","key_id":"{}","{}":)", sequence, previous,
                     key_id, to_string(kind));
}

std::string sealed_text(std::string_view signed_line, std::string_view signature) {
  return fmt::format("{}{}{}{}{}", kOpening, signed_line, kSignature, signature, kClosing);
}

Result<std::string> id_of_content(std::string_view json_text) {
  Members members;
  return id_of(json_text, members);
}

Result<Sealed> open_seal(std::string_view text) {
  if (text.size() > kSealedBytesMax) {
    return Error{Errc::limit, fmt::format("it is longer than {} bytes", kSealedBytesMax)};
  }
  if (!text.starts_with(kOpening)) return not_sealed("it does not begin with {\"sealed\":");
  const std::string_view rest = text.substr(kOpening.size());
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return not_sealed("it ends in its second line");
  std::string_view last = rest.substr(end + 1);
  if (!last.starts_with(kSignature) || !last.ends_with(kClosing) ||
      last.size() < kSignature.size() + kClosing.size()) {
    return not_sealed("its third line is not the signature");
  }
  last.remove_prefix(kSignature.size());
  last.remove_suffix(kClosing.size());
  if (!is_signature(last)) return not_sealed("its signature is not 64 bytes in base64");
  auto sealed = open_line(rest.substr(0, end + 1));
  if (sealed.ok()) sealed->signature = std::string(last);
  return sealed;
}

Status check_certificate_schema(std::string_view json_text, SealedKind kind) {
  const auto document = json::parse(json_text, kSealedBytesMax);
  if (!document.ok()) return document.error();
  rapidjson::SchemaValidator validator(schema_of(kind));
  if (document->Accept(validator)) {
    Times times;
    if (Status read = json::read(json_text, times); !read.ok()) return read;
    return times.good();
  }
  rapidjson::StringBuffer place;
  validator.GetInvalidDocumentPointer().Stringify(place);
  return Error{Errc::invalid, fmt::format("it breaks the published schema at '{}': rule '{}'",
                                          place.GetSize() == 0 ? "/" : place.GetString(),
                                          validator.GetInvalidSchemaKeyword())};
}

std::string sealed_name(std::uint64_t sequence, std::string_view id) {
  return fmt::format("{:0{}}-{}.json", sequence, kSequenceDigits, id);
}

Result<SealedName> parse_sealed_name(std::string_view name) {
  SealedName out;
  const std::size_t dash = name.find('-');
  constexpr std::string_view kEnding = ".json";
  if (dash != std::string_view::npos && name.ends_with(kEnding) &&
      name.size() > dash + 1 + kEnding.size()) {
    out.sequence = parse_number<std::uint64_t>(name.substr(0, dash)).value_or(0);
    out.id = std::string(name.substr(dash + 1, name.size() - dash - 1 - kEnding.size()));
    if (out.sequence > 0 && looks_like_uuid(out.id) && sealed_name(out.sequence, out.id) == name) {
      return out;
    }
  }
  return Error{Errc::invalid, fmt::format("'{}' is not a name of a sealed certificate (like "
                                          "000000001-ID.json)",
                                          printable_excerpt(name))};
}

}  // namespace reclaim
