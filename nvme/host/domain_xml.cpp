#include "nvme/host/domain_xml.h"

#include <fmt/core.h>

#include <cstring>
#include <pugixml.hpp>

#include "state/base/text.h"

namespace reclaim::nvme {
namespace {

// "0x0000", "0xc1" or plain decimal, as libvirt accepts both.
bool read_part(const pugi::xml_node& address, const char* name, std::uint32_t most,
               std::uint32_t& out) {
  const std::string_view text = address.attribute(name).value();
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const auto number = hex ? parse_hex<std::uint32_t>(text) : parse_number<std::uint32_t>(text);
  out = number.value_or(0);
  return number && *number <= most;
}

class Walker final : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    if (node.type() != pugi::node_element) return true;
    if (std::strcmp(node.name(), "source") == 0) read_source(node);
    if (std::strcmp(node.name(), "address") == 0 &&
        std::strcmp(node.parent().name(), "source") == 0) {
      read_address(node);
    }
    return failure.empty();
  }

  DomainDevices devices;
  std::string failure;

 private:
  void read_source(const pugi::xml_node& source) {
    for (const char* name : {"dev", "file"}) {
      const std::string path = source.attribute(name).value();
      if (!path.empty()) devices.nodes.push_back(path);
    }
  }

  void read_address(const pugi::xml_node& address) {
    // A USB or SCSI host device has an address of another kind.
    const std::string_view type = address.attribute("type").value();
    if (!type.empty() && type != "pci") return;
    if (!address.attribute("slot")) return;
    std::uint32_t domain = 0;
    std::uint32_t bus = 0;
    std::uint32_t slot = 0;
    std::uint32_t function = 0;
    const bool sound =
        (!address.attribute("domain") || read_part(address, "domain", 0xffffffff, domain)) &&
        read_part(address, "bus", 0xff, bus) && read_part(address, "slot", 0x1f, slot) &&
        (!address.attribute("function") || read_part(address, "function", 7, function));
    if (!sound) {
      failure = fmt::format("the host address at byte {} cannot be read", address.offset_debug());
      return;
    }
    devices.functions.push_back(PciAddress{domain, static_cast<std::uint8_t>(bus),
                                           static_cast<std::uint8_t>(slot),
                                           static_cast<std::uint8_t>(function)});
  }
};

}  // namespace

Result<DomainDevices> parse_domain(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    return Error{Errc::invalid,
                 fmt::format("it is not XML: {} at byte {}", parsed.description(), parsed.offset)};
  }
  const pugi::xml_node root = document.document_element();
  const std::string_view kind = root.name();
  if (kind != "domain" && kind != "domstatus") return DomainDevices{};  // a network, a pool, …
  Walker walker;
  document.traverse(walker);
  if (!walker.failure.empty()) return Error{Errc::invalid, walker.failure};
  const pugi::xml_node domain = kind == "domain" ? root : root.child("domain");
  if (!domain) return Error{Errc::invalid, "it is a domain's status without the domain"};
  walker.devices.name = domain.child_value("name");
  return std::move(walker.devices);
}

}  // namespace reclaim::nvme
