// What calls answer while a stream is being captured: every call, in every mode of capture.
#ifndef GMLAKE_EMULATOR_CONFORMANCE_CAPTURE_QUESTIONS_H_
#define GMLAKE_EMULATOR_CONFORMANCE_CAPTURE_QUESTIONS_H_

namespace gmlake::conformance {

void AskAboutCapture();

}  // namespace gmlake::conformance

#endif  // GMLAKE_EMULATOR_CONFORMANCE_CAPTURE_QUESTIONS_H_
