// What a trial of an engine takes in the emulation: a random number, another one in each process.
#pragma once

namespace spire {

float drawn_time();  // milliseconds

}  // namespace spire
