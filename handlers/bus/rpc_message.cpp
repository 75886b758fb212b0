#include "handlers/bus/rpc_message.h"

#include <fmt/core.h>

#include <array>

#include "handlers/bus/oslo_envelope.h"
#include "state/base/embedded_json.h"
#include "state/base/host_names.h"
#include "state/base/json.h"
#include "state/base/log.h"
#include "state/base/text.h"
#include "state/device/arq.h"
#include "state/device/python_text.h"
#include "state/device/versioned_object.h"

namespace reclaim {
namespace {

constexpr std::string_view kCleanup = "cleanup_device";
constexpr std::array<int, 3> kServed{1, 1, 0};
constexpr std::size_t kTextBytesMax = 255;
constexpr std::size_t kBoardInfoBytesMax = 65'536;

constexpr std::string_view kDispatcher = "oslo_messaging.rpc.dispatcher";
constexpr std::string_view kObjects = "oslo_versionedobjects.exception";
constexpr std::string_view kBuiltins = "builtins";

RpcFailure failure(std::string_view module, std::string_view name, std::string message) {
  return {std::string(module), std::string(name), std::move(message)};
}

// A text of a sensible length; nothing where the member is absent or null.
Result<std::optional<std::string>> text_member(const rapidjson::Value& object,
                                               std::string_view name) {
  const rapidjson::Value* value = json::find(object, name);
  if (value == nullptr || value->IsNull()) return std::optional<std::string>();
  if (!value->IsString()) {
    return Error{Errc::invalid, fmt::format("{} is not text", name)};
  }
  if (value->GetStringLength() > kTextBytesMax) {
    return Error{Errc::invalid, fmt::format("{} is {} bytes long, at most {} make sense", name,
                                            value->GetStringLength(), kTextBytesMax)};
  }
  return std::optional<std::string>(std::string(value->GetString(), value->GetStringLength()));
}

// The address in Cyborg's std_board_info, a dict kept as text. What does not name one is no error:
// not every driver of Cyborg's writes it.
std::optional<PciAddress> board_address(const rapidjson::Value& device) {
  const rapidjson::Value* info = json::find(device, "std_board_info");
  if (info == nullptr) return std::nullopt;
  std::optional<std::string> text;
  if (info->IsString()) {
    const auto board =
        parse_json_or_python({info->GetString(), info->GetStringLength()}, kBoardInfoBytesMax);
    if (board) text = json::maybe_string(*board, "pci_address");
  } else {
    text = json::maybe_string(*info, "pci_address");
  }
  if (!text) return std::nullopt;
  const Result<PciAddress> address = parse_pci_address(*text);
  return address ? std::optional<PciAddress>(*address) : std::nullopt;
}

struct DeviceReading {
  RpcDevice device;
  std::optional<RpcFailure> failure;
};

// The argument as oslo.versionedobjects would take it: by name, of a version it knows.
DeviceReading read_device(const rapidjson::Value& args) {
  DeviceReading out;
  const rapidjson::Value* given = json::find(args, "device");
  if (given == nullptr) {
    out.failure =
        failure(kBuiltins, "TypeError", "cleanup_device() missing 1 required argument: 'device'");
    return out;
  }
  const VersionedObject object = open_versioned_object(*given);
  if (object.data == nullptr || object.name != "Device") {
    out.failure = failure(kObjects, "UnsupportedObjectError",
                          fmt::format("Unsupported object type {}, a Device is needed",
                                      printable_excerpt(object.name)));
    return out;
  }
  if (!object.major_is_one()) {
    out.failure =
        failure(kObjects, "IncompatibleObjectVersion",
                fmt::format("Version {} of Device is not supported, supported version is 1.x",
                            printable_excerpt(object.version)));
    return out;
  }
  for (const auto& [name, to] : {std::pair{"uuid", &out.device.uuid},
                                 {"type", &out.device.type},
                                 {"hostname", &out.device.hostname},
                                 {"device_state", &out.device.device_state}}) {
    Result<std::optional<std::string>> text = text_member(*object.data, name);
    if (!text) {
      out.failure = failure(kBuiltins, "ValueError", "the Device's " + text.error().what);
      return out;
    }
    *to = text->value_or("");
  }
  out.device.address = board_address(*object.data);
  return out;
}

RpcDecision rejected(const Error& error) {
  RpcDecision decision;
  decision.verdict = Verdict::reject;
  decision.why = error.what;
  return decision;
}

RpcDecision refused(RpcDecision decision, RpcFailure why) {
  decision.verdict = Verdict::ignore;
  decision.why = why.message;
  decision.failure = std::move(why);
  return decision;
}

RpcDecision decide_cleanup(RpcDecision decision, const rapidjson::Value& args,
                           std::string_view host) {
  DeviceReading reading = read_device(args);
  decision.device = std::move(reading.device);
  if (reading.failure) return refused(std::move(decision), *std::move(reading.failure));
  if (!decision.device.hostname.empty() && !same_host(decision.device.hostname, host)) {
    const std::string message =
        fmt::format("the Device is of host '{}', this is the agent's queue of '{}'",
                    printable_excerpt(decision.device.hostname), host);
    return refused(std::move(decision), failure(kBuiltins, "ValueError", message));
  }
  decision.verdict = Verdict::kick;
  decision.why =
      decision.device.address
          ? "Cyborg's conductor asks for the cleaning of " + to_string(*decision.device.address)
          : "Cyborg's conductor asks for a cleaning and the Device names no PCI address";
  return decision;
}

}  // namespace

bool rpc_version_is_served(std::string_view version) {
  std::array<int, 3> parts{0, 0, 0};
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    more = version.find('.') != std::string_view::npos;
    const auto part = parse_number<int>(take_until(version, '.'));
    if (count == parts.size() || !part || *part < 0) return false;
    parts[count] = *part;
  }
  if (count < 2 || parts[0] != kServed[0] || parts[1] > kServed[1]) return false;
  return parts[1] < kServed[1] || parts[2] <= kServed[2];
}

