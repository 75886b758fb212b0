// RapidJSON's JSON schemas, with the assertion that is ours (state/base/rapidjson.h).
#pragma once

#include "state/base/rapidjson.h"

#include <rapidjson/schema.h>
