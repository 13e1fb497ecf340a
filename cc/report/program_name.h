// What a person would call the running program: its script and arguments, as typed, without the path before it.
#ifndef GMLAKE_REPORT_PROGRAM_NAME_H_
#define GMLAKE_REPORT_PROGRAM_NAME_H_

#include <string>

namespace gmlake {

// From a command line as Linux keeps it: arguments that each end with a zero byte. "python3 -u a/train.py --fast" is
// "train.py --fast"; a program that is no Python script keeps its own name.
std::string ProgramNameOf(const std::string& command_line);

// Of this process; empty where the system does not say.
std::string ProgramName();

}  // namespace gmlake

#endif  // GMLAKE_REPORT_PROGRAM_NAME_H_
