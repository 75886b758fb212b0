#include "cli/html.h"

#include <fmt/core.h>

#include "state/base/visible.h"

namespace reclaim::cli {
namespace {

constexpr std::string_view kStyle = R"(
@page { size: A4; margin: 9mm 14mm; }
* { box-sizing: border-box; }
body { font: 8pt/1.3 "DejaVu Sans", Arial, sans-serif; color: #1a1a1a; max-width: 182mm;
  margin: 0 auto; }
@media screen { body { margin: 8mm auto; padding: 0 4mm; } }
h1 { font-size: 15pt; margin: 0 0 0.5mm; }
h2 { font-size: 9pt; margin: 2mm 0 0.5mm; border-bottom: 0.3mm solid #1a1a1a; break-after: avoid; }
p { margin: 1mm 0; }
.lead { font-size: 11pt; }
.verdict { display: inline-block; padding: 0.8mm 3mm; border: 0.5mm solid #17693a; color: #17693a;
  font-weight: bold; }
.columns { columns: 2; column-gap: 8mm; }
section { break-inside: avoid; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.4mm 2mm 0.4mm 0;
  border-bottom: 0.1mm solid #ccc; overflow-wrap: anywhere; }
th { width: 34mm; font-weight: normal; color: #444; }
code { font: 7pt/1.3 "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.verdict.bad { border-color: #b3261e; color: #b3261e; }
.verdict.doubt { border-color: #7a5b00; color: #7a5b00; }
section.long { break-inside: auto; }
table.list th { width: auto; font-weight: bold; }
table.list th, table.list td { overflow-wrap: break-word; }
tr { break-inside: avoid; }
tr.sign td, tr.sign th { height: 9mm; }
td.line { width: 52mm; }
.sheet { font-size: 7.2pt; line-height: 1.2; }
.sheet th { width: 30mm; }
.sheet .columns th { width: 27mm; }
.sheet h2 { margin-top: 1.5mm; }
.sheet th, .sheet td { padding: 0.25mm 2mm 0.25mm 0; }
table.fine { font-size: 6.3pt; line-height: 1.2; }
table.fine code { font-size: 5.6pt; }
svg { display: block; width: 100%; height: auto; margin: 1mm 0; }
footer { margin-top: 3mm; color: #444; }
)";

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : visible(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n{}</body></html>\n",
      html_text(title), kStyle, body);
}

}  // namespace reclaim::cli
