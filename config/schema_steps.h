// [clean] and the [step:NAME] sections: in which order a device's clean steps run, and those that
// an operator adds. Inner to config/: a part of the table in config/schema.cpp.
#pragma once

#include <array>

#include "config/declare.h"

namespace reclaim::config {

inline constexpr Group kClean{"clean"};
inline constexpr Group kStep{"step:"};

inline constexpr std::array kStepOptions = {
    kClean.option<&Settings::conductor, &ConductorOptions::clean_automated>(
        {.name = "automated",
         .fallback = "true",
         .help =
             "true: a device is cleaned as soon as its tenancy is over. false: each waits in "
             "'pending_cleaning', reserved, until `reclaim device clean` or the API starts it. "
             "A device_spec entry says otherwise for its devices with clean = auto or manual."}),
    kClean.option<&Settings::conductor, &ConductorOptions::clean_interfaces>(
        {.name = "interfaces",
         .fallback = "hold,pci,nvme",
         .help = "Which of two clean steps with the same priority runs first: the one whose "
                 "interface stands first here. Two of one interface, or of an interface that is "
                 "not listed, may not have the same priority for one device."}),
    kClean.option<&Settings::conductor, &ConductorOptions::failed_builds>(
        {.name = "failed_builds",
         .fallback = "clean",
         .help = "What becomes of a device whose build failed. Nova reserves a device before it "
                 "builds the guest, and leaves it reserved when the build fails. The worker sees a "
                 "device that is reserved, free and not written to, and a provider that was "
                 "written to twice or more since it was on offer. clean: the worker cleans the "
                 "device and offers it again. wait: the device waits for `reclaim device clean`. "
                 "An operator who reserves a device by hand and sets a trait in the same minute "
                 "looks the same: choose wait where operators do that.",
         .choices = "clean,wait"}),
    // ----------------------------------------------------------------------------------- step:NAME
    kStep.option<&OperatorStep::interface>(
        {.name = "interface",
         .fallback = "operator",
         .help = "What the step is about, in one word of your own (letters, digits, '_'): it is "
                 "shown as INTERFACE.NAME. hold: the step runs nothing, the cleaning waits there "
                 "for `reclaim device unhold`. nvme, pci and placement are Reclaim's own."}),
    kStep.option<&OperatorStep::command>(
        {.name = "command",
         .fallback = "",
         .help = "The program that does the work: an absolute path of a file that belongs to root "
                 "and that nobody else may write, nor any directory above it. It is run without a "
                 "shell and without arguments; docs/clean-step-protocol.md says what it is told "
                 "and what it answers.",
         .form = Form::path}),
    kStep.option<&OperatorStep::priority>(
        {.name = "priority",
         .fallback = "0",
         .help = "Needed. The highest priority runs first. Of a drive's steps those before the "
                 "erase have "
                 "51 to 1000 and those after its verification 1 to 49, for the erase has 50. 0: "
                 "the step runs only when an operator names it.",
         .range = Range{0, 1000}}),
    kStep.option<&OperatorStep::stage>(
        {.name = "stage",
         .fallback = "before",
         .help = "Of a drive's step: before its erase, or after its verification. What writes to "
                 "the drive then fails the last look, and the cleaning starts over.",
         .choices = "before,after"}),
    kStep.option({.name = "devices",
                  .fallback = "",
                  .help =
                      "Which devices it is for, as JSON with the keys vendor_id, product_id and "
                      "address of a device_spec entry. Or name the step in the key steps of the "
                      "device_spec entries of its devices."}),
    kStep.option<&OperatorStep::timeout_ms>(
        {.name = "timeout_s",
         .fallback = "900",
         .help = "Seconds the step may take. Then its processes are killed and the device goes to "
                 "'error'; of a hold: nobody agreed in time.",
         .range = Range{1, 604800},
         .times = kMsPerS}),
    kStep.option<&OperatorStep::driver>(
        {.name = "driver",
         .fallback = "keep",
         .help = "What the device is bound to while the step runs: keep (as it is), none, or the "
                 "name of a driver. The former driver is bound again afterwards. A drive's steps "
                 "run with the driver kept."}),
    kStep.option<&OperatorStep::abortable>(
        {.name = "abortable",
         .fallback = "true",
         .help = "false: `reclaim device abort` is refused while the step runs."}),
    kStep.option<&OperatorStep::network>(
        {.name = "network",
         .fallback = "false",
         .help = "true: the command may open network connections. false: it has sockets of this "
                 "host only (AF_UNIX, AF_NETLINK)."}),
    kStep.option<&OperatorStep::verifies>(
        {.name = "verifies",
         .fallback = "false",
         .help = "true: the step shows that nothing of the tenant's is left. A device that is not "
                 "a drive is given back only if at least one such step succeeded."}),
    kStep.option<&OperatorStep::approvals>(
        {.name = "approvals",
         .fallback = "1",
         .help = "Of a hold: how many different operators have to say `reclaim device unhold`.",
         .range = Range{1, 10}}),
    kStep.option<&OperatorStep::args>(
        {.name = "args",
         .fallback = "{}",
         .help = "A JSON object that the command is told. An order cannot change it, but for what "
                 "order_args names."}),
    kStep.option<&OperatorStep::order_args>(
        {.name = "order_args",
         .fallback = "{}",
         .help = "Which args an order that names the step may set, as a JSON object: for each the "
                 "regular expression (RE2) that the whole text has to match, or the list of the "
                 "texts that are accepted, such as {\"bus\": \"[0-9a-f]{2}\", \"mode\": "
                 "[\"fast\", \"full\"]}. The command runs as root: let no order name a command, a "
                 "path or an image."}),
};

}  // namespace reclaim::config
