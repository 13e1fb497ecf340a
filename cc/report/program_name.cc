#include "cc/report/program_name.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace gmlake {
namespace {

std::vector<std::string> Split(const std::string& command_line) {
  std::vector<std::string> words;
  std::istringstream stream(command_line);
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  return words;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Where the script is named, if the program is Python and was given a file; else the program itself.
std::vector<std::string>::iterator Script(std::vector<std::string>* words) {
  if (words->empty() || BaseName(words->front()).rfind("python", 0) != 0) return words->begin();
  const auto ends_in_py = [](const std::string& word) {
    return word.size() > 3 && word.compare(word.size() - 3, 3, ".py") == 0;
  };
  const auto script = std::find_if(words->begin() + 1, words->end(), ends_in_py);
  return script == words->end() ? words->begin() : script;
}

}  // namespace

std::string ProgramNameOf(const std::string& command_line) {
  std::vector<std::string> words = Split(command_line);
  auto word = Script(&words);
  if (word == words.end()) return "";
  std::string name = BaseName(*word);
  while (++word != words.end()) name += " " + *word;
  return name;
}

std::string ProgramName() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  return ProgramNameOf(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace gmlake
