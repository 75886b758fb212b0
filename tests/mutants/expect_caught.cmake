# Runs one test of a mutant, which has to fail: by an expectation, not by a crash, a fault of an
# unknown name or for want of a test of that name.
# What a mutant leaves behind that aborts after it was noticed goes with a folder of its own.
execute_process(COMMAND mktemp -d OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
set(ENV{TMPDIR} ${folder})
execute_process(COMMAND ${MUTANT} --gtest_filter=${TEST} --gtest_brief=1
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
file(REMOVE_RECURSE ${folder})
if(result EQUAL 0)
  message(FATAL_ERROR "not caught by ${TEST}: ${BREAKS}\n${output}")
endif()
if(NOT output MATCHES "\\[  FAILED  \\]")
  message(FATAL_ERROR "${TEST} did not fail, but ended with ${result}:\n${output}")
endif()
