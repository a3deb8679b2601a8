"""One protocol, several back ends: native, timeloop, accelforge."""
