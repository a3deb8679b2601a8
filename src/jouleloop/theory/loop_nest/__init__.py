"""Paper 004 and the Hölder–Brascamp–Lieb part of 001: the communication of any loop nest."""
