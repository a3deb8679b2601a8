"""What ``import jouleloop`` offers, and the commands are built on: searches, sweeps and bounds by name."""
