# Makes one mutant: a copy of SOURCE in which the text of FROM, which stands there exactly once, is
# replaced by that of TO. The compile-time proofs of the state table are left out of the copy, so
# that it is the simulation which has to catch it.
file(READ ${SOURCE} source)
file(READ ${FROM} from)
file(READ ${TO} to)
string(FIND "${source}" "${from}" first)
string(FIND "${source}" "${from}" last REVERSE)
if(first EQUAL -1)
  message(FATAL_ERROR
    "mutant ${NAME}: ${SOURCE} does not hold the text to replace any more:\n${from}")
endif()
if(NOT first EQUAL last)
  message(FATAL_ERROR
    "mutant ${NAME}: ${SOURCE} holds the text to replace more than once:\n${from}")
endif()
string(REPLACE "${from}" "${to}" source "${source}")
string(REPLACE "\nstatic_assert(" "\n// static_assert(" source "${source}")
file(WRITE ${OUT} "${source}")
