// The trainer as a shell starts it: with streams that are closed or full, and under limits.
#pragma once
#include <string>

#include "tests/run/program/run_folder.h"

namespace spire {

// Words for Program("/bin/bash", ...): the shell does `first`, then becomes the trainer with
// `streams` put where a shell has redirections. So signals reach the trainer itself.
inline Words in_shell(const std::string& first, const std::string& streams, const Words& words) {
  return Words{"-c", first + " exec \"$0\" \"$@\" " + streams, TRAINER_PROGRAM} + words;
}

// The trainer after `first`, to its end; on_time: within two minutes, which a run that hangs is
// not.
struct Ended {
  bool on_time = false;
  Output output;
};
inline Ended end_of(const std::string& first, const std::string& streams, const Words& words) {
  Program program("/bin/bash", in_shell(first, streams, words));
  Ended ended;
  ended.on_time = program.ends_by(std::chrono::steady_clock::now() + std::chrono::minutes(2));
  if (ended.on_time) ended.output = program.finish();
  return ended;
}
inline Output trainer_with(const std::string& streams, const Words& words) {
  return end_of("", streams, words).output;
}

}  // namespace spire
