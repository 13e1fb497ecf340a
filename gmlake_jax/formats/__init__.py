"""Recordings in the files of other programs: one module a format. docs/recording.md says what each keeps and loses.

A format turns a history into bytes, or bytes into a recording; it opens no file and knows no command line.
"""