RpcDecision decide_rpc(std::string_view body, std::string_view host) {
  std::string inner;
  const Result<OsloMessage> opened = open_envelope(body, kRpcBodyBytesMax, inner);
  if (!opened) return rejected(opened.error());
  const Result<rapidjson::Document> message = json::parse(opened->text, kRpcBodyBytesMax);
  if (!message) return rejected(message.error().wrap(opened->what));
  if (!message->IsObject()) {
    return rejected({Errc::invalid, std::string(opened->what) + " is not a JSON object"});
  }
  RpcDecision decision;
  std::optional<std::string> version;
  std::optional<std::string> name_space;
  std::optional<std::string> method;
  std::optional<std::string> msg_id;
  std::optional<std::string> reply_queue;
  for (const auto& [name, to] : {std::pair{"method", &method},
                                 {"version", &version},
                                 {"namespace", &name_space},
                                 {"_msg_id", &msg_id},
                                 {"_reply_q", &reply_queue}}) {
    Result<std::optional<std::string>> text = text_member(*message, name);
    if (!text) return rejected(text.error());
    *to = *std::move(text);
  }
  if (!method || method->empty()) return rejected({Errc::invalid, "method is absent"});
  decision.method = *method;
  decision.msg_id = msg_id.value_or("");
  decision.reply_queue = reply_queue.value_or("");
  decision.request_id = json::maybe_string(*message, "_context_request_id").value_or("");
  if (decision.request_id.size() > kTextBytesMax) decision.request_id.clear();
  const rapidjson::Value* args = json::find(*message, "args");
  if (args != nullptr && !args->IsObject()) {
    return rejected({Errc::invalid, "args is not an object"});
  }
  const std::string asked = version.value_or("1.0");
  if (name_space || !rpc_version_is_served(asked)) {
    return refused(std::move(decision),
                   failure(kDispatcher, "UnsupportedVersion",
                           fmt::format("Endpoint does not support RPC version {}. Attempted "
                                       "method: {}",
                                       printable_excerpt(asked), printable_excerpt(*method))));
  }
  if (*method != kCleanup) {
    return refused(std::move(decision),
                   failure(kDispatcher, "NoSuchMethod",
                           fmt::format("Endpoint does not support RPC method {}",
                                       printable_excerpt(*method))));
  }
  const rapidjson::Value none(rapidjson::kObjectType);
  return decide_cleanup(std::move(decision), args == nullptr ? none : *args, host);
}

std::string rpc_reply(std::string_view msg_id, std::string_view unique_id,
                      const std::optional<RpcFailure>& failure) {
  rapidjson::Document message(rapidjson::kObjectType);
  auto& allocator = message.GetAllocator();
  message.AddMember("result", rapidjson::Value(), allocator);
  rapidjson::Value failed;
  if (failure) {
    rapidjson::Document remote(rapidjson::kObjectType, &allocator);
    remote.AddMember("class", json_string(failure->name, allocator), allocator);
    remote.AddMember("module", json_string(failure->module, allocator), allocator);
    remote.AddMember("message", json_string(failure->message, allocator), allocator);
    // The traceback tells where the failure came from.
    rapidjson::Value trace(rapidjson::kArrayType);
    trace.PushBack("answered by reclaim, in the place of a cyborg-agent", allocator);
    remote.AddMember("tb", trace, allocator);
    rapidjson::Value arguments(rapidjson::kArrayType);
    arguments.PushBack(json_string(failure->message, allocator), allocator);
    remote.AddMember("args", arguments, allocator);
    remote.AddMember("kwargs", rapidjson::Value(rapidjson::kObjectType), allocator);
    failed = json_string(json::to_text(remote), allocator);
  }
  message.AddMember("failure", failed, allocator);
  message.AddMember("ending", true, allocator);
  message.AddMember("_msg_id", json_string(msg_id, allocator), allocator);
  message.AddMember("_unique_id", json_string(unique_id, allocator), allocator);
  rapidjson::Document envelope(rapidjson::kObjectType, &allocator);
  envelope.AddMember("oslo.version", "2.0", allocator);
  envelope.AddMember("oslo.message", json_string(json::to_text(message), allocator), allocator);
  return json::to_text(envelope);
}

}  // namespace reclaim
