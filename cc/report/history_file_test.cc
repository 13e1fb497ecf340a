// The bytes of a file. That Python reads what is meant is tested where Python is (tests/plugin/test_recordings.py).
#include "cc/report/history_file.h"

#include <gtest/gtest.h>

#include "cc/report/json.h"
#include "cc/report/npz_writer.h"

namespace gmlake {
namespace {

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

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

TEST(NpzWriterTest, WhatIsTooLargeFor32BitsIsWrittenAsZip64) {
  NpzWriter writer(0);
  writer.Add("a", "'|u1'", "x", 1, 1);
  const std::string archive = writer.Finish();
  const std::string ones(8, '\xff');
  const std::string field("\x01\0\x10\0\x81\0\0\0\0\0\0\0\x81", 13);  // zip64, 16 bytes: 129 bytes of content
  EXPECT_EQ(archive.substr(18, 8), ones);
  EXPECT_EQ(archive.substr(30 + 5, field.size()), field);
  EXPECT_TRUE(Contains(archive, std::string("PK\x06\x06", 4)));
  EXPECT_TRUE(Contains(archive, std::string("PK\x06\x07", 4)));
  EXPECT_TRUE(Contains(archive, std::string("\xff\xff\xff\xff\0\0", 6)));
}

TEST(NpzWriterTest, WhatFitsNeedsNoZip64) {
  NpzWriter writer;
  writer.Add("a", "'|u1'", "x", 1, 1);
  EXPECT_FALSE(Contains(writer.Finish(), std::string("PK\x06\x06", 4)));
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

}  // namespace
}  // namespace gmlake
