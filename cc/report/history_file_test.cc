// The bytes of a file. That Python reads what is meant is tested where Python is (tests/plugin/test_recordings.py).
#include "cc/report/history_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "cc/report/json.h"
#include "cc/report/npz_writer.h"

namespace gmlake {
namespace {

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

TEST(JsonTest, EscapesWhatWouldEndATextEarly) {
  EXPECT_EQ(JsonText("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
  EXPECT_EQ(JsonList({"a", "b"}), "[\"a\", \"b\"]");
  JsonObject object;
  object.AddNumber("one", 1);
  object.AddText("two", "2");
  EXPECT_EQ(object.Finish(), "{\"one\": 1, \"two\": \"2\"}");
}

TEST(NpzWriterTest, TheChecksumIsThatOfZip) {
  NpzWriter writer;
  writer.Add("a", "'|u1'", "x", 1, 1);
  const std::string archive = writer.Finish();
  EXPECT_EQ(archive.substr(0, 4), std::string("PK\x03\x04", 4));
  EXPECT_TRUE(Contains(archive, "a.npy"));
  EXPECT_TRUE(Contains(archive, "'shape': (1,)"));
}

TEST(HistoryFileTest, TimesAreThoseOfTheRecording) {
  Snapshot snapshot;
  snapshot.time_ns = 500;
  snapshot.leases.resize(1);
  snapshot.leases[0].time_ns = 150;
  RebaseTimes(100, &snapshot);
  EXPECT_EQ(snapshot.time_ns, 400);
  EXPECT_EQ(snapshot.leases[0].time_ns, 50);
}

TEST(HistoryFileTest, ARecordingHasItsEventsAndItsEnd) {
  Recording recording;
  recording.events.resize(3);
  recording.dropped = 7;
  const std::string content = EncodeHistory({1, "a \"device\""}, Snapshot(), &recording, {"train"});
  for (const char* part : {"events.npy", "end_leases.npy", "gmlake-recording-1", "\"dropped\": 7", "[\"train\"]",
                           "a \\\"device\\\"", "'shape': (3,)"}) {
    EXPECT_TRUE(Contains(content, part)) << part;
  }
}

TEST(HistoryFileTest, AFileIsWrittenWholeOrNotAtAll) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/a.npz";
  ASSERT_TRUE(WriteWholeFile(path, "content").ok());
  EXPECT_EQ(ReadFile(path), "content");
  EXPECT_EQ(ReadFile(path + ".part"), "");
  const Status status = WriteWholeFile("/no-such-folder/a.npz", "content");
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(Contains(status.message(), "/no-such-folder/a.npz")) << status.message();
}

}  // namespace
}  // namespace gmlake
